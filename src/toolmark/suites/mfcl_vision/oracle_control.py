"""The oracle control: it searches, opens and reads the page of every hop, then answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Task
from toolmark.core.task_data import read_task_data
from toolmark.environments.search_environment import FETCH_TOOL, SEARCH_TOOL
from toolmark.suites.mfcl_vision import final_answer, prompts
from toolmark.suites.mfcl_vision.item_records import ItemTruth
from toolmark.suites.mfcl_vision.web_environment import has_split_query

MAX_RESULTS = 3
"""The page of a hop must be among so many results."""


def make_oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the control that follows the hops; it answers only if every page has its fact."""
    return OracleModel(task)


class OracleModel(Model):
    """Follows the hops of one task; at a hop that fails it replies that it does not know."""

    def __init__(self, task: Task) -> None:
        self._truth = read_task_data(task, ItemTruth)
        self._query_argument = "query_text" if has_split_query(task.tools) else "keywords"
        self._n_calls = 0
        self._expected_text = ""
        self._remaining_calls = self._plan_calls()

    async def __call__(self, request: Request, /) -> Reply:
        """Make the next call, or answer."""
        if self._expected_text and not self._shows_expected_text(request):
            return Reply(text=final_answer.UNKNOWN)
        found = next(self._remaining_calls, None)
        if found is None:
            fields = {"answer": self._truth.answers[0], "context": "Each step was looked up."}
            return Reply(text=json.dumps(fields, ensure_ascii=False))
        call, self._expected_text = found
        self._n_calls += 1
        return Reply(calls=(call,))

    def _shows_expected_text(self, request: Request) -> bool:
        """Tell whether the last result contains the expected text, in any spelling."""
        text = request.messages[-1].text
        return self._expected_text in text or final_answer.normalise_text(
            self._expected_text
        ) in final_answer.normalise_text(text)

    def _plan_calls(self) -> Iterator[tuple[Call, str]]:
        """Yield the calls, each with the text that its result must contain."""
        for hop in self._truth.hops:
            yield (
                self._make_call(
                    SEARCH_TOOL, {self._query_argument: hop.query, "max_results": MAX_RESULTS}
                ),
                hop.href,
            )
            yield self._make_call(FETCH_TOOL, {"url": hop.href, "mode": "truncate"}), hop.finds
        # A published item may have no hops.
        if not self._truth.hops:
            yield (
                self._make_call(
                    SEARCH_TOOL, {self._query_argument: prompts.question_text(self._truth.question)}
                ),
                "",
            )

    def _make_call(self, name: str, arguments: Mapping[str, object]) -> Call:
        return Call(name=name, arguments=json.dumps(arguments), id=f"call_{self._n_calls}")

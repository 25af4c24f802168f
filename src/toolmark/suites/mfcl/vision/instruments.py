"""The test model that knows the way: it searches, opens and reads every hop, then answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from toolmark.suites.mfcl.vision import answer, wording
from toolmark.suites.mfcl.vision.score import truth_of
from toolmark.suites.mfcl.vision.site import parted
from toolmark.types import Call, Model, Reply, Request, Task
from toolmark.worlds.search import FETCH, SEARCH

NEAR = 3
"""Among so many hits the page of a hop must stand."""


def oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that follows the hops, and answers only if every page tells what it must."""
    return Follower(task)


class Follower:
    """Follows the hops of one task; where one does not lead on it says that it does not know."""

    def __init__(self, task: Task) -> None:
        self._truth = truth_of(task)
        self._key = "query_text" if parted(task.tools) else "keywords"
        self._n_asked = 0
        self._wanted = ""
        self._way = self._calls()

    async def __call__(self, request: Request, /) -> Reply:
        """Make the next call, or answer."""
        if self._wanted and not self._told(request):
            return Reply(text=answer.UNKNOWN)
        found = next(self._way, None)
        if found is None:
            told = {"answer": self._truth.answers[0], "context": "Each step was looked up."}
            return Reply(text=json.dumps(told, ensure_ascii=False))
        call, self._wanted = found
        self._n_asked += 1
        return Reply(calls=(call,))

    def _told(self, request: Request) -> bool:
        """Tell whether the last result holds what it must, however it is written."""
        text = request.messages[-1].text
        return self._wanted in text or answer.normal(self._wanted) in answer.normal(text)

    def _calls(self) -> Iterator[tuple[Call, str]]:
        """Go through the calls, each with what its result must hold."""
        for hop in self._truth.hops:
            yield self._call(SEARCH, {self._key: hop.query, "max_results": NEAR}), hop.href
            yield self._call(FETCH, {"url": hop.href, "mode": "truncate"}), hop.finds
        if not self._truth.hops:  # a published item may not tell its way
            yield self._call(SEARCH, {self._key: wording.question(self._truth.asked)}), ""

    def _call(self, name: str, given: Mapping[str, object]) -> Call:
        return Call(name=name, arguments=json.dumps(given), id=f"call_{self._n_asked}")

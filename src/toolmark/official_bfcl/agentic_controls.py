"""Controls for memory and web search: one knows the answers, one makes a single mistake."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from toolmark.core import seeds
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Task
from toolmark.core.task_data import read_task_data
from toolmark.environments.memory_environment import MAX_ARCHIVAL_CHARS
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.official_bfcl.multi_turn_tasks import ScriptedModel
from toolmark.scoring import answer_matching

NOTED_REPLY = "Noted."
_MAX_NOTE_CHARS = 300


def make_oracle(task: Task) -> Model:
    """Return the model that answers from the truth; in a set-up session it takes notes."""
    return (
        NoteTaker(task)
        if task.kind == "setup"
        else FixedAnswer(format_answer(read_task_data(task, BfclTaskData).truth))
    )


def format_answer(truth: list[str]) -> str:
    """Return an answer in the requested form: the first alternative that both rules accept."""
    replies = [
        str({"answer": alternative, "context": "The answer is known beforehand."})
        for alternative in truth
    ]
    return next(
        (text for text in replies if answer_matching.find_answer_official(text, truth)), replies[0]
    )


class FixedAnswer(Model):
    """A model that answers every request with the same text."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def __call__(self, request: Request, /) -> Reply:
        """Return the text."""
        return Reply(text=self.text)


class NoteTaker(Model):
    """Stores what the user said, once per turn, then acknowledges."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.n_requests = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Store on the first request of a turn, acknowledge on the second."""
        turn, acknowledges = divmod(self.n_requests, 2)
        self.n_requests += 1
        if acknowledges or turn >= len(self.task.turns):
            return Reply(text=NOTED_REPLY)
        return Reply(calls=(self._note_call(turn),))

    def _note_call(self, turn: int) -> Call:
        text = self.task.turns[turn].messages[-1].text
        match self.task.category:
            case "memory_rec_sum":
                name, arguments = "memory_append", {"text": text[:_MAX_NOTE_CHARS]}
            case "memory_vector":
                name, arguments = "archival_memory_add", {"text": text[:MAX_ARCHIVAL_CHARS]}
            case _:
                key = f"session_{self.task.id.rpartition('-')[2]}_turn_{turn}"
                name = "archival_memory_add"
                arguments = {"key": key, "value": text[:MAX_ARCHIVAL_CHARS]}
        return Call(
            name=name, arguments=json.dumps(arguments, ensure_ascii=False), id=f"note_{turn}"
        )


# --- what is wrong ----------------------------------------------------------------------
# A question has one answer, so there is no other call to spoil: the model makes a faulty call and
# gives up.

# by category, a call that only reads, and a tool that does nothing without its arguments; neither
# reaches beyond this machine
_LOOKUP_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "memory_kv": ("core_memory_retrieve_all", {}),
    "memory_vector": ("core_memory_retrieve_all", {}),
    "memory_rec_sum": ("memory_retrieve", {}),
    "web_search_base": ("fetch_url_content", {"url": "about:blank"}),
    "web_search_no_snippet": ("fetch_url_content", {"url": "about:blank"}),
}
_REQUIRED_ARGUMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "memory_kv": ("archival_memory_add", ("key", "value")),
    "memory_vector": ("archival_memory_add", ("text",)),
    "memory_rec_sum": ("memory_append", ("text",)),
    "web_search_base": ("fetch_url_content", ("url",)),
    "web_search_no_snippet": ("fetch_url_content", ("url",)),
}
_WRONG_ANSWERS = ("none of these", "the seventh of them", "quite another one")
_EMPTY_REPLY = Reply()


def make_faulty(task: Task, repeat: int, kind: str, rate: float) -> Model:
    """Return the model that is right except for one fault of a kind, in a share of the questions.

    Set-up sessions are never spoilt: what they store would make other questions fail too.
    """
    draw = seeds.make_rng(task.seed, task.item, repeat, f"faulty {kind}").random()
    replies = FAULT_MAKERS[kind](task) if task.kind == "scored" and draw < rate else None
    return ScriptedModel(replies) if replies else make_oracle(task)


def _make_unknown_tool(task: Task) -> list[Reply]:
    name, arguments = _LOOKUP_CALLS[task.category]
    return _call_and_give_up(f"{name}_v2", arguments)


def _make_missing_argument(task: Task) -> list[Reply]:
    return _call_and_give_up(_REQUIRED_ARGUMENTS[task.category][0], {})


def _make_unexpected_argument(task: Task) -> list[Reply]:
    name, arguments = _LOOKUP_CALLS[task.category]
    return _call_and_give_up(name, {**arguments, "unasked": 1})


def _make_wrong_type(task: Task) -> list[Reply]:
    name, required = _REQUIRED_ARGUMENTS[task.category]
    return _call_and_give_up(name, {argument: {"wrong": 1} for argument in required})


def _make_wrong_value(task: Task) -> list[Reply] | None:
    """Answer something else; None where every other answer contains an accepted one."""
    truth = read_task_data(task, BfclTaskData).truth
    texts = [format_answer([other]) for other in _WRONG_ANSWERS]
    wrong = [text for text in texts if not answer_matching.find_answer_official(text, truth)]
    return [Reply(text=wrong[0])] if wrong else None


def _make_missing_call(task: Task) -> list[Reply]:
    """Give up without a search."""
    return [_EMPTY_REPLY]


def _make_extra_call(task: Task) -> list[Reply]:
    """Search again and again, until the limit of replies ends the episode."""
    return [Reply(calls=(_make_call(*_LOOKUP_CALLS[task.category]),))] * (task.limits.steps + 1)


def _make_format_fault(task: Task) -> list[Reply]:
    call = _make_call(*_LOOKUP_CALLS[task.category])
    broken = Call(name=call.name, arguments=call.arguments[:-1])
    return [Reply(calls=(broken,)), _EMPTY_REPLY]


def _call_and_give_up(name: str, arguments: dict[str, Any]) -> list[Reply]:
    return [Reply(calls=(_make_call(name, arguments),)), _EMPTY_REPLY]


def _make_call(name: str, arguments: dict[str, Any]) -> Call:
    return Call(name=name, arguments=json.dumps(arguments))


FAULT_MAKERS: dict[str, Callable[[Task], list[Reply] | None]] = {
    "unknown_tool": _make_unknown_tool,
    "missing_argument": _make_missing_argument,
    "unexpected_argument": _make_unexpected_argument,
    "wrong_type": _make_wrong_type,
    "wrong_value": _make_wrong_value,
    "missing_call": _make_missing_call,
    "extra_call": _make_extra_call,
    "format": _make_format_fault,
}

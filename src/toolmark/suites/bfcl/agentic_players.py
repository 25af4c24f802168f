"""Test models for memory and web search: one that knows the answers, one that errs at the last."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from toolmark import seeds
from toolmark.score import answer
from toolmark.suites.bfcl.multi_turn import Script
from toolmark.types import Call, Model, Reply, Request, Task
from toolmark.worlds.memory import ARCHIVAL_CHARS

NOTED = "Noted."
_NOTE_CHARS = 300


def oracle(task: Task) -> Model:
    """Return the model that answers from the truth; in a set-up session, one that takes notes."""
    return Notes(task) if task.kind == "setup" else Answer(told(task.reference["truth"]))


def told(truth: list[str]) -> str:
    """Return an answer in the form asked for: the first alternative that both readings find."""
    replies = [
        str({"answer": each, "context": "The answer is known beforehand."}) for each in truth
    ]
    return next((text for text in replies if answer.official(text, truth)), replies[0])


class Answer:
    """Says one text, whatever is asked."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def __call__(self, request: Request, /) -> Reply:
        """Say it."""
        return Reply(text=self.text)


class Notes:
    """Stores what the user said, once per turn, then acknowledges."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.n_asked = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Store on the first request of a turn, acknowledge on the second."""
        turn, noted = divmod(self.n_asked, 2)
        self.n_asked += 1
        if noted or turn >= len(self.task.turns):
            return Reply(text=NOTED)
        return Reply(calls=(self._note(turn),))

    def _note(self, turn: int) -> Call:
        text = self.task.turns[turn].messages[-1].text
        match self.task.category:
            case "memory_rec_sum":
                name, given = "memory_append", {"text": text[:_NOTE_CHARS]}
            case "memory_vector":
                name, given = "archival_memory_add", {"text": text[:ARCHIVAL_CHARS]}
            case _:
                key = f"session_{self.task.id.rpartition('-')[2]}_turn_{turn}"
                name, given = "archival_memory_add", {"key": key, "value": text[:ARCHIVAL_CHARS]}
        return Call(name=name, arguments=json.dumps(given, ensure_ascii=False), id=f"note_{turn}")


# --- what is wrong ----------------------------------------------------------------------
# A question has one answer, so a faulty call stands in its place: the model makes it and gives up.

# by category a call that only looks, and a tool that does nothing without its arguments; neither
# reaches beyond this machine
_LOOK: dict[str, tuple[str, dict[str, Any]]] = {
    "memory_kv": ("core_memory_retrieve_all", {}),
    "memory_vector": ("core_memory_retrieve_all", {}),
    "memory_rec_sum": ("memory_retrieve", {}),
    "web_search_base": ("fetch_url_content", {"url": "about:blank"}),
    "web_search_no_snippet": ("fetch_url_content", {"url": "about:blank"}),
}
_NEEDY: dict[str, tuple[str, tuple[str, ...]]] = {
    "memory_kv": ("archival_memory_add", ("key", "value")),
    "memory_vector": ("archival_memory_add", ("text",)),
    "memory_rec_sum": ("memory_append", ("text",)),
    "web_search_base": ("fetch_url_content", ("url",)),
    "web_search_no_snippet": ("fetch_url_content", ("url",)),
}
_OTHERS = ("none of these", "the seventh of them", "quite another one")
_GIVEN_UP = Reply()


def faulty(task: Task, repeat: int, kind: str, rate: float) -> Model:
    """Return the model that is right but for one fault of a kind, in a share of the questions.

    Set-up sessions are never spoilt: what they keep would fail other questions too.
    """
    drawn = seeds.of(task.seed, task.item, repeat, f"faulty {kind}").random()
    spoilt = FAULTS[kind](task) if task.kind == "scored" and drawn < rate else None
    return Script(spoilt) if spoilt else oracle(task)


def _unknown_tool(task: Task) -> list[Reply]:
    name, given = _LOOK[task.category]
    return _instead(f"{name}_v2", given)


def _missing_argument(task: Task) -> list[Reply]:
    return _instead(_NEEDY[task.category][0], {})


def _unexpected_argument(task: Task) -> list[Reply]:
    name, given = _LOOK[task.category]
    return _instead(name, {**given, "unasked": 1})


def _wrong_type(task: Task) -> list[Reply]:
    name, needed = _NEEDY[task.category]
    return _instead(name, {each: {"wrong": 1} for each in needed})


def _wrong_value(task: Task) -> list[Reply] | None:
    """Answer something else; None where every other answer holds an accepted one."""
    texts = [told([other]) for other in _OTHERS]
    wrong = [text for text in texts if not answer.official(text, task.reference["truth"])]
    return [Reply(text=wrong[0])] if wrong else None


def _missing_call(task: Task) -> list[Reply]:
    """Give up without having looked."""
    return [_GIVEN_UP]


def _extra_call(task: Task) -> list[Reply]:
    """Look again and again, until the limit of replies ends the episode."""
    return [Reply(calls=(_call(*_LOOK[task.category]),))] * (task.limits.steps + 1)


def _format(task: Task) -> list[Reply]:
    call = _call(*_LOOK[task.category])
    broken = Call(name=call.name, arguments=call.arguments[:-1])
    return [Reply(calls=(broken,)), _GIVEN_UP]


def _instead(name: str, given: dict[str, Any]) -> list[Reply]:
    return [Reply(calls=(_call(name, given),)), _GIVEN_UP]


def _call(name: str, given: dict[str, Any]) -> Call:
    return Call(name=name, arguments=json.dumps(given))


FAULTS: dict[str, Callable[[Task], list[Reply] | None]] = {
    "unknown_tool": _unknown_tool,
    "missing_argument": _missing_argument,
    "unexpected_argument": _unexpected_argument,
    "wrong_type": _wrong_type,
    "wrong_value": _wrong_value,
    "missing_call": _missing_call,
    "extra_call": _extra_call,
    "format": _format,
}

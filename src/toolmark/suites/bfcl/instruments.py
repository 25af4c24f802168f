"""Test models that see the truth: one that is right, one that errs in a chosen way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolmark import seeds
from toolmark.errors import UsageError, near
from toolmark.models.baselines.script import rate_of
from toolmark.score import match
from toolmark.score.kinds import PYTHON
from toolmark.score.values import Unsound
from toolmark.suites.bfcl import agentic_players, agentic_score, fair, formats, multi_turn, schema
from toolmark.suites.bfcl.spelling import spelled
from toolmark.types import Call, Model, Reply, Request, Task

NOTHING = "None of the tools fits this request."

_OMIT = object()


@dataclass(frozen=True, slots=True)
class Fixed:
    """A model that always gives the same reply."""

    reply: Reply

    async def __call__(self, request: Request, /) -> Reply:
        """Give the reply."""
        return self.reply


def oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that makes the expected calls, found in the truth."""
    if task.category in multi_turn.CATEGORIES:
        return multi_turn.Script(multi_turn.script(multi_turn.right(task)))
    if task.category in agentic_score.CATEGORIES:
        return agentic_players.oracle(task)
    return Fixed(_reply([_call(name, given) for name, given in right(task)]))


def faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that is right but for one class of fault, in a share of the tasks.

    Options: `class`, one of FAULTS, and `rate`, the share, 0.2 by default. Where that fault is
    not possible the reply is right.
    """
    kind = options.get("class", "")
    if kind not in FAULTS:
        raise UsageError(f"no fault class {kind!r}{near(kind, FAULTS)}")
    rate = rate_of(options.get("rate", "0.2"))
    if task.category in multi_turn.CATEGORIES:
        return multi_turn.faulty(task, repeat, kind, rate)
    if task.category in agentic_score.CATEGORIES:
        return agentic_players.faulty(task, repeat, kind, rate)
    calls = right(task)
    drawn = seeds.of(task.seed, task.item, repeat, f"faulty {kind}").random()
    if drawn < rate:
        broken = FAULTS[kind](task, calls)
        if broken is not None:
            return Fixed(_reply(broken))
    return Fixed(_reply([_call(name, given) for name, given in calls]))


def _reply(calls: Sequence[Call]) -> Reply:
    return Reply(calls=tuple(calls)) if calls else Reply(text=NOTHING)


def _call(name: str, given: Mapping[str, Any]) -> Call:
    return Call(name=name, arguments=json.dumps(given, ensure_ascii=False))


# --- what is right ----------------------------------------------------------------------

Right = list[tuple[str, dict[str, Any]]]


def right(task: Task) -> Right:
    """Return the calls that pass: none for irrelevance, any one for relevance."""
    docs = schema.docs(task)
    if task.reference is None:
        return [] if "irrelevance" in task.category else [(docs[0]["name"], {})]
    kind = formats.original(task).category
    if "multiple" not in kind and "parallel" not in kind:
        return [_solve(docs[0], task.reference["truth"][0], kind)]
    by_name = {doc["name"]: doc for doc in reversed(docs)}
    return [_solve(by_name[next(iter(truth))], truth, kind) for truth in task.reference["truth"]]


def _solve(
    doc: Mapping[str, Any], truth: Mapping[str, Any], kind: str
) -> tuple[str, dict[str, Any]]:
    """Take the first option of each parameter; while one fails, take its next."""
    specs = doc["parameters"]["properties"]
    choices = {
        name: _choices(options, specs.get(name, {}), kind)
        for name, options in next(iter(truth.values())).items()
    }
    taken = dict.fromkeys(choices, 0)
    first: dict[str, Any] | None = None
    while True:
        given = {name: choices[name][i] for name, i in taken.items()}
        given = {name: value for name, value in given.items() if value is not _OMIT}
        first = given if first is None else first
        fault = _fault(doc, given, truth, kind)
        if fault is None:
            return doc["name"], given
        place = taken.get(fault.parameter)
        if place is None or place + 1 == len(choices[fault.parameter]):
            return doc["name"], first
        taken[fault.parameter] = place + 1


def _fault(
    doc: Mapping[str, Any], given: Mapping[str, Any], truth: Mapping[str, Any], kind: str
) -> match.Fault | None:
    kinds = fair.KINDS.get(kind, PYTHON)
    try:
        return match.one(doc, (doc["name"], given), truth, kinds=kinds)
    except Unsound as error:
        return match.Fault(str(error))


def _choices(options: Sequence[Any], spec: Mapping[str, Any], kind: str) -> list[Any]:
    """Return what may stand for a parameter: its options, nothing, and the empty text at last."""
    made = [_built(option) for option in options if option != ""]
    return [*(way for value in made for way in spelled(value, spec, kind)), _OMIT, ""]


def _built(option: Any) -> Any:
    match option:
        case dict():
            lists = {k: vs if isinstance(vs, list) else [vs] for k, vs in option.items()}
            chosen = {k: next((v for v in vs if v != ""), _OMIT) for k, vs in lists.items()}
            return {k: v for k, v in chosen.items() if v is not _OMIT}
        case list():
            return [_built(item) if isinstance(item, dict) else item for item in option]
        case _:
            return option


# --- what is wrong ----------------------------------------------------------------------
# The last call is spoilt: the official matcher is greedy, and only there can no other call of a
# parallel answer take its place.


def _unknown_tool(task: Task, calls: Right) -> list[Call] | None:
    if task.reference is None:
        return None
    name, given = calls[-1]
    taken = {tool.name for tool in task.tools}
    while name in taken:
        name += "_v2"
    return _with(calls, -1, name, given)


def _missing_argument(task: Task, calls: Right) -> list[Call] | None:
    def drop(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
        return [{key: value for key, value in given.items() if key != name}]

    return _spoilt(task, calls, drop, ("missing_required", "missing_optional"))


def _unexpected_argument(task: Task, calls: Right) -> list[Call] | None:
    if task.reference is None:
        return None
    name, given = calls[-1]
    extra = "unasked"
    while any(extra in doc["parameters"]["properties"] for doc in schema.docs(task)):
        extra += "_"
    return _with(calls, -1, name, {**given, extra: 1})


def _wrong_type(task: Task, calls: Right) -> list[Call] | None:
    def swap(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
        return [{**given, name: value} for value in ({"wrong": 1}, "wrong", [1], 7, 7.5, True)]

    return _spoilt(task, calls, swap, ("type_error",))


def _wrong_value(task: Task, calls: Right) -> list[Call] | None:
    def change(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
        return [{**given, name: value} for value in _others(given[name])]

    return _spoilt(task, calls, change, ("value_error", "dict_checker"))


def _others(value: Any) -> list[Any]:
    """Return other values of the same type."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1_000_003]
        case str():
            return [f"not {value}"]
        case list():
            return [value + value[-1:]] if value else []
        case dict():
            return [{**value, "unasked": 1}]
        case _:
            return []


def _missing_call(task: Task, calls: Right) -> list[Call] | None:
    return [_call(name, given) for name, given in calls[:-1]] if calls else None


def _extra_call(task: Task, calls: Right) -> list[Call] | None:
    if task.category == "live_relevance" or not task.tools:
        return None
    extra = calls[-1] if calls else (task.tools[0].name, {})
    return [_call(name, given) for name, given in [*calls, extra]]


def _format(task: Task, calls: Right) -> list[Call] | None:
    if not calls:
        return None
    broken = [_call(name, given) for name, given in calls]
    return [*broken[:-1], Call(name=broken[-1].name, arguments=broken[-1].arguments[:-1])]


def _with(calls: Right, index: int, name: str, given: Mapping[str, Any]) -> list[Call]:
    made = [_call(*call) for call in calls]
    made[index] = _call(name, given)
    return made


def _spoilt(
    task: Task,
    calls: Right,
    variants: Callable[[dict[str, Any], str], list[dict[str, Any]]],
    kinds: tuple[str, ...],
) -> list[Call] | None:
    """Return the calls with one argument spoilt so that they fail in the way meant."""
    if task.reference is None:
        return None
    truths = task.reference["truth"]
    docs = {doc["name"]: doc for doc in reversed(schema.docs(task))}
    kind = formats.original(task).category
    for index, (name, given) in reversed(list(enumerate(calls))):
        for parameter in given:
            for variant in variants(given, parameter):
                fault = _fault(docs[name], variant, truths[index], kind)
                if fault and any(kind in fault.native for kind in kinds):
                    return _with(calls, index, name, variant)
    return None


FAULTS: dict[str, Callable[[Task, Right], list[Call] | None]] = {
    "unknown_tool": _unknown_tool,
    "missing_argument": _missing_argument,
    "unexpected_argument": _unexpected_argument,
    "wrong_type": _wrong_type,
    "wrong_value": _wrong_value,
    "missing_call": _missing_call,
    "extra_call": _extra_call,
    "format": _format,
}

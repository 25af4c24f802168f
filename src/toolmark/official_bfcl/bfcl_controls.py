"""Controls that see the truth: one is right, one makes mistakes of a chosen class."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolmark.core import seeds
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Task
from toolmark.core.task_data import read_task_data
from toolmark.models.scripted_model import parse_error_rate
from toolmark.official_bfcl import (
    agentic_controls,
    agentic_scoring,
    fair_rule,
    multi_turn_tasks,
    prompt_formats,
    tool_schemas,
)
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.official_bfcl.foreign_literals import spell_value
from toolmark.scoring import call_matching
from toolmark.scoring.value_conversion import PYTHON_CONVERTER
from toolmark.scoring.value_matching import OfficialCheckerError

NO_TOOL_FITS = "None of the tools fits this request."

_OMIT = object()


@dataclass(frozen=True, slots=True)
class FixedReply(Model):
    """A model that always gives the same reply."""

    reply: Reply

    async def __call__(self, request: Request, /) -> Reply:
        """Return the reply."""
        return self.reply


def make_oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that makes the expected calls, found in the truth."""
    if task.category in multi_turn_tasks.CATEGORIES:
        return multi_turn_tasks.ScriptedModel(
            multi_turn_tasks.make_replies(multi_turn_tasks.expected_calls(task))
        )
    if task.category in agentic_scoring.CATEGORIES:
        return agentic_controls.make_oracle(task)
    return FixedReply(
        _make_reply([_make_call(name, arguments) for name, arguments in expected_calls(task)])
    )


def make_faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that is right except for one class of fault, in a share of the tasks.

    Options: `class`, one of FAULT_MAKERS, and `rate`, the share, 0.2 by default. Where the fault is
    not possible the reply is right.
    """
    kind = options.get("class", "")
    if kind not in FAULT_MAKERS:
        raise UsageError(f"no fault class {kind!r}{suggest_names(kind, FAULT_MAKERS)}")
    rate = parse_error_rate(options.get("rate", "0.2"))
    if task.category in multi_turn_tasks.CATEGORIES:
        return multi_turn_tasks.make_faulty(task, repeat, kind, rate)
    if task.category in agentic_scoring.CATEGORIES:
        return agentic_controls.make_faulty(task, repeat, kind, rate)
    calls = expected_calls(task)
    draw = seeds.make_rng(task.seed, task.item, repeat, f"faulty {kind}").random()
    if draw < rate:
        faulty_calls = FAULT_MAKERS[kind](task, calls)
        if faulty_calls is not None:
            return FixedReply(_make_reply(faulty_calls))
    return FixedReply(_make_reply([_make_call(name, arguments) for name, arguments in calls]))


def _make_reply(calls: Sequence[Call]) -> Reply:
    return Reply(calls=tuple(calls)) if calls else Reply(text=NO_TOOL_FITS)


def _make_call(name: str, arguments: Mapping[str, Any]) -> Call:
    return Call(name=name, arguments=json.dumps(arguments, ensure_ascii=False))


# --- what is right ----------------------------------------------------------------------

ExpectedCalls = list[tuple[str, dict[str, Any]]]


def expected_calls(task: Task) -> ExpectedCalls:
    """Return the calls that pass: none for irrelevance, any one for relevance."""
    docs = tool_schemas.published_docs(task)
    if task.data is None:
        return [] if "irrelevance" in task.category else [(docs[0]["name"], {})]
    truths = read_task_data(task, BfclTaskData).truth
    category = prompt_formats.original_task(task).category
    if "multiple" not in category and "parallel" not in category:
        return [_solve_arguments(docs[0], truths[0], category)]
    by_name = {doc["name"]: doc for doc in reversed(docs)}
    return [_solve_arguments(by_name[next(iter(truth))], truth, category) for truth in truths]


def _solve_arguments(
    doc: Mapping[str, Any], truth: Mapping[str, Any], category: str
) -> tuple[str, dict[str, Any]]:
    """Take the first option of each parameter; while a parameter fails, take its next option."""
    specs = doc["parameters"]["properties"]
    choices = {
        name: _value_choices(options, specs.get(name, {}), category)
        for name, options in next(iter(truth.values())).items()
    }
    positions = dict.fromkeys(choices, 0)
    first: dict[str, Any] | None = None
    while True:
        arguments = {name: choices[name][i] for name, i in positions.items()}
        arguments = {name: value for name, value in arguments.items() if value is not _OMIT}
        first = arguments if first is None else first
        fault = _find_fault(doc, arguments, truth, category)
        if fault is None:
            return doc["name"], arguments
        position = positions.get(fault.parameter)
        if position is None or position + 1 == len(choices[fault.parameter]):
            return doc["name"], first
        positions[fault.parameter] = position + 1


def _find_fault(
    doc: Mapping[str, Any], arguments: Mapping[str, Any], truth: Mapping[str, Any], category: str
) -> call_matching.MatchFault | None:
    kinds = fair_rule.VALUE_KINDS.get(category, PYTHON_CONVERTER)
    try:
        return call_matching.check_call(doc, (doc["name"], arguments), truth, converter=kinds)
    except OfficialCheckerError as error:
        return call_matching.MatchFault(str(error))


def _value_choices(options: Sequence[Any], spec: Mapping[str, Any], category: str) -> list[Any]:
    """Return the candidates for a parameter: its options, then nothing, then the empty text."""
    values = [_build_value(option) for option in options if option != ""]
    return [*(way for value in values for way in spell_value(value, spec, category)), _OMIT, ""]


def _build_value(option: Any) -> Any:
    match option:
        case dict():
            lists = {k: vs if isinstance(vs, list) else [vs] for k, vs in option.items()}
            chosen = {k: next((v for v in vs if v != ""), _OMIT) for k, vs in lists.items()}
            return {k: v for k, v in chosen.items() if v is not _OMIT}
        case list():
            return [_build_value(item) if isinstance(item, dict) else item for item in option]
        case _:
            return option


# --- what is wrong ----------------------------------------------------------------------
# The last call is spoilt: the official matcher is greedy, and only at the end no other call of a
# parallel answer can take its place.


def _make_unknown_tool(task: Task, calls: ExpectedCalls) -> list[Call] | None:
    if task.data is None:
        return None
    name, arguments = calls[-1]
    taken = {tool.name for tool in task.tools}
    while name in taken:
        name += "_v2"
    return _replace_call(calls, -1, name, arguments)


def _make_missing_argument(task: Task, calls: ExpectedCalls) -> list[Call] | None:
    def drop(arguments: dict[str, Any], name: str) -> list[dict[str, Any]]:
        return [{key: value for key, value in arguments.items() if key != name}]

    return _spoil_argument(task, calls, drop, ("missing_required", "missing_optional"))


def _make_unexpected_argument(task: Task, calls: ExpectedCalls) -> list[Call] | None:
    if task.data is None:
        return None
    name, arguments = calls[-1]
    extra = "unasked"
    while any(
        extra in doc["parameters"]["properties"] for doc in tool_schemas.published_docs(task)
    ):
        extra += "_"
    return _replace_call(calls, -1, name, {**arguments, extra: 1})


def _make_wrong_type(task: Task, calls: ExpectedCalls) -> list[Call] | None:
    def swap(arguments: dict[str, Any], name: str) -> list[dict[str, Any]]:
        return [{**arguments, name: value} for value in ({"wrong": 1}, "wrong", [1], 7, 7.5, True)]

    return _spoil_argument(task, calls, swap, ("type_error",))


def _make_wrong_value(task: Task, calls: ExpectedCalls) -> list[Call] | None:
    def change(arguments: dict[str, Any], name: str) -> list[dict[str, Any]]:
        return [{**arguments, name: value} for value in _other_values(arguments[name])]

    return _spoil_argument(task, calls, change, ("value_error", "dict_checker"))


def _other_values(value: Any) -> list[Any]:
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


def _make_missing_call(task: Task, calls: ExpectedCalls) -> list[Call] | None:
    return [_make_call(name, arguments) for name, arguments in calls[:-1]] if calls else None


def _make_extra_call(task: Task, calls: ExpectedCalls) -> list[Call] | None:
    if task.category == "live_relevance" or not task.tools:
        return None
    extra = calls[-1] if calls else (task.tools[0].name, {})
    return [_make_call(name, arguments) for name, arguments in [*calls, extra]]


def _make_format_fault(task: Task, calls: ExpectedCalls) -> list[Call] | None:
    if not calls:
        return None
    broken = [_make_call(name, arguments) for name, arguments in calls]
    return [*broken[:-1], Call(name=broken[-1].name, arguments=broken[-1].arguments[:-1])]


def _replace_call(
    calls: ExpectedCalls, index: int, name: str, arguments: Mapping[str, Any]
) -> list[Call]:
    replaced = [_make_call(*call) for call in calls]
    replaced[index] = _make_call(name, arguments)
    return replaced


def _spoil_argument(
    task: Task,
    calls: ExpectedCalls,
    variants: Callable[[dict[str, Any], str], list[dict[str, Any]]],
    kinds: tuple[str, ...],
) -> list[Call] | None:
    """Return the calls with one argument spoilt so that they fail in the intended way."""
    if task.data is None:
        return None
    truths = read_task_data(task, BfclTaskData).truth
    docs = {doc["name"]: doc for doc in reversed(tool_schemas.published_docs(task))}
    category = prompt_formats.original_task(task).category
    for index, (name, arguments) in reversed(list(enumerate(calls))):
        for parameter in arguments:
            for variant in variants(arguments, parameter):
                fault = _find_fault(docs[name], variant, truths[index], category)
                if fault and any(category in fault.error_type for category in kinds):
                    return _replace_call(calls, index, name, variant)
    return None


FAULT_MAKERS: dict[str, Callable[[Task, ExpectedCalls], list[Call] | None]] = {
    "unknown_tool": _make_unknown_tool,
    "missing_argument": _make_missing_argument,
    "unexpected_argument": _make_unexpected_argument,
    "wrong_type": _make_wrong_type,
    "wrong_value": _make_wrong_value,
    "missing_call": _make_missing_call,
    "extra_call": _make_extra_call,
    "format": _make_format_fault,
}

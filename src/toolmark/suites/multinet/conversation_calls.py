"""Conversations of function calls, compared by spelling and by structure.

Text calls are compared by their spelling, and in addition by structure: function names, and values
by parameter name. A tool call has no spelling, so in the form `tool` both sides are written from
their structure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from toolmark.core import json_codec
from toolmark.core.records import Call, Cause, Step, Trajectory
from toolmark.formats.parse import python_calls
from toolmark.scoring import conversation_matching
from toolmark.suites.multinet import answer_parsing
from toolmark.suites.multinet.answer_parsing import GRADING_RULES, GradingRule, Prediction
from toolmark.suites.multinet.frame_records import Truth

TurnTexts = tuple[tuple[str, ...], ...]
_MAX_SHOWN_CHARS = 120
# a turn with longer calls is compared by spelling only
_SPARE_CHARS = 4_096
_LENGTH_FACTOR = 4


class ConversationSides(NamedTuple):
    """Truth and prediction, turn by turn: by spelling, and by structure."""

    truth: TurnTexts
    predicted: TurnTexts
    truth_structured: TurnTexts
    predicted_structured: TurnTexts


def conversation_sides(
    truth: Truth, trajectory: Trajectory
) -> dict[GradingRule, ConversationSides]:
    """Return both sides of an episode for each grading rule.

    A turn that was not reached is empty, and so is a turn whose reply was refused.
    """
    order = truth.parameters
    truth_texts, truth_structured = _truth_calls(truth)
    structured: list[tuple[str, ...]] = [()] * len(truth_texts)
    spelled = {rule: list(structured) for rule in GRADING_RULES}
    for step in _accepted_steps(truth, trajectory):
        at = step.turn
        max_chars = _max_structured_chars(truth_texts[at])
        if truth.form == "tool":
            structured[at] = spelled["paper"][at] = spelled["reference"][at] = (
                _structure_tool_calls(step.calls, max_chars)
            )
            continue
        for rule, turn_texts in spelled.items():
            turn_texts[at] = answer_parsing.extract_calls(step.reply.text, rule)
        structured[at] = _structure_text_calls(spelled["paper"][at], order, max_chars)
    shown_truth = truth_structured if truth.form == "tool" else truth_texts
    return {
        rule: ConversationSides(shown_truth, tuple(turn_texts), truth_structured, tuple(structured))
        for rule, turn_texts in spelled.items()
    }


def similarity_texts(truth: Truth, trajectory: Trajectory) -> tuple[str, str]:
    """Return truth and answer as one text each: the calls, and the reply's text, line by line."""
    truth_texts, truth_structured = _truth_calls(truth)
    answers: list[str] = []
    for step in _accepted_steps(truth, trajectory):
        turn_calls = (
            _structure_tool_calls(step.calls, _max_structured_chars(truth_texts[step.turn]))
            if truth.form == "tool"
            else ()
        )
        answers += turn_calls or (
            json_codec.restore_surrogates(step.reply.text[: answer_parsing.MAX_TEXT_CHARS]),
        )
    shown_truth = truth_structured if truth.form == "tool" else truth_texts
    return "\n".join(call for calls in shown_truth for call in calls), "\n".join(answers)


def _truth_calls(truth: Truth) -> tuple[TurnTexts, TurnTexts]:
    """Return the truth's calls by spelling, and by structure."""
    truth_texts: TurnTexts = tuple(tuple(map(str, calls)) for calls in truth.truth)  # type: ignore[union-attr, arg-type]
    return truth_texts, tuple(
        tuple(_structure_text_call(text, truth.parameters) for text in calls)
        for calls in truth_texts
    )


def _accepted_steps(truth: Truth, trajectory: Trajectory) -> Iterator[Step]:
    """Yield the replies that were not refused."""
    steps = trajectory.steps[: len(truth.truth)]  # type: ignore[arg-type]
    return (step for step in steps if step.reply.stop != "refused")


def _max_structured_chars(truth_calls: Sequence[str]) -> int:
    """Return the limit for a turn's calls to be parsed by structure, in characters."""
    return _SPARE_CHARS + _LENGTH_FACTOR * sum(map(len, truth_calls))


def describe_first_fault(both_sides: ConversationSides) -> tuple[int, Cause, str]:
    """Return the first turn that differs from the truth, and what is wrong with it."""
    if both_sides.predicted_structured == both_sides.truth_structured:
        at = _first_difference(both_sides.truth, both_sides.predicted)
        return (
            at,
            "format",
            f"turn {at + 1}: spelt otherwise, {_format_calls(both_sides.predicted[at])}",
        )
    at = _first_difference(both_sides.truth_structured, both_sides.predicted_structured)
    expected, predicted = both_sides.truth_structured[at], both_sides.predicted_structured[at]
    description = (
        f"turn {at + 1}: {_format_calls(predicted)} where {_format_calls(expected)} is wanted"
    )
    return at, _fault_cause(expected, predicted), description


def _fault_cause(expected: Sequence[str], predicted: Sequence[str]) -> Cause:
    names = [[call.partition(" ")[0] for call in side] for side in (predicted, expected)]
    if not predicted:
        return "missing_call"
    if names[0] == names[1]:
        return "wrong_value"
    if len(predicted) != len(expected):
        return "missing_call" if len(predicted) < len(expected) else "extra_call"
    return "drift" if sorted(names[0]) == sorted(names[1]) else "wrong_tool"


def is_guess_exact(truth: Truth, guess: Any) -> bool:
    """Return whether a baseline's conversation is exact."""
    return conversation_matching.compare_conversation(truth.truth, guess).exact  # type: ignore[arg-type]


def _first_difference(truth: TurnTexts, predicted: TurnTexts) -> int:
    return next((k for k, (a, b) in enumerate(zip(truth, predicted, strict=True)) if a != b), 0)


def _format_calls(calls: Sequence[str]) -> str:
    text = ", ".join(calls) or "no call"
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


def _structure_text_calls(
    calls: tuple[str, ...], order: Mapping[str, Sequence[str]], max_chars: int
) -> tuple[str, ...]:
    """Return a turn's calls by structure; calls longer than `max_chars` are returned unchanged."""
    if sum(map(len, calls)) > max_chars:
        return calls
    return tuple(_structure_text_call(call, order) for call in calls)


def _structure_tool_calls(calls: Sequence[Call], max_chars: int) -> tuple[str, ...]:
    """Return a turn's tool calls by structure; calls longer than `max_chars` are not parsed."""
    if sum(len(call.name) + len(call.arguments) for call in calls) > max_chars:
        return tuple(map(_format_raw_call, calls))
    return tuple(map(_structure_tool_call, calls))


def _format_raw_call(call: Call) -> str:
    return f"{call.name}({call.arguments})"


def _structure_text_call(text: str, order: Mapping[str, Sequence[str]]) -> str:
    """Return a text call by structure with all arguments named; else the text itself."""
    try:
        (parsed,) = python_calls.parse_written_calls(text)
        names = order.get(parsed.name, ())
        arguments = dict(parsed.keywords)
        for i, value in enumerate(parsed.positional):
            # an argument too many, or one given twice, has no name: it counts by its position
            is_named = i < len(names) and names[i] not in parsed.keywords
            arguments[names[i] if is_named else str(i)] = value
        return _format_structure(parsed.name, arguments)
    except (python_calls.UnreadableCalls, ValueError, TypeError, RecursionError):
        return text


def _structure_tool_call(call: Call) -> str:
    """Return a tool call by structure; a call with unreadable arguments is returned unchanged."""
    arguments = answer_parsing.parse_arguments(call)
    if isinstance(arguments, Prediction):
        return _format_raw_call(call)
    try:
        return _format_structure(json_codec.restore_surrogates(call.name), arguments)
    except (ValueError, RecursionError):
        return _format_raw_call(call)


def _format_structure(name: str, arguments: Mapping[Any, Any]) -> str:
    normalized = _normalize_value(arguments)
    return f"{name} {json.dumps(normalized, sort_keys=True, ensure_ascii=False, default=repr)}"


def _normalize_value(value: Any) -> Any:
    """Return a value without what JSON does not distinguish: tuples, 2.0, non-text keys."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {str(key): _normalize_value(item) for key, item in value.items()}
        case list() | tuple():
            return [_normalize_value(item) for item in value]
        case _:
            return value

"""Read the prediction out of a reply, or say why the answer is invalid.

Text answers have two grading rules: `paper` is how the paper's own runs read them (MultiNet's
src/v1), `reference` is how the public harness and its first adapter read them:

| space | paper | reference |
|---|---|---|
| PIQA's Choice | exactly 0 or 1, surrounding blanks ignored | as any Choice |
| Choice | an integer, nothing else | the first run of digits, unless it begins "Coordinate" |
| Distribution | n numbers in [0, 1], sum 1 within 1e-5 | n numbers: their sum counts, nan passes |
| ActionVector | a finite number for each dimension | the same |
| FreeText | any text that is not blank | the same |
| FunctionCalls | name(...), brackets and quotes parsed | name( to first ), blanks merged |

For Distribution src/v1 is lenient and the harness is strict; for the other spaces it is the
opposite. For Distribution `paper` follows the paper's text, and `reference` is what src/v1 accepts.

The harness leaves parsing to each adapter. If no published adapter reads an answer (Overcooked's
action as text), the rule for Choice applies. There is one way to read a tool call: exactly one call
of the offered tool, with arguments of the declared type.

Answers are untrusted text: nothing is evaluated, time is linear in the length of the text, and text
much longer than any answer is refused without parsing.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from toolmark.core import json_codec
from toolmark.core.number_format import format_count
from toolmark.core.records import Call, Cause
from toolmark.scoring import action_errors, brier_errors
from toolmark.scoring.error_statistics import GRADING_RULES as GRADING_RULES
from toolmark.scoring.error_statistics import GradingRule as GradingRule
from toolmark.suites.multinet.frame_records import (
    ACT_TOOL,
    ACTIONS,
    ANSWER_TOOL,
    CHOOSE_TOOL,
    DISTRIBUTION_TOOL,
    MOVE_TOOL,
    PLAYER_ARGUMENTS,
    ActionVector,
    AnswerSpace,
    Choice,
    Distribution,
    FreeText,
    Truth,
)

MAX_CHARS = 2**20
"""The limit for any answer. Answers that are slow to parse or always short have lower limits."""
MAX_TEXT_CHARS = 2**16
"""The limit for a FreeText answer, and for the calls of one turn."""

# fixed limit of a list, and an allowance per expected number
_MAX_LIST_CHARS = 8_192
_MAX_NUMBER_CHARS = 256

_MAX_REPORTED_NUMBER = 2**53  # caps a reported number
# represents numbers with more digits than Python parses; larger than any float
_NUMBER_BEYOND_FLOATS = 10**400
_DIGITS_PER_CHUNK = 4_000  # digits parsed at once; Python's limit is 4,300
_INTEGER = re.compile(r"[+-]?\d+(?:_\d+)*")
_DIGITS = re.compile(r"\d+")
_TOKEN = re.compile(r"(?<![\w.])[\w.]+\(|[()\[\]{}'\"]")
_TO_CLOSING_QUOTE = {
    quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*{quote}", re.S) for quote in "'\""
}
"""Matches from behind an opening quote up to and including the closing quote."""
_OPENING_BRACKET = {")": "(", "]": "[", "}": "{"}
_CALL_HEAD = re.compile(r"(?<!\w)\w+\(")
_BLANKS = re.compile(r"\s+")
_MAX_SHOWN_CHARS = 120


class Prediction(NamedTuple):
    """A prediction in the form of its space; None is invalid, and `fault` says why.

    `raw` is an integer that is out of range.
    """

    value: Any = None
    raw: int | None = None
    fault: str = ""
    cause: Cause = "format"


def parse_text_answer(truth: Truth, answer: str, rule: GradingRule) -> Prediction:
    """Parse the answer in a text, for spaces other than FunctionCalls."""
    if not answer.strip():
        return Prediction(fault="nothing was said", cause="no_answer")
    if refusal := _refuse_too_long(truth.space, answer):
        return refusal
    answer = json_codec.restore_surrogates(answer)
    match truth.space:
        case FreeText():
            return Prediction(answer)
        case Choice(options=options):
            exact = rule == "paper"
            stripped = answer.strip()
            if exact and truth.family == "piqa" and stripped not in ("0", "1"):
                return _parse_index(stripped, len(options))._replace(
                    value=None, fault=_expectation_fault("0 or 1", answer)
                )
            return (
                _parse_index(stripped, len(options))
                if exact
                else _parse_first_digits(answer, len(options))
            )
        case space:
            return check_vector(space, _parse_literal(answer.strip()), rule, answer)


def _refuse_too_long(space: AnswerSpace, answer: str) -> Prediction | None:
    """Refuse text that is slow to parse and cannot be the answer: 36 numbers need no megabyte."""
    max_chars = MAX_CHARS if isinstance(space, Choice) else MAX_TEXT_CHARS
    if isinstance(space, Distribution | ActionVector):
        max_chars = _MAX_LIST_CHARS + _MAX_NUMBER_CHARS * _n_numbers(space)
    if len(answer) <= max_chars:
        return None
    return Prediction(
        fault=f"{format_count(len(answer))} characters; at most {format_count(max_chars)} are read"
    )


def _n_numbers(space: Distribution | ActionVector) -> int:
    return len(space.options if isinstance(space, Distribution) else space.names)


# --- numbers ----------------------------------------------------------------------------


def parse_integer(text: str) -> int | None:
    """Return what `int` returns for text without surrounding blanks, None if it is not a number.

    A sign, digits of any script and single underscores between digits are accepted, for any number
    of digits. If there are more digits than Python parses, the result keeps only the sign and a
    size that is out of range.
    """
    if not _INTEGER.fullmatch(text):
        return None
    if len(text) <= _DIGITS_PER_CHUNK:
        return int(text)
    digits = text.lstrip("+-").replace("_", "")
    head, tail = digits[:-_DIGITS_PER_CHUNK], digits[-_DIGITS_PER_CHUNK:]
    is_huge = any(
        int(head[at : at + _DIGITS_PER_CHUNK]) for at in range(0, len(head), _DIGITS_PER_CHUNK)
    )
    found = _NUMBER_BEYOND_FLOATS if is_huge else int(tail)
    return -found if text[0] == "-" else found


def _parse_json(text: str) -> Any:
    """Parse JSON. Raises json_codec.InvalidJson."""
    return json_codec.parse_json(text, parse_integer)  # type: ignore[arg-type]  # never None for JSON


def _parse_index(text: str, n: int) -> Prediction:
    found = parse_integer(text)
    return (
        Prediction(fault=_expectation_fault("a whole number", text))
        if found is None
        else _check_index(found, n)
    )


def _parse_first_digits(answer: str, n: int) -> Prediction:
    found = None if answer.startswith("Coordinate") else _DIGITS.search(answer)
    return (
        _parse_index(found[0], n)
        if found
        else Prediction(fault=_expectation_fault("a number in it", answer))
    )


def _check_index(k: int, n: int) -> Prediction:
    if 0 <= k < n:
        return Prediction(k)
    raw = max(-_MAX_REPORTED_NUMBER, min(k, _MAX_REPORTED_NUMBER))
    shown = f"{raw}" if raw == k else f"a number beyond {raw}"
    return Prediction(raw=raw, fault=f"{shown} is none of 0 to {n - 1}", cause="wrong_value")


def _expectation_fault(expected: str, answer: str) -> str:
    return f"expected {expected}, got {json_codec.escape_surrogates(answer[:_MAX_SHOWN_CHARS])!r}"


@lru_cache(maxsize=8)  # both grading rules parse the same text
def _parse_literal(text: str) -> Any:
    """Return the value of a text that is JSON or a Python literal, else the text itself."""
    try:
        return _parse_json(text)
    except json_codec.InvalidJson:
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unusual literals cause warnings
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


# --- vectors ----------------------------------------------------------------------------


def check_vector(space: AnswerSpace, value: Any, rule: GradingRule, spelling: str) -> Prediction:
    """Check a list of numbers against a Distribution or ActionVector.

    `spelling` is the text of the list.
    """
    numbers: Sequence[float] | None
    assert isinstance(space, Distribution | ActionVector)
    n = _n_numbers(space)
    if isinstance(space, Distribution):
        numbers = brier_errors.parse_distribution(value, n, "strict" if rule == "paper" else "lax")
    else:
        numbers = action_errors.parse_vector(value, n)
    if numbers is not None:
        return Prediction(tuple(numbers))
    if not isinstance(value, list | tuple):
        return Prediction(fault=_expectation_fault("a list of numbers", spelling))
    if len(value) != n:
        return Prediction(fault=f"{len(value)} numbers where {n} are wanted", cause="wrong_value")
    if not all(isinstance(each, int | float) for each in value):
        return Prediction(fault=_expectation_fault("numbers alone", spelling), cause="wrong_type")
    expected = (
        "numbers from 0 to 1 that add up to 1"
        if isinstance(space, Distribution)
        else "finite numbers"
    )
    return Prediction(fault=_expectation_fault(expected, spelling), cause="wrong_value")


# --- one call ---------------------------------------------------------------------------


def parse_call_answer(truth: Truth, calls: Sequence[Call], rule: GradingRule) -> Prediction:
    """Parse the answer in the calls of a reply, for spaces other than FunctionCalls."""
    name = _answer_tool(truth)
    if not calls:
        return Prediction(fault=f"no call of {name}", cause="missing_call")
    if len(calls) > 1:
        return Prediction(fault=f"{len(calls)} calls where one is wanted", cause="extra_call")
    (only_call,) = calls
    if only_call.name != name:
        shown = json_codec.escape_surrogates(only_call.name[:_MAX_SHOWN_CHARS])
        return Prediction(fault=f"called {shown!r}, not {name}", cause="unknown_tool")
    values = _refuse_too_long(truth.space, only_call.arguments) or parse_arguments(only_call)
    if isinstance(values, Prediction):
        return values
    parameters = _TOOL_PARAMETERS[name]
    if missing := [key for key in parameters if key not in values]:
        return Prediction(fault=f"{name} without {', '.join(missing)}", cause="missing_argument")
    if unexpected := [key for key in values if key not in parameters]:
        shown = json_codec.escape_surrogates(str(unexpected[0])[:_MAX_SHOWN_CHARS])
        return Prediction(fault=f"{name} with {shown!r}", cause="unexpected_argument")
    return _TOOL_PARSERS[name](truth, values, rule)


def parse_arguments(call_record: Call) -> dict[str, Any] | Prediction:
    """Return the arguments of a call, or an invalid Prediction that says why there are none."""
    try:
        values = _parse_json(json_codec.restore_surrogates(call_record.arguments))
    except json_codec.InvalidJson as error:
        return Prediction(
            fault=f"the arguments of {call_record.name[:_MAX_SHOWN_CHARS]} are not JSON: {error}"
        )
    if not isinstance(values, dict):
        return Prediction(
            fault=f"the arguments of {call_record.name[:_MAX_SHOWN_CHARS]} are not an object"
        )
    return values


def _answer_tool(truth: Truth) -> str:
    match truth.space:
        case Choice():
            return ACT_TOOL if truth.family == "overcooked" else CHOOSE_TOOL
        case Distribution():
            return DISTRIBUTION_TOOL
        case ActionVector():
            return MOVE_TOOL
        case _:
            return ANSWER_TOOL


def _parse_choose(truth: Truth, values: dict[str, Any], rule: GradingRule) -> Prediction:
    option = values["option"]
    is_whole = isinstance(option, float) and option.is_integer()
    if isinstance(option, bool) or not (isinstance(option, int) or is_whole):
        return Prediction(
            fault=_expectation_fault("a whole number", repr(option)), cause="wrong_type"
        )
    return _check_index(int(option), len(truth.space.options))  # type: ignore[union-attr]


def _parse_act(truth: Truth, values: dict[str, Any], rule: GradingRule) -> Prediction:
    names = [values[key] for key in PLAYER_ARGUMENTS]
    if wrong := [name for name in names if name not in ACTIONS]:
        return Prediction(
            fault=_expectation_fault(f"one of {', '.join(ACTIONS)}", str(wrong[0])),
            cause="wrong_value",
        )
    first, second = map(ACTIONS.index, names)
    return Prediction(len(ACTIONS) * first + second)


def _parse_list(truth: Truth, values: dict[str, Any], rule: GradingRule) -> Prediction:
    (found,) = values.values()
    if isinstance(found, list) and any(isinstance(each, bool) for each in found):
        return Prediction(
            fault=_expectation_fault("numbers alone", str(found)[:_MAX_SHOWN_CHARS]),
            cause="wrong_type",
        )
    return check_vector(truth.space, found, rule, str(found)[:_MAX_SHOWN_CHARS])


def _parse_answer(truth: Truth, values: dict[str, Any], rule: GradingRule) -> Prediction:
    found = values["text"]
    if not isinstance(found, str):
        return Prediction(
            fault=_expectation_fault("a text", repr(found)[:_MAX_SHOWN_CHARS]), cause="wrong_type"
        )
    return (
        Prediction(found)
        if found.strip()
        else Prediction(fault="nothing was said", cause="no_answer")
    )


_TOOL_PARAMETERS: dict[str, tuple[str, ...]] = {
    CHOOSE_TOOL: ("option",),
    ACT_TOOL: PLAYER_ARGUMENTS,
    DISTRIBUTION_TOOL: ("probabilities",),
    MOVE_TOOL: ("vector",),
    ANSWER_TOOL: ("text",),
}
_TOOL_PARSERS: dict[str, Callable[[Truth, dict[str, Any], GradingRule], Prediction]] = {
    CHOOSE_TOOL: _parse_choose,
    ACT_TOOL: _parse_act,
    DISTRIBUTION_TOOL: _parse_list,
    MOVE_TOOL: _parse_list,
    ANSWER_TOOL: _parse_answer,
}


# --- calls as text ----------------------------------------------------------------------


def extract_calls(answer: str, rule: GradingRule) -> tuple[str, ...]:
    """Return the calls in a text, as they are spelt, in their order.

    Text longer than `MAX_TEXT_CHARS` has no calls.
    """
    if len(answer) > MAX_TEXT_CHARS:
        return ()
    answer = json_codec.restore_surrogates(answer)
    if rule == "reference":
        return tuple(_BLANKS.sub(" ", found) for found in _calls_to_first_bracket(answer))
    return tuple(_balanced_calls(answer))


def _calls_to_first_bracket(answer: str) -> Iterator[str]:
    """Yield the texts from `word(` to the next `)`; any bracket `)` in an argument ends it."""
    position = 0
    for head in _CALL_HEAD.finditer(answer):
        if head.start() < position:
            continue
        end = answer.find(")", head.end())
        if end < 0:
            return
        position = end + 1
        yield answer[head.start() : position]


def _balanced_calls(answer: str) -> Iterator[str]:
    """Yield calls up to the bracket that closes them; an unclosed call is not a call."""
    position = 0
    for start, end in sorted(_balanced_spans(answer)):
        if start >= position:
            position = end
            yield answer[start:end]


def _balanced_spans(answer: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each call, nested calls too, in one pass.

    A bracket of another kind, or a quote without an end, invalidates all calls that are open there.
    """
    open_brackets: list[tuple[str, int]] = []  # brackets, and the start of the call each opens
    unclosed_quotes: set[str] = set()  # quotes that are not closed
    position = 0
    for token in _TOKEN.finditer(answer):
        head, char = token.start(), answer[token.end() - 1]
        if head < position or not (open_brackets or token.end() - head > 1):
            continue  # inside quotes, or outside any call
        if char in _TO_CLOSING_QUOTE:
            end = (
                None
                if char in unclosed_quotes
                else _TO_CLOSING_QUOTE[char].match(answer, token.end())
            )
            if end:
                position = end.end()
            else:
                unclosed_quotes.add(char)
                open_brackets.clear()
        elif char in _OPENING_BRACKET:
            bracket, start = open_brackets.pop()
            if bracket != _OPENING_BRACKET[char]:
                open_brackets.clear()
            elif start >= 0:
                yield start, token.end()
        else:
            open_brackets.append((char, head if token.end() - head > 1 else -1))

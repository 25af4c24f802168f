"""Classification of call outcomes, by rule from what happened (arXiv 2511.17729, section 5.4).

The reference code lets a language model read the stored results. Here the rules are in a table. The
server reports by `isError` whether a call failed. The text of a result is read for errors only in
imported prediction files, and for servers that are known not to mark their errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import jsonschema_rs

from toolmark.core import json_codec
from toolmark.core.records import Call, Result, Step, Tool

Outcome: TypeAlias = Literal[
    "illegal_format", "unknown_tool", "invalid_arguments", "not_found", "tool_error",
    "server_error", "success", "not_executed",
]  # fmt: skip
OUTCOME_DESCRIPTIONS: dict[Outcome, str] = {
    "illegal_format": "no call could be read",
    "unknown_tool": "there is no such tool",
    "invalid_arguments": "the arguments are not what the tool takes",
    "not_found": "what the call asks for does not exist",
    "tool_error": "the tool answered with an error",
    "server_error": "the server failed",
    "success": "the call succeeded",
    "not_executed": "over a limit, not executed",
}

# Characters of a result that are read: an error states its kind at its beginning.
_MAX_READ_CHARS = 4000
# Characters: a longer text that begins with "Error:" may well be a log that was read.
_MAX_ERROR_CHARS = 500
_BACKTRACKS = 100_000


def _any_pattern(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# Patterns for the text of a failed call. The first row that matches decides.
_ERROR_PATTERNS: tuple[tuple[Outcome, re.Pattern[str]], ...] = (
    (
        "unknown_tool",
        _any_pattern(
            r"\bunknown tool\b",
            r"\btool ['\"`]?[\w./-]+['\"`]? (?:was |is )?(?:not found|disabled)",
            r"\bno (?:such tool|tool named)\b",
            r"-32601\b",
        ),
    ),
    (
        "invalid_arguments",
        _any_pattern(
            r"-32602\b",
            r"\bvalidation errors?\b",
            r"\binvalid (?:tool )?(?:arguments?|param(?:eter)?s?|inputs?)\b",
            r"\b(?:missing|unexpected|required) (?:\w+ ){0,3}(?:argument|parameter|property|field)",
            r"\b(?:http|status|code|error)[ :=]{1,3}400\b",
            r"\b400 bad request\b",
        ),
    ),
    (
        "not_found",
        _any_pattern(
            r"\bnot[ _]?found",
            r"\bno such (?:file|directory|table|column|key|sheet|entity)",
            r"\b(?:does not|doesn't|do not) exist\b",
            r"\b(?:could not|cannot|can't|unable to) (?:be found|find)\b",
            r"\bno (?:[\w/-]+ ){1,4}(?:(?:was|were|has been|have been) )?(?:found|detected)\b",
            r"\b404\b",
            r"\bENOENT\b",
            r"-32002\b",
        ),
    ),
    (
        "server_error",
        _any_pattern(
            r"-32(?:603|000|001|099)\b",
            r"\bno answer within\b|\bbytes; the limit is\b",
            r"\btime[ds]?[ -]?out\b",
            r"\binternal (?:server )?error\b",
            r"\b(?:http|status|code|error)[ :=]{1,3}(?:401|403|429|5\d\d)\b",
            r"\b(?:too many requests|rate limit|service unavailable|bad gateway)\b",
            r"\b(?:connection|server) (?:was )?(?:refused|reset|closed|lost|aborted|crashed)\b",
            r"\bECONN(?:REFUSED|RESET|ABORTED)\b",
        ),
    ),
)
# Servers of m3-local that return an error as ordinary text: {"error": ...}, "Error: ...".
UNMARKED_SERVERS = frozenset(("barcode", "powerpoint", "sqlite"))
# How results that are not marked as errors announce an error.
_ERROR_ANNOUNCEMENT = _any_pattern(
    r"\[tool[ _]error\]", r"error executing tool\b", r"mcp error -\d", "unknown tool:"
)
_ERROR_START = re.compile(r"(?:error|exception)\b ?[:\-]", re.IGNORECASE)


def classify_call(
    call: Call | None, tools: Iterable[Tool], result: Result | None, fault: str = ""
) -> Outcome:
    """Return the outcome of a call.

    Without a readable call in the reply, `call` is None and `fault` states why. A call that was
    executed without an error is a success, whatever its schema requires, because the server
    accepted it. A call without a result and without any detected fault is `not_executed`: it was
    over a limit. Where no tools are known, as in imported prediction files, only the result of the
    call decides.
    """
    if call is None or (fault and result is None):
        return "illegal_format"
    known = tuple(tools)
    if result is not None and not is_error_result(result, marked=marks_errors(call.name, known)):
        return "success"
    arguments = _parse_arguments(call)
    if arguments is None:
        return "illegal_format"
    matching_tools = [tool for tool in known if tool.name == call.name]
    if not matching_tools and (known or result is None):
        return "unknown_tool"
    text_outcome = _text_outcome(result)
    if text_outcome == "unknown_tool":
        return text_outcome
    if text_outcome == "invalid_arguments" or (
        matching_tools and not matches_schema(arguments, matching_tools[-1])
    ):
        return "invalid_arguments"
    if result is None:
        return "not_executed"
    return text_outcome or "tool_error"


def step_outcomes(step: Step, tools: Sequence[Tool]) -> tuple[Outcome, ...]:
    """Return the outcomes of a step: one per call, then one for the part that could not be read."""
    calls = tuple(
        classify_call(call, tools, step.results[index] if index < len(step.results) else None)
        for index, call in enumerate(step.calls)
    )
    return (*calls, classify_call(None, tools, None, step.fault)) if step.fault else calls


def marks_errors(name: str, tools: Sequence[Tool]) -> bool:
    """Tell whether this tool marks its errors; False if the tools of the run are unknown."""
    return bool(tools) and name.partition("/")[0] not in UNMARKED_SERVERS


def is_error_result(result: Result, *, marked: bool = False) -> bool:
    """Tell whether a result is an error: marked as one, or announcing itself as one.

    With `marked`, every result that is not marked is good, whatever its text: a log may begin with
    "Error:", and a record may contain `"success": false`.
    """
    if result.is_error or marked:
        return result.is_error
    text = result.text[:_MAX_READ_CHARS].lstrip()
    if _ERROR_ANNOUNCEMENT.match(text) or (
        len(result.text) <= _MAX_ERROR_CHARS and _ERROR_START.match(text)
    ):
        return True
    return _declares_error(result.structured) or _declares_error(_parse_object(result.text))


def matches_schema(arguments: Any, tool: Tool) -> bool:
    """Tell whether arguments match the tool's JSON Schema.

    An invalid schema, or one that refers to another address, accepts everything.
    """
    try:
        schema = json.dumps(tool.parameters)
    except (ValueError, TypeError, RecursionError):
        return True
    validator = _validator(schema)
    try:
        return validator is None or bool(validator.is_valid(arguments))
    except ValueError:
        # The library cannot represent this number or text.
        return False


@lru_cache(maxsize=1024)
def _validator(schema: str) -> Any:
    try:
        return jsonschema_rs.validator_for(
            schema,
            retriever=_refuse_fetch,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
        )
    except ValueError:
        return None


def _refuse_fetch(uri: str) -> Any:
    raise ValueError(f"nothing is fetched: {uri}")


def _parse_arguments(call: Call) -> dict[str, Any] | list[Any] | Any:
    """Return the parsed arguments: {} for an empty text or null, None for invalid JSON."""
    text = json_codec.restore_surrogates(call.arguments)
    if not text.strip():
        return {}
    try:
        found = json_codec.parse_json(text)
    except json_codec.InvalidJson:
        return None
    return found if found is not None else {}


def _text_outcome(result: Result | None) -> Outcome | None:
    """Return the outcome that the text of a failed call indicates, or None."""
    if result is None:
        return None
    text = result.text[:_MAX_READ_CHARS]
    if not text and result.structured is not None:
        text = repr(result.structured)[:_MAX_READ_CHARS]
    return next((outcome for outcome, pattern in _ERROR_PATTERNS if pattern.search(text)), None)


def _parse_object(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json_codec.parse_json(text)
    except json_codec.InvalidJson:
        return None


def _declares_error(value: Any) -> bool:
    """Tell whether an object says that it is an error."""
    match value:
        case {"error": str() | dict() as error} if error:
            return True
        case {"isError": True} | {"success": False} | {"status": "error"}:
            return True
        case _:
            return False

"""What came of a call, by rule from what happened (arXiv 2511.17729, section 5.4).

The reference has a language model read the stored results; here the rules are in a table. Whether
a call failed says the server, by `isError`; only in files of others, and of servers that are known
not to mark their errors, the text of a result is read for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import jsonschema_rs

from toolmark import codec
from toolmark.types import Call, Result, Step, Tool

Outcome: TypeAlias = Literal[
    "illegal_format", "unknown_tool", "invalid_arguments", "not_found", "tool_error",
    "server_error", "success", "not_executed",
]  # fmt: skip
OUTCOMES: dict[Outcome, str] = {
    "illegal_format": "no call could be read",
    "unknown_tool": "there is no such tool",
    "invalid_arguments": "the arguments are not what the tool takes",
    "not_found": "what the call asks for does not exist",
    "tool_error": "the tool answered with an error",
    "server_error": "the server failed",
    "success": "the call succeeded",
    "not_executed": "over a limit, not executed",
}

_READ = 4000  # characters of a result: errors say what they are at their beginning
_BRIEF = 500  # characters: a longer text that begins with "Error:" may well be a log that was read
_BACKTRACKS = 100_000


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# what the text of a failed call says; the first row that fits decides
_SAYS: tuple[tuple[Outcome, re.Pattern[str]], ...] = (
    (
        "unknown_tool",
        _any(
            r"\bunknown tool\b",
            r"\btool ['\"`]?[\w./-]+['\"`]? (?:was |is )?(?:not found|disabled)",
            r"\bno (?:such tool|tool named)\b",
            r"-32601\b",
        ),
    ),
    (
        "invalid_arguments",
        _any(
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
        _any(
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
        _any(
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
# of the servers of m3-local those that answer an error as any text: {"error": ...}, "Error: ..."
UNMARKED = frozenset(("barcode", "powerpoint", "sqlite"))
# how results that are not marked as errors announce that they are
_ANNOUNCED = _any(
    r"\[tool[ _]error\]", r"error executing tool\b", r"mcp error -\d", "unknown tool:"
)
_ERROR = re.compile(r"(?:error|exception)\b ?[:\-]", re.IGNORECASE)


def classify(
    call: Call | None, tools: Iterable[Tool], result: Result | None, fault: str = ""
) -> Outcome:
    """Return what came of a call; of a reply that held none, `call` is None and `fault` says why.

    What was executed without an error is a success, whatever its schema says: the server took it.
    A call without a result that nothing speaks against was not executed, being over a limit. Where
    no tools are known, as in files of others, the result of a call alone speaks.
    """
    if call is None or (fault and result is None):
        return "illegal_format"
    known = tuple(tools)
    if result is not None and not failed(result, marked=marks(call.name, known)):
        return "success"
    arguments = _arguments(call)
    if arguments is None:
        return "illegal_format"
    named = [tool for tool in known if tool.name == call.name]
    if not named and (known or result is None):
        return "unknown_tool"
    said = _said(result)
    if said == "unknown_tool":
        return said
    if said == "invalid_arguments" or (named and not complies(arguments, named[-1])):
        return "invalid_arguments"
    if result is None:
        return "not_executed"
    return said or "tool_error"


def of(step: Step, tools: Sequence[Tool]) -> tuple[Outcome, ...]:
    """Return the outcomes of a step: of each of its calls, then of what could not be read."""
    calls = tuple(
        classify(call, tools, step.results[index] if index < len(step.results) else None)
        for index, call in enumerate(step.calls)
    )
    return (*calls, classify(None, tools, None, step.fault)) if step.fault else calls


def marks(name: str, tools: Sequence[Tool]) -> bool:
    """Tell whether an error of this tool is marked as one: in a run of one's own, as a rule."""
    return bool(tools) and name.partition("/")[0] not in UNMARKED


def failed(result: Result, *, marked: bool = False) -> bool:
    """Tell whether a result is an error: marked as one, or announcing itself as one.

    Where errors are `marked`, all other results are good, whatever they say: a log may begin with
    "Error:", and a record may hold `"success": false`.
    """
    if result.is_error or marked:
        return result.is_error
    text = result.text[:_READ].lstrip()
    if _ANNOUNCED.match(text) or (len(result.text) <= _BRIEF and _ERROR.match(text)):
        return True
    return _complains(result.structured) or _complains(_object(result.text))


def complies(arguments: Any, tool: Tool) -> bool:
    """Tell whether arguments are what the tool's JSON Schema asks for.

    A schema that is none, or that lies elsewhere, asks for nothing.
    """
    try:
        schema = json.dumps(tool.parameters)
    except (ValueError, TypeError, RecursionError):
        return True
    validator = _validator(schema)
    try:
        return validator is None or bool(validator.is_valid(arguments))
    except ValueError:  # a number or text that cannot pass to the library
        return False


@lru_cache(maxsize=1024)
def _validator(schema: str) -> Any:
    try:
        return jsonschema_rs.validator_for(
            schema,
            retriever=_refuse,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
        )
    except ValueError:
        return None


def _refuse(uri: str) -> Any:
    raise ValueError(f"nothing is fetched: {uri}")


def _arguments(call: Call) -> dict[str, Any] | list[Any] | Any:
    """Return the arguments, None for what is no JSON; nothing at all is no argument."""
    text = codec.restore(call.arguments)
    if not text.strip():
        return {}
    try:
        found = codec.loads(text)
    except codec.BadJson:
        return None
    return found if found is not None else {}


def _said(result: Result | None) -> Outcome | None:
    """Return what the text of a failed call says, if it says anything."""
    if result is None:
        return None
    text = result.text[:_READ]
    if not text and result.structured is not None:
        text = repr(result.structured)[:_READ]
    return next((outcome for outcome, pattern in _SAYS if pattern.search(text)), None)


def _object(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return codec.loads(text)
    except codec.BadJson:
        return None


def _complains(value: Any) -> bool:
    """Tell whether an object says that it is an error."""
    match value:
        case {"error": str() | dict() as error} if error:
            return True
        case {"isError": True} | {"success": False} | {"status": "error"}:
            return True
        case _:
            return False

"""The body of a chat completion as a Reply.

The usual body is decoded fast, into typed structs. Everything else is read by the standard library:
lone surrogates, arguments sent as an object, parts of the wrong shape.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from toolmark.core.errors import TornReply
from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Call, Reply, StopReason, Usage

Json = dict[str, Any]

_STOP_BY_FINISH_REASON: dict[str | None, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "refusal": "refused",
}
_UNQUOTED_ARGUMENTS = re.compile(r'(?<!\\)"arguments"\s*:\s*(?=[\[{])')
# a string without an end is one token too: a new search from each of its quotes would take time
# proportional to the square of its length
_TOKEN = re.compile(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"?|[\[\]{}]', re.DOTALL)
_MAX_DIGITS = 18

MAX_TEXT_CHARS = 2**20
"""The most characters that are stored of a text, of reasoning, of the arguments of a call."""
MAX_ARGUMENTS_CHARS = 4 * 2**20
"""The most characters that are stored of the arguments of all calls of a reply."""
MAX_CALLS = 1000
MAX_NAME_CHARS = MAX_ID_CHARS = 2**16
MAX_MODEL_NAME_CHARS = 200
MAX_TOKENS = 10**9
"""The largest count of tokens of one request that is believed."""
MAX_OBJECTS = 10**6
"""The most objects in a body: each needs more memory than it has characters."""
MAX_LOOSE_BYTES = 16 * 2**20
"""The largest body that is read although it is not as documented.

The standard library needs more memory.
"""
_UNCOUNTED_BYTES = 2 * MAX_OBJECTS  # no smaller body has more objects
_UNLIMITED_BYTES = MAX_NAME_CHARS  # nothing in a smaller body is beyond a limit
_MAX_ERROR_CHARS = 4096
_MAX_ERROR_ITEMS = 100
_NO_USAGE = Usage()


class _Function(Struct):
    name: str
    arguments: str = "{}"


class _Call(Struct):
    function: _Function
    id: str = ""


class _Message(Struct):
    content: str | None = None
    tool_calls: list[_Call] | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(Struct):
    message: _Message
    finish_reason: str | None = None


class _CompletionDetails(Struct):
    reasoning_tokens: int | None = None


class _PromptDetails(Struct):
    cached_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    completion_tokens_details: _CompletionDetails | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _Body(Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _Usage | None = None


class ErrorInBody(Exception):
    """An answer with status 200 that contains an error; `body` is the part with the error."""

    def __init__(self, body: Json) -> None:
        super().__init__("an error under status 200")
        self.body = json.dumps(_trim_error(body)).encode()


_decode_body = msgspec.json.Decoder(_Body).decode


def decode_reply(body: bytes, original_names: dict[str, str], latency_s: float) -> Reply:
    """Decode a reply; `original_names` gives the tool's own name for a name as sent.

    Raises TornReply if the body is not JSON or contains no message, ErrorInBody if it contains an
    error. Neither text quotes the body, which may repeat a key. No body raises anything else. A
    message whose parts have the wrong shape is a malformed Reply with its JSON as the text. What is
    longer than the limits above is cut, and `Reply.defects` says so.
    """
    if len(body) > _UNCOUNTED_BYTES and body.count(b"{") > MAX_OBJECTS:
        raise TornReply(f"the answer has more than {MAX_OBJECTS} parts")
    try:
        decoded = _decode_body(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_loosely(body, original_names, latency_s)
    if not decoded.choices or decoded.choices[0].finish_reason == "error":
        return _decode_loosely(body, original_names, latency_s)
    choice = decoded.choices[0]
    message = choice.message
    defects: tuple[str, ...] = ()
    stop: StopReason = (
        "refused" if message.refusal else _STOP_BY_FINISH_REASON.get(choice.finish_reason, "stop")
    )
    if len(body) > _UNLIMITED_BYTES:
        defects = _shorten_message(message)
        stop = "length" if defects and stop == "stop" else stop
    usage, usage_defects = _read_usage(decoded.usage)
    return Reply(
        text=escape_surrogates(message.content or message.refusal or ""),
        calls=tuple([_make_call(made, original_names) for made in message.tool_calls or ()]),
        stop=stop,
        reasoning=escape_surrogates(message.reasoning_content or message.reasoning or ""),
        usage=usage,
        latency_s=latency_s,
        model=_short_model_name(decoded.model),
        defects=defects + usage_defects,
    )


def _make_call(sent_call: _Call, original_names: dict[str, str]) -> Call:
    name = sent_call.function.name
    return Call(
        name=escape_surrogates(original_names.get(name, name)),
        arguments=escape_surrogates(sent_call.function.arguments),
        id=escape_surrogates(sent_call.id),
    )


def _short_model_name(name: str) -> str:
    return name if len(name) <= MAX_MODEL_NAME_CHARS else _cut_text(name, MAX_MODEL_NAME_CHARS)


def _read_usage(usage: _Usage | None) -> tuple[Usage, tuple[str, ...]]:
    if usage is None:
        return _NO_USAGE, ()
    completion_details = usage.completion_tokens_details
    prompt_details = usage.prompt_tokens_details
    n_input, n_output = usage.prompt_tokens, usage.completion_tokens
    reasoning = (completion_details.reasoning_tokens or 0) if completion_details else 0
    cached = (prompt_details.cached_tokens or 0) if prompt_details else 0
    return _check_counts(n_input, n_output, reasoning, cached)


def _check_counts(
    n_input: int, n_output: int, n_reasoning: int, n_cached: int
) -> tuple[Usage, tuple[str, ...]]:
    """Return the counts; an impossible count becomes 0, and is marked."""
    if (
        0 <= n_input <= MAX_TOKENS
        and 0 <= n_output <= MAX_TOKENS
        and 0 <= n_reasoning <= MAX_TOKENS
        and 0 <= n_cached <= MAX_TOKENS
    ):
        return Usage(input=n_input, output=n_output, reasoning=n_reasoning, cached=n_cached), ()
    counts = (n_input, n_output, n_reasoning, n_cached)
    names = ("input", "output", "reasoning", "cached")
    valid = {name: n for name, n in zip(names, counts, strict=True) if 0 <= n <= MAX_TOKENS}
    wrong = ", ".join(name for name in names if name not in valid)
    return Usage(**valid), (f"usage not counted, as it cannot be: {wrong}",)


# --- what is too long -------------------------------------------------------------------


def _shorten_message(message: _Message) -> tuple[str, ...]:
    """Cut what is beyond the limits, in place; return descriptions of what was cut."""
    defects: list[str] = []
    for field in ("content", "refusal", "reasoning", "reasoning_content"):
        setattr(
            message, field, _shorten_text(getattr(message, field), MAX_TEXT_CHARS, field, defects)
        )
    calls = message.tool_calls or []
    if len(calls) > MAX_CALLS:
        defects.append(f"calls: {len(calls)}, cut at {MAX_CALLS}")
        message.tool_calls = calls = calls[:MAX_CALLS]
    chars_left = MAX_ARGUMENTS_CHARS
    for call in calls:
        call.id = _shorten_text(call.id, MAX_ID_CHARS, "id", defects) or ""
        function = call.function
        function.name = (
            _shorten_text(function.name, MAX_NAME_CHARS, "name of a call", defects) or ""
        )
        limit = min(chars_left, MAX_TEXT_CHARS)
        function.arguments = _shorten_text(function.arguments, limit, "arguments", defects) or ""
        chars_left = max(0, chars_left - len(function.arguments))
    return tuple(dict.fromkeys(defects))


def _shorten_text(text: str | None, limit: int, label: str, defects: list[str]) -> str | None:
    if text is None or len(text) <= limit:
        return text
    defects.append(f"{label}: {len(text)} characters, cut at {limit}")
    return _cut_text(text, limit)


def _cut_text(text: str, limit: int) -> str:
    return f"{text[:limit]} [cut: {len(text)} characters]"


# --- anything unusual -------------------------------------------------------------------


def _decode_loosely(body: bytes, original_names: dict[str, str], latency_s: float) -> Reply:
    """Decode a body that is not as documented, as far as possible."""
    decoded = _parse_object(body)
    choice = _first_choice(decoded.get("choices"))
    message = choice.get("message") if choice else None
    failure = decoded.get("error") or (choice or {}).get("error")
    if failure and not message:
        raise ErrorInBody({"error": failure})
    if choice and choice.get("finish_reason") == "error":
        raise ErrorInBody(choice)
    if not isinstance(message, dict):
        raise TornReply("the answer holds no message")
    finish = choice.get("finish_reason") if choice else None
    stop = _STOP_BY_FINISH_REASON.get(finish if isinstance(finish, str) else None, "stop")
    model = decoded.get("model")
    usage, usage_defects = _parse_usage(decoded.get("usage"))
    other_fields = {
        "usage": usage,
        "latency_s": latency_s,
        "model": escape_surrogates(_short_model_name(model)) if isinstance(model, str) else "",
    }
    return _reply_from_message(message, stop, original_names, other_fields, usage_defects)


def _reply_from_message(
    message: Json,
    stop: StopReason,
    original_names: dict[str, str],
    other_fields: Json,
    usage_defects: tuple[str, ...],
) -> Reply:
    refusal = message.get("refusal")
    try:
        shortened = _Message(
            content=_as_text(message.get("content")) or _as_text(refusal),
            tool_calls=[_parse_call(item) for item in _as_list(message.get("tool_calls"))],
            reasoning=_as_text(message.get("reasoning_content"))
            or _as_text(message.get("reasoning")),
        )
    except _WrongShape:
        shortened = _Message(content=_dump_json(message))
        defects = _shorten_message(shortened) + usage_defects
        return Reply(
            text=escape_surrogates(shortened.content or ""),
            stop="malformed",
            defects=defects,
            **other_fields,
        )
    defects = _shorten_message(shortened)
    if refusal:
        stop = "refused"
    elif defects and stop == "stop":
        stop = "length"
    return Reply(
        text=escape_surrogates(shortened.content or ""),
        calls=tuple(_make_call(made, original_names) for made in shortened.tool_calls or ()),
        stop=stop,
        reasoning=escape_surrogates(shortened.reasoning or ""),
        defects=defects + usage_defects,
        **other_fields,
    )


class _WrongShape(Exception):
    """A part of a message has the wrong shape."""


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _WrongShape
    return value


def _as_text(value: Any) -> str:
    """Return a text, given as such or as a list of text parts."""
    if value is None or isinstance(value, str):
        return value or ""
    texts: list[str] = []
    for part in _as_list(value):
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            raise _WrongShape
        texts.append(text)
    return "".join(texts)


def _parse_call(item: Any) -> _Call:
    function = item.get("function") if isinstance(item, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise _WrongShape
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if not isinstance(arguments, str):
        arguments = "{}" if arguments is None else _dump_json(arguments)
    id = item.get("id")
    call_id = "" if id is None else id if isinstance(id, str) else _dump_json(id)
    return _Call(function=_Function(name=name, arguments=arguments), id=call_id)


def _parse_usage(usage: Any) -> tuple[Usage, tuple[str, ...]]:
    def count(*path: str) -> int:
        value = usage
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return 0
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return int(value) if is_number and 0 <= value <= MAX_TOKENS and value == int(value) else -1

    return _check_counts(
        count("prompt_tokens"),
        count("completion_tokens"),
        count("completion_tokens_details", "reasoning_tokens"),
        count("prompt_tokens_details", "cached_tokens"),
    )


def _first_choice(choices: Any) -> Json | None:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _parse_object(body: bytes) -> Json:
    """Parse the body with the standard library; raises TornReply if it is not a JSON object."""
    if len(body) > MAX_LOOSE_BYTES:
        raise TornReply(f"the answer is not as documented, and larger than {MAX_LOOSE_BYTES} bytes")
    try:
        text = body.decode("utf-8", "surrogatepass")
        decoded = json.loads(_quote_arguments(text), strict=False, parse_int=_parse_integer)
    except (ValueError, RecursionError, MemoryError):
        raise TornReply("the answer is not JSON") from None
    if not isinstance(decoded, dict):
        raise TornReply("the answer is not a JSON object")
    return decoded


def _parse_integer(digits: str) -> int | str:
    """Parse an integer.

    One too long for any valid count stays text, as Python limits its length.
    """
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


def _quote_arguments(text: str) -> str:
    """Replace arguments that were sent as an object by a string of their unchanged JSON.

    A quote inside a JSON string always follows a backslash, so the pattern finds keys only.
    """
    pieces: list[str] = []
    position = 0
    while found := _UNQUOTED_ARGUMENTS.search(text, position):
        start = found.end()
        end = _value_end(text, start)
        pieces += (text[position:start], json.dumps(text[start:end]))
        position = end
    return "".join(pieces) + text[position:] if pieces else text


def _value_end(text: str, start: int) -> int:
    """Return where the value that begins at `start` ends.

    Iterative, because it may be nested deeply.
    """
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)


def _dump_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        raise TornReply("the answer is nested too deep") from None


def _trim_error(value: Any, depth: int = 5) -> Any:
    """Return an error's value, cut to a size that can be processed."""
    match value:
        case str():
            return value[:_MAX_ERROR_CHARS]
        case dict() if depth:
            items = islice(value.items(), _MAX_ERROR_ITEMS)
            return {
                str(name)[:_MAX_ERROR_CHARS]: _trim_error(item, depth - 1) for name, item in items
            }
        case list() if depth:
            return [_trim_error(item, depth - 1) for item in value[:_MAX_ERROR_ITEMS]]
        case None | bool() | int() | float():
            return value
        case _:
            return "..."

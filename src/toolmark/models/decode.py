"""The body of a chat completion as a Reply.

The usual body takes the fast path, a typed decoding. Everything else is read by the standard
library: lone surrogates, arguments sent as an object, parts of the wrong shape.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from toolmark.codec import escape
from toolmark.errors import Torn
from toolmark.types import Call, Reply, StopReason, Usage

Json = dict[str, Any]

_STOPS: dict[str | None, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "refusal": "refused",
}
_ARGUMENTS = re.compile(r'(?<!\\)"arguments"\s*:\s*(?=[\[{])')
# a string that does not end is one token too: looked for anew from each of its quotes, the search
# would take the square of its length
_TOKEN = re.compile(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"?|[\[\]{}]', re.DOTALL)
_DIGITS = 18

MAX_TEXT = 2**20
"""Characters that are stored of a text, of reasoning, of the arguments of a call."""
MAX_ARGUMENTS = 4 * 2**20
"""Characters that are stored of the arguments of all calls of a reply."""
MAX_CALLS = 1000
MAX_NAME = MAX_ID = 2**16
MAX_MODEL = 200
MAX_TOKENS = 10**9
"""Beyond this no count of tokens of one request is believed."""
MAX_PARTS = 10**6
"""Objects in a body: each takes more memory than it has letters."""
MAX_LOOSE_BYTES = 16 * 2**20
"""How large a body may be that is not as documented: the standard library needs more memory."""
_FEW_BYTES = 2 * MAX_PARTS  # no body of so few has more objects
_SHORT_BYTES = MAX_NAME  # nothing in a body of so few is beyond a limit
_SAID = 4096
_ITEMS = 100
_UNCOUNTED = Usage()


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


class _Thought(Struct):
    reasoning_tokens: int | None = None


class _Kept(Struct):
    cached_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    completion_tokens_details: _Thought | None = None
    prompt_tokens_details: _Kept | None = None


class _Body(Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _Usage | None = None


class Failure(Exception):
    """An answer with status 200 that holds an error instead; `body` is the part that says so."""

    def __init__(self, body: Json) -> None:
        super().__init__("an error under status 200")
        self.body = json.dumps(_trimmed(body)).encode()


_typed = msgspec.json.Decoder(_Body).decode


def reply(body: bytes, meant: dict[str, str], latency_s: float) -> Reply:
    """Read a reply; `meant` gives the tool's own name for a name as sent.

    Raises Torn where the body is no JSON or holds no message, Failure where it holds an error.
    Neither text quotes the body: it may echo a key. Nothing else is raised, whatever the body.
    A message whose parts have the wrong shape is a malformed Reply with its JSON as the text.
    What is longer than the limits above is cut, and `Reply.marks` says so.
    """
    if len(body) > _FEW_BYTES and body.count(b"{") > MAX_PARTS:
        raise Torn(f"the answer has more than {MAX_PARTS} parts")
    try:
        read = _typed(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _loose(body, meant, latency_s)
    if not read.choices or read.choices[0].finish_reason == "error":
        return _loose(body, meant, latency_s)
    choice = read.choices[0]
    message = choice.message
    marks: tuple[str, ...] = ()
    stop: StopReason = "refused" if message.refusal else _STOPS.get(choice.finish_reason, "stop")
    if len(body) > _SHORT_BYTES:
        marks = _shorten(message)
        stop = "length" if marks and stop == "stop" else stop
    usage, refused = _usage(read.usage)
    return Reply(
        text=escape(message.content or message.refusal or ""),
        calls=tuple([_call(made, meant) for made in message.tool_calls or ()]),
        stop=stop,
        reasoning=escape(message.reasoning_content or message.reasoning or ""),
        usage=usage,
        latency_s=latency_s,
        model=_model(read.model),
        marks=marks + refused,
    )


def _call(made: _Call, meant: dict[str, str]) -> Call:
    name = made.function.name
    return Call(
        name=escape(meant.get(name, name)),
        arguments=escape(made.function.arguments),
        id=escape(made.id),
    )


def _model(name: str) -> str:
    return name if len(name) <= MAX_MODEL else _cut(name, MAX_MODEL)


def _usage(usage: _Usage | None) -> tuple[Usage, tuple[str, ...]]:
    if usage is None:
        return _UNCOUNTED, ()
    thought = usage.completion_tokens_details
    kept = usage.prompt_tokens_details
    sent, said = usage.prompt_tokens, usage.completion_tokens
    reasoning = (thought.reasoning_tokens or 0) if thought else 0
    cached = (kept.cached_tokens or 0) if kept else 0
    return _counts(sent, said, reasoning, cached)


def _counts(sent: int, said: int, thought: int, kept: int) -> tuple[Usage, tuple[str, ...]]:
    """Return the counts; one that cannot be is 0, and is marked."""
    if (
        0 <= sent <= MAX_TOKENS
        and 0 <= said <= MAX_TOKENS
        and 0 <= thought <= MAX_TOKENS
        and 0 <= kept <= MAX_TOKENS
    ):
        return Usage(input=sent, output=said, reasoning=thought, cached=kept), ()
    counts = (sent, said, thought, kept)
    names = ("input", "output", "reasoning", "cached")
    fit = {name: n for name, n in zip(names, counts, strict=True) if 0 <= n <= MAX_TOKENS}
    wrong = ", ".join(name for name in names if name not in fit)
    return Usage(**fit), (f"usage not counted, as it cannot be: {wrong}",)


# --- what is too long -------------------------------------------------------------------


def _shorten(message: _Message) -> tuple[str, ...]:
    """Cut what is beyond the limits, in place; return what was cut, in words."""
    marks: list[str] = []
    for field in ("content", "refusal", "reasoning", "reasoning_content"):
        setattr(message, field, _short(getattr(message, field), MAX_TEXT, field, marks))
    made = message.tool_calls or []
    if len(made) > MAX_CALLS:
        marks.append(f"calls: {len(made)}, cut at {MAX_CALLS}")
        message.tool_calls = made = made[:MAX_CALLS]
    left = MAX_ARGUMENTS
    for call in made:
        call.id = _short(call.id, MAX_ID, "id", marks) or ""
        function = call.function
        function.name = _short(function.name, MAX_NAME, "name of a call", marks) or ""
        limit = min(left, MAX_TEXT)
        function.arguments = _short(function.arguments, limit, "arguments", marks) or ""
        left = max(0, left - len(function.arguments))
    return tuple(dict.fromkeys(marks))


def _short(text: str | None, limit: int, what: str, marks: list[str]) -> str | None:
    if text is None or len(text) <= limit:
        return text
    marks.append(f"{what}: {len(text)} characters, cut at {limit}")
    return _cut(text, limit)


def _cut(text: str, limit: int) -> str:
    return f"{text[:limit]} [cut: {len(text)} characters]"


# --- anything unusual -------------------------------------------------------------------


def _loose(body: bytes, meant: dict[str, str], latency_s: float) -> Reply:
    """Read a body that is not as documented, as far as it can be read."""
    read = _object(body)
    choice = _first(read.get("choices"))
    message = choice.get("message") if choice else None
    failure = read.get("error") or (choice or {}).get("error")
    if failure and not message:
        raise Failure({"error": failure})
    if choice and choice.get("finish_reason") == "error":
        raise Failure(choice)
    if not isinstance(message, dict):
        raise Torn("the answer holds no message")
    finish = choice.get("finish_reason") if choice else None
    stop = _STOPS.get(finish if isinstance(finish, str) else None, "stop")
    model = read.get("model")
    usage, refused = _counted(read.get("usage"))
    rest = {
        "usage": usage,
        "latency_s": latency_s,
        "model": escape(_model(model)) if isinstance(model, str) else "",
    }
    return _said(message, stop, meant, rest, refused)


def _said(
    message: Json, stop: StopReason, meant: dict[str, str], rest: Json, refused: tuple[str, ...]
) -> Reply:
    refusal = message.get("refusal")
    try:
        said = _Message(
            content=_text(message.get("content")) or _text(refusal),
            tool_calls=[_made(item) for item in _list(message.get("tool_calls"))],
            reasoning=_text(message.get("reasoning_content")) or _text(message.get("reasoning")),
        )
    except _Odd:
        said = _Message(content=_written(message))
        marks = _shorten(said) + refused
        return Reply(text=escape(said.content or ""), stop="malformed", marks=marks, **rest)
    marks = _shorten(said)
    if refusal:
        stop = "refused"
    elif marks and stop == "stop":
        stop = "length"
    return Reply(
        text=escape(said.content or ""),
        calls=tuple(_call(made, meant) for made in said.tool_calls or ()),
        stop=stop,
        reasoning=escape(said.reasoning or ""),
        marks=marks + refused,
        **rest,
    )


class _Odd(Exception):
    """A part of a message has the wrong shape."""


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _Odd
    return value


def _text(value: Any) -> str:
    """Return a text, given as such or as a list of text parts."""
    if value is None or isinstance(value, str):
        return value or ""
    texts: list[str] = []
    for part in _list(value):
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            raise _Odd
        texts.append(text)
    return "".join(texts)


def _made(item: Any) -> _Call:
    function = item.get("function") if isinstance(item, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise _Odd
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if not isinstance(arguments, str):
        arguments = "{}" if arguments is None else _written(arguments)
    id = item.get("id")
    made = "" if id is None else id if isinstance(id, str) else _written(id)
    return _Call(function=_Function(name=name, arguments=arguments), id=made)


def _counted(usage: Any) -> tuple[Usage, tuple[str, ...]]:
    def count(*path: str) -> int:
        value = usage
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return 0
        whole = isinstance(value, int | float) and not isinstance(value, bool)
        return int(value) if whole and 0 <= value <= MAX_TOKENS and value == int(value) else -1

    return _counts(
        count("prompt_tokens"),
        count("completion_tokens"),
        count("completion_tokens_details", "reasoning_tokens"),
        count("prompt_tokens_details", "cached_tokens"),
    )


def _first(choices: Any) -> Json | None:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _object(body: bytes) -> Json:
    """Read the body by the standard library. Raises Torn if it is not a JSON object."""
    if len(body) > MAX_LOOSE_BYTES:
        raise Torn(f"the answer is not as documented, and larger than {MAX_LOOSE_BYTES} bytes")
    try:
        text = body.decode("utf-8", "surrogatepass")
        read = json.loads(_quoted(text), strict=False, parse_int=_whole)
    except (ValueError, RecursionError, MemoryError):
        raise Torn("the answer is not JSON") from None
    if not isinstance(read, dict):
        raise Torn("the answer is not a JSON object")
    return read


def _whole(digits: str) -> int | str:
    """Read an integer; one beyond any count of ours stays text, as Python limits its length."""
    return int(digits) if len(digits) <= _DIGITS else digits


def _quoted(text: str) -> str:
    """Turn arguments that were sent as an object into a string of their JSON as it stands.

    A quote inside a JSON string always follows a backslash, so the pattern finds keys only.
    """
    out: list[str] = []
    at = 0
    while found := _ARGUMENTS.search(text, at):
        start = found.end()
        end = _end(text, start)
        out += (text[at:start], json.dumps(text[start:end]))
        at = end
    return "".join(out) + text[at:] if out else text


def _end(text: str, start: int) -> int:
    """Return where the value that begins at `start` ends; iterative, as it may be deep."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)


def _written(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        raise Torn("the answer is nested too deep") from None


def _trimmed(value: Any, depth: int = 5) -> Any:
    """Return what an error says, of a size that can be looked at."""
    match value:
        case str():
            return value[:_SAID]
        case dict() if depth:
            few = islice(value.items(), _ITEMS)
            return {str(name)[:_SAID]: _trimmed(item, depth - 1) for name, item in few}
        case list() if depth:
            return [_trimmed(item, depth - 1) for item in value[:_ITEMS]]
        case None | bool() | int() | float():
            return value
        case _:
            return "..."

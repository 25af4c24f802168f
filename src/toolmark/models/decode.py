"""The body of a chat completion as a Reply.

The usual body takes the fast path, a typed decoding. Everything else is read by the standard
library: lone surrogates, arguments sent as an object, parts of the wrong shape.
"""

from __future__ import annotations

import json
import re
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
_TOKEN = re.compile(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"|[\[\]{}]', re.DOTALL)
_DIGITS = 18


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
    """An answer with status 200 that holds an error instead; `body` is what was sent."""

    def __init__(self, body: Json) -> None:
        super().__init__("an error under status 200")
        self.body = json.dumps(body).encode()


_typed = msgspec.json.Decoder(_Body).decode


def reply(body: bytes, meant: dict[str, str], latency_s: float) -> Reply:
    """Read a reply; `meant` gives the tool's own name for a name as sent.

    Raises Torn where the body is no JSON or holds no message, Failure where it holds an error.
    Neither text quotes the body: it may echo a key.
    A message whose parts have the wrong shape is a malformed Reply with its JSON as the text.
    """
    try:
        read = _typed(body)
    except (msgspec.DecodeError, RecursionError):
        return _loose(body, meant, latency_s)
    if not read.choices or read.choices[0].finish_reason == "error":
        return _loose(body, meant, latency_s)
    choice = read.choices[0]
    message = choice.message
    return Reply(
        text=escape(message.content or message.refusal or ""),
        calls=tuple([_call(made, meant) for made in message.tool_calls or ()]),
        stop="refused" if message.refusal else _STOPS.get(choice.finish_reason, "stop"),
        reasoning=escape(message.reasoning_content or message.reasoning or ""),
        usage=_usage(read.usage),
        latency_s=latency_s,
        model=read.model,
    )


def _call(made: _Call, meant: dict[str, str]) -> Call:
    name = made.function.name
    return Call(
        name=escape(meant.get(name, name)),
        arguments=escape(made.function.arguments),
        id=escape(made.id),
    )


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    thought = usage.completion_tokens_details
    kept = usage.prompt_tokens_details
    return Usage(
        input=usage.prompt_tokens,
        output=usage.completion_tokens,
        reasoning=(thought.reasoning_tokens or 0) if thought else 0,
        cached=(kept.cached_tokens or 0) if kept else 0,
    )


# --- anything unusual -------------------------------------------------------------------


def _loose(body: bytes, meant: dict[str, str], latency_s: float) -> Reply:
    """Read a body that is not as documented, as far as it can be read."""
    read = _object(body)
    choice = _first(read.get("choices"))
    message = choice.get("message") if choice else None
    failure = read.get("error") or (choice or {}).get("error")
    if failure and not message:
        raise Failure(read)
    if choice and choice.get("finish_reason") == "error":
        raise Failure(choice)
    if not isinstance(message, dict):
        raise Torn("the answer holds no message")
    finish = choice.get("finish_reason") if choice else None
    stop = _STOPS.get(finish if isinstance(finish, str) else None, "stop")
    model = read.get("model")
    rest = {
        "usage": _counted(read.get("usage")),
        "latency_s": latency_s,
        "model": escape(model) if isinstance(model, str) else "",
    }
    return _said(message, stop, meant, rest)


def _said(message: Json, stop: StopReason, meant: dict[str, str], rest: Json) -> Reply:
    refusal = message.get("refusal")
    try:
        text = _text(message.get("content")) or _text(refusal)
        calls = tuple(_made(item, meant) for item in _list(message.get("tool_calls")))
        reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    except _Odd:
        return Reply(text=escape(_written(message)), stop="malformed", **rest)
    stop = "refused" if refusal else stop
    return Reply(text=escape(text), calls=calls, stop=stop, reasoning=escape(reasoning), **rest)


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


def _made(item: Any, meant: dict[str, str]) -> Call:
    function = item.get("function") if isinstance(item, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise _Odd
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if not isinstance(arguments, str):
        arguments = "{}" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    id = item.get("id")
    return Call(
        name=escape(meant.get(name, name)),
        arguments=escape(arguments),
        id="" if id is None else escape(str(id)),
    )


def _counted(usage: Any) -> Usage:
    def count(value: Any, *path: str) -> int:
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        whole = isinstance(value, int | float) and not isinstance(value, bool)
        return int(value) if whole and 0 <= value < 2**53 else 0

    return Usage(
        input=count(usage, "prompt_tokens"),
        output=count(usage, "completion_tokens"),
        reasoning=count(usage, "completion_tokens_details", "reasoning_tokens"),
        cached=count(usage, "prompt_tokens_details", "cached_tokens"),
    )


def _first(choices: Any) -> Json | None:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _object(body: bytes) -> Json:
    """Read the body by the standard library. Raises Torn if it is not a JSON object."""
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


def _written(message: Json) -> str:
    return json.dumps(message, ensure_ascii=False)

"""Whole chat completions as the events of a stream, and streams as bytes of HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.servers import fake

Json = dict[str, Any]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED_HEAD = HEAD + b"transfer-encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def split_text(text: str, n: int = 7) -> Iterator[str]:
    """Cut a text into pieces of n characters."""
    yield from (text[i : i + n] for i in range(0, len(text), n))


def deltas(message: Json, n: int = 7) -> Iterator[Json]:
    """Write a message as the deltas that a strict server sends."""
    yield {"role": "assistant", "content": ""}
    for name, value in message.items():
        if name in ("role", "tool_calls") or value is None:
            continue
        if isinstance(value, str):
            yield from ({name: piece} for piece in split_text(value, n))
        elif isinstance(value, list):
            for index, part in enumerate(value):
                yield from ({name: [piece]} for piece in _part_pieces(part, index, n))
        else:
            yield {name: value}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        rest = {key: value for key, value in call.items() if key != "function"}
        start = {"index": index, **rest, "function": {"name": function["name"], "arguments": ""}}
        yield {"tool_calls": [start]}
        for piece in split_text(function["arguments"], n):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _part_pieces(part: Json, index: int, n: int) -> Iterator[Json]:
    match part:
        case {"type": "thinking", "thinking": [{"text": text}]}:
            for piece in split_text(text, n):
                yield {"type": "thinking", "thinking": [{"type": "text", "text": piece}]}
            extra = {k: v for k, v in part.items() if k not in ("type", "thinking")}
            if extra:
                yield {"type": "thinking", "thinking": [], **extra}
        case {"type": "reasoning.text" | "reasoning.summary" as kind}:
            key = "text" if kind == "reasoning.text" else "summary"
            rest = {k: v for k, v in part.items() if k not in (key, "signature")}
            for piece in split_text(part.get(key) or "", n):
                yield {**rest, key: piece}
            if "signature" in part:
                yield {**rest, "signature": part["signature"]}
        case {"type": "text", "text": text} if len(part) == 2:
            yield from ({"type": "text", "text": piece} for piece in split_text(text, n))
        case _:
            yield part


def chunks(body: Json, n: int = 7) -> list[Json]:
    """Write a chat completion as the chunks of a stream."""
    choice = body["choices"][0]
    top = {k: v for k, v in body.items() if k not in ("choices", "usage", "object")}
    top["object"] = "chat.completion.chunk"
    found = [
        {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas(choice["message"], n)
    ]
    last = {"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}
    found.append({**top, "choices": [last]})
    if "usage" in body:
        found.append({**top, "choices": [], "usage": body["usage"]})
    return found


def events(parts: Iterable[Any], *, done: bool = True, end: bytes = b"\n") -> bytes:
    """Write JSON values as events; `end` ends each line."""
    lines = b"".join(
        b"data: " + json.dumps(part, ensure_ascii=False).encode("utf-8", "surrogatepass") + end * 2
        for part in parts
    )
    return lines + (DONE.replace(b"\n", end) if done else b"")


def chunked(pieces: Iterable[bytes], *, is_complete: bool = True) -> bytes:
    """Write pieces as the chunks of an HTTP body, with its head."""
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
    return CHUNKED_HEAD + body + (b"0\r\n\r\n" if is_complete else b"")


def answer(*parts: Any, done: bool = True) -> fake.Behaviour:
    """Answer with these values as events."""
    return raw_answer(events(parts, done=done))


def raw_answer(data: bytes) -> fake.Behaviour:
    """Answer with the bytes of a stream, in one chunk."""
    whole = chunked([data])

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(whole)
        await writer.drain()

    return behave


def whole(body: Json) -> fake.Behaviour:
    """Answer with a chat completion, streamed."""
    return answer(*chunks(body))

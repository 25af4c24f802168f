"""A chat completions endpoint in a thread, that answers by a script and notes what it is sent."""

from __future__ import annotations

import json
from asyncio import StreamWriter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.golden.normalise import Normaliser, once
from tests.golden.paths import Json
from tests.servers import fake

from toolmark.core.records import Reply

Answer = Callable[[fake.Asked], "bytes | fake.Behaviour"]
_SECRET = frozenset({"authorization", "api-key", "x-api-key"})
_VARIES = frozenset({"host", "content-length", "user-agent", "accept-encoding"})
_FINISH = {"stop": "stop", "length": "length", "refused": "content_filter"}


@dataclass
class Endpoint:
    """Where it listens, and what it was sent."""

    url: str = ""
    asked: list[fake.Asked] = field(default_factory=list)

    def model(self, name: str = "golden") -> str:
        """Return the model of that name here, as a user writes it."""
        return f"{self.url}#{name}"


@contextmanager
def serving(answer: Answer) -> Iterator[Endpoint]:
    """Serve on a free port of 127.0.0.1 until the end of the block."""
    found = Endpoint()

    async def behave(asked: fake.Asked, writer: StreamWriter) -> bool | None:
        found.asked.append(asked)
        made = answer(asked)
        if not isinstance(made, bytes):
            return await made(asked, writer)
        writer.write(made)
        await writer.drain()
        return None

    with fake.in_thread(behave) as server:
        found.url = server.url
        yield found


def completion(reply: Reply) -> bytes:
    """Write a reply as the response that a server would send."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id or f"call_{n}", "type": "function",
             "function": {"name": call.name, "arguments": call.arguments}}
            for n, call in enumerate(reply.calls)
        ]  # fmt: skip
    finish = "tool_calls" if reply.calls else _FINISH.get(reply.stop, "stop")
    return fake.raw(200, json.dumps(fake.reply(message, finish)).encode())


def playing(replies: Sequence[Reply]) -> Answer:
    """Give these replies one after the other; then say nothing more."""
    left = iter(replies)
    return lambda asked: completion(next(left, Reply(text="(the script is over)")))


def sent(asked: Sequence[fake.Asked], tidy: Normaliser) -> Json:
    """Return requests as they went over the wire; messages and tools that repeat are held once."""
    bodies = [tidy.value(each.json) if each.body else {} for each in asked]
    message_names, messages = once(m for body in bodies for m in body.get("messages", []))
    tool_names, tools = once(body.get("tools") for body in bodies)
    left = iter(message_names)
    return {
        "sent": [
            {
                "target": each.target,
                "headers": _headers(each, tidy),
                **{k: v for k, v in body.items() if k not in ("messages", "tools")},
                "keys": [*body],
                "messages": [next(left) for _ in body.get("messages", [])],
                "tools": name,
            }
            for each, body, name in zip(asked, bodies, tool_names, strict=True)
        ],
        "messages": messages,
        "tools": tools,
    }


def _headers(asked: fake.Asked, tidy: Normaliser) -> Json:
    return {
        name: f"<{name}>" if name in _VARIES else "<secret>" if name in _SECRET else tidy.text(text)
        for name, text in sorted(asked.headers.items())
    }

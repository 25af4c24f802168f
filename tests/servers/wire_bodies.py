"""One reply as the bodies of the four wires, so that one table says what is wrong with all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.servers import (
    anthropic_server,
    fake,
    gemini_server,
    responses_server,
    streams,
)

from toolmark.models.wire_names import WireName

Json = dict[str, Any]
ABSENT = object()
"""A member that is not there."""


def present(**members: Any) -> Json:
    return {name: value for name, value in members.items() if value is not ABSENT}


class WireBodies:
    """Bodies of one wire; the base class has those of chat completions.

    `root` is the member with all that was said.
    """

    name: WireName = "chat"
    root = "choices"
    model = "model"
    usage = "usage"
    usage_input = "prompt_tokens"

    def text(self, value: Any) -> Json:
        """Return what says a text."""
        return {"content": value}

    def call(self, name: Any = "f", id: Any = "c", arguments: Any = ABSENT) -> Json:
        """Return what makes a call; arguments are a value, also where the wire has text."""
        given = "{}" if arguments is ABSENT else arguments
        return {"tool_calls": [{"id": id, "function": present(name=name, arguments=given)}]}

    def calls(self, n: int) -> list[Any]:
        return [{"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}] * n}]

    def body(self, *said: Any, finish: Any = "stop", **more: Any) -> Json:
        """Return a body that says these."""
        message: Json = {"role": "assistant", "content": None}
        for each in said:
            message |= each
        return {
            "id": "x", "model": "m", "choices": [{"message": message, "finish_reason": finish}],
        } | more  # fmt: skip

    def error(self, text: str, kind: str = "server_error") -> Json:
        """Return an error as an event of a stream."""
        return {"error": {"message": text, "code": kind, "type": kind}}

    def events(self, body: Json, n: int = 5) -> Iterator[Json]:
        """Go through the events of a body whose texts come in pieces of n."""
        yield from streams.chunks(body, n)

    def write_events(self, parts: Iterator[Json]) -> bytes:
        return streams.events(list(parts), done=False)


class ResponsesBodies(WireBodies):
    name = "responses"
    root = "output"
    usage_input = "input_tokens"

    def text(self, value: Any) -> Json:
        return {"type": "message", "content": [{"type": "output_text", "text": value}]}

    def call(self, name: Any = "f", id: Any = "c", arguments: Any = ABSENT) -> Json:
        given = "{}" if arguments is ABSENT else arguments
        return present(type="function_call", name=name, call_id=id, arguments=given)

    def calls(self, n: int) -> list[Any]:
        return [self.call()] * n

    def body(self, *said: Any, finish: Any = "completed", **more: Any) -> Json:
        return responses_server.response([]) | {"output": list(said), "status": finish} | more

    def error(self, text: str, kind: str = "server_error") -> Json:
        return {"type": "error", "code": kind, "message": text}

    def events(self, body: Json, n: int = 5) -> Iterator[Json]:
        yield from responses_server.events(body, n)

    def write_events(self, parts: Iterator[Json]) -> bytes:
        return responses_server.write_events(parts)


class MessagesBodies(WireBodies):
    name = "anthropic"
    root = "content"
    usage_input = "input_tokens"

    def text(self, value: Any) -> Json:
        return {"type": "text", "text": value}

    def call(self, name: Any = "f", id: Any = "c", arguments: Any = ABSENT) -> Json:
        given = {} if arguments is ABSENT else arguments
        return present(type="tool_use", name=name, id=id, input=given)

    def calls(self, n: int) -> list[Any]:
        return [self.call()] * n

    def body(self, *said: Any, finish: Any = "end_turn", **more: Any) -> Json:
        found = anthropic_server.message([])
        return found | {"content": list(said), "stop_reason": finish} | more

    def error(self, text: str, kind: str = "server_error") -> Json:
        kinds = {"server_error": "api_error", "rate_limit_exceeded": "rate_limit_error"}
        return anthropic_server.error(kinds[kind], text)

    def events(self, body: Json, n: int = 5) -> Iterator[Json]:
        yield from anthropic_server.events(body, n)

    def write_events(self, parts: Iterator[Json]) -> bytes:
        return anthropic_server.write_events(parts)


class GeminiBodies(WireBodies):
    name = "gemini"
    root = "candidates"
    model = "modelVersion"
    usage = "usageMetadata"
    usage_input = "promptTokenCount"

    def text(self, value: Any) -> Json:
        return {"text": value}

    def call(self, name: Any = "f", id: Any = "c", arguments: Any = ABSENT) -> Json:
        given = {} if arguments is ABSENT else arguments
        return {"functionCall": present(name=name, id=id, args=given)}

    def calls(self, n: int) -> list[Any]:
        return [self.call()] * n

    def body(self, *said: Any, finish: Any = "STOP", **more: Any) -> Json:
        return gemini_server.response(list(said), finish) | more

    def error(self, text: str, kind: str = "server_error") -> Json:
        kinds = {"server_error": ("INTERNAL", 500),
                 "rate_limit_exceeded": ("RESOURCE_EXHAUSTED", 429)}  # fmt: skip
        return gemini_server.error(text, *kinds[kind])

    def events(self, body: Json, n: int = 5) -> Iterator[Json]:
        yield from gemini_server.events(body, n)

    def write_events(self, parts: Iterator[Json]) -> bytes:
        return gemini_server.write_events(parts)


BODIES: dict[WireName, WireBodies] = {
    each.name: each for each in (WireBodies(), ResponsesBodies(), MessagesBodies(), GeminiBodies())
}


def bodies_of_target(target: str) -> WireBodies:
    """Return the bodies of the wire whose path was asked."""
    for ending, name in (("/messages", "anthropic"), ("/responses", "responses")):
        if target.endswith(ending):
            return BODIES[name]  # type: ignore[index]
    return BODIES["gemini" if "enerateContent" in target else "chat"]


def on_each(write: Callable[[WireBodies], fake.Behaviour]) -> fake.Behaviour:
    """Behave as is written for the wire that was asked."""

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool | None:
        return await write(bodies_of_target(asked.target))(asked, writer)

    return behave


def body_of(write: Callable[[WireBodies], Any]) -> fake.Behaviour:
    """Answer with the JSON that is written for the wire; bytes are sent as they are."""
    return on_each(lambda wire: fake.answer(200, write(wire)))


def text_of(value: Any) -> fake.Behaviour:
    """Answer with a text; bytes are its JSON."""
    if not isinstance(value, bytes):
        return body_of(lambda wire: wire.body(wire.text(value)))
    return body_of(
        lambda wire: json.dumps(wire.body(wire.text("@@"))).encode().replace(b'"@@"', value)
    )


def call_of(**members: Any) -> fake.Behaviour:
    """Answer with a call; arguments in bytes are their JSON."""
    arguments = members.get("arguments")
    if not isinstance(arguments, bytes):
        return body_of(lambda wire: wire.body(wire.call(**members)))
    return body_of(
        lambda wire: (
            json.dumps(wire.body(wire.call(arguments="@@"))).encode().replace(b'"@@"', arguments)
        )
    )


def root_of(value: Any, **more: Any) -> fake.Behaviour:
    """Answer with this in the place of all that was said; bytes are its JSON."""
    if isinstance(value, bytes):
        return body_of(lambda wire: b'{"%s":%s}' % (wire.root.encode(), value))
    return body_of(
        lambda wire: {
            name: each
            for name, each in (wire.body() | {wire.root: value} | more).items()
            if each is not ABSENT
        }
    )


def member_of(name: str, value: Any) -> fake.Behaviour:
    """Answer with this as the model or the usage; bytes are its JSON."""

    def write(wire: WireBodies) -> Any:
        whole = wire.body(wire.text("fine"), **{getattr(wire, name): "@@"})
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        return json.dumps(whole).encode().replace(b'"@@"', text)

    return body_of(write)


def usage_of(value: bytes) -> fake.Behaviour:
    """Answer with this JSON as the count of the input."""

    def write(wire: WireBodies) -> Any:
        whole = wire.body(wire.text("fine"), **{wire.usage: {wire.usage_input: "@@"}})
        return json.dumps(whole).encode().replace(b'"@@"', value)

    return body_of(write)

"""One streamed reply on each wire, and how its events and its bytes are read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec.structs import replace
from tests.models.wire_samples import SAMPLES
from tests.servers import anthropic_server, fake, gemini_server, responses_server
from tests.servers.wire_bodies import BODIES, WireBodies

from toolmark.core.records import Reply
from toolmark.models.event_stream import EventStreamParser
from toolmark.models.wire_names import WireName
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.models.wires.wire import Wire
from toolmark.models.wires.wire_registry import wire_by_name

BODY = fake.calls(("get_weather", '{"city": "Zürich 😀"}'), ("f", "{}"))
BODY["choices"][0]["message"]["reasoning_content"] = "Ich denke: ü, 😀."
Json = dict[str, Any]
_GEMINI_PARTS = SAMPLES["gemini"].said
_CHAT_BODY = {name: value for name, value in BODY.items() if name != "usage"}


class Stream(NamedTuple):
    """A wire, a whole reply on it, and the endings that it may have with what they become.

    A reply is finished before the last `n_after` of its events.
    """

    wire: Wire
    bodies: WireBodies
    whole: Json
    endings: dict[str, Any]
    n_after: int = 0

    @property
    def events(self) -> list[Json]:
        return list(self.bodies.events(self.whole, 9))

    @property
    def data(self) -> bytes:
        return self.bodies.write_events(iter(self.events))


def _stream(name: WireName, whole: Json, endings: dict[str, Json]) -> Stream:
    return Stream(wire_by_name(name), BODIES[name], whole, endings)


def _chat_ending(finish: str) -> Json:
    choice = _CHAT_BODY["choices"][0] | {"finish_reason": finish}
    return _CHAT_BODY | {"choices": [choice]}


def _response(**more: Any) -> Json:
    return responses_server.response(SAMPLES["responses"].said, **more)


def _message(**more: Any) -> Json:
    return anthropic_server.message(SAMPLES["anthropic"].said, **more)


STREAMS: dict[WireName, Stream] = {
    "chat": _stream("chat", _CHAT_BODY, {
        "stop": _CHAT_BODY, "length": _chat_ending("length"),
        "refused": _chat_ending("content_filter")}),
    "responses": _stream("responses", _response(), {
        "stop": _response(), "length": _response(
            status="incomplete", incomplete_details={"reason": "max_output_tokens"})}),
    "anthropic": _stream("anthropic", _message(), {
        "stop": _message(stop_reason="end_turn"), "length": _message(stop_reason="max_tokens"),
        "refused": _message(stop_reason="refusal")})._replace(n_after=1),
    "gemini": _stream("gemini", gemini_server.response(
        [*_GEMINI_PARTS[:2], {"text": " Ja: ü, 😀."}, *_GEMINI_PARTS[2:]]), {
        "stop": gemini_server.response(_GEMINI_PARTS),
        "length": gemini_server.response(_GEMINI_PARTS, "MAX_TOKENS"),
        "refused": gemini_server.response(_GEMINI_PARTS, "SAFETY")}),
}  # fmt: skip


def comparable(reply: Reply) -> Reply:
    """Return a reply without spaces that a whole body may have, and gemini's without its state.

    Gemini's texts may stay apart in the state: see test_gemini_stream.
    """
    state = reply.provider_state
    if state is None:
        return reply
    if state.wire != "gemini":
        data = json.dumps(json.loads(state.data))
        return replace(reply, provider_state=replace(state, data=data))
    calls = tuple(
        replace(call, arguments=json.dumps(json.loads(call.arguments))) for call in reply.calls
    )
    return replace(reply, provider_state=None, calls=calls)


def decode(stream: Stream, body: bytes) -> Reply:
    return comparable(stream.wire.decode_reply(body, NO_TOOLS, 0.0, "here"))


def decode_whole(stream: Stream, whole: Json | None = None) -> Reply:
    return decode(stream, json.dumps(whole or stream.whole).encode())


def join(stream: Stream, parts: Iterable[Json]) -> bytes:
    assembler = stream.wire.make_assembler()
    for part in parts:
        assembler.add_event(part.get("type", ""), json.dumps(part).encode())
    return assembler.whole_body()


def read(stream: Stream, chunks: Iterable[bytes]) -> Reply:
    return decode(stream, join_chunks(stream, chunks))


def join_chunks(stream: Stream, chunks: Iterable[bytes]) -> bytes:
    """Join a stream as the transport does."""
    assembler, parser = stream.wire.make_assembler(), EventStreamParser()
    for chunk in chunks:
        for event in parser.add_chunk(chunk):
            assembler.add_event(event.name, event.data)
    return assembler.whole_body()

"""A streamed reply is the reply that would have come whole, on every wire; a torn one is torn."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.models import test_anthropic_request, test_gemini_request, test_responses_request
from tests.models.test_streamed_replies import BODY
from tests.servers import anthropic_server, gemini_server, responses_server
from tests.servers.wire_bodies import BODIES, WireBodies

from toolmark.core.errors import TornReply
from toolmark.core.json_codec import encode_record
from toolmark.core.records import Reply
from toolmark.models.event_stream import EventStreamParser
from toolmark.models.wire_names import WireName
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.models.wires.wire import Wire
from toolmark.models.wires.wire_registry import wire_by_name

Json = dict[str, Any]
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_TOOL_USE = st.fixed_dictionaries({
    "type": st.just("tool_use"), "id": st.just("toolu_1"), "name": st.sampled_from(["f", "ü"]),
    "input": st.dictionaries(_TEXT, st.none() | st.integers() | _TEXT, max_size=3),
})  # fmt: skip
_BLOCKS = (
    _TOOL_USE
    | st.builds(lambda text: {"type": "text", "text": text}, _TEXT)
    | st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "c2ln"}, _TEXT)
    | st.sampled_from([
        {"type": "redacted_thinking", "data": "e30="}, {"type": "hologram", "beam": [1, None]},
        test_anthropic_request.CALL,
        {"type": "text", "text": "x", "citations": [{"type": "char_location"}]},
    ])
)  # fmt: skip
_ITEMS = (
    test_responses_request.THOUGHTS | test_responses_request.MESSAGES
    | test_responses_request.CALLS.map(lambda call: call | {"call_id": "c"})
)  # fmt: skip
PIECES = (
    b"null", b"-1", b"NaN", b"[]", b"{}", b'""', b"[" * 40, b'"\\ud800"', b"\xff", b"\x00", b"\n",
    b'"error":{"code":"429"},', b'"error":{"code":429},', b'"item":5,', b'"response":null,',
    b'"output_index":1,', b'"index":1,', b'"parts":5,', b'"candidates":null,', b'"thought":1,',
    b'"finishReason":"STOP",', b'"content_block":5,', b'"delta":5,', b"\n\n", b"data: {}\n\n",
)  # fmt: skip
_GEMINI_PARTS = test_gemini_request.PARTS
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
    return responses_server.response(test_responses_request.OUTPUT, **more)


def _message(**more: Any) -> Json:
    return anthropic_server.message(test_anthropic_request.CONTENT, **more)


STREAMS = {
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
every_wire = pytest.mark.parametrize("name", STREAMS)


# --- reading ----------------------------------------------------------------------------


def comparable(reply: Reply) -> Reply:
    """Return a reply without spaces that a whole body may have, and gemini's without its state.

    The pieces of gemini's texts stay apart in the state, and test_gemini_stream compares them.
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
    """Read a stream as the transport does."""
    assembler, parser = stream.wire.make_assembler(), EventStreamParser()
    for chunk in chunks:
        for event in parser.add_chunk(chunk):
            assembler.add_event(event.name, event.data)
    return decode(stream, assembler.whole_body())


# --- laws -------------------------------------------------------------------------------


@given(st.lists(_ITEMS, max_size=6), st.integers(1, 30))
def test_a_stream_of_items_is_the_same_reply(output: list[Json], n: int) -> None:
    items = [item | {"id": f"i{at}"} for at, item in enumerate(output)]
    check_same(STREAMS["responses"], responses_server.response(items), n)


@given(st.lists(_BLOCKS, max_size=6), st.integers(1, 30))
def test_a_stream_of_blocks_is_the_same_reply(content: list[Json], n: int) -> None:
    check_same(STREAMS["anthropic"], anthropic_server.message(content), n)


def check_same(stream: Stream, whole: Json, n: int) -> None:
    body = join(stream, stream.bodies.events(whole, n))
    assert json.loads(body) == whole
    assert decode(stream, body) == decode_whole(stream, whole)


@every_wire
@given(data=st.data())
def test_it_is_the_same_wherever_its_bytes_are_cut(name: str, data: st.DataObject) -> None:
    stream = STREAMS[name]
    sent = stream.data
    cuts = data.draw(st.lists(st.integers(0, len(sent)), max_size=20))
    places = [0, *sorted(cuts), len(sent)]
    assert read(stream, (sent[a:b] for a, b in pairwise(places))) == decode_whole(stream)


@every_wire
def test_a_stream_that_ends_early_is_torn_at_every_event_and_every_byte(name: str) -> None:
    stream = STREAMS[name]
    events, whole = stream.events, decode_whole(stream)
    needed = events[: len(events) - stream.n_after]
    for n in range(len(needed)):
        with pytest.raises(TornReply):
            join(stream, events[:n])
    # the line after the last event may end with one sign or with two
    for n in range(len(stream.bodies.write_events(iter(needed)).rstrip()) + 1):
        with pytest.raises(TornReply):
            read(stream, [stream.data[:n]])
    for n in range(len(stream.bodies.write_events(iter(needed))), len(stream.data)):
        assert read(stream, [stream.data[:n]]) == whole


@every_wire
def test_an_event_that_is_cut_is_torn_at_every_byte(name: str) -> None:
    stream = STREAMS[name]
    parts = [(part.get("type", ""), json.dumps(part).encode()) for part in stream.events]
    for at, (kind, data) in enumerate(parts):
        for n in range(len(data)):
            assembler = stream.wire.make_assembler()
            for each in parts[:at]:
                assembler.add_event(*each)
            with pytest.raises(TornReply):
                assembler.add_event(kind, data[:n])
                assembler.whole_body()


@every_wire
def test_it_says_how_it_ended(name: str) -> None:
    stream = STREAMS[name]
    for stop, whole in stream.endings.items():
        assert decode(stream, join(stream, stream.bodies.events(whole))).stop == stop


@every_wire
@pytest.mark.parametrize("n", [0, 1, 2])
def test_an_error_in_it_is_that_error(name: str, n: int) -> None:
    stream = STREAMS[name]
    error = stream.bodies.error("Too fast.", "rate_limit_exceeded")
    with pytest.raises(ErrorInBody) as caught:
        decode(stream, join(stream, [*stream.events[:n], error]))
    assert b"Too fast." in caught.value.body


@every_wire
def test_an_event_that_is_no_object_is_torn_whatever_follows(name: str) -> None:
    stream = STREAMS[name]
    first, *others = [(part.get("type", ""), json.dumps(part).encode()) for part in stream.events]
    found = [b"null", b"[]", b"x", b'"x"', b"{", b"1", b"\xff", b"[DONE", b"{}{}"]
    if name != "chat":  # some servers keep a connection open with it
        found.append(b"")
    if name in ("responses", "anthropic"):
        found.append(b'{"type":5}')
    for data in found:
        assembler = stream.wire.make_assembler()
        with pytest.raises(TornReply):
            for event in (first, ("", data), *others):
                assembler.add_event(*event)
            assembler.whole_body()


@every_wire
def test_an_assembler_knows_how_much_it_took(name: str) -> None:
    stream, bodies = STREAMS[name], BODIES[STREAMS[name].bodies.name]
    assembler = stream.wire.make_assembler()
    for part in bodies.events(bodies.body(bodies.text("x" * 10_000)), 100):
        assembler.add_event("", json.dumps(part).encode())
    assert assembler.size_bytes is not None
    assert 10_000 <= assembler.size_bytes < 100_000


# --- any stream -------------------------------------------------------------------------


def damaged(stream: bytes, n: int) -> Iterator[bytes]:
    """Go through n streams with bytes and pieces cut, doubled and put in."""
    rng = Random(n)
    for _ in range(n):
        data = bytearray(stream)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data) + 1)
            to = min(len(data), at + rng.randint(0, 40))
            match rng.randrange(5):
                case 0:
                    data[at:to] = rng.choice(PIECES)
                case 1:
                    data[at:at] = rng.choice(PIECES)
                case 2:
                    del data[at:to]
                case 3:
                    data[at % len(data)] = rng.randrange(256)
                case _:
                    data[at:at] = data[at:to]
        yield bytes(data)


def fuzz(stream: Stream, n: int) -> Counter[str]:
    """Read n damaged streams; return how often they became what. Anything else is raised."""
    counts = Counter[str]()
    for data in damaged(stream.data, n):
        try:
            encode_record(found := read(stream, [data]))
            counts[found.stop] += 1
        except (TornReply, ErrorInBody) as error:
            counts[type(error).__name__] += 1
    return counts


@every_wire
def test_a_thousand_damaged_streams_are_replies_or_errors(name: str) -> None:
    assert {"stop", "TornReply"} <= fuzz(STREAMS[name], 1000).keys()


@pytest.mark.long
@every_wire
def test_a_hundred_thousand_damaged_streams_are_replies_or_errors(name: str) -> None:
    assert fuzz(STREAMS[name], 100_000).total() == 100_000

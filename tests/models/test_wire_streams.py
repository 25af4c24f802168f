"""A streamed reply is the reply that would have come whole, on every wire; a torn one is torn."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models import drawn_parts
from tests.models.wire_samples import SAMPLES
from tests.models.wire_streams import STREAMS, Stream, decode, decode_whole, join, read
from tests.servers import anthropic_server, responses_server
from tests.servers.wire_bodies import BODIES

from toolmark.core.errors import TornReply
from toolmark.models.wire_names import WireName

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
        SAMPLES["anthropic"].said[2],
        {"type": "text", "text": "x", "citations": [{"type": "char_location"}]},
    ])
)  # fmt: skip
_ITEMS = (
    drawn_parts.THOUGHTS | drawn_parts.MESSAGES
    | drawn_parts.FUNCTION_CALLS.map(lambda call: call | {"call_id": "c"})
)  # fmt: skip
every_wire = pytest.mark.parametrize("name", STREAMS)


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
def test_it_is_the_same_wherever_its_bytes_are_cut(name: WireName, data: st.DataObject) -> None:
    stream = STREAMS[name]
    sent = stream.data
    cuts = data.draw(st.lists(st.integers(0, len(sent)), max_size=20))
    places = [0, *sorted(cuts), len(sent)]
    assert read(stream, (sent[a:b] for a, b in pairwise(places))) == decode_whole(stream)


@every_wire
def test_a_stream_that_ends_early_is_torn_at_every_event_and_every_byte(name: WireName) -> None:
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
def test_an_event_that_is_cut_is_torn_at_every_byte(name: WireName) -> None:
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
def test_it_says_how_it_ended(name: WireName) -> None:
    stream = STREAMS[name]
    for stop, whole in stream.endings.items():
        assert decode(stream, join(stream, stream.bodies.events(whole))).stop == stop


@every_wire
def test_an_event_that_is_no_object_is_torn_whatever_follows(name: WireName) -> None:
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
def test_an_assembler_knows_how_much_it_took(name: WireName) -> None:
    stream, bodies = STREAMS[name], BODIES[STREAMS[name].bodies.name]
    assembler = stream.wire.make_assembler()
    for part in bodies.events(bodies.body(bodies.text("x" * 10_000)), 100):
        assembler.add_event("", json.dumps(part).encode())
    assert assembler.size_bytes is not None
    assert 10_000 <= assembler.size_bytes < 100_000

"""Events out of bytes that are cut anywhere."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.models.event_stream import EventStreamParser, ServerEvent, looks_like_events

EVENTS = [ServerEvent("", b'{"a": "\xc3\xa9\xf0\x9f\x98\x80"}'), ServerEvent("x", b"one\ntwo")]
STREAM = (
    b'\xef\xbb\xbf: note\nid: 7\ndata: {"a": "\xc3\xa9\xf0\x9f\x98\x80"}\n\n'
    b"retry: 5\n\n: again\nevent: x\ndata:one\ndata: two\n\nevent: y\n\ndata\n\n"
)


def parse(*chunks: bytes) -> list[ServerEvent]:
    parser = EventStreamParser()
    return [event for chunk in chunks for event in parser.add_chunk(chunk)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_three_ways_and_a_cut_changes_nothing(end: bytes) -> None:
    stream = STREAM.replace(b"\n", end)
    assert parse(stream) == EVENTS
    assert parse(*(stream[i : i + 1] for i in range(len(stream)))) == EVENTS
    for at in range(len(stream)):
        assert parse(stream[:at], stream[at:]) == EVENTS


@given(st.lists(st.text(max_size=30), max_size=5), st.lists(st.integers(0, 300), max_size=8))
def test_any_json_passes_any_cuts(texts: list[str], cuts: list[int]) -> None:
    data = [json.dumps(text, ensure_ascii=False).encode() for text in texts]
    stream = b"".join(b"data: " + each + b"\n\n" for each in data)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(places)]
    assert [event.data for event in parse(*pieces)] == data


def test_an_event_without_its_empty_line_is_none() -> None:
    assert parse(b"data: 1\n\ndata: 2\n") == [ServerEvent("", b"1")]


def test_unfinished_lines_are_counted_until_their_event() -> None:
    parser = EventStreamParser()
    assert [*parser.add_chunk(b"data: " + b"x" * 1000)] == []
    assert parser.size_bytes >= 1000
    assert len([*parser.add_chunk(b"\n\n")]) == 1
    assert parser.size_bytes == 0


@pytest.mark.parametrize(
    ("start", "is_stream"),
    [
        (b"data: {}", True),
        (b"\xef\xbb\xbf\r\n\n: hi", True),
        (b"event: x", True),
        (b' {"id": 1}', False),
        (b"<html>", False),
        (b"[1]", False),
        (b"", False),
    ],
)
def test_a_stream_is_known_by_its_beginning(start: bytes, is_stream: bool) -> None:
    assert looks_like_events(start) is is_stream

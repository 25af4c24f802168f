"""What an endpoint can do wrong while it streams, written as the events of each wire."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.servers import fake, faults, streams
from tests.servers.faults import DEEP, MEGA, Fault
from tests.servers.wire_bodies import Json, WireBodies, on_each

OPEN = streams.CHUNKED_HEAD
COMMENT = b": x\n\n"


def chunk(data: bytes) -> bytes:
    """Write bytes as one chunk of HTTP."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def stream(data: bytes) -> fake.Behaviour:
    """Answer with the bytes of a stream."""
    return fake.answer(200, data, {"content-type": "text/event-stream"})


class Streamed:
    """A reply of a text and a call as the events of a wire."""

    def __init__(self, wire: WireBodies) -> None:
        self.wire = wire
        self.events: list[Json] = list(
            wire.events(wire.body(wire.text("It is sunny."), wire.call()))
        )
        at = next(i for i, each in enumerate(self.events) if '"It is"' in json.dumps(each))
        self.delta = self.events[at]
        self.begun = self.bytes(*self.events[: at + 1])
        self.whole = self.bytes(*self.events)

    def bytes(self, *events: Json) -> bytes:
        return self.wire.write_events(iter(events))


def streamed(write: Callable[[Streamed], bytes]) -> fake.Behaviour:
    """Answer with what is written as a stream."""
    return on_each(lambda wire: stream(write(Streamed(wire))))


def broken(then: str) -> fake.Behaviour:
    """Answer with half a stream, then close, reset or stall."""

    def write(wire: WireBodies) -> fake.Behaviour:
        whole = Streamed(wire).whole
        return fake.send(OPEN + chunk(whole[: len(whole) // 2]), then=then)

    return on_each(write)


def endless(write: Callable[[Streamed], bytes], every_s: float = 0.0) -> fake.Behaviour:
    """Begin a stream and go on with these bytes."""

    def begin(wire: WireBodies) -> fake.Behaviour:
        made = Streamed(wire)
        return faults.repeated(OPEN + chunk(made.begun), chunk(write(made)), every_s)

    return on_each(begin)


STREAMED = (
    Fault("whole", streamed(lambda s: s.whole), "reply:stop"),
    Fault("whole, and done", streamed(lambda s: s.whole + streams.DONE), "reply:stop"),
    Fault("more after the end", streamed(lambda s: s.whole + s.begun), "reply:stop"),
    Fault("the end twice", streamed(lambda s: s.whole + s.bytes(s.events[-1])), "reply:stop"),
    Fault("stalled after the end", on_each(
        lambda wire: fake.send(
            OPEN + chunk(Streamed(wire).whole + b"data: [DONE]\n\n"), then="stall")), "reply:stop"),
    # the reason to stop is in the event before the last one of the Messages API
    Fault("no end", streamed(lambda s: s.bytes(*s.events[:-1])), "torn", {
        "anthropic": "reply:stop"}),
    Fault("no end, and done", streamed(lambda s: s.bytes(*s.events[:-1]) + streams.DONE), "torn", {
        "anthropic": "reply:stop"}),
    Fault("done alone", stream(streams.DONE), "torn"),
    Fault("comments alone", stream(COMMENT * 99), "torn"),
    Fault("no last blank line", streamed(lambda s: s.whole.rstrip()), "torn", {
        "anthropic": "reply:stop"}),
    Fault("closed in an event", broken("close"), "torn"),
    Fault("reset in an event", broken("reset"), "torn"),
    Fault("stalled in an event", broken("stall"), "timeout"),
    Fault("comments that never end", endless(lambda s: COMMENT, 0.02), "timeout"),
    Fault("texts that never end", endless(lambda s: s.bytes(s.delta) * 500), "torn"),
    Fault("a line that never ends", faults.repeated(
        OPEN + chunk(b"data: {"), chunk(b"x" * 65536)), "torn"),
    Fault("an event that is no JSON", streamed(lambda s: s.begun + b"data: {\n\n"), "torn"),
    Fault("an event in words", streamed(lambda s: b"data: hello\n\n"), "torn"),
    Fault("an event that is a list", streamed(lambda s: s.begun + b"data: []\n\n"), "torn"),
    Fault("an event of 500,000 brackets", streamed(
        lambda s: s.begun + b'data: {"a":' + b"[" * DEEP + b"\n\n"), "torn"),
    Fault("an event in latin-1", streamed(
        lambda s: s.begun + b'data: {"type":"\xfc"}\n\n' + s.whole), "torn", {
            "gemini": "torn|reply:stop"}),
    Fault("an error", streamed(lambda s: s.begun + s.bytes(s.wire.error("no"))), "unavailable"),
    Fault("an error of the rate", streamed(
        lambda s: s.begun + s.bytes(s.wire.error("no", "rate_limit_exceeded"))), "rate_limited"),
    Fault("an error at once", streamed(
        lambda s: s.bytes(s.wire.error("no", "rate_limit_exceeded"))), "rate_limited"),
    Fault("an error of 2 MB", streamed(
        lambda s: s.bytes(s.wire.error("x" * 2 * MEGA))), "unavailable"),
)  # fmt: skip
"""What an endpoint of any wire can do wrong while it streams."""

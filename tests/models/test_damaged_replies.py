"""Damaged bodies and streams of every wire are replies or failures, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from random import Random
from typing import Any

import pytest
from tests.models.test_endpoint_faults import KEY, became, exchange
from tests.models.wire_streams import STREAMS, join_chunks
from tests.servers import (
    anthropic_faults,
    anthropic_server,
    fake,
    gemini_faults,
    gemini_server,
    responses_faults,
    streams,
)
from tests.servers.responses_server import response

from toolmark.core.errors import EndpointError, TornReply
from toolmark.core.json_codec import encode_record
from toolmark.core.records import Reply
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.http_client import HttpResponse
from toolmark.models.wire_names import WireName
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.models.wires.wire_registry import wire_by_name

VALUES = (
    b"null", b"true", b"-1", b"0.5", b"5", b"1e999", b"[]", b"[5]", b"{}", b'""', b'"\\ud800"',
    b'{"a":1}', b"9" * 5000,
)  # fmt: skip
PIECES = (
    *VALUES, b"NaN", b"[" * 40, b'{"a":' * 40, b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00",
    b"\\", b'"', b'"\xc2\xb2"', b"\n", b"\r", b"\n\n", b"data:", b"data: {}\n\n",
    b"data: [DONE]\n\n", b"event: error\n", b'"error":"no",', b'"error":{"code":"429"},',
    b'"error":{"code":429},', b'"arguments":{', b'"id":"b",', b'"index":0,', b'"index":1,',
    b'"output_index":1,', b'"finish_reason":"length"', b'"tool_calls":[{}]', b'"item":5,',
    b'"response":null,', b'"parts":5,', b'"candidates":null,', b'"thought":1,',
    b'"finishReason":"STOP",', b'"content_block":5,', b'"delta":5,',
)  # fmt: skip
BODIES: dict[WireName, list[Any]] = {
    "chat": [
        fake.says("It is sunny."),
        fake.calls(("get_weather", '{"city": "Paris"}'), ("f", "{}")),
        fake.reply({"role": "assistant", "content": [{"type": "text", "text": "x"}]}),
        {"error": {"message": "slow down", "code": 429, "type": "rate_limit_error"}},
        {"error": {"message": "no", "metadata": {"raw": "maximum context length is 5"}}},
    ],
    "responses": [
        response(responses_faults.OUTPUT),
        response(responses_faults.OUTPUT[1:]),
        response([], status="incomplete", incomplete_details={"reason": "content_filter"}),
        response([], status="failed", error={"code": "rate_limit_exceeded", "message": "slow"}),
        {"error": {"message": "slow down", "code": 429, "type": "rate_limit_error"}},
    ],
    "anthropic": [
        anthropic_server.message(anthropic_faults.CONTENT),
        anthropic_server.message(anthropic_faults.CONTENT[1:]),
        anthropic_server.message(anthropic_faults.CONTENT, stop_reason="pause_turn"),
        anthropic_server.message([], stop_reason="refusal", stop_details={"category": "bio"}),
        anthropic_server.error("rate_limit_error", "slow"),
    ],
    "gemini": [
        gemini_server.response(gemini_faults.PARTS),
        gemini_server.response(gemini_faults.PARTS[1:2]),
        gemini_server.response([], "MALFORMED_FUNCTION_CALL", finishMessage="f("),
        {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "m"},
        [gemini_server.error("slow", "RESOURCE_EXHAUSTED", 429, {"retryDelay": "3s"})],
    ],
}
every_wire = pytest.mark.parametrize("wire", STREAMS)


def damage(whole: bytes, rng: Random) -> bytes:
    """Return bytes of which one or two places are cut, doubled, moved or replaced."""
    data = bytearray(whole)
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.randint(0, 20))
        match rng.randrange(9):
            case 0:
                data[at:to] = rng.choice(PIECES)
            case 1:
                data[at:at] = rng.choice(PIECES)
            case 2:
                del data[at:to]
            case 3 if data:
                data[at % len(data)] = rng.randrange(256)
            case 4:
                data[at:at] = data[at:to]
            case 5:  # an event is doubled, at another place, or all are shuffled
                events = bytes(data).split(b"\n\n")
                events.insert(rng.randrange(len(events)), rng.choice(events))
                if rng.random() < 0.3:
                    rng.shuffle(events)
                data = bytearray(b"\n\n".join(events))
            case _:  # a value in the place of another: most of these are still JSON
                colon = data.find(b":", at)
                ends = [end for sign in b",}]" if (end := data.find(sign, colon)) > 0]
                data[colon + 1 : min(ends, default=colon + 1)] = rng.choice(VALUES)
    return bytes(data)


def damaged_bodies(wire: WireName, n: int) -> Iterator[bytes]:
    rng = Random(n)
    whole = [json.dumps(each).encode() for each in BODIES[wire]]
    return (damage(rng.choice(whole), rng) for _ in range(n))


def damaged_streams(wire: WireName, n: int) -> Iterator[bytes]:
    rng = Random(n)
    stream = STREAMS[wire]
    replies = [stream.whole, *stream.endings.values()]
    whole = [stream.bodies.write_events(stream.bodies.events(each, 9)) for each in replies]
    return (damage(rng.choice(whole), rng) for _ in range(n))


# --- bodies -----------------------------------------------------------------------------


class _Deaf(EndpointModel):
    """A model whose answers come from memory, so that only reading them takes time."""

    def __init__(self, wire: WireName) -> None:
        super().__init__("http://127.0.0.1:1/v1", "fake-1", wire=wire_by_name(wire), key=KEY)

    async def listen(self, status: int, body: bytes) -> Reply | EndpointError:
        async def answer(*asked: object) -> HttpResponse:
            return HttpResponse(status, body, 0.0)

        self._client.post = self._client.get = answer  # type: ignore[method-assign,assignment]
        return await exchange(self)


def count_outcomes(wire: WireName, n: int) -> Counter[str]:
    """Read n damaged bodies, half as complaints; return how often they became what."""
    counts = Counter[str]()

    async def go() -> None:
        model = _Deaf(wire)
        for i, body in enumerate(damaged_bodies(wire, n)):
            found = await model.listen((200, 200, 200, 400, 429, 500)[i % 6], body)
            if isinstance(found, Reply):
                encode_record(found)
            counts[became(found)] += 1
        await model.close()

    asyncio.run(go())
    return counts


@every_wire
def test_two_thousand_damaged_bodies_are_replies_or_failures(wire: WireName) -> None:
    counts = count_outcomes(wire, 2_000)
    assert counts.total() == 2_000
    assert {"reply:stop", "reply:malformed", "torn", "unavailable", "rate_limited"} <= {*counts}


@pytest.mark.long
@every_wire
def test_a_hundred_thousand_damaged_bodies_are_replies_or_failures(wire: WireName) -> None:
    assert count_outcomes(wire, 100_000).total() == 100_000


# --- streams ----------------------------------------------------------------------------


def count_joined(wire: WireName, n: int) -> Counter[str]:
    """Read n damaged streams; return how often they became what. Anything else is raised."""
    counts, stream = Counter[str](), STREAMS[wire]
    for data in damaged_streams(wire, n):
        try:
            whole = join_chunks(stream, [data])
            encode_record(found := stream.wire.decode_reply(whole, NO_TOOLS, 0.0, "here"))
            counts[found.stop] += 1
        except (TornReply, ErrorInBody) as error:
            counts[type(error).__name__] += 1
    return counts


@every_wire
def test_a_thousand_damaged_streams_are_replies_or_errors(wire: WireName) -> None:
    assert {"stop", "TornReply"} <= count_joined(wire, 1000).keys()


@pytest.mark.long
@every_wire
def test_a_hundred_thousand_damaged_streams_are_replies_or_errors(wire: WireName) -> None:
    assert count_joined(wire, 100_000).total() == 100_000


# --- over the transport -----------------------------------------------------------------


def count_received(wire: WireName, n: int, status: int, *, is_stream: bool) -> Counter[str]:
    """Ask n times for damaged answers; return how often they became what."""
    rng, counts = Random(n), Counter[str]()
    damaged = cycle((damaged_streams if is_stream else damaged_bodies)(wire, n))

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        data = next(damaged)
        if not is_stream:
            writer.write(fake.raw(status, data))
            return
        cut = rng.randrange(len(data) + 1)
        writer.write(streams.chunked([data[:cut], data[cut:]]))

    async def go() -> None:
        async with fake.serve(behave) as server:
            model = EndpointModel(
                server.url, "fake-1", wire=wire_by_name(wire), key=KEY, is_stream=is_stream
            )
            for _ in range(n):
                found = await exchange(model)
                if isinstance(found, Reply):
                    encode_record(found)
                counts[became(found)] += 1
            await model.close()

    asyncio.run(go())
    return counts


@every_wire
@pytest.mark.parametrize(("status", "is_stream"), [(200, False), (400, False), (200, True)])
def test_damaged_answers_over_the_transport_are_replies_or_failures(
    wire: WireName, status: int, is_stream: bool
) -> None:
    counts = count_received(wire, 75, status, is_stream=is_stream)
    assert counts.total() == 75
    assert status == 400 or {"reply:stop", "torn"} <= counts.keys()


@pytest.mark.long
@every_wire
def test_25_000_damaged_streams_over_the_transport_are_replies_or_failures(wire: WireName) -> None:
    assert count_received(wire, 25_000, 200, is_stream=True).total() == 25_000

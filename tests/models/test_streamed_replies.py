"""Replies that are streamed: the same Reply however the bytes come, and every fault an error."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
from itertools import cycle
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from pyreqwest.bytes import Bytes
from tests.models.wire_streams import BODY
from tests.servers import fake, faults, streams

from toolmark.core.errors import RateLimited, Rejected, TornReply, Unavailable
from toolmark.core.records import Message, Reply, Request, Text
from toolmark.models import memory_budget
from toolmark.models.body_reader import BodyReader
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.stream_reader import StreamReader
from toolmark.models.wires.chat_stream import ChatAssembler

Json = dict[str, Any]
KEY = "sk-very-secret-key"
HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
_GUARD_S = 100.0

CHUNKS = streams.chunks(BODY, 5)
STREAM = streams.events(CHUNKS)
FINISH_AT = STREAM.index(b'tool_calls"}')


async def ask(behaviour: fake.Behaviour, **settings: Any) -> Reply:
    async with fake.serve(behaviour) as server:
        return await ask_server(server, **settings)


async def ask_server(
    server: fake.Server, timeout_s: float = _GUARD_S, limit: int | None = None, n: int = 1
) -> Reply:
    model = EndpointModel(server.url, "fake-1", key=KEY, timeout_s=timeout_s, is_stream=True)
    if limit is not None:
        model._client.max_body_bytes = limit
    try:
        found = [await asyncio.wait_for(model(HELLO), _GUARD_S) for _ in range(n)]
        return found[-1]
    finally:
        await model.close()


def read(behaviour: fake.Behaviour, **settings: Any) -> Reply:
    return asyncio.run(ask(behaviour, **settings))


def timeless(reply: Reply) -> Reply:
    """Return a reply without its times, and without the port of its server."""
    state = reply.provider_state
    return replace(
        reply,
        latency_s=0.0,
        first_token_s=None,
        first_call_s=None,
        provider_state=None if state is None else replace(state, origin=""),
    )


async def _ask_plain(behaviour: fake.Behaviour) -> Reply:
    async with fake.serve(behaviour) as server:
        model = EndpointModel(server.url, "fake-1")
        try:
            return await model(HELLO)
        finally:
            await model.close()


def test_the_reply_is_that_of_the_whole_body_with_its_times() -> None:
    body = json.dumps(BODY, ensure_ascii=False).encode()
    whole = asyncio.run(_ask_plain(fake.answer(200, body)))
    streamed = read(streams.raw_answer(STREAM))
    assert timeless(streamed) == timeless(whole)
    assert streamed.provider_state is not None
    assert streamed.first_token_s is not None
    assert streamed.first_call_s is not None
    assert 0 < streamed.first_token_s <= streamed.first_call_s <= streamed.latency_s
    assert whole.first_token_s is None


class _Chunks:
    def __init__(self, parts: list[bytes]) -> None:
        self._left = iter(parts)

    async def read_chunk(self) -> Bytes | None:
        part = next(self._left, None)
        return None if part is None else Bytes(part)


class _CountingReader(BodyReader):
    """Its clock goes on by a second whenever it is read."""

    def __init__(self, parts: list[bytes]) -> None:
        response: Any = SimpleNamespace(body_reader=_Chunks(parts))
        reservation = memory_budget.MemoryReservation(memory_budget.MemoryBudget())
        super().__init__(response, reservation, 1 << 20, 0.0, _GUARD_S)
        self._seconds = itertools.count(1.0)

    @property
    def elapsed_s(self) -> float:
        return next(self._seconds)


@pytest.mark.parametrize("n_chunks", [1, 2, 3, 7, len(STREAM)])
def test_no_event_of_a_stream_comes_after_its_last(n_chunks: int) -> None:
    size = -(-len(STREAM) // n_chunks)
    parts = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    found = asyncio.run(StreamReader(_CountingReader(parts)).read_body(ChatAssembler()))
    assert found.first_token_s is not None and found.first_call_s is not None
    assert 1.0 <= found.first_token_s <= found.first_call_s <= found.latency_s <= n_chunks
    assert (found.first_token_s < found.first_call_s < found.latency_s) is (n_chunks >= 3)


def test_the_first_token_is_noted_when_it_comes() -> None:
    """The server waits between the first token, the first call and the rest."""
    wait_s = 0.15

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        first = next(i for i, part in enumerate(CHUNKS) if "get_weather" in json.dumps(part))
        writer.write(streams.CHUNKED_HEAD)
        for parts in (CHUNKS[:2], CHUNKS[2 : first + 1], CHUNKS[first + 1 :]):
            data = streams.events(parts, done=parts[-1] is CHUNKS[-1])
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await writer.drain()
            await asyncio.sleep(wait_s)
        writer.write(b"0\r\n\r\n")

    reply = read(behave)
    assert reply.first_token_s is not None
    assert reply.first_call_s is not None
    assert reply.first_call_s - reply.first_token_s > wait_s / 2
    assert reply.latency_s - reply.first_call_s > wait_s / 2


def test_the_request_asks_for_a_stream_and_for_its_usage() -> None:
    async def go() -> fake.Asked:
        async with fake.serve(streams.whole(fake.says("hi"))) as server:
            await ask_server(server)
            return server.asked[0]

    asked = asyncio.run(go())
    assert asked.json["stream"] is True
    assert asked.json["stream_options"] == {"include_usage": True}
    assert asked.headers["accept"] == "text/event-stream"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_bytes_that_come_one_by_one_change_nothing(end: bytes) -> None:
    data = streams.events(CHUNKS[:6] + CHUNKS[-4:], end=end)
    whole = fake.send(streams.chunked([data]), then="close")
    single = fake.send(streams.chunked(data[i : i + 1] for i in range(len(data))), then="close")
    assert timeless(read(single)) == timeless(read(whole))


def test_a_stream_that_ends_early_at_any_byte_is_torn() -> None:
    """The endpoint closes, or says that its answer is complete: no part of a reply is a reply."""

    async def go() -> list[int]:
        places = cycle(range(0, FINISH_AT, 3))
        broken = cycle((True, False, False))

        async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool:
            is_complete = next(broken)
            writer.write(streams.chunked([STREAM[: next(places)]], is_complete=is_complete))
            await writer.drain()
            return not is_complete

        wrong: list[int] = []
        async with fake.serve(behave) as server:
            model = EndpointModel(server.url, "fake-1", timeout_s=_GUARD_S, is_stream=True)
            for at in range(0, FINISH_AT, 3):
                try:
                    await model(HELLO)
                    wrong.append(at)
                except TornReply:
                    pass
            await model.close()
        return wrong

    assert asyncio.run(go()) == []


def test_after_the_finish_a_lost_end_costs_the_usage_at_most() -> None:
    reply = timeless(read(streams.raw_answer(STREAM)))
    cut = STREAM[: STREAM.index(b"\n\n", FINISH_AT) + 2]
    shorter = timeless(read(streams.raw_answer(cut)))
    assert replace(shorter, usage=reply.usage) == reply


def test_a_plain_answer_to_a_stream_request_is_read_whole() -> None:
    assert read(fake.answer(200, fake.says("hello"))).text == "hello"
    assert read(fake.answer(200, b"  \n" + json.dumps(fake.says("hello")).encode())).text == "hello"
    with pytest.raises(Unavailable):
        read(fake.answer(200, {"error": {"message": "overloaded", "code": 503}}))
    with pytest.raises(TornReply, match="<html>"):
        read(fake.answer(200, b"<html>Sign in</html>"))
    with pytest.raises(TornReply):
        read(fake.answer(200, b""))


def test_a_compressed_stream_is_read() -> None:
    zipped = fake.answer(200, gzip.compress(STREAM), {"content-encoding": "gzip"})
    assert timeless(read(zipped)) == timeless(read(streams.raw_answer(STREAM)))


def test_what_follows_the_end_is_not_read() -> None:
    behaviour = fake.send(streams.chunked([STREAM], is_complete=False), then="stall")
    assert len(read(behaviour).calls) == 2
    flood = faults.repeated(streams.chunked([STREAM], is_complete=False), b"1\r\n \r\n", 0.01)
    assert len(read(flood).calls) == 2


def test_connections_are_used_again() -> None:
    async def go() -> int:
        async with fake.serve(streams.raw_answer(STREAM)) as server:
            await ask_server(server, n=5)
            return server.connections

    assert asyncio.run(go()) == 1


def test_the_id_of_the_request_is_stored() -> None:
    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        head = streams.CHUNKED_HEAD.replace(b"\r\n\r\n", b"\r\nx-request-id: req_7\r\n\r\n")
        writer.write(streams.chunked([STREAM]).replace(streams.CHUNKED_HEAD, head))

    assert read(behave).request_id == "req_7"
    plain = fake.answer(200, fake.says("x"), {"request-id": "req_8"})
    assert asyncio.run(_ask_plain(plain)).request_id == "req_8"


def test_a_key_in_a_stream_is_refused() -> None:
    with pytest.raises(Rejected) as caught:
        read(streams.whole(fake.says(f"your key is {KEY}, yes")))
    assert KEY not in str(caught.value)


# --- faults: test_endpoint_faults has the table --------------------------------------------


def chunk(**members: Any) -> Json:
    return {"choices": [{"index": 0, "delta": members, "finish_reason": None}]}


def test_small_tokens_in_large_frames_need_no_place() -> None:
    """A long thought is a megabyte of frames: many such streams may be open at once."""
    parts = [{**chunk(content="x"), "id": "y" * 200} for _ in range(20_000)]
    data = streams.events([*parts, {"choices": [{"delta": {}, "finish_reason": "stop"}]}])
    assert len(data) > 4 * memory_budget.MEDIUM_BYTES

    async def go() -> int:
        async with fake.serve(streams.raw_answer(data)) as server:
            budget = memory_budget.budget_of_running_loop()
            for _ in range(3):
                await budget.large.acquire()
            return len((await ask_server(server)).text)

    assert asyncio.run(go()) == 20_000


def test_a_wait_named_in_a_stream_complaint_is_read() -> None:
    with pytest.raises(RateLimited) as caught:
        read(fake.answer(429, b"{}", {"retry-after": "7"}))
    assert caught.value.wait_s == 7

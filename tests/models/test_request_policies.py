"""Policies: when to ask again, how many at once, what to remember."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from toolmark.core.errors import (
    DataError,
    EndpointError,
    RateLimited,
    Rejected,
    Timeout,
    TornReply,
    Unavailable,
)
from toolmark.core.model import Model
from toolmark.core.records import Call, Message, Reply, Request, Text, Tool, Usage
from toolmark.models.request_policies import CachedModel, PacedModel, RetryingModel

HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))


class Scripted(Model):
    """Raises or returns what it is told, one after the other; the last one stays."""

    name = "scripted"

    def __init__(self, *steps: EndpointError | Reply) -> None:
        self.steps = list(steps)
        self.n_asked = 0
        self.closed = False

    async def __call__(self, request: Request, /) -> Reply:
        self.n_asked += 1
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, EndpointError):
            raise step
        return step

    async def close(self) -> None:
        self.closed = True


def retry(model: Scripted, retries: int) -> tuple[RetryingModel, list[float]]:
    slept: list[float] = []

    async def sleep(wait_s: float) -> None:
        slept.append(wait_s)

    return RetryingModel(model, retries, sleep=sleep, rng=Random(1)), slept


def test_what_waits_to_be_asked_again_can_be_seen() -> None:
    seen: list[list[str]] = []

    async def sleep(wait_s: float) -> None:
        seen.append(list(asking.wait_reasons))

    asking = RetryingModel(
        Scripted(Unavailable("refused"), TornReply("cut"), Reply()), 5, sleep=sleep
    )
    cached = CachedModel(asking, Path("unused"), "one")
    asyncio.run(asking(HELLO))
    assert seen == [["refused"], ["cut"]]
    assert list(asking.wait_reasons) == list(cached.wait_reasons) == []
    assert not PacedModel(Scripted(Reply()), 1).wait_reasons


@pytest.mark.parametrize("kind", [RateLimited, Unavailable, Timeout, TornReply])
def test_a_passing_failure_is_asked_again(kind: type[EndpointError]) -> None:
    model = Scripted(kind("x"), kind("x"), Reply(text="done"))
    asking, slept = retry(model, 5)
    assert asyncio.run(asking(HELLO)).text == "done"
    assert len(slept) == 2


@pytest.mark.parametrize(
    ("failure", "n_asked"),
    [
        (RateLimited("x"), 6),
        (Unavailable("x"), 6),
        (Timeout("x"), 3),
        (TornReply("x"), 3),
        (Rejected("x", 400), 1),
    ],
)
def test_each_failure_is_asked_as_often_as_the_table_says(
    failure: EndpointError, n_asked: int
) -> None:
    model = Scripted(failure)
    asking, slept = retry(model, 5)
    with pytest.raises(type(failure)):
        asyncio.run(asking(HELLO))
    assert model.n_asked == n_asked
    assert len(slept) == n_asked - 1


def test_no_retries_asks_once() -> None:
    model = Scripted(Unavailable("x"))
    with pytest.raises(Unavailable):
        asyncio.run(retry(model, 0)[0](HELLO))
    assert model.n_asked == 1


def test_pauses_grow_with_jitter_up_to_a_minute() -> None:
    asking, slept = retry(Scripted(Unavailable("x")), 12)
    with pytest.raises(Unavailable):
        asyncio.run(asking(HELLO))
    for k, wait_s in enumerate(slept):
        full_s = min(60.0, 0.5 * 2**k)
        assert full_s / 2 <= wait_s <= full_s
    assert len({round(wait_s / min(60.0, 0.5 * 2**k), 6) for k, wait_s in enumerate(slept)}) > 6


def test_the_servers_wait_is_honoured_but_not_for_ever() -> None:
    asking, slept = retry(Scripted(RateLimited("x", 7.0), Unavailable("x", 3.0), Reply()), 5)
    asyncio.run(asking(HELLO))
    assert 7 <= slept[0] < 8
    assert 3 <= slept[1] < 4
    model = Scripted(RateLimited("come back tomorrow", 86_400.0))
    patient, slept = retry(model, 5)
    with pytest.raises(RateLimited):
        asyncio.run(patient(HELLO))
    assert (model.n_asked, slept) == (1, [])


class Gate(Model):
    """Holds every request until it is let go; knows how many are in."""

    def __init__(self) -> None:
        self.inside: list[asyncio.Future[Reply]] = []
        self.most = 0

    async def __call__(self, request: Request, /) -> Reply:
        turn: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.inside.append(turn)
        self.most = max(self.most, len(self.inside))
        try:
            return await turn
        finally:
            self.inside.remove(turn)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def flood(
    act: Callable[[Gate, PacedModel, list[asyncio.Task[Reply]]], object], most: int, n: int
) -> tuple[Gate, PacedModel, list[asyncio.Task[Reply]]]:
    gate = Gate()
    pace = PacedModel(gate, most)
    tasks = [asyncio.ensure_future(pace(HELLO)) for _ in range(n)]
    await settle()
    act(gate, pace, tasks)
    await settle()
    while gate.inside:
        for turn in list(gate.inside):
            turn.set_result(Reply())
        await settle()
    await asyncio.gather(*tasks, return_exceptions=True)
    return gate, pace, tasks


def test_never_more_than_the_most_are_out_and_all_are_answered() -> None:
    gate, pace, tasks = asyncio.run(flood(lambda *_: None, 4, 50))
    assert gate.most == 4
    assert all(task.result() == Reply() for task in tasks)
    assert (pace.n_in_flight, pace.limit) == (0, 4)


@pytest.mark.parametrize("failure", [RateLimited("x"), Unavailable("x"), Timeout("x")])
def test_overload_halves_once_per_wave(failure: EndpointError) -> None:
    seen: list[float] = []

    def fail(gate: Gate, pace: PacedModel, tasks: list[asyncio.Task[Reply]]) -> None:
        for turn in list(gate.inside):
            turn.set_exception(failure)
        seen.append(pace.max_in_flight)

    async def go() -> tuple[int, float]:
        gate = Gate()
        pace = PacedModel(gate, 8)
        tasks = [asyncio.ensure_future(pace(HELLO)) for _ in range(8)]
        await settle()
        fail(gate, pace, tasks)
        await asyncio.gather(*tasks, return_exceptions=True)
        more = [asyncio.ensure_future(pace(HELLO)) for _ in range(8)]
        await settle()
        inside = len(gate.inside)
        limit = pace.limit
        while gate.inside:
            for turn in list(gate.inside):
                turn.set_result(Reply())
            await settle()
        await asyncio.gather(*more)
        return inside, limit

    assert asyncio.run(go()) == (4, 4.0)


def test_the_limit_grows_back_but_not_beyond_the_most() -> None:
    async def go() -> PacedModel:
        model = Scripted(RateLimited("x"), RateLimited("x"), RateLimited("x"), Reply())
        pace = PacedModel(model, 8)
        for _ in range(3):
            with pytest.raises(RateLimited):
                await pace(HELLO)
        assert pace.limit == 1
        await pace(HELLO)
        assert pace.limit == 2
        for _ in range(100):
            await pace(HELLO)
        return pace

    assert asyncio.run(go()).limit == 8


def test_a_fault_that_is_not_overload_slows_nothing() -> None:
    async def go() -> float:
        pace = PacedModel(Scripted(TornReply("x")), 8)
        with pytest.raises(TornReply):
            await pace(HELLO)
        return pace.limit

    assert asyncio.run(go()) == 8


def test_cancelled_requests_give_their_slots_back() -> None:
    def cancel(gate: Gate, pace: PacedModel, tasks: list[asyncio.Task[Reply]]) -> None:
        gate.inside[0].set_result(Reply())
        for task in tasks[::2]:
            task.cancel()

    gate, pace, tasks = asyncio.run(flood(cancel, 3, 30))
    assert pace.n_in_flight == 0
    assert gate.most <= 3
    assert all(task.cancelled() or task.result() == Reply() for task in tasks)
    assert sum(not task.cancelled() for task in tasks) >= 15


REPLY = Reply(
    text="a", calls=(Call(name="f", arguments="{", id="1"),), usage=Usage(input=3), latency_s=1.5
)


SAVED = replace(REPLY, from_cache=True)


def test_a_cached_reply_is_returned_without_asking_and_is_marked(tmp_path: Path) -> None:
    model = Scripted(REPLY)
    reported = [asyncio.run(CachedModel(model, tmp_path, "id")(HELLO)) for _ in range(3)]
    assert reported == [REPLY, SAVED, SAVED]
    assert model.n_asked == 1


def test_repeats_requests_and_models_have_separate_entries(tmp_path: Path) -> None:
    model = Scripted(REPLY)
    requests = [
        HELLO,
        Request(messages=HELLO.messages, repeat=1),
        Request(messages=HELLO.messages, tools=(Tool(name="f"),)),
        Request(messages=(Message(role="system", parts=(Text("hello"),)),)),
    ]
    for identity in ("one", "two"):
        for request in requests:
            asyncio.run(CachedModel(model, tmp_path, identity)(request))
    assert model.n_asked == 8


def test_a_damaged_entry_is_asked_again_and_replaced(tmp_path: Path) -> None:
    model = Scripted(REPLY)
    cache = CachedModel(model, tmp_path, "id")
    asyncio.run(cache(HELLO))
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    whole = path.read_bytes()
    damaged = [b"", whole[:-5], whole.replace(b'"a"', b'"b"'), b"\xff" + whole, b"{}"]
    for n, data in enumerate(damaged, 2):
        path.write_bytes(data)
        assert asyncio.run(cache(HELLO)) == REPLY
        assert model.n_asked == n
        assert path.read_bytes() == whole


def test_failures_are_not_cached(tmp_path: Path) -> None:
    model = Scripted(Unavailable("x"), REPLY)
    cache = CachedModel(model, tmp_path, "id")
    with pytest.raises(Unavailable):
        asyncio.run(cache(HELLO))
    assert asyncio.run(cache(HELLO)) == REPLY


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=str(tmp_path / "file")):
        asyncio.run(CachedModel(Scripted(REPLY), tmp_path / "file", "id")(HELLO))


class Picky(Scripted):
    """An endpoint that refuses temperature, as the wire tells it."""

    refused_settings = frozenset({"temperature"})


def test_what_was_left_out_is_recorded_through_all_policies(tmp_path: Path) -> None:
    outer = CachedModel(RetryingModel(PacedModel(Picky(REPLY), 2), 1), tmp_path, "id")
    assert outer.refused_settings == {"temperature"}
    assert (
        CachedModel(
            RetryingModel(PacedModel(Scripted(REPLY), 2), 1), tmp_path, "id"
        ).refused_settings
        == frozenset()
    )


def test_a_reply_from_the_cache_tells_what_was_left_out_when_it_was_asked(tmp_path: Path) -> None:
    asyncio.run(CachedModel(Picky(REPLY), tmp_path, "id")(HELLO))
    later = CachedModel(Scripted(REPLY), tmp_path, "id")
    assert later.refused_settings == frozenset()
    assert asyncio.run(later(HELLO)) == SAVED
    assert later.refused_settings == {"temperature"}


@pytest.mark.parametrize("hears", [True, False])
def test_a_model_that_is_deaf_says_so_through_all_policies(hears: bool, tmp_path: Path) -> None:
    model = Scripted(REPLY)
    model.accepts_audio = hears
    assert (
        CachedModel(RetryingModel(PacedModel(model, 2), 1), tmp_path, "id").accepts_audio is hears
    )


def test_policies_pass_the_name_and_the_end_on(tmp_path: Path) -> None:
    model = Scripted(REPLY)
    outer = CachedModel(RetryingModel(PacedModel(model, 2), 1), tmp_path, "id")
    assert outer.name == "scripted"
    asyncio.run(outer.close())
    assert model.closed

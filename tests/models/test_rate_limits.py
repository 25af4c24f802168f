"""Limits per minute: kept in any minute, in order, and settled by what was used."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random

import pytest
from tests.virtual_clock import run_virtually

from toolmark.core.errors import RateLimited
from toolmark.core.model import Model
from toolmark.core.records import Message, Reply, Request, Sampling, Text, Usage
from toolmark.models.rate_limits import (
    RateBucket,
    RateLimitedModel,
    RateLimiter,
    TokenEstimate,
)

HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
MINUTE_S = 60.0
Departure = tuple[float, int]
"""When a request left, and its place among those that came."""


def make_limiter(requests: float | None, tokens: float | None) -> RateLimiter:
    return RateLimiter(requests, tokens, read_clock=asyncio.get_running_loop().time)


async def depart(limiter: RateLimiter, arrivals: Sequence[tuple[float, float]]) -> list[Departure]:
    """Let requests come at their times, with their tokens; return when each left."""
    loop = asyncio.get_running_loop()
    found: list[Departure] = []

    async def one(i: int, arrival_s: float, n_tokens: float) -> None:
        await asyncio.sleep(arrival_s)
        await limiter.take_turn(n_tokens)
        found.append((loop.time(), i))

    await asyncio.gather(*(one(i, *arrival) for i, arrival in enumerate(arrivals)))
    return found


def most_in_a_minute(departures: Sequence[Departure], amounts: Sequence[float]) -> float:
    """Return the largest sum of amounts in any 60 seconds, of which one end is outside."""
    times = [time_s for time_s, _ in departures]
    most = total = 0.0
    first = 0
    for last, (time_s, i) in enumerate(departures):
        total += amounts[i]
        while time_s - times[first] > MINUTE_S - 1e-6:
            total -= amounts[departures[first][1]]
            first += 1
        assert first <= last
        most = max(most, total)
    return most


@pytest.mark.parametrize("limit", [1, 7, 60, 61, 600, 5000])
@pytest.mark.parametrize("spread_s", [0.0, 200.0])
def test_no_minute_has_more_requests_than_the_limit(limit: int, spread_s: float) -> None:
    rng = Random(limit)
    n = min(3 * limit, 4000) + 5
    arrivals = sorted((rng.random() * spread_s, 0.0) for _ in range(n))

    async def go() -> list[Departure]:
        return await depart(make_limiter(limit, None), arrivals)

    found = run_virtually(go())
    assert len(found) == n  # none starved
    assert [i for _, i in found] == list(range(n))  # and none was overtaken
    assert most_in_a_minute(found, [1.0] * n) <= limit
    if not spread_s:  # the limit is used: at least 98 % of it, apart from the first
        assert found[-1][0] <= (n - 1) / limit * MINUTE_S / 0.98


@pytest.mark.parametrize("limit", [100, 6000, 30_000, 2_000_000])
@pytest.mark.parametrize("spread_s", [0.0, 100.0])
def test_no_minute_has_more_tokens_than_the_limit_and_one_request(
    limit: int, spread_s: float
) -> None:
    rng = Random(limit)
    amounts = [limit * rng.choice((0.001, 0.01, 0.05, 0.3, 1.4)) for _ in range(200)]
    arrivals = [(spread_s * i / 200, amount) for i, amount in enumerate(amounts)]

    async def go() -> list[Departure]:
        return await depart(make_limiter(None, limit), arrivals)

    found = run_virtually(go())
    assert [i for _, i in found] == list(range(200))
    assert most_in_a_minute(found, amounts) <= limit + max(amounts)
    assert found[-1][0] <= sum(amounts) / limit * MINUTE_S / 0.98 + spread_s


def test_both_limits_hold_together() -> None:
    rng = Random(5)
    amounts = [rng.choice((10.0, 900.0)) for _ in range(300)]

    async def go() -> list[Departure]:
        return await depart(make_limiter(30, 6000), [(0.0, amount) for amount in amounts])

    found = run_virtually(go())
    assert most_in_a_minute(found, [1.0] * 300) <= 30
    assert most_in_a_minute(found, amounts) <= 6900


@pytest.mark.parametrize("error", [0.1, 1.0, 7.0])
def test_what_was_guessed_wrong_is_paid_or_given_back(error: float) -> None:
    """When a request leaves, those before have used no more than the time allowed."""
    limit, used = 6000.0, 300.0

    async def go() -> list[float]:
        limiter = make_limiter(None, limit)
        times = []
        for _ in range(100):
            await limiter.take_turn(used / error)
            times.append(asyncio.get_running_loop().time())
            limiter.settle_tokens(used / error, used)
        return times

    times = run_virtually(go())
    burst = limit / MINUTE_S
    assert all(k * used <= burst + limit / MINUTE_S * t + 1e-3 for k, t in enumerate(times))
    assert times[-1] <= 99 * used / limit * MINUTE_S / 0.98


def test_nothing_leaves_while_the_endpoint_asks_to_wait() -> None:
    async def go() -> list[Departure]:
        limiter = make_limiter(600, None)
        limiter.pause_sending(30.0)
        limiter.pause_sending(5.0)  # a shorter wait does not end a longer one
        return await depart(limiter, [(0.0, 0.0), (29.0, 0.0), (31.0, 0.0)])

    assert [time_s for time_s, _ in run_virtually(go())] == [30.0, 30.0, 31.0]


def test_what_is_cancelled_while_it_waits_takes_nothing() -> None:
    async def go() -> float:
        limiter = make_limiter(1, None)
        await limiter.take_turn()
        waiting = asyncio.create_task(limiter.take_turn())
        await asyncio.sleep(59.0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await limiter.take_turn()
        return asyncio.get_running_loop().time()

    assert run_virtually(go()) == pytest.approx(60.0)


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    now = [0.0]
    bucket = RateBucket(6000, lambda: now[0])
    bucket.return_amount(1e6)
    now[0] = 1e6
    assert (bucket.wait_s(1e9), bucket.level, bucket.burst) == (0.0, 100.0, 100.0)


def test_the_estimate_follows_what_replies_report() -> None:
    estimate = TokenEstimate()
    assert estimate.estimate_tokens(4000, None) == 1000 + 256
    assert estimate.estimate_tokens(4000, 16) == 1000 + 16
    for _ in range(3):
        estimate.learn_usage(1000, Usage(input=400, output=50))
    assert estimate.estimate_tokens(2000, None) == 800 + 50
    assert estimate.estimate_tokens(2000, 20) == 800 + 20


class Answering(Model):
    """Answers with a usage, or raises; notes when it was asked."""

    def __init__(self, usage: Usage, *errors: Exception) -> None:
        self.usage = usage
        self.errors = list(errors)
        self.asked_at: list[float] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.asked_at.append(asyncio.get_running_loop().time())
        if self.errors:
            raise self.errors.pop(0)
        return Reply(usage=self.usage)


def test_a_model_keeps_to_the_tokens_that_its_replies_report() -> None:
    async def go() -> list[float]:
        model = Answering(Usage(input=900, output=100))
        limited = RateLimitedModel(model, make_limiter(None, 6000))
        for _ in range(30):
            await limited(HELLO)
        return model.asked_at

    asked_at = run_virtually(go())
    assert all(1000 * k <= 100 + 100 * time_s + 1e-3 for k, time_s in enumerate(asked_at))
    assert asked_at[-1] <= 290 / 0.98


def test_a_reply_that_reports_nothing_counts_as_estimated() -> None:
    async def go() -> float:
        limited = RateLimitedModel(Answering(Usage()), make_limiter(None, 6000))
        request = Request(messages=HELLO.messages, sampling=Sampling(max_tokens=4))
        for _ in range(600):
            await limited(request)
        return asyncio.get_running_loop().time()

    assert run_virtually(go()) > 100


def test_a_refusal_with_a_wait_stops_what_is_behind_it() -> None:
    async def go() -> list[float]:
        model = Answering(Usage(), RateLimited("slow down", 20.0))
        limited = RateLimitedModel(model, make_limiter(60, None))
        await asyncio.gather(*(limited(HELLO) for _ in range(3)), return_exceptions=True)
        return model.asked_at

    assert run_virtually(go()) == [0.0, 20.0, 21.0]

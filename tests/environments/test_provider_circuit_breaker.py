"""What waits is seen, and what is dead is given up by all who ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from toolmark.core.errors import ToolEnvironmentError, Unavailable
from toolmark.environments import provider_circuit_breaker
from toolmark.environments.provider_circuit_breaker import (
    MAX_FAILED_QUESTIONS,
    MAX_WAITS_UNANSWERED,
)
from toolmark.environments.search_providers import PROVIDERS, HttpAnswer, WebEngine

LONG_S = 3_600.0  # no test waits so long: who waits is told


class Said:
    status = 200
    body = b'{"organic_results": []}'


class Busy:
    status = 503
    body = b""


class Line:
    """Answers as `say` tells of each question, and counts them."""

    def __init__(self, say: Callable[[int], HttpAnswer]) -> None:
        self.say = say
        self.n = 0

    async def get(self, url: str) -> HttpAnswer:
        self.n += 1
        return self.say(self.n)

    async def post(self, url: str, body: bytes) -> HttpAnswer:
        raise AssertionError("SerpApi is read, not written to")


def dead(n: int) -> HttpAnswer:
    raise Unavailable("connection refused")


def web(line: Line, *waits_s: float) -> WebEngine:
    return WebEngine(PROVIDERS["serpapi"], line, "k", waits_s=waits_s)


async def outcome(web: WebEngine) -> str:
    try:
        await web.find("tea", "wt-wt")
    except ToolEnvironmentError as error:
        return str(error)
    return ""


def test_what_never_answered_is_given_up_soon_and_not_asked_again() -> None:
    line = Line(dead)
    engine = web(line, *[0.0] * 50)
    first = asyncio.run(outcome(engine))
    assert "serpapi is given up: it never answered; connection refused" in first
    assert line.n == MAX_WAITS_UNANSWERED + 1
    assert asyncio.run(outcome(engine)) == first
    assert line.n == MAX_WAITS_UNANSWERED + 1


def test_waiting_questions_fail_at_once_when_the_provider_is_given_up() -> None:
    async def play() -> list[str]:
        engine = web(Line(dead), LONG_S)
        waiting = [asyncio.create_task(outcome(engine)) for _ in range(4)]
        await asyncio.sleep(0)
        engine.waits_s = [0.0] * 9
        return [await outcome(engine), *await asyncio.gather(*waiting)]

    assert all("it never answered" in reported for reported in asyncio.run(play()))


def test_what_answers_something_is_given_up_after_questions_in_vain_in_a_row() -> None:
    line = Line(lambda n: Busy())
    engine = web(line, *[0.0] * 9)
    reported = [asyncio.run(outcome(engine)) for _ in range(MAX_FAILED_QUESTIONS + 1)]
    assert [("given up" in each) for each in reported] == [False] * MAX_FAILED_QUESTIONS + [True]
    assert "status 503" in reported[-1]
    assert line.n == MAX_FAILED_QUESTIONS * 10


def test_an_answer_between_keeps_it_alive() -> None:
    line = Line(lambda n: Said() if n % 4 == 0 else Busy())
    engine = web(line, 0.0)
    reported = [asyncio.run(outcome(engine)) for _ in range(4 * MAX_FAILED_QUESTIONS)]
    assert "" in reported and not any("given up" in each for each in reported)


def test_a_watcher_sees_why_environments_wait_and_only_as_long_as_they_do() -> None:
    async def play() -> tuple[list[str], list[str]]:
        waits = provider_circuit_breaker.watch_waits()
        asked = asyncio.create_task(outcome(web(Line(dead), LONG_S)))
        await asyncio.sleep(0)
        seen = list(waits.values())
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        return seen, list(waits.values())

    seen, left = asyncio.run(play())
    assert seen == ["serpapi, connection refused"]
    assert left == []

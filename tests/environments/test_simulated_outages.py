"""Outages: a share of the calls, told by the seed, whatever the order in which they are made."""

from __future__ import annotations

import asyncio

import pytest
from scipy.stats import binomtest

from toolmark.core.errors import UsageError
from toolmark.environments.search_environment import FetchOutcome, SearchHit, SearchOutcome
from toolmark.environments.simulated_outages import UnreliableEngine


class Well:
    """An engine that is never down."""

    async def find(self, keywords: str, region: str, /) -> SearchOutcome:
        return SearchOutcome(hits=(SearchHit(keywords, "https://a.example/"),))

    async def fetch(self, url: str, /) -> FetchOutcome:
        return FetchOutcome(content=url)


def shaky(share: float = 0.3, seed: int = 7, item: str = "i-1") -> UnreliableEngine:
    return UnreliableEngine(Well(), share=share, seed=seed, item=item)


def finds(engine: UnreliableEngine, *questions: str) -> list[bool]:
    return [not asyncio.run(engine.find(question, "wt-wt")).error for question in questions]


def fetches(engine: UnreliableEngine, *urls: str) -> list[bool]:
    return [not asyncio.run(engine.fetch(url)).error for url in urls]


QUESTIONS = [f"tea {i}" for i in range(1000)]


@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("ask", [finds, fetches])
def test_the_share_that_fails_is_the_one_asked_for(share: float, ask: object) -> None:
    asked = finds if ask is finds else fetches
    n = sum(not well for well in asked(shaky(share), *QUESTIONS))
    assert binomtest(n, len(QUESTIONS), share).pvalue > 1e-4


def test_without_outages_all_is_well_and_with_all_of_them_nothing_is() -> None:
    assert all(finds(shaky(0), *QUESTIONS)) and not any(fetches(shaky(1), *QUESTIONS))


def test_what_fails_does_not_depend_on_the_order_nor_on_what_else_is_asked() -> None:
    forth = dict(zip(QUESTIONS, finds(shaky(), *QUESTIONS), strict=True))
    engine = shaky()
    fetches(engine, *QUESTIONS[:50])
    back = dict(zip(QUESTIONS[::-1], finds(engine, *QUESTIONS[::-1]), strict=True))
    assert forth == back
    assert len(set(forth.values())) == 2


def test_seeds_and_items_fail_in_their_own_ways() -> None:
    ways = [finds(shaky(seed=s, item=i), *QUESTIONS) for s in (1, 2) for i in ("a", "b")]
    assert all(one != other for n, one in enumerate(ways) for other in ways[:n])


def test_asking_again_is_another_draw_the_same_every_time() -> None:
    one, other = shaky(0.5), shaky(0.5)
    again = [finds(one, "tea")[0] for _ in range(60)]
    assert again == [finds(other, "tea")[0] for _ in range(60)]
    assert 10 < sum(again) < 50


def test_a_failure_is_an_error_that_the_model_sees() -> None:
    engine = shaky(1)
    assert "not available" in asyncio.run(engine.find("\ud800", "wt-wt")).error
    assert "503" in asyncio.run(engine.fetch("https://a.example/")).error


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        shaky(share)

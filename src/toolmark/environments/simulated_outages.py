"""Simulated outages of the web: a share of searches and fetches fails, chosen by a seed.

The model sees the failure and may ask again. Whether a question fails depends on the seed, the
item, the question and how often the episode has asked it before. It does not depend on time or on
other questions in between.
"""

from __future__ import annotations

from collections import Counter

from toolmark.core import seeds
from toolmark.core.errors import UsageError
from toolmark.environments.search_environment import (
    FETCH_TOOL,
    SEARCH_TOOL,
    FetchOutcome,
    SearchEngine,
    SearchOutcome,
)

SEARCH_OUTAGE = "The search engine is not available at the moment. Please try again."
PAGE_OUTAGE = "the server answered with status 503"


class UnreliableEngine:
    """A search engine with outages, for one episode. Raises UsageError for `share` outside 0..1."""

    def __init__(self, engine: SearchEngine, *, share: float, seed: int, item: str) -> None:
        if not 0 <= share <= 1:
            raise UsageError(f"outages {share:g}: a share of the calls is asked for, from 0 to 1")
        self.engine = engine
        self.share = share
        self.seed = seed
        self.item = item
        self._n_asked: Counter[str] = Counter()

    async def find(self, keywords: str, region: str, /) -> SearchOutcome:
        """Search, or return a simulated outage."""
        if self._is_outage(f"{SEARCH_TOOL}\x1f{region}\x1f{keywords}"):
            return SearchOutcome(error=SEARCH_OUTAGE)
        return await self.engine.find(keywords, region)

    async def fetch(self, url: str, /) -> FetchOutcome:
        """Fetch a page, or return a simulated outage."""
        if self._is_outage(f"{FETCH_TOOL}\x1f{url}"):
            return FetchOutcome(error=PAGE_OUTAGE)
        return await self.engine.fetch(url)

    def _is_outage(self, question: str) -> bool:
        n_before = self._n_asked[question]
        self._n_asked[question] += 1
        safe = question.encode("utf-8", "backslashreplace").decode()
        return seeds.make_rng(self.seed, self.item, n_before, safe).random() < self.share

"""A web on which some things are down: a share of the searches and pages fails, as told by a seed.

The model sees the failure and may ask again. Whether a question fails depends on the seed, the
item, the question and how often the episode has asked it before: not on time, nor on what else is
asked in between.
"""

from __future__ import annotations

from collections import Counter

from toolmark import seeds
from toolmark.errors import UsageError
from toolmark.worlds.search import FETCH, SEARCH, Engine, Found, Got

NO_RESULTS = "The search engine is not available at the moment. Please try again."
NO_PAGE = "the server answered with status 503"


class Shaky:
    """An engine as one episode meets it. Raises UsageError for a `share` outside 0..1."""

    def __init__(self, engine: Engine, *, share: float, seed: int, item: str) -> None:
        if not 0 <= share <= 1:
            raise UsageError(f"outages {share:g}: a share of the calls is asked for, from 0 to 1")
        self.engine = engine
        self.share = share
        self.seed = seed
        self.item = item
        self._asked: Counter[str] = Counter()

    async def find(self, keywords: str, region: str, /) -> Found:
        """Search, unless it fails."""
        if self._fails(f"{SEARCH}\x1f{region}\x1f{keywords}"):
            return Found(error=NO_RESULTS)
        return await self.engine.find(keywords, region)

    async def fetch(self, url: str, /) -> Got:
        """Fetch a page, unless it fails."""
        if self._fails(f"{FETCH}\x1f{url}"):
            return Got(error=NO_PAGE)
        return await self.engine.fetch(url)

    def _fails(self, question: str) -> bool:
        before = self._asked[question]
        self._asked[question] += 1
        safe = question.encode("utf-8", "backslashreplace").decode()
        return seeds.of(self.seed, self.item, before, safe).random() < self.share

"""The pages in which an item's answer is found, for a person who tries to solve it."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import NamedTuple

from toolmark import suites
from toolmark.errors import UsageError
from toolmark.report.tables import visible
from toolmark.review import view
from toolmark.suites.mfcl.vision import site
from toolmark.suites.mfcl.vision.tune.records import Request
from toolmark.types import Task
from toolmark.worlds import engines, page
from toolmark.worlds.corpus import Corpus


class Result(NamedTuple):
    """A page that was found: its address as a link takes it, what is shown of it."""

    href: str
    shown: str
    title: str
    body: str


def own(request: Request) -> bool:
    """Tell whether the items were searched in pages of their own: others are on the web."""
    search = str(request.plan.knobs.get("search", site.PAGES))
    return search == site.PAGES or engines.read(search).kind == "corpus"


class Look:
    """Searches the pages that the models searched; they are read with the first search."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._corpus = cache(self._opened)

    def find(self, task: Task, words: str) -> list[Result]:
        """Return the pages that hold any of the words, best first. Raises UsageError."""
        found = asyncio.run(self._corpus(task.seed).find(words, ""))
        return [
            Result(hit.href, visible(hit.href), view.clip(hit.title, 300), view.clip(hit.body, 600))
            for hit in found.hits
        ]

    def read(self, task: Task, href: str) -> str:
        """Return the text of a page, or why there is none. Raises UsageError."""
        got = asyncio.run(self._corpus(task.seed).fetch(href))
        try:
            return view.clip(page.bare(got.content) if got.content else got.error)
        except ValueError as error:
            return f"{error}"

    def _opened(self, seed: int) -> Corpus:
        plan = self._request.plan
        suite = suites.load(plan.suite, **{**plan.knobs, "seed": self._request.seed})
        opening = suite.site
        if not isinstance(opening, site.Opening):
            raise UsageError(f"{plan.suite}: its items have no pages of their own")
        named = engines.read(opening.search)
        pages = Path(named.place) if named.kind == "corpus" else opening.pages
        if pages is None:
            raise UsageError("these items have no pages of their own")
        return pages(seed) if callable(pages) else Corpus.of(pages)

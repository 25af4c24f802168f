"""The pages in which an item's answer is found, for a person who tries to solve it."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Final, Literal, NamedTuple

from toolmark.report.tables import visible
from toolmark.review import view
from toolmark.suites.mfcl.vision import site
from toolmark.suites.mfcl.vision.tune.folder import Tuning
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


OWN: Final = "own"


def searched(request: Request) -> Literal["own", "web", "recording"]:
    """Say what the models searched: pages that can be searched here, the web, a recording."""
    named = engines.source(str(request.plan.knobs.get("search", site.PAGES)))
    if named.kind in (site.PAGES, "corpus"):
        return OWN
    return "recording" if named.kind == "replay" else "web"


class Look:
    """Searches the pages that the models searched; they are read with the first search."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
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
        opening = self._tuning.suite().site
        assert isinstance(opening, site.Opening)
        return opening.corpus(seed)

"""The pages in which an item's answer is found, for a person who tries to solve it."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Final, Literal, NamedTuple

from toolmark.core.records import Task
from toolmark.environments import html_conversion, search_engines
from toolmark.environments.page_corpus import PageCorpus
from toolmark.reports.table_format import visible_text
from toolmark.studio import review_view
from toolmark.studio.vision_tuning.tuning_folder import TuningFolder
from toolmark.studio.vision_tuning.tuning_records import TuningRequest
from toolmark.suites.mfcl_vision import web_environment
from toolmark.suites.mfcl_vision.parameters import PAGES_ENGINE


class FoundPage(NamedTuple):
    """A found page: its address as a link, and the text that is shown of it."""

    href: str
    address_text: str
    title: str
    body: str


OWN_PAGES: Final = "own"


def search_source(request: TuningRequest) -> Literal["own", "web", "recording"]:
    """Return what the models searched: pages that can be searched here, the web, a recording."""
    source = search_engines.answering_engine(
        str(request.plan.parameters.get("search", PAGES_ENGINE))
    )
    if source.kind in (PAGES_ENGINE, "corpus"):
        return OWN_PAGES
    return "recording" if source.kind == "replay" else "web"


class PageSearch:
    """Searches the pages that the models searched; the first search loads them."""

    def __init__(self, tuning: TuningFolder) -> None:
        self._tuning = tuning
        self._corpus = cache(self._open_corpus)

    def search(self, task: Task, query: str) -> list[FoundPage]:
        """Return the pages with any of the words, best first. Raises UsageError."""
        found = asyncio.run(self._corpus(task.seed).find(query, ""))
        return [
            FoundPage(
                hit.href,
                visible_text(hit.href),
                review_view.clip_text(hit.title, 300),
                review_view.clip_text(hit.body, 600),
            )
            for hit in found.hits
        ]

    def read_page(self, task: Task, href: str) -> str:
        """Return the text of a page, or the reason why there is none. Raises UsageError."""
        fetched = asyncio.run(self._corpus(task.seed).fetch(href))
        try:
            return review_view.clip_text(
                html_conversion.html_to_text(fetched.content) if fetched.content else fetched.error
            )
        except ValueError as error:
            return f"{error}"

    def _open_corpus(self, seed: int) -> PageCorpus:
        opening = self._tuning.load_suite().environment.open
        assert isinstance(opening, web_environment.WebOpener)
        return opening.corpus(seed)

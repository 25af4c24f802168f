"""A searchable corpus of pages, from memory or from a folder; nothing leaves the machine.

The files of a folder have the paths that `wget -x` gives them, `host/path`. A file is the page of
that address, with or without its `.html`. Pages are ranked by BM25+ over their words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from toolmark.core import files, json_codec
from toolmark.core.errors import UsageError
from toolmark.core.records import Record
from toolmark.environments import html_conversion
from toolmark.environments.page_address import MAX_PAGE_BYTES, PAGE_SUFFIXES, page_key
from toolmark.environments.search_environment import FetchOutcome, SearchHit, SearchOutcome

MAX_HITS = 30
MAX_QUERY_WORDS = 1_000  # each word of a query costs a pass over the pages that have it
BM25_K1, BM25_B = 1.5, 0.75
_SNIPPET_CHARS = 300
_SCORE_DIGITS = 9  # scores equal to so many decimals are ties: the order of pages decides
_WORD = re.compile(r"\w+")


class PageSource(Protocol):
    """A page that can be searched: its address (with the scheme), title, HTML and text."""

    @property
    def href(self) -> str:
        """The address, `https://host/path`."""
        ...

    @property
    def title(self) -> str:
        """The title that a hit shows."""
        ...

    @property
    def html(self) -> str:
        """The content that fetching the page returns."""
        ...

    @property
    def text(self) -> str:
        """The visible text of the page; "" where it must be extracted from the HTML."""
        ...


class MemoryPage(Record, frozen=True):
    """A page in memory. Without `text` the visible text is extracted from the HTML."""

    href: str
    title: str
    html: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class FilePage:
    """A file of a folder, read again when it is fetched. `text` is its visible text."""

    href: str
    title: str
    text: str
    path: Path

    @property
    def html(self) -> str:
        """The content of the file, up to MAX_PAGE_BYTES."""
        return _file_content(self.path)


class PageCorpus:
    """Pages, indexed once. Raises UsageError where there are none.

    Pages of equal score keep their given order. Of two pages with one address the later one is
    fetched.
    """

    def __init__(self, pages: Iterable[PageSource]) -> None:
        self.pages: Sequence[PageSource] = tuple(pages)
        if not self.pages:
            raise UsageError("a corpus without pages: there is nothing to search")
        self._by_address = {page_key(source.href): source for source in self.pages}
        self._titles = [json_codec.escape_surrogates(source.title) for source in self.pages]
        self._texts = [_page_text(source) for source in self.pages]
        self._lower_texts = [text.lower() for text in self._texts]
        titled = zip(self._titles, self._texts, strict=True)
        self._index = _BM25Index([_split_words(f"{title} {text}") for title, text in titled])

    @classmethod
    def from_folder(cls, folder: Path) -> PageCorpus:
        """Return the pages of a folder. Raises UsageError where it has none.

        Links that lead out of the folder, pipes and devices are not pages.
        """
        found = files.list_files(folder, PAGE_SUFFIXES)
        if not found:
            raise UsageError(
                f"{folder}: no pages; put files there as host/path, ending in "
                f"{', '.join(PAGE_SUFFIXES)}"
            )
        return cls(_read_page_file(folder, path) for path in found)

    async def find(self, keywords: str, region: str, /) -> SearchOutcome:
        """Return the pages with any of the words, best first; the region is ignored."""
        wanted = _split_words(keywords)[:MAX_QUERY_WORDS]
        distinct = tuple(dict.fromkeys(wanted))
        return SearchOutcome(
            hits=tuple(self._make_hit(i, distinct) for i in self._index.best_matches(wanted))
        )

    async def fetch(self, url: str, /) -> FetchOutcome:
        """Return the page of an address."""
        found = self._by_address.get(page_key(url))
        if found is None:
            return FetchOutcome(error="the server answered with status 404")
        return FetchOutcome(content=json_codec.escape_surrogates(found.html))

    def _make_hit(self, i: int, keywords: Sequence[str]) -> SearchHit:
        text, low = self._texts[i], self._lower_texts[i]
        first = len(low)
        for word in keywords:  # search only before the first match so far
            position = low.find(word, 0, first + len(word) - 1)
            first = position if position >= 0 else first
        start = max(0, first - _SNIPPET_CHARS // 4) if first < len(low) else 0
        snippet = " ".join(text[start : start + _SNIPPET_CHARS].split())
        return SearchHit(self._titles[i], self.pages[i].href, snippet)


class _BM25Index:
    """BM25+ over lists of words.

    Its delta adds the same to every page, including pages without the word, so it does not change
    the ranking. It is set to 0, so that a page has a score only if it has a word of the query.
    """

    def __init__(self, texts: Sequence[list[str]]) -> None:
        from bm25s import BM25

        self._ranked = BM25(
            k1=BM25_K1, b=BM25_B, delta=0.0, method="bm25+", dtype="float64", backend="numpy"
        )
        self._ranked.index([words or [""] for words in texts], show_progress=False)

    def best_matches(self, keywords: list[str]) -> list[int]:
        """Return the indices of the texts that have any of the words, best first."""
        if not keywords:
            return []
        scores: NDArray[np.float64] = np.round(self._ranked.get_scores(keywords), _SCORE_DIGITS)
        if np.count_nonzero(scores) > MAX_HITS:  # ties with the last hit stay
            scores[scores < np.partition(scores, -MAX_HITS)[-MAX_HITS]] = 0
        holding = np.flatnonzero(scores)
        order = np.argsort(-scores[holding], kind="stable")[:MAX_HITS]
        return [int(i) for i in holding[order]]


def _read_page_file(folder: Path, path: Path) -> FilePage:
    inside = quote(os.fsencode(path.relative_to(folder)), safe="/")
    content = _file_content(path)
    title, text = path.stem, content
    if path.suffix.lower() in (".html", ".htm"):
        with suppress(ValueError):  # HTML that cannot be parsed is searched by its source
            title, text = (
                html_conversion.html_title(content) or title,
                html_conversion.html_to_text(content),
            )
    return FilePage(
        f"https://{inside}",
        json_codec.escape_surrogates(title),
        json_codec.escape_surrogates(text),
        path,
    )


def _page_text(source: PageSource) -> str:
    """Return the visible text of a page, or its source where that cannot be parsed."""
    if source.text:
        return source.text
    try:
        return json_codec.escape_surrogates(html_conversion.html_to_text(source.html))
    except ValueError:
        return json_codec.escape_surrogates(source.html)


def _file_content(path: Path) -> str:
    return files.read_head(path, MAX_PAGE_BYTES).decode("utf-8", errors="replace")


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())

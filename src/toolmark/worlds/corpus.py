"""Pages as a web of their own, from memory or from a folder: nothing leaves the machine.

The files of a folder lie as `wget -x` leaves them, `host/path`, and a file is the page of that
address, with or without its `.html`. Pages are ranked by BM25+ over their words.
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

from toolmark import codec, files
from toolmark.errors import UsageError
from toolmark.types import Record
from toolmark.worlds import page
from toolmark.worlds.address import MAX_BYTES, SUFFIXES, place
from toolmark.worlds.search import Found, Got, Hit

MAX_HITS = 30
MAX_WORDS = 1_000  # of a query: each costs a pass over the pages that hold it
K1, B = 1.5, 0.75
_SNIPPET_CHARS = 300
_DIGITS = 9  # scores closer than this are equal: then the order of the pages decides
_WORD = re.compile(r"\w+")


class Source(Protocol):
    """A page to be found: its address (with the scheme), title, HTML and text."""

    @property
    def href(self) -> str:
        """The address, `https://host/path`."""
        ...

    @property
    def title(self) -> str:
        """The title, as a hit shows it."""
        ...

    @property
    def html(self) -> str:
        """The page, as fetching it gives it."""
        ...

    @property
    def text(self) -> str:
        """What a reader of the page sees; "" where that is still to be read."""
        ...


class Page(Record, frozen=True):
    """A page in memory. Whoever wrote it knows its `text`; else that is read off the HTML."""

    href: str
    title: str
    html: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a folder: read again when it is fetched. `text` is what a reader sees."""

    href: str
    title: str
    text: str
    path: Path

    @property
    def html(self) -> str:
        """The file as it is, up to MAX_BYTES."""
        return _content(self.path)


class Corpus:
    """Pages, indexed once. Raises UsageError where there are none.

    Pages of equal rank come in the order in which they were given; of two pages with one address
    the later one is fetched.
    """

    def __init__(self, pages: Iterable[Source]) -> None:
        self.pages: Sequence[Source] = tuple(pages)
        if not self.pages:
            raise UsageError("a corpus without pages: there is nothing to search")
        self._by_address = {place(source.href): source for source in self.pages}
        self._titles = [codec.escape(source.title) for source in self.pages]
        self._texts = [_text(source) for source in self.pages]
        self._low = [text.lower() for text in self._texts]
        titled = zip(self._titles, self._texts, strict=True)
        self._index = _Index([_words(f"{title} {text}") for title, text in titled])

    @classmethod
    def of(cls, folder: Path) -> Corpus:
        """Return the pages of a folder. Raises UsageError where it holds none.

        Links that lead out of the folder, pipes and devices are no pages.
        """
        found = files.below(folder, SUFFIXES)
        if not found:
            raise UsageError(
                f"{folder}: no pages; put files there as host/path, ending in {', '.join(SUFFIXES)}"
            )
        return cls(_file(folder, path) for path in found)

    async def find(self, keywords: str, region: str, /) -> Found:
        """Return the pages that hold any of the words, best first; the region says nothing here."""
        wanted = _words(keywords)[:MAX_WORDS]
        distinct = tuple(dict.fromkeys(wanted))
        return Found(hits=tuple(self._hit(i, distinct) for i in self._index.best(wanted)))

    async def fetch(self, url: str, /) -> Got:
        """Return the page of an address."""
        found = self._by_address.get(place(url))
        if found is None:
            return Got(error="the server answered with status 404")
        return Got(content=codec.escape(found.html))

    def _hit(self, i: int, wanted: Sequence[str]) -> Hit:
        text, low = self._texts[i], self._low[i]
        first = len(low)
        for word in wanted:  # each is looked for only before the first one found so far
            spot = low.find(word, 0, first + len(word) - 1)
            first = spot if spot >= 0 else first
        start = max(0, first - _SNIPPET_CHARS // 4) if first < len(low) else 0
        snippet = " ".join(text[start : start + _SNIPPET_CHARS].split())
        return Hit(self._titles[i], self.pages[i].href, snippet)


class _Index:
    """BM25+ over lists of words.

    Its delta adds the same to every page, those without the word included, so it ranks nothing:
    it is left out, and a page has a score just if it holds a word of the query.
    """

    def __init__(self, texts: Sequence[list[str]]) -> None:
        from bm25s import BM25

        self._ranked = BM25(k1=K1, b=B, delta=0.0, method="bm25+", dtype="float64", backend="numpy")
        self._ranked.index([words or [""] for words in texts], show_progress=False)

    def best(self, wanted: list[str]) -> list[int]:
        """Return the places of the texts that hold any of the words, best first."""
        if not wanted:
            return []
        scores: NDArray[np.float64] = np.round(self._ranked.get_scores(wanted), _DIGITS)
        if np.count_nonzero(scores) > MAX_HITS:  # all that may be among the best, ties included
            scores[scores < np.partition(scores, -MAX_HITS)[-MAX_HITS]] = 0
        holding = np.flatnonzero(scores)
        order = np.argsort(-scores[holding], kind="stable")[:MAX_HITS]
        return [int(i) for i in holding[order]]


def _file(folder: Path, path: Path) -> File:
    inside = quote(os.fsencode(path.relative_to(folder)), safe="/")
    content = _content(path)
    title, text = path.stem, content
    if path.suffix.lower() in (".html", ".htm"):
        with suppress(ValueError):  # beyond reading: found by its source
            title, text = page.title(content) or title, page.bare(content)
    return File(f"https://{inside}", codec.escape(title), codec.escape(text), path)


def _text(source: Source) -> str:
    """Return what a reader of the page sees, its source where that is beyond reading."""
    if source.text:
        return source.text
    try:
        return codec.escape(page.bare(source.html))
    except ValueError:
        return codec.escape(source.html)


def _content(path: Path) -> str:
    return files.head(path, MAX_BYTES).decode("utf-8", errors="replace")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())

"""A folder of pages as a web of its own: nothing leaves the machine.

The files lie as `wget -x` leaves them, `host/path`, and a file is the page of that address, with
or without its `.html`. Pages are ranked by BM25+ over their words.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from toolmark import codec
from toolmark.errors import UsageError
from toolmark.worlds import page
from toolmark.worlds.search import Found, Got, Hit

SUFFIXES = (".html", ".htm", ".md", ".txt")
MAX_HITS = 30
_SNIPPET_CHARS = 300
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Page:
    """A file of the corpus: its address, title, words as a reader sees them, and the file."""

    href: str
    title: str
    text: str
    path: Path


class Corpus:
    """The pages of a folder, indexed once. Raises UsageError where there are none."""

    def __init__(self, folder: Path) -> None:
        from rank_bm25 import BM25Plus

        files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
        if not files:
            raise UsageError(
                f"{folder}: no pages; put files there as host/path, ending in {', '.join(SUFFIXES)}"
            )
        self.pages = [_page(folder, path) for path in files]
        self._by_address = {_address(page.href): page for page in self.pages}
        words = [_words(f"{page.title} {page.text}") or [""] for page in self.pages]
        self._sets = [frozenset(each) for each in words]
        self._index = BM25Plus(words)

    async def find(self, keywords: str, region: str, /) -> Found:
        """Return the pages that hold any of the words, best first; the region says nothing here."""
        wanted = _words(keywords)
        scores = self._index.get_scores(wanted)
        holding = [i for i, words in enumerate(self._sets) if not words.isdisjoint(wanted)]
        best = sorted(holding, key=lambda i: -float(scores[i]))[:MAX_HITS]
        return Found(hits=tuple(_hit(self.pages[i], wanted) for i in best))

    async def fetch(self, url: str, /) -> Got:
        """Return the file of an address."""
        found = self._by_address.get(_address(url))
        if found is None:
            return Got(error="the server answered with status 404")
        return Got(content=codec.escape(_content(found.path)))


def _page(folder: Path, path: Path) -> Page:
    inside = path.relative_to(folder).as_posix()
    content = _content(path)
    title, text = path.stem, content
    if path.suffix.lower() in (".html", ".htm"):
        with suppress(ValueError):  # beyond reading: found by its source
            title, text = page.title(content) or title, page.bare(content)
    return Page(f"https://{inside}", codec.escape(title), codec.escape(text), path)


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot read: {error.strerror}") from None


def _address(url: str) -> str:
    """Return what tells pages apart: not the scheme, the case of the host, the ending or fragment.

    An address that cannot be read is that of no page.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    path = unquote(parts.path).rstrip("/")
    for suffix in SUFFIXES:
        path = path.removesuffix(suffix)
    path = path.removesuffix("/index")
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.netloc.lower()}{path}{query}"


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _hit(found: Page, wanted: list[str]) -> Hit:
    low = found.text.lower()
    places = [place for word in wanted if (place := low.find(word)) >= 0]
    start = max(0, min(places, default=0) - _SNIPPET_CHARS // 4)
    snippet = " ".join(found.text[start : start + _SNIPPET_CHARS].split())
    return Hit(found.title, found.href, snippet)

"""A page as a reader meets it: headings, paragraphs, tables, texts of figures, embedded JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any

_BLOCKS = frozenset(
    ("h1", "h2", "h3", "h4", "p", "li", "tr", "figcaption", "summary", "title", "footer", "text",
     "dt", "dd", "pre", "strong", "label", "button", "a", "option")
)  # fmt: skip
_SILENT = frozenset(("style",))
_VOID = frozenset(("meta", "br", "wbr", "img", "input", "link", "hr", "col", "source", "path"))
_SAVED = ("runs", "index", "e0", "e1")
_SHAPES = frozenset(("circle", "rect", "line", "polyline", "polygon", "path"))


class _Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[Any] = []
        self.data: dict[str, Any] = {}
        self.shapes: dict[str, int] = {}
        self.scripts = 0
        self._words: list[str] = []
        self._cells: list[str] | None = None
        self._block = ""
        self._silent = ""
        self._json = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _SHAPES:
            self.shapes[tag] = self.shapes.get(tag, 0) + 1
        if tag == "script":
            self._flush()
            self._silent = tag
            self._json = given.get("id") or "" if given.get("type") == "application/json" else ""
            self.scripts += not self._json
        elif tag in _SILENT:
            self._silent = tag
        elif tag == "section":
            self._flush()
            self.lines.append(f"section {given.get('id')}")
        elif tag == "tr":
            self._flush()
            self._cells = []
        elif tag in ("td", "th") and self._cells is not None:
            self._words = []
        elif tag in _BLOCKS and self._cells is None:
            self._flush()
            self._block = tag
        elif tag in ("img", "audio", "video") and self._cells is None:
            self._flush()
            self.lines.append(f"{tag} {(given.get('src') or '')[:40]}")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = ""
            if self._json:
                self.data[self._json] = json.loads("".join(self._words))
            self._words, self._json = [], ""
        elif tag in ("td", "th") and self._cells is not None:
            self._cells.append(_plain(self._words))
            self._words = []
        elif tag == "tr" and self._cells is not None:
            self.lines.append(self._cells)
            self._cells, self._words = None, []
        elif tag in _BLOCKS and self._cells is None:
            self._flush()

    def handle_data(self, data: str) -> None:
        if not self._silent or self._json:
            self._words.append(data)

    def _flush(self) -> None:
        text = _plain(self._words)
        if text:
            self.lines.append(f"{self._block}: {text}" if self._block else text)
        self._words, self._block = [], ""


def _plain(words: list[str]) -> str:
    return re.sub(r"[ \n\t]+", " ", "".join(words)).strip()


def outline(page: str) -> dict[str, Any]:
    """Return what a page says, in order: text by element, table rows as lists of cells.

    `data` are the JSON objects embedded in it by id: the runs, the index of episodes and the first
    two of these; `embedded` counts all by kind, and `shapes` what the figures draw.
    """
    reader = _Outline()
    reader.feed(page)
    reader.close()
    kinds = Counter(re.sub(r"\d+$|-.*", "", name) for name in reader.data)
    return {
        "lines": reader.lines,
        "data": {name: reader.data[name] for name in _SAVED if name in reader.data},
        "embedded": dict(kinds),
        "shapes": reader.shapes,
        "scripts": reader.scripts,
    }

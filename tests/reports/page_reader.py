"""A page as data: its JSON blocks, and tables, headings, notes and addresses by section."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

_NO_END = frozenset(("meta", "br", "wbr", "img", "input", "link", "hr", "col", "source", "path"))
_SILENT = ("script", "style")
_HEADINGS = ("h1", "h2", "h3", "summary")


@dataclass
class Element:
    """An element with its attributes; `children` are elements and pieces of text, in order."""

    name: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text that a reader sees inside, spaces of every kind as one."""
        return re.sub(r"\s+", " ", "".join(self._pieces())).replace("\u200b", "").strip()

    def _pieces(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.name == "br":
                yield " "
            elif child.name not in _SILENT:
                yield from child._pieces()

    def walk(self) -> Iterator[Element]:
        """Go through the elements inside, in the order of the page."""
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.walk()

    def find(self, name: str = "", kind: str = "") -> list[Element]:
        """Return the elements inside with this name and of this class."""
        return [
            each
            for each in self.walk()
            if name in ("", each.name)
            and (not kind or kind in each.attributes.get("class", "").split())
        ]

    @property
    def rows(self) -> list[list[str]]:
        """The cells of each row, the head's first."""
        return [
            [cell.text for cell in row.walk() if cell.name in ("td", "th")]
            for row in self.find("tr")
        ]

    @property
    def headings(self) -> list[str]:
        return [each.text for each in self.walk() if each.name in _HEADINGS]

    @property
    def notes(self) -> list[str]:
        return [each.text for each in self.find(kind="note")]

    @property
    def tables(self) -> dict[str, list[list[str]]]:
        """The rows of each table under its heading; of equal headings the last one."""
        found, title = {}, ""
        for each in self.walk():
            if each.name in _HEADINGS:
                title = each.text
            elif each.name == "table":
                found[title] = each.rows
        return found


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("page", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(made)
        if tag not in _NO_END:
            self._open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        names = [each.name for each in self._open]
        if tag in names:
            del self._open[len(names) - 1 - names[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


@dataclass
class ReadPage:
    """A page that was read: the tree, and what is in it."""

    root: Element
    blocks: dict[str, Any]

    def section(self, name: str) -> Element:
        """Return the part of the page with this id."""
        (found,) = (each for each in self.root.walk() if each.attributes.get("id") == name)
        return found

    @property
    def ids(self) -> set[str]:
        return {each.attributes["id"] for each in self.root.walk() if "id" in each.attributes}

    @property
    def names(self) -> set[str]:
        return {each.name for each in self.root.walk()}

    @property
    def links(self) -> list[str]:
        """The addresses that the page refers to."""
        return [
            each.attributes[key]
            for each in self.root.walk()
            for key in ("src", "href", "srcset")
            if key in each.attributes
        ]

    @property
    def policy(self) -> dict[str, list[str]]:
        """The sources that the content security policy allows, by directive."""
        (text,) = (
            each.attributes["content"]
            for each in self.root.find("meta")
            if each.attributes.get("http-equiv") == "Content-Security-Policy"
        )
        return {name: rest for name, *rest in (part.split() for part in text.split(";"))}

    @property
    def settings(self) -> dict[str, str]:
        """What was run, by name; of several runs the last one's."""
        rows = [row for table in self.section("asked").find("table") for row in table.rows]
        return {row[0]: row[1] for row in rows if len(row) == 2}


def read_page(path: Path) -> ReadPage:
    """Read a page from its file."""
    builder = _Builder()
    builder.feed(path.read_text(encoding="utf-8"))
    builder.close()
    blocks = {
        each.attributes["id"]: json.loads("".join(map(str, each.children)))
        for each in builder.root.find("script")
        if each.attributes.get("type") == "application/json"
    }
    return ReadPage(builder.root, blocks)

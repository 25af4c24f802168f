"""A page as a list of facts: what stands behind a label, and what its sentences say of dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urljoin

_LINK = re.compile(r"!?\[([^\]]{0,300}+)\]\(([^)\s]{0,2000}+)(?=[\s)])[^)]{0,300}+\)")
_HEADING = re.compile(r"^#+\s*(.+)$", re.MULTILINE)
_LABELLED = re.compile(
    r"^\s*+(?:[*+-]\s++)?\**+\s*+([^:|*]{2,40}?|(?<=\s)[^:|*\s])"
    r"\s*+:?\**+\s*+:\s*+\**+\s*+(.+)$"
)
_ROW = re.compile(r"^\|([^|]++)\|([^|]++)\|\s*$")
_SENTENCE = re.compile(r"(?<=[a-z\d)][.!?])\s+(?=[A-Z])")
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_SPANS = re.compile(
    rf"\b\d{{1,2}} {_MONTH} \d{{4}}\b|\b{_MONTH} \d{{1,2}}, \d{{4}}\b|\b\d[\d,]*(?:\.\d+)?\b"
)


class Fact(NamedTuple):
    """A value behind a label. `href`: its page; `said`: the page's sentence that holds the value.

    A fact that is told in a sentence alone has no label.
    """

    label: str
    value: str
    href: str = ""
    said: str = ""


class Sheet(NamedTuple):
    """A page: its address, its first heading, its facts."""

    href: str
    title: str
    facts: tuple[Fact, ...]


def read(text: str, href: str) -> Sheet:
    """Read a page of Markdown."""
    heading = _HEADING.search(text)
    title = _plain(heading[1]) if heading else ""
    return Sheet(href, title, tuple(_facts(text, href)))


def _facts(text: str, base: str) -> Iterator[Fact]:
    rows: list[Fact] = []
    prose: list[str] = []
    for line in text.splitlines():
        found = _ROW.match(line) or _LABELLED.match(line)
        if found and not set(found[1].strip()) <= set(" -:"):
            rows.append(Fact(_plain(found[1]), _plain(found[2]), _href(found[2], base)))
        elif not line.startswith("#"):
            prose.append(line)
    sentences = _SENTENCE.split(" ".join(prose))
    for row in rows:
        yield row._replace(said=_around(row.value, map(_plain, sentences)))
    known = "\n".join(fact.value for fact in rows)
    for sentence in sentences:
        yield from (fact for fact in _told(sentence, base) if fact.value not in known)


def _around(value: str, sentences: Iterable[str]) -> str:
    """Return what stands around a value in the first sentence that holds it, without its unit."""
    number = _SPANS.match(value)
    core = number[0] if number else value
    return next((said.replace(core, " ") for said in sentences if core in said), "")


def _told(sentence: str, base: str) -> Iterator[Fact]:
    """Go through the links, dates and numbers of a sentence."""
    plain = _plain(sentence)
    for link in _LINK.finditer(sentence):
        yield Fact("", link[1].strip(), urljoin(base, link[2]), plain.replace(link[1], " "))
    for span in _SPANS.finditer(plain):
        yield Fact("", span[0], "", f"{plain[: span.start()]} {plain[span.end() :]}")


def _href(text: str, base: str) -> str:
    """Return where a value's only link leads."""
    links = _LINK.findall(text)
    return urljoin(base, links[0][1]) if len(links) == 1 else ""


def _plain(text: str) -> str:
    return " ".join(_LINK.sub(r"\1", text).replace("**", "").replace("\\", "").split())

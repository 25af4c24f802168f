"""Facts of a page: labelled values, and the links, dates and numbers of its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urljoin

_LINK = re.compile(r"!?\[([^\]]{0,300}+)\]\(([^)\s]{0,2000}+)(?=[\s)])[^)]{0,300}+\)")
_HEADING = re.compile(r"^#+\s*(.+)$", re.MULTILINE)
_LABELLED_LINE = re.compile(
    r"^\s*+(?:[*+-]\s++)?\**+\s*+([^:|*]{2,40}?|(?<=\s)[^:|*\s])"
    r"\s*+:?\**+\s*+:\s*+\**+\s*+(.+)$"
)
_TABLE_ROW = re.compile(r"^\|([^|]++)\|([^|]++)\|\s*$")
_SENTENCE = re.compile(r"(?<=[a-z\d)][.!?])\s+(?=[A-Z])")
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_VALUE_SPAN = re.compile(
    rf"\b\d{{1,2}} {_MONTH} \d{{4}}\b|\b{_MONTH} \d{{1,2}}, \d{{4}}\b|\b\d[\d,]*(?:\.\d+)?\b"
)


class PageFact(NamedTuple):
    """A value and its label. `href` is the value's page, `said` the text around the value.

    A fact that is only in a sentence has no label.
    """

    label: str
    value: str
    href: str = ""
    said: str = ""


class FactSheet(NamedTuple):
    """A page: its address, its first heading, its facts."""

    href: str
    title: str
    facts: tuple[PageFact, ...]


def read_page_facts(text: str, href: str) -> FactSheet:
    """Return the facts of a page of Markdown."""
    heading = _HEADING.search(text)
    title = _plain_text(heading[1]) if heading else ""
    return FactSheet(href, title, tuple(_find_facts(text, href)))


def _find_facts(text: str, base: str) -> Iterator[PageFact]:
    rows: list[PageFact] = []
    prose: list[str] = []
    for line in text.splitlines():
        found = _TABLE_ROW.match(line) or _LABELLED_LINE.match(line)
        if found and not set(found[1].strip()) <= set(" -:"):
            rows.append(
                PageFact(_plain_text(found[1]), _plain_text(found[2]), _link_target(found[2], base))
            )
        elif not line.startswith("#"):
            prose.append(line)
    sentences = _SENTENCE.split(" ".join(prose))
    for row in rows:
        yield row._replace(said=_sentence_around(row.value, map(_plain_text, sentences)))
    known_values = "\n".join(fact.value for fact in rows)
    for sentence in sentences:
        yield from (
            fact for fact in _sentence_facts(sentence, base) if fact.value not in known_values
        )


def _sentence_around(value: str, sentences: Iterable[str]) -> str:
    """Return the first sentence that contains a value, without the value's number or name."""
    number = _VALUE_SPAN.match(value)
    core = number[0] if number else value
    return next((sentence.replace(core, " ") for sentence in sentences if core in sentence), "")


def _sentence_facts(sentence: str, base: str) -> Iterator[PageFact]:
    """Yield the links, dates and numbers of a sentence."""
    plain = _plain_text(sentence)
    for link in _LINK.finditer(sentence):
        yield PageFact("", link[1].strip(), urljoin(base, link[2]), plain.replace(link[1], " "))
    for span in _VALUE_SPAN.finditer(plain):
        yield PageFact("", span[0], "", f"{plain[: span.start()]} {plain[span.end() :]}")


def _link_target(text: str, base: str) -> str:
    """Return the address of the only link in a value; "" if there is none or more than one."""
    links = _LINK.findall(text)
    return urljoin(base, links[0][1]) if len(links) == 1 else ""


def _plain_text(text: str) -> str:
    return " ".join(_LINK.sub(r"\1", text).replace("**", "").replace("\\", "").split())

"""What an episode did: its queries and what they found, the pages it opened, its last word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from toolmark import codec
from toolmark.suites.mfcl.vision import answer
from toolmark.suites.mfcl.vision.answer import Final
from toolmark.types import Call, Result, Trajectory
from toolmark.worlds.search import FETCH, PARTS, SEARCH, joined

_HREF = re.compile(r"""['"]href['"]: (?:'([^']*)'|"([^"]*)")""")
KEYWORDS = "keywords"


class Query(NamedTuple):
    """A search: its words, by argument and joined, and the addresses that it found, in order."""

    step: int
    text: str
    parts: dict[str, str]
    found: tuple[str, ...]


class Opened(NamedTuple):
    """A page that was asked for; `text` is "" where it could not be had."""

    step: int
    href: str
    text: str


class Track(NamedTuple):
    """The episode in its order; `final` is what its last message says."""

    queries: tuple[Query, ...]
    opened: tuple[Opened, ...]
    final: Final
    n_steps: int
    asked_back: bool


def follow(trajectory: Trajectory) -> Track:
    """Read an episode. Calls that were not executed, or could not be read, count for nothing."""
    queries: list[Query] = []
    opened: list[Opened] = []
    for number, step in enumerate(trajectory.steps):
        for call, result in zip(step.calls, step.results, strict=False):
            given = _given(call)
            if call.name == SEARCH and given:
                queries.append(_query(number, given, result))
            elif call.name == FETCH and isinstance(url := given.get("url"), str):
                opened.append(_opened(number, url, result))
    last = trajectory.steps[-1] if trajectory.steps else None
    said = "" if last is None or last.calls or last.reply.calls else last.reply.text
    final = answer.read(said)
    replied = any(step.ruling and step.ruling.allowed for step in trajectory.steps)
    return Track(
        tuple(queries), tuple(opened), final, len(trajectory.steps),
        replied or final.kind == "asks",
    )  # fmt: skip


def _given(call: Call) -> dict[str, object]:
    try:
        given = codec.loads(codec.restore(call.arguments))
    except codec.BadJson:
        return {}
    return given if isinstance(given, dict) else {}


def _query(number: int, given: dict[str, object], result: Result) -> Query:
    parts = dict(_words(given))
    found = () if result.is_error else tuple(hrefs(codec.restore(result.text)))
    return Query(number, joined(*parts.values()), parts, found)


def _words(given: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Go through the arguments that hold words of a search: one, or several by their source."""
    for name in (KEYWORDS, *PARTS):
        if isinstance(told := given.get(name), str):
            yield name, told


def hrefs(text: str) -> Iterator[str]:
    """Go through the addresses in the result of a search."""
    return (found[1] or found[2] or "" for found in _HREF.finditer(text))


def _opened(number: int, url: str, result: Result) -> Opened:
    text = codec.restore(result.text)
    lost = result.is_error or text.startswith('{"error"')
    return Opened(number, url, "" if lost else text)


def place(url: str) -> str:
    """Return what tells pages apart: host and path, without the ending."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    path = unquote(parts.path).rstrip("/").removesuffix(".html").removesuffix("/index")
    return f"{parts.netloc.lower()}{path}{f'?{parts.query}' if parts.query else ''}"

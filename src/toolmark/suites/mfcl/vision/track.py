"""What an episode did: its queries and what they found, the pages it opened, its last word."""

from __future__ import annotations

from typing import NamedTuple

from toolmark import codec
from toolmark.suites.mfcl.vision import answer
from toolmark.suites.mfcl.vision.answer import Final
from toolmark.types import Call, Result, Trajectory
from toolmark.worlds.search import FETCH, PARTS, SEARCH, joined

KEYWORDS = "keywords"
_CUT = 160


class Query(NamedTuple):
    """A search: its words, and the addresses that it found, in order."""

    step: int
    text: str
    found: tuple[str, ...]


class Opened(NamedTuple):
    """A page that was asked for; `text` is "" where it could not be had."""

    step: int
    href: str
    text: str


class Track(NamedTuple):
    """The episode in its order; `final` is what its last message says.

    `lost` are searches that were tried and not made, for what was wrong with the call, and calls of
    tools that there are not: each as it was written, and what came of it.
    """

    queries: tuple[Query, ...]
    opened: tuple[Opened, ...]
    lost: tuple[str, ...]
    final: Final
    n_steps: int
    asked_back: bool


def follow(trajectory: Trajectory) -> Track:
    """Read an episode. Calls that were not executed count for nothing."""
    queries: list[Query] = []
    opened: list[Opened] = []
    lost: list[str] = []
    for number, step in enumerate(trajectory.steps):
        for call, result in zip(step.calls, step.results, strict=False):
            given = _given(call)
            if call.name == FETCH and isinstance(url := given.get("url"), str):
                opened.append(_opened(number, url, result))
            elif call.name == SEARCH and (told := _told(given)) and not result.is_error:
                found = tuple(_hrefs(codec.restore(result.text)))
                queries.append(Query(number, joined(*told), found))
            elif call.name != FETCH:
                lost.append(f"{call.name[:_CUT]} {call.arguments[:_CUT]}: {result.text[:_CUT]}")
    last = trajectory.steps[-1] if trajectory.steps else None
    said = "" if last is None or last.calls or last.reply.calls else last.reply.text
    final = answer.read(said)
    replied = any(step.ruling and step.ruling.allowed for step in trajectory.steps)
    return Track(
        tuple(queries), tuple(opened), tuple(lost), final, len(trajectory.steps),
        replied or final.kind == "asks",
    )  # fmt: skip


def _given(call: Call) -> dict[str, object]:
    try:
        given = codec.loads(codec.restore(call.arguments))
    except codec.BadJson:
        return {}
    return given if isinstance(given, dict) else {}


def _told(given: dict[str, object]) -> list[str]:
    """Return the words of a search: of one argument, or of several by their source."""
    told = (given.get(name) for name in (KEYWORDS, *PARTS))
    return [words for words in told if isinstance(words, str)]


def _hrefs(text: str) -> list[str]:
    """Return the addresses in the result of a search; one that a snippet speaks of is none."""
    return [href for row in codec.rows(text) if isinstance(href := row.get("href"), str)]


def _opened(number: int, url: str, result: Result) -> Opened:
    text = codec.restore(result.text)
    lost = result.is_error or text.startswith('{"error"')
    return Opened(number, url, "" if lost else text)

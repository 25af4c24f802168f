"""The agents: `baseline/ocr-search` reads the picture, `baseline/blind` has the question alone.

Both see a Request and nothing else, and keep nothing: what was done so far is played again from
the results in the messages.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence

from msgspec.structs import replace

from toolmark.media import Media
from toolmark.models.baselines.desk import heard
from toolmark.models.baselines.desk_kit import Kit
from toolmark.suites.mfcl.vision.baselines import question as asking
from toolmark.suites.mfcl.vision.baselines import signs
from toolmark.suites.mfcl.vision.baselines.hunt import Find, Lead, hunt
from toolmark.suites.mfcl.vision.baselines.ocr import Eyes, Page, Tesseract
from toolmark.suites.mfcl.vision.baselines.question import Question
from toolmark.suites.mfcl.vision.baselines.signs import Sign
from toolmark.types import Image, Message, Reply, Request, Text

UNKNOWN = "I do not know"
_WORDS = 12  # of the question, in a query


class Reader:
    """Reads the words of the picture with Tesseract, searches with them, reads pages.

    Without tools it answers with what is written in the picture. Raises UsageError where Tesseract
    is not installed.
    """

    name = "baseline/ocr-search"
    hears = False

    def __init__(self, media: Media, eyes: Eyes | None = None) -> None:
        self._media = media
        self._eyes = eyes or Tesseract()
        self._few = asyncio.Semaphore(os.cpu_count() or 1)

    async def __call__(self, request: Request, /) -> Reply:
        """Make the next calls, or answer. Raises DataError for a picture that cannot be read."""
        asked = _question(request.messages)
        pictures = [part for message in request.messages if message.role == "user"
                    for part in message.parts if isinstance(part, Image)]  # fmt: skip
        pages = [await self._read(picture) for picture in pictures]
        found = [sign for page in pages for sign in signs.of(page)]
        if not request.tools:
            return Reply(text=_answer(_glance(asked, found)))
        return _played(request, asked, _leads(asked, found))

    async def _read(self, picture: Image) -> Page:
        async with self._few:
            data = self._media.read(picture)
            return await asyncio.to_thread(self._eyes.read, data, f"picture {picture.sha256[:12]}")


class Blind:
    """Searches with the words of the question, as if there were no picture."""

    name = "baseline/blind"
    hears = False

    async def __call__(self, request: Request, /) -> Reply:
        """Make the next calls, or answer."""
        asked = _question(request.messages)
        return _played(request, asked, _leads(asked, []))


def _glance(asked: Question, found: Sequence[Sign]) -> Find | None:
    """Return the sign that stands where the question says and may be its answer."""
    fit = [sign for sign in found if asking.fits(sign.text, asked.want)]
    best = max(fit, key=lambda sign: sign.plain + 2 * signs.fits(sign, asked.text), default=None)
    return None if best is None else Find(best.text, ("the picture",), best.plain)


def _question(messages: Sequence[Message]) -> Question:
    said = next((message for message in messages if message.role == "user"), None)
    parts = [] if said is None else [part.text for part in said.parts if isinstance(part, Text)]
    return asking.of("\n".join(parts))


def _leads(asked: Question, found: Sequence[Sign]) -> list[Lead]:
    """Return what to search with: each sign's words; without any those of the question."""
    if not found:
        words = [word for word in asked.text.split() if asking.stems(word)]
        return [Lead(" ".join(words[:_WORDS]), 0.0, asked.stems, like=0.0)]
    return [
        Lead(sign.text, sign.plain + 2 * signs.fits(sign, asked.text), asked.stems)
        for sign in found
    ]


def _played(request: Request, asked: Question, leads: Sequence[Lead]) -> Reply:
    """Play the hunt up to where the messages have come."""
    played = hunt(asked, leads, Kit(request.tools))
    try:
        calls = next(played)
        for results in heard(request.messages):
            calls = played.send(results)
    except StopIteration as end:
        return Reply(text=_answer(end.value))
    at = sum(bool(message.calls) for message in request.messages)
    named = [replace(call, id=f"call_{at}_{n}") for n, call in enumerate(calls)]
    return Reply(calls=tuple(named))


def _answer(find: Find | None) -> str:
    if find is None:
        return UNKNOWN
    way = " > ".join(name for name in find.names if name)
    return json.dumps({"answer": find.value, "context": way}, ensure_ascii=False)

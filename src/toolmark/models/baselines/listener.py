"""A baseline that listens: a real recogniser writes down what it hears, and words do the rest.

It sees a Request and nothing else; sound parts become text, then `lexical` matches words to tools.
"""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from toolmark import plugin
from toolmark.media import Media
from toolmark.models.baselines.lexical import Lexical
from toolmark.types import Audio, Message, Part, Reply, Request, Text

EARS = "pocketsphinx"


class Listener:
    """Transcribes with PocketSphinx, then answers as `baseline/lexical`."""

    name = "baseline/listener"

    def __init__(self, media: Media) -> None:
        self._media = media
        self._words = Lexical()
        self._ears: Any = None
        self._one = asyncio.Semaphore(1)

    async def __call__(self, request: Request, /) -> Reply:
        """Write down what is heard, and answer to that."""
        messages = [await self._written(message) for message in request.messages]
        return await self._words(replace(request, messages=tuple(messages)))

    async def _written(self, message: Message) -> Message:
        if not any(isinstance(part, Audio) for part in message.parts):
            return message
        async with self._one:  # a recogniser does one thing at a time
            parts = [await asyncio.to_thread(self._text, part) for part in message.parts]
        return replace(message, parts=tuple(parts))

    def _text(self, part: Part) -> Part:
        if not isinstance(part, Audio):
            return part
        if self._ears is None:
            self._ears = plugin.attribute("toolmark.perturb.hear.recogniser:by_name")(EARS)
        clip = plugin.attribute("toolmark.perturb.speech.clip:read")(self._media.read(part))
        context = plugin.attribute("toolmark.perturb.hear.recogniser:Context")()
        return Text(self._ears.hear(clip, context).text)

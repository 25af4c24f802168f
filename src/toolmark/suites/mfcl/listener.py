"""A baseline that listens: a real recogniser writes down what it hears, and words do the rest.

It sees a Request and nothing else; sound parts become text, then `lexical` matches words to tools.
It stands here and not with the other baselines since those know no recognisers.
"""

from __future__ import annotations

import asyncio
from functools import cached_property

from msgspec.structs import replace

from toolmark.media import Media
from toolmark.models.baselines.lexical import Lexical
from toolmark.perturb.hear import recogniser
from toolmark.perturb.speech import clip
from toolmark.types import Audio, Message, Part, Reply, Request, Text

EARS = "pocketsphinx"


class Listener:
    """Transcribes with PocketSphinx what lies in `media`, then answers as `baseline/lexical`."""

    name = "baseline/listener"

    def __init__(self, media: Media) -> None:
        self._media = media
        self._words = Lexical()
        self._one = asyncio.Semaphore(1)

    async def __call__(self, request: Request, /) -> Reply:
        """Write down what is heard, and answer to that."""
        messages = [await self._written(message) for message in request.messages]
        return await self._words(replace(request, messages=tuple(messages)))

    @cached_property
    def _ears(self) -> recogniser.Recogniser:
        return recogniser.by_name(EARS)

    async def _written(self, message: Message) -> Message:
        if not any(isinstance(part, Audio) for part in message.parts):
            return message
        async with self._one:  # a recogniser does one thing at a time
            parts = [await asyncio.to_thread(self._text, part) for part in message.parts]
        return replace(message, parts=tuple(parts))

    def _text(self, part: Part) -> Part:
        if not isinstance(part, Audio):
            return part
        heard = self._ears.hear(clip.read(self._media.read(part)), recogniser.Context())
        return Text(heard.text)

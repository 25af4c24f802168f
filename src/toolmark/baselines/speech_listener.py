"""A baseline that listens: a recogniser transcribes the sound, and `LexicalMatcher` answers.

It sees only a Request: sound parts become text, then words are matched to tools. Unlike the other
baselines it needs a recogniser.
"""

from __future__ import annotations

import asyncio
from functools import cached_property

from msgspec.structs import replace

from toolmark.baselines.lexical_matcher import LexicalMatcher
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Audio, Message, Part, Reply, Request, Text
from toolmark.perturb.hearing import recogniser, recogniser_registry
from toolmark.perturb.speech import audio_clip

RECOGNISER_NAME = "pocketsphinx"


class SpeechListener(Model):
    """Transcribes the sound in `media` with PocketSphinx, then answers as `baseline/lexical`."""

    name = "baseline/listener"
    calls_natively = True

    def __init__(self, media: MediaStore) -> None:
        self._media = media
        self._lexical = LexicalMatcher()
        self._one_at_a_time = asyncio.Semaphore(1)

    async def __call__(self, request: Request, /) -> Reply:
        """Transcribe the sound, and answer to the text."""
        messages = [await self._transcribe_message(message) for message in request.messages]
        return await self._lexical(replace(request, messages=tuple(messages)))

    @cached_property
    def _recogniser(self) -> recogniser.Recogniser:
        return recogniser_registry.load_recogniser(RECOGNISER_NAME)

    async def _transcribe_message(self, message: Message) -> Message:
        if not any(isinstance(part, Audio) for part in message.parts):
            return message
        async with self._one_at_a_time:  # a recogniser handles one clip at a time
            parts = [await asyncio.to_thread(self._transcribe_part, part) for part in message.parts]
        return replace(message, parts=tuple(parts))

    def _transcribe_part(self, part: Part) -> Part:
        if not isinstance(part, Audio):
            return part
        transcript = self._recogniser.hear(
            audio_clip.decode_clip(self._media.read(part)), recogniser.HearingContext()
        )
        return Text(transcript.text)

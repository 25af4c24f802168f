"""A chat endpoint that takes sound: it hears by a real recogniser, or ignores or refuses it."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import wave
from dataclasses import dataclass, field
from typing import Any

from tests.servers import fake

Json = dict[str, Any]
NEEDS_SOUND = (
    "This model requires that either input content or output modality contain audio. Please pass "
    "in an audio content."
)
_HEADER_BYTES = 44
USAGE = {"prompt_tokens": 40, "completion_tokens": 6}
NO_SOUND = "input_audio is not supported by this model"


def transcribe_clip(wav: bytes) -> str:
    """Write down what a recogniser hears."""
    import pocketsphinx

    with wave.open(io.BytesIO(wav)) as sound:
        frames = sound.readframes(sound.getnframes())
    words = "zero | one | two | three | four | five | six | seven | eight | nine"
    grammar = f"#JSGF V1.0; grammar g; public <all> = the digits are ({words})+;"
    decoder = pocketsphinx.Decoder(samprate=16_000, loglevel="FATAL", lm=None)
    decoder.add_jsgf_string("all", grammar)
    decoder.activate_search("all")
    decoder.start_utt()
    decoder.process_raw(frames, full_utt=True)
    decoder.end_utt()
    found = decoder.hyp()
    return found.hypstr if found else ""


def clips_of(body: Json) -> list[bytes]:
    """Return the sounds in a conversation."""
    parts = (
        part
        for message in body["messages"]
        if isinstance(message.get("content"), list)
        for part in message["content"]
    )
    return [
        base64.b64decode(part["input_audio"]["data"])
        for part in parts
        if part["type"] == "input_audio"
    ]


@dataclass
class Listener:
    """Says what it heard.

    `is_deaf`: it takes sound and ignores it. `needs_sound`: it refuses requests without.
    `needs_speech`: silence is not enough. `takes_sound`: whether it takes any.
    """

    is_deaf: bool = False
    needs_sound: bool = False
    needs_speech: bool = False
    takes_sound: bool = True
    bodies: list[Json] = field(default_factory=list)

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        body = asked.json
        self.bodies.append(body)
        clips = clips_of(body)
        if clips and not self.takes_sound:
            answer = (400, {"error": {"message": NO_SOUND}})
        elif self.needs_sound and not any(map(self._is_enough, clips)):
            answer = (400, {"error": {"message": NEEDS_SOUND}})
        elif clips and not self.is_deaf:
            answer = (200, fake.says(transcribe_clip(clips[-1])) | {"usage": USAGE})
        else:
            answer = (200, fake.says("I am ready. How can I help?") | {"usage": USAGE})
        writer.write(fake.raw(answer[0], json.dumps(answer[1]).encode()))

    def _is_enough(self, clip: bytes) -> bool:
        return not self.needs_speech or any(clip[_HEADER_BYTES:])

"""Voices of a server that speaks OpenAI's POST /audio/speech.

$TOOLMARK_SPEECH_URL is its base, `https://api.openai.com/v1` for one; $TOOLMARK_SPEECH_MODEL the
model, $TOOLMARK_SPEECH_VOICES the voices, with commas; $TOOLMARK_SPEECH_KEY the key, where it
wants one. The same words are not the same sound twice: the cache is what keeps a data set equal.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from toolmark import private
from toolmark.perturb import web
from toolmark.perturb.speech.engines import process
from toolmark.perturb.speech.voice import Voice

TIMEOUT_S = 120.0
MOST_BYTES = 64 * 2**20
TRIES = 4
_KEY = "TOOLMARK_SPEECH_KEY"


def _asked(name: str) -> str:
    if value := os.environ.get(name, "").strip():
        return value
    raise process.Missing(f"cloud voices need ${name} (and see docs/voices.md)")


def _url() -> str:
    named = "$TOOLMARK_SPEECH_URL"
    return web.checked(_asked("TOOLMARK_SPEECH_URL"), named=named, key_name=f"${_KEY}")


def version() -> str:
    """Return the name of the model; servers tell no more."""
    _url()
    return _asked("TOOLMARK_SPEECH_MODEL")


def voices() -> list[Voice]:
    """Return the voices that are configured. Each is taken for a speaker of its own."""
    number = version()
    names = [name.strip() for name in _asked("TOOLMARK_SPEECH_VOICES").split(",")]
    return [
        Voice(engine="cloud", name=name, speaker=f"cloud {name}", version=number)
        for name in names
        if name
    ]


def pitched(name: str) -> bool:
    """None is."""
    return False


def speak(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text spoken, as the server's WAV file."""
    said = {
        "model": voice.version,
        "voice": voice.name,
        "input": text,
        "response_format": "wav",
        "speed": voice.rate,
    }
    key = os.environ.get(_KEY, "").strip()
    head = {"Content-Type": "application/json"}
    if key:
        head["Authorization"] = f"Bearer {key}"
    url = _url()
    name = f"voices of {private.address(url)}"
    service = web.Service(name, url, key, f"${_KEY}", TIMEOUT_S, MOST_BYTES)
    body = json.dumps(said).encode()
    return web.patient(lambda: web.post(service, "/audio/speech", head, body), TRIES)

"""Voices of a server with OpenAI's API POST /audio/speech.

$TOOLMARK_SPEECH_URL is its base address, such as `https://api.openai.com/v1`,
$TOOLMARK_SPEECH_MODEL the model, $TOOLMARK_SPEECH_VOICES the voices, separated by commas,
$TOOLMARK_SPEECH_KEY the key, if the server needs one. The same text gives another sound each time:
only the cache makes a data set reproducible.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from toolmark.core import external_commands, secrets
from toolmark.perturb import speech_service
from toolmark.perturb.speech.voice import Voice

TIMEOUT_S = 120.0
MAX_BYTES = 64 * 2**20
N_TRIES = 4
_KEY_NAME = "TOOLMARK_SPEECH_KEY"


def _required_setting(name: str) -> str:
    if value := os.environ.get(name, "").strip():
        return value
    raise external_commands.NotInstalled(
        f"cloud voices need ${name} (and see docs/reference/voices.md)"
    )


def _base_url() -> str:
    label = "$TOOLMARK_SPEECH_URL"
    return speech_service.check_address(
        _required_setting("TOOLMARK_SPEECH_URL"), label=label, key_name=f"${_KEY_NAME}"
    )


def version() -> str:
    """Return the name of the model; servers report no other version."""
    _base_url()
    return _required_setting("TOOLMARK_SPEECH_MODEL")


def voices() -> list[Voice]:
    """Return the configured voices; each counts as a separate speaker."""
    number = version()
    names = [name.strip() for name in _required_setting("TOOLMARK_SPEECH_VOICES").split(",")]
    return [
        Voice(engine="cloud", name=name, speaker=f"cloud {name}", version=number)
        for name in names
        if name
    ]


def can_set_pitch(name: str) -> bool:
    """Return False: the pitch of no voice can be set."""
    return False


def synthesize_text(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text as speech, the server's WAV file."""
    request = {
        "model": voice.version,
        "voice": voice.name,
        "input": text,
        "response_format": "wav",
        "speed": voice.rate,
    }
    key = os.environ.get(_KEY_NAME, "").strip()
    head = {"Content-Type": "application/json"}
    if key:
        head["Authorization"] = f"Bearer {key}"
    url = _base_url()
    name = f"voices of {secrets.mask_address(url)}"
    service = speech_service.Service(name, url, key, f"${_KEY_NAME}", TIMEOUT_S, MAX_BYTES)
    body = json.dumps(request).encode()
    return speech_service.retry_request(
        lambda: speech_service.post_request(service, "/audio/speech", head, body), N_TRIES
    )

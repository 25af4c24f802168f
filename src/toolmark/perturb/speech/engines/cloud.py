"""Voices of a server that speaks OpenAI's POST /audio/speech.

$TOOLMARK_SPEECH_URL is its base, `https://api.openai.com/v1` for one; $TOOLMARK_SPEECH_MODEL the
model, $TOOLMARK_SPEECH_VOICES the voices, with commas; $TOOLMARK_SPEECH_KEY the key, where it
wants one. The same words are not the same sound twice: the cache is what keeps a data set equal.
"""

from __future__ import annotations

import json
import os
import time
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from toolmark.errors import (
    DataError,
    EndpointError,
    RateLimited,
    Rejected,
    Timeout,
    Torn,
    Unavailable,
    UsageError,
)
from toolmark.perturb.speech.engines import process
from toolmark.perturb.speech.voice import Voice

TIMEOUT_S = 120.0
MOST_BYTES = 64 * 2**20
_BLOCK_BYTES = 2**16


class _Stay(HTTPRedirectHandler):
    """Follows no redirect: the key would go along."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _asked(name: str) -> str:
    if value := os.environ.get(name, "").strip():
        return value
    raise process.Missing(f"cloud voices need ${name} (and see docs/voices.md)")


def _url() -> str:
    url = _asked("TOOLMARK_SPEECH_URL").rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not _fits(url):
        raise UsageError("$TOOLMARK_SPEECH_URL is no http:// or https:// address")
    if parts.username is not None:
        raise UsageError("$TOOLMARK_SPEECH_URL holds a name; use $TOOLMARK_SPEECH_KEY")
    return url


def _fits(text: str) -> bool:
    """Tell whether a text may stand in a request's head."""
    return text.isascii() and text.isprintable() and " " not in text


def _head() -> dict[str, str]:
    head = {"Content-Type": "application/json"}
    if key := os.environ.get("TOOLMARK_SPEECH_KEY", "").strip():
        if not _fits(key):
            raise UsageError("$TOOLMARK_SPEECH_KEY holds characters that no key has")
        head["Authorization"] = f"Bearer {key}"
    return head


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
    return _post(Request(f"{_url()}/audio/speech", json.dumps(said).encode(), _head()))


def _post(request: Request) -> bytes:
    opener: OpenerDirector = build_opener(_Stay)
    where = request.full_url
    try:
        with opener.open(request, timeout=TIMEOUT_S) as reply:
            return _body(reply, where)
    except HTTPError as error:
        with error:
            raise _refusal(error, where) from None
    except TimeoutError:
        raise Timeout(f"{where}: nothing came in {TIMEOUT_S:g} s") from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise Timeout(f"{where}: nothing came in {TIMEOUT_S:g} s") from None
        raise Unavailable(f"{where}: {error.reason}") from None
    except HTTPException as error:
        raise Torn(f"{where}: the answer broke off: {type(error).__name__}") from None
    except OSError as error:
        raise Unavailable(f"{where}: {error}") from None


def _body(reply: HTTPResponse, where: str) -> bytes:
    data = bytearray()
    end_s = time.monotonic() + TIMEOUT_S
    while block := reply.read1(_BLOCK_BYTES):
        data += block
        if len(data) > MOST_BYTES:
            raise DataError(f"{where}: sent more than {MOST_BYTES} bytes")
        if time.monotonic() > end_s:
            raise Timeout(f"{where}: not all came in {TIMEOUT_S:g} s")
    length = reply.headers.get("Content-Length", "")
    if length.isdigit() and int(length) != len(data):  # read1 takes an early end for the end
        raise Torn(f"{where}: {len(data)} of {length} bytes came")
    return bytes(data)


def _refusal(error: HTTPError, where: str) -> EndpointError:
    """Return the error to raise; what the server wrote is left out, as it may repeat the key."""
    text = f"{where}: HTTP status {error.code}"
    match error.code:
        case 429:
            wait = error.headers.get("Retry-After", "")
            return RateLimited(text, float(wait) if wait.isdigit() else None)
        case 401 | 403:
            return Rejected(f"{text}; is $TOOLMARK_SPEECH_KEY right?", error.code)
        case 408 | 500 | 502 | 503 | 504:
            return Unavailable(text)
        case _:
            return Rejected(text, error.code)

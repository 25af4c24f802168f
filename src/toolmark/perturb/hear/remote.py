"""Recognisers behind an address: OpenAI's and Deepgram's way of asking, and servers like them.

The key comes from the environment, goes to the address that the user named and nowhere else:
redirects are not followed, and no error repeats it. OPENAI_API_KEY and DEEPGRAM_API_KEY belong
to the providers; an address of one's own gets TOOLMARK_API_KEY.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import Message
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from toolmark.errors import (
    EndpointError,
    RateLimited,
    Rejected,
    Timeout,
    Torn,
    Unavailable,
    UsageError,
)
from toolmark.perturb.hear.recogniser import Context, Transcript, Word
from toolmark.perturb.speech.clip import Clip, wav

MOST_SENT_BYTES = 25 * 2**20
_MOST_BODY_BYTES = 4 * 2**20
_LONGEST_WAIT_S = 60.0
_OWN_KEY = "TOOLMARK_API_KEY"


class _Ask(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes


class Kind(NamedTuple):
    """A way of asking: the provider's address and key, the request, and how answers are read."""

    home: str
    key_name: str
    ask: Callable[[str, str, bytes], _Ask]
    read: Callable[[Any], tuple[str, tuple[Word, ...]]]


class Remote:
    """A recogniser over HTTP. Asks again, `tries` times in all, after 429, 408, 5xx and silence.

    `hear` raises EndpointError's kinds as a model does: Rejected will not get better.
    """

    simulated = False

    def __init__(
        self, kind: str, model: str, base_url: str = "", *, timeout_s: float = 120.0, tries: int = 4
    ) -> None:
        self._kind = KINDS[kind]
        self._url = _checked(base_url) if base_url else self._kind.home
        self._model, self._timeout_s, self._tries = model, timeout_s, tries
        self._key_name = _OWN_KEY if base_url else self._kind.key_name
        self.name = f"{kind}:{model}@{self._url}" if base_url else f"{kind}:{model}"
        self.version = "1"
        if not base_url and not self._key():
            raise UsageError(f"no key for {self.name}: set {self._key_name}")

    def hear(self, clip: Clip, context: Context) -> Transcript:
        """Return the server's transcript of the clip, sent as a 16-bit WAV file."""
        sound = wav(clip)
        if len(sound) > MOST_SENT_BYTES:
            raise UsageError(f"{self.name}: a clip of {clip.seconds:.0f} s is more than 25 MB")
        ask = self._kind.ask(self._model, self._key(), sound)
        text, words = self._patient(ask)
        return Transcript(text=text, recogniser=self.name, simulated=False, words=words)

    def _key(self) -> str:
        return os.environ.get(self._key_name, "").strip()

    def _patient(self, ask: _Ask) -> tuple[str, tuple[Word, ...]]:
        for left in range(self._tries - 1, -1, -1):
            try:
                return self._read(self._once(ask))
            except (RateLimited, Unavailable, Timeout, Torn) as error:
                if not left:
                    raise
                wished = getattr(error, "wait_s", None)
                pause = 0.5 * 2 ** (self._tries - 1 - left) if wished is None else wished
                time.sleep(min(pause, _LONGEST_WAIT_S))
        raise AssertionError("unreachable: the last try raises")

    def _read(self, body: bytes) -> tuple[str, tuple[Word, ...]]:
        try:
            return self._kind.read(json.loads(body))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            raise Torn(f"{self.name}: answered 200 without a transcript") from None

    def _once(self, ask: _Ask) -> bytes:
        headers = {"User-Agent": "toolmark", **ask.headers}
        request = urllib.request.Request(self._url + ask.path, ask.body, headers, method="POST")
        try:
            with _OPENER.open(request, timeout=self._timeout_s) as answer:
                return self._whole(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error) from None
        except TimeoutError:
            raise Timeout(f"{self.name}: no answer in {self._timeout_s:g} s") from None
        except http.client.IncompleteRead:
            raise Torn(f"{self.name}: the answer ended early") from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):
                raise Timeout(f"{self.name}: no answer in {self._timeout_s:g} s") from None
            raise Unavailable(f"{self.name}: cannot be reached: {str(error)[:200]}") from None

    def _whole(self, answer: http.client.HTTPResponse) -> bytes:
        """Return the body, however slowly it drips: within the time-out and 4 MB."""
        end = time.monotonic() + self._timeout_s
        body = bytearray()
        while block := answer.read1(65536):
            body += block
            if len(body) > _MOST_BODY_BYTES:
                raise Torn(f"{self.name}: the answer is longer than 4 MB")
            if time.monotonic() > end:
                raise TimeoutError
        return bytes(body)

    def _refused(self, error: urllib.error.HTTPError) -> EndpointError:
        said = error.read(2000).decode("utf-8", "replace").strip()[:200] if error.fp else ""
        said = said.replace(self._key() or "\0", "[key]")
        what = f"{self.name}: HTTP {error.code}{': ' if said else ''}{said}"
        wait = _wait(error.headers)
        if error.code == 429:
            return RateLimited(what, wait)
        if error.code >= 500 or error.code == 408:
            return Unavailable(what, wait)
        step = f"; next: check {self._key_name}" if error.code in (401, 403) else ""
        return Rejected(what + step, error.code)


def load(kind: str, spec: str) -> Remote:
    """Return the recogniser of "MODEL" or "MODEL@BASE_URL"; kind is "openai" or "deepgram"."""
    model, _, base_url = spec.partition("@")
    if not model:
        raise UsageError(f"name the model: {kind}:MODEL or {kind}:MODEL@http://HOST:PORT/v1")
    return Remote(kind, model, base_url)


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follow no redirect: a key must not travel to a host that the user did not name."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Stay)


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise UsageError("not an address; it looks like http://HOST:PORT/v1") from None
    if parts.username or parts.password or parts.query:
        raise UsageError(f"neither credentials nor a query in an address: use {_OWN_KEY}")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"not an address: {url!r}; it looks like http://HOST:PORT/v1")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _wait(headers: Message) -> float | None:
    value = headers.get("Retry-After", "")
    return float(value) if value.replace(".", "", 1).isdigit() else None


def _ask_openai(model: str, key: str, sound: bytes) -> _Ask:
    edge = hashlib.sha256(sound).hexdigest()
    fields = {"model": model, "response_format": "json", "temperature": "0", "language": "en"}
    parts = [
        f'--{edge}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="clip.wav"\r\n'
        "Content-Type: audio/wav\r\n\r\n"
    ).encode()
    body = b"".join([*parts, head, sound, f"\r\n--{edge}--\r\n".encode()])
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return _Ask("/audio/transcriptions", headers, body)


def _read_openai(answer: Any) -> tuple[str, tuple[Word, ...]]:
    words = tuple(
        Word(str(word["word"]), float(word["start"]), float(word["end"]))
        for word in answer.get("words") or ()
    )
    return _text(answer["text"]), words


def _ask_deepgram(model: str, key: str, sound: bytes) -> _Ask:
    path = f"/listen?model={quote(model, safe='')}&language=en&smart_format=true"
    headers = {"Content-Type": "audio/wav"}
    if key:
        headers["Authorization"] = f"Token {key}"
    return _Ask(path, headers, sound)


def _read_deepgram(answer: Any) -> tuple[str, tuple[Word, ...]]:
    best = answer["results"]["channels"][0]["alternatives"][0]
    words = tuple(
        Word(
            str(word.get("punctuated_word") or word["word"]),
            float(word["start"]),
            float(word["end"]),
            float(word.get("confidence", -1.0)),
        )
        for word in best.get("words") or ()
    )
    return _text(best["transcript"]), words


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError("a transcript is a string")
    return found.strip()


KINDS = {
    "openai": Kind("https://api.openai.com/v1", "OPENAI_API_KEY", _ask_openai, _read_openai),
    "deepgram": Kind(
        "https://api.deepgram.com/v1", "DEEPGRAM_API_KEY", _ask_deepgram, _read_deepgram
    ),
}

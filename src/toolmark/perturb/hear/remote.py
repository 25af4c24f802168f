"""Recognisers behind an address: OpenAI's and Deepgram's way of asking, and servers like them.

The key comes from the environment and goes where `perturb.web` says. OPENAI_API_KEY and
DEEPGRAM_API_KEY belong to the providers; an address of one's own gets TOOLMARK_API_KEY.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

from toolmark import private
from toolmark.errors import Torn, UsageError
from toolmark.perturb import web
from toolmark.perturb.hear.recogniser import Context, Transcript, Word
from toolmark.perturb.speech.clip import Clip, wav

MOST_SENT_BYTES = 25 * 2**20
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
        self._url = web.checked(base_url, key_name=_OWN_KEY) if base_url else self._kind.home
        self._model, self._timeout_s, self._tries = model, timeout_s, tries
        self._key_name = _OWN_KEY if base_url else self._kind.key_name
        self.name = (
            f"{kind}:{model}@{private.address(self._url)}" if base_url else f"{kind}:{model}"
        )
        self.version = "1"
        if not base_url and not self._key():
            raise UsageError(f"no key for {self.name}: set {self._key_name}")

    def hear(self, clip: Clip, context: Context) -> Transcript:
        """Return the server's transcript of the clip, sent as a 16-bit WAV file."""
        sound = wav(clip)
        if len(sound) > MOST_SENT_BYTES:
            raise UsageError(f"{self.name}: a clip of {clip.seconds:.0f} s is more than 25 MB")
        ask = self._kind.ask(self._model, self._key(), sound)
        text, words = web.patient(lambda: self._read(ask), self._tries)
        return Transcript(text=text, recogniser=self.name, simulated=False, words=words)

    def _key(self) -> str:
        return os.environ.get(self._key_name, "").strip()

    def _read(self, ask: _Ask) -> tuple[str, tuple[Word, ...]]:
        service = web.Service(
            self.name, self._url, self._key(), self._key_name, timeout_s=self._timeout_s
        )
        body = web.post(service, ask.path, ask.headers, ask.body)
        try:
            return self._kind.read(json.loads(body))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            raise Torn(f"{self.name}: answered 200 without a transcript") from None


def load(kind: str, spec: str) -> Remote:
    """Return the recogniser of "MODEL" or "MODEL@BASE_URL"; kind is "openai" or "deepgram"."""
    model, _, base_url = spec.partition("@")
    if not model:
        raise UsageError(f"name the model: {kind}:MODEL or {kind}:MODEL@http://HOST:PORT/v1")
    return Remote(kind, model, base_url)


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

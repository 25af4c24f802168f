"""Recognisers over HTTP: OpenAI, Deepgram, and servers with the same API.

The key comes from the environment and is sent as `speech_service` describes. OPENAI_API_KEY and
DEEPGRAM_API_KEY are for the providers; your own address gets TOOLMARK_API_KEY.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

from toolmark.core import secrets
from toolmark.core.errors import TornReply, UsageError
from toolmark.core.number_format import format_duration
from toolmark.perturb import speech_service
from toolmark.perturb.hearing.recogniser import HeardWord, HearingContext, Transcript
from toolmark.perturb.speech.audio_clip import Clip, encode_wav

MAX_UPLOAD_BYTES = 25 * 2**20
_USER_KEY_NAME = "TOOLMARK_API_KEY"


class _HttpRequest(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes


class ServiceKind(NamedTuple):
    """One kind of service: its address, key variable, request builder and answer parser."""

    default_url: str
    key_name: str
    build_request: Callable[[str, str, bytes], _HttpRequest]
    parse_answer: Callable[[Any], tuple[str, tuple[HeardWord, ...]]]


class RemoteRecogniser:
    """A recogniser over HTTP. It tries up to `tries` times after 429, 408, 5xx or no answer.

    `hear` raises the same kinds of EndpointError as a model; it does not retry after Rejected.
    """

    simulated = False

    def __init__(
        self, kind: str, model: str, base_url: str = "", *, timeout_s: float = 120.0, tries: int = 4
    ) -> None:
        self._kind = SERVICE_KINDS[kind]
        self._url = (
            speech_service.check_address(base_url, key_name=_USER_KEY_NAME)
            if base_url
            else self._kind.default_url
        )
        self._model, self._timeout_s, self._tries = model, timeout_s, tries
        self._key_name = _USER_KEY_NAME if base_url else self._kind.key_name
        self.name = (
            f"{kind}:{model}@{secrets.mask_address(self._url)}" if base_url else f"{kind}:{model}"
        )
        self.version = "1"
        if not base_url and not self._key():
            raise UsageError(f"no key for {self.name}: set {self._key_name}")

    def hear(self, clip: Clip, context: HearingContext) -> Transcript:
        """Return the server's transcript of the clip, sent as a 16-bit WAV file."""
        sound = encode_wav(clip)
        if len(sound) > MAX_UPLOAD_BYTES:
            raise UsageError(
                f"{self.name}: a clip of {format_duration(clip.seconds)} is more than 25 MB"
            )
        request = self._kind.build_request(self._model, self._key(), sound)
        text, words = speech_service.retry_request(
            lambda: self._request_transcript(request), self._tries
        )
        return Transcript(text=text, recogniser=self.name, simulated=False, words=words)

    def _key(self) -> str:
        return os.environ.get(self._key_name, "").strip()

    def _request_transcript(self, request: _HttpRequest) -> tuple[str, tuple[HeardWord, ...]]:
        service = speech_service.Service(
            self.name, self._url, self._key(), self._key_name, timeout_s=self._timeout_s
        )
        body = speech_service.post_request(service, request.path, request.headers, request.body)
        try:
            return self._kind.parse_answer(json.loads(body))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            raise TornReply(f"{self.name}: answered 200 without a transcript") from None


def load_remote(kind: str, spec: str) -> RemoteRecogniser:
    """Return the recogniser of "MODEL" or "MODEL@BASE_URL"; kind is "openai" or "deepgram"."""
    model, _, base_url = spec.partition("@")
    if not model:
        raise UsageError(f"name the model: {kind}:MODEL or {kind}:MODEL@http://HOST:PORT/v1")
    return RemoteRecogniser(kind, model, base_url)


def _openai_request(model: str, key: str, sound: bytes) -> _HttpRequest:
    boundary = hashlib.sha256(sound).hexdigest()
    fields = {"model": model, "response_format": "json", "temperature": "0", "language": "en"}
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="clip.wav"\r\n'
        "Content-Type: audio/wav\r\n\r\n"
    ).encode()
    body = b"".join([*parts, head, sound, f"\r\n--{boundary}--\r\n".encode()])
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return _HttpRequest("/audio/transcriptions", headers, body)


def _parse_openai(answer: Any) -> tuple[str, tuple[HeardWord, ...]]:
    words = tuple(
        HeardWord(str(word["word"]), float(word["start"]), float(word["end"]))
        for word in answer.get("words") or ()
    )
    return _transcript_text(answer["text"]), words


def _deepgram_request(model: str, key: str, sound: bytes) -> _HttpRequest:
    path = f"/listen?model={quote(model, safe='')}&language=en&smart_format=true"
    headers = {"Content-Type": "audio/wav"}
    if key:
        headers["Authorization"] = f"Token {key}"
    return _HttpRequest(path, headers, sound)


def _parse_deepgram(answer: Any) -> tuple[str, tuple[HeardWord, ...]]:
    best = answer["results"]["channels"][0]["alternatives"][0]
    words = tuple(
        HeardWord(
            str(word.get("punctuated_word") or word["word"]),
            float(word["start"]),
            float(word["end"]),
            float(word.get("confidence", -1.0)),
        )
        for word in best.get("words") or ()
    )
    return _transcript_text(best["transcript"]), words


def _transcript_text(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError("a transcript is a string")
    return found.strip()


SERVICE_KINDS = {
    "openai": ServiceKind(
        "https://api.openai.com/v1", "OPENAI_API_KEY", _openai_request, _parse_openai
    ),
    "deepgram": ServiceKind(
        "https://api.deepgram.com/v1", "DEEPGRAM_API_KEY", _deepgram_request, _parse_deepgram
    ),
}

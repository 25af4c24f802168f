"""The wire to an OpenAI-compatible endpoint: chat completions, one request, one reply."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from toolmark.codec import escape
from toolmark.errors import EndpointError, Rejected, near
from toolmark.media import Media
from toolmark.models import decode, profile, status
from toolmark.models.encode import Encoder
from toolmark.models.http import Answer, Client
from toolmark.types import Reply, Request

_NONE: Mapping[str, Any] = MappingProxyType({})
_LISTED = 100
_UNREADABLE = (400, 422)


class OpenAI:
    """A model behind `url` (the part before /chat/completions), known there as `model`.

    `key` goes into the Authorization header and nowhere else; `key_name` is the variable it came
    from, for messages. `headers` are added to each request, `extra` to each body. `media` is
    where images and audio are read from.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str = "",
        key_name: str = "OPENAI_API_KEY",
        headers: Mapping[str, str] = _NONE,
        extra: Mapping[str, Any] = _NONE,
        timeout_s: float = 300.0,
        media: Media | None = None,
        name: str = "",
        quirks: profile.Profile | None = None,
    ) -> None:
        self.url = url
        self.model = model
        self.name = name or model
        self.key_name = key_name
        self.quirks = quirks or profile.of(url)
        self._key = key
        self._extra = extra
        self._encoder = Encoder(model, self.quirks, extra, media)
        self._chat = f"{url}/chat/completions"
        self._secrets = tuple(secret for secret in (key, *headers.values()) if len(secret) > 3)
        own = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            own["Authorization"] = f"Bearer {key}"
        self._client = Client(_merged(own, headers), timeout_s=timeout_s)

    def __repr__(self) -> str:
        return f"OpenAI(url={self.url!r}, model={self.model!r})"

    @property
    def identity(self) -> str:
        """What replies depend on beside the request; never the key."""
        settings = [self.url, self.model, dict(self._extra), msgspec.to_builtins(self.quirks)]
        return msgspec.json.encode(settings).decode()

    async def __call__(self, request: Request, /) -> Reply:
        """Ask once. Raises EndpointError; a fault of the model is in the Reply."""
        body, kit = self._encoder.body(request)
        answer = await self._client.post(self._chat, body)
        if answer.status in _UNREADABLE:
            # some servers parse the arguments in the history and refuse what is no JSON object
            mended, _ = self._encoder.body(request, mended=True)
            if mended != body:
                answer = await self._client.post(self._chat, mended)
        if answer.status != 200:
            return await self._failed(answer, answer.status, answer.body)
        try:
            return decode.reply(answer.body, kit.meant, answer.latency_s)
        except decode.Failure as failure:
            return await self._failed(answer, None, failure.body)

    def using(self, quirks: profile.Profile) -> OpenAI:
        """Return the same model with other quirks, over the same connections."""
        other = copy.copy(self)
        other.quirks = quirks
        other._encoder = Encoder(self.model, quirks, self._extra, self._encoder.media)
        return other

    async def models(self) -> tuple[str, ...] | None:
        """Return the names that the server offers; None if it does not list them.

        Raises EndpointError if it cannot be reached or refuses the key.
        """
        answer = await self._client.get(f"{self.url}/models")
        if answer.status in (401, 403):
            raise status.error(answer, self._complaint(answer.body), self.key_name, answer.status)
        if answer.status != 200:
            return None
        try:
            listed = msgspec.json.decode(answer.body, type=_Models)
        except (msgspec.DecodeError, RecursionError):
            return None
        return tuple(escape(item.id) for item in listed.data)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _failed(self, answer: Answer, code: int | None, body: bytes) -> Reply:
        """Return the Reply if the failure is the model's, else raise the endpoint's error."""
        complaint = self._complaint(body)
        code = complaint.status() if code is None else code
        reply = status.fault(complaint, code)
        if reply:
            return msgspec.structs.replace(reply, latency_s=answer.latency_s)
        error = status.error(answer, complaint, self.key_name, code)
        if isinstance(error, Rejected) and (code == 404 or "model_not_found" in complaint.kinds):
            raise Rejected(f"{error}{await self._offer()}", error.status)
        raise error

    def _complaint(self, body: bytes) -> status.Complaint:
        return status.Complaint(body, self._secrets)

    async def _offer(self) -> str:
        """Return the end of a sentence about a model name that was not found."""
        try:
            names = await self.models()
        except EndpointError:
            return ""
        if not names:
            return ""
        return f"; is the model name {self.model!r} right?{near(self.model, names[:_LISTED])}"


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def _merged(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return our headers with the user's, which replace ours of the same name."""
    named = {name.lower() for name in given}
    return {name: value for name, value in own.items() if name.lower() not in named} | dict(given)

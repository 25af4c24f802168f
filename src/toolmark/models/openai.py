"""The wire to an OpenAI-compatible endpoint: chat completions, one request, one reply."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from toolmark.codec import encode, escape
from toolmark.errors import EndpointError, Rejected, Torn, near
from toolmark.media import Media
from toolmark.models import decode, places, profile, status
from toolmark.models.encode import Encoder
from toolmark.models.http import Answer, Client
from toolmark.models.mask import Mask
from toolmark.types import Reply, Request, Sampling

_NONE: Mapping[str, str] = MappingProxyType({})
TIMEOUT_S = 600.0
"""How long one request may take where nobody says otherwise."""
_LISTED = 100
_QUOTED = 120
_UNREADABLE = (400, 422)
SIGNS = ("authorization", "api-key", "x-api-key")
"""Headers that hold keys."""
_REAL = 12  # characters: what is shorter, such as EMPTY, is no key, and any reply may hold it


class OpenAI:
    """A model behind `url` (without its /chat/completions), known there as `model`.

    `key` goes into the Authorization header and nowhere else; `key_name` is the variable it came
    from, for messages. `headers` are added to each request. `media` is where images and audio are
    read from.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str = "",
        key_name: str = "OPENAI_API_KEY",
        headers: Mapping[str, str] = _NONE,
        timeout_s: float = TIMEOUT_S,
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
        self._encoder = Encoder(model, self.quirks, media)
        self._chat = places.at(url, "chat/completions")
        self.mask = Mask(key, headers.values())
        signs = (value for name, value in headers.items() if name.lower() in SIGNS)
        self._secret = Mask("", (each for each in (key, *signs) if len(each) >= _REAL))
        own = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            own["Authorization"] = f"Bearer {key}"
        self._refused: frozenset[str] = frozenset()
        self._client = Client(_merged(own, headers), timeout_s=timeout_s)

    def __repr__(self) -> str:
        return f"OpenAI(url={self.url!r}, model={self.model!r})"

    @property
    def identity(self) -> str:
        """What replies depend on beside the request; never the key.

        What the endpoint was found to refuse is no part of it: that follows from the endpoint,
        and the identity must be the same before and after.
        """
        settings = [self.url, self.model, msgspec.to_builtins(self.quirks)]
        return msgspec.json.encode(settings).decode()

    @property
    def dropped(self) -> frozenset[str]:
        """The settings of Sampling that the endpoint refused and that are left out since."""
        return self._refused - {"max_tokens"}  # that one goes out by its newer name

    async def __call__(self, request: Request, /) -> Reply:
        """Ask once. Raises EndpointError; a fault of the model is in the Reply.

        A reply that holds the key is refused: what a model says is stored, and passed on.
        A request that is refused for its form goes out again in a form the endpoint takes.
        """
        try:
            return await self._reply(request)
        except EndpointError as error:
            self._clean(error)
            raise

    def using(self, quirks: profile.Profile) -> OpenAI:
        """Return the same model with other quirks, over the same connections."""
        other = copy.copy(self)
        other.quirks = quirks
        suited = profile.adapted(quirks, self._refused)
        other._encoder = Encoder(self.model, suited, self._encoder.media)
        return other

    async def models(self) -> tuple[str, ...] | None:
        """Return the names that the server offers; None if it does not list them.

        Raises EndpointError if it cannot be reached or refuses the key.
        """
        try:
            return await self._listed()
        except EndpointError as error:
            self._clean(error)
            raise

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _reply(self, request: Request) -> Reply:
        body, kit = self._encoder.body(request)
        answer = await self._client.post(self._chat, body)
        if answer.status in _UNREADABLE:
            answer = await self._again(request, body, answer)
        if answer.status != 200:
            return await self._failed(answer, answer.status, answer.body)
        try:
            return self._safe(decode.reply(answer.body, kit.meant, answer.latency_s))
        except decode.Failure as failure:
            return await self._failed(answer, None, failure.body)
        except Torn as error:
            text = self.mask.hidden(answer.body.decode("utf-8", "replace"))
            raise Torn(f"{error}: {text[:_QUOTED]!r}") from None

    def _safe(self, reply: Reply) -> Reply:
        text = encode(reply).decode()
        if self._secret.hidden(text) != text:
            raise Rejected(
                f"the reply holds the key ({self.key_name}): none of it is kept. An endpoint that "
                "shows keys is not to be trusted with one"
            )
        return reply

    async def _again(self, request: Request, sent: bytes, answer: Answer) -> Answer:
        """Ask again while the body can still be changed to what the endpoint says it takes.

        A refused setting stays left out once an answer came without it: only that proves that
        it was the reason.
        """
        asked = _asked(request.sampling)
        refused: frozenset[str] = frozenset()
        mended = False
        while answer.status in _UNREADABLE:
            refused |= status.refused(self._complaint(answer.body)) & asked
            encoder = self._suited(refused)
            body, _ = encoder.body(request, mended=mended)
            if body == sent and not mended:
                # some servers parse the arguments in the history and refuse what is no JSON object
                mended = True
                body, _ = encoder.body(request, mended=True)
            if body == sent:
                return answer
            sent = body
            answer = await self._client.post(self._chat, body)
        if answer.status == 200:
            self._refused |= refused
            self._encoder = self._suited(refused)
        return answer

    def _suited(self, refused: frozenset[str]) -> Encoder:
        """Return the encoder that leaves these settings out too; requests in flight share it."""
        known = self._encoder
        suited = profile.adapted(known.profile, refused)
        if suited == known.profile:
            return known
        return Encoder(self.model, suited, known.media)

    async def _listed(self) -> tuple[str, ...] | None:
        if not self.quirks.lists:
            return None
        answer = await self._client.get(places.at(self.url, "models"))
        if answer.status in (401, 403):
            raise status.error(answer, self._complaint(answer.body), self.key_name, answer.status)
        if answer.status != 200:
            return None
        try:
            listed = msgspec.json.decode(answer.body, type=_Models)
        except (msgspec.DecodeError, RecursionError):
            return None
        return tuple(escape(item.id) for item in listed.data)

    def _clean(self, error: EndpointError) -> None:
        """Make the text of an error fit to be printed and stored."""
        error.args = (self.mask(str(error)),)

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
        return status.Complaint(body, self.mask)

    async def _offer(self) -> str:
        """Return the end of a sentence about a model name that was not found."""
        try:
            names = await self.models()
        except EndpointError:
            return ""
        if not names:
            return ""
        return f"; is the model name {self.model!r} right?{near(self.model, names[:_LISTED])}"


def _asked(sampling: Sampling) -> set[str]:
    """Return the names of the settings that are given."""
    return {name for name in sampling.__struct_fields__ if getattr(sampling, name) is not None}


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def _merged(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return our headers with the user's, which replace ours of the same name."""
    named = {name.lower() for name in given}
    return {name: value for name, value in own.items() if name.lower() not in named} | dict(given)

"""The wire to an OpenAI-compatible endpoint: chat completions, one request, one reply."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from urllib.parse import unquote

import msgspec

from toolmark import private
from toolmark.codec import escape
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
_NAMES = 10_000  # models of a list that are read
_QUOTED = 120
_LOOKED = 4096  # bytes of a torn body that are looked at
_UNREADABLE = (400, 422)
SIGNS = ("authorization", "api-key", "x-api-key")
"""Headers that hold keys."""
_REAL = 12  # characters: what is shorter, such as EMPTY, is no key, and any reply may hold it


class OpenAI:
    """A model behind `url` (without its /chat/completions), known there as `model`.

    `key` goes into the Authorization header and nowhere else; `key_name` is the variable it came
    from, for messages. `place` is the address as it may be shown and stored. `headers` are added to
    each request. `media` is where images and audio are read from.
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
        self.place = private.address(url)
        parts = tuple(
            form
            for part in private.in_address(url)
            for form in dict.fromkeys((part, unquote(part)))
        )
        drawn = private.looks(model)
        self.mask = Mask(key, (*headers.values(), *parts, *((model,) if drawn else ())))
        self._shown_name = private.stored(model) if drawn else ""
        held = (key, *_keys(headers), *parts)
        self._secret = Mask("", (each for each in held if len(each) >= _REAL))
        own = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            own["Authorization"] = f"Bearer {key}"
        self._refused: frozenset[str] = frozenset()
        self._client = Client(_merged(own, headers), timeout_s=timeout_s)

    def __repr__(self) -> str:
        return f"OpenAI(url={self.place!r}, model={self.model!r})"

    @property
    def identity(self) -> str:
        """What replies depend on beside the request; never the key.

        What the endpoint was found to refuse is no part of it: that follows from the endpoint,
        and the identity must be the same before and after.
        """
        settings = [self.place, self.model, msgspec.to_builtins(self.quirks)]
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
            return await self._failed(request, answer, answer.status, answer.body)
        try:
            return self._safe(decode.reply(answer.body, kit.meant, answer.latency_s), answer.body)
        except decode.Failure as failure:
            return await self._failed(request, answer, None, failure.body)
        except Torn as error:
            text = answer.body[:_LOOKED].decode("utf-8", "replace")
            shown = self.mask.cut(text, _QUOTED, ended=len(answer.body) <= _LOOKED)
            raise Torn(f"{error}: {shown!r}") from None

    def _safe(self, reply: Reply, body: bytes) -> Reply:
        """Return a reply without a key. Of one that was cut the whole body is looked at."""
        secret = self._secret
        if secret and (
            secret.finds("\n".join(_texts(reply))) or (reply.marks and secret.finds_in(body))
        ):
            raise Rejected(
                f"the reply holds the key ({self.key_name}): none of it is kept. An endpoint that "
                "shows keys is not to be trusted with one"
            )
        if self._shown_name and self.model in reply.model:
            return msgspec.structs.replace(reply, model=self._shown_name)
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
            found = status.outcome(
                answer, self._complaint(answer.body), self.key_name, answer.status
            )
            if isinstance(found, EndpointError):
                raise found
        if answer.status != 200:
            return None
        try:
            listed = msgspec.json.decode(answer.body, type=_Models)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return tuple(escape(item.id[: decode.MAX_MODEL]) for item in listed.data[:_NAMES])

    def _clean(self, error: EndpointError) -> None:
        """Make the text of an error fit to be printed and stored."""
        error.args = (self.mask(str(error)),)

    async def _failed(
        self, request: Request, answer: Answer, code: int | None, body: bytes
    ) -> Reply:
        """Return the Reply if the failure is the model's, else raise the endpoint's error."""
        if code is not None and not code >= 300:
            raise Torn(f"status {code} is no answer to a request")
        complaint = self._complaint(body)
        code = complaint.status() if code is None else code
        found = status.outcome(answer, complaint, self.key_name, code, status.held(request))
        if isinstance(found, Reply):
            return msgspec.structs.replace(found, latency_s=answer.latency_s)
        if isinstance(found, Rejected) and found.kind == "rejected.not_found":
            raise Rejected(f"{found}{await self._offer()}", found.status, kind=found.kind)
        raise found

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


def _keys(headers: Mapping[str, str]) -> Iterator[str]:
    """Go through the keys in headers: those of known names, and what is named or looks so."""
    for name, value in headers.items():
        if name.lower() in SIGNS or private.named(name) or private.looks(value):
            yield from private.of_header(name, value)


def _texts(reply: Reply) -> Iterator[str]:
    """Go through what a reply says."""
    yield from (reply.text, reply.reasoning, reply.model)
    for call in reply.calls:
        yield from (call.name, call.arguments, call.id)


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

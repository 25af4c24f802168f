"""A model behind an endpoint: one request, one reply, over any wire.

What differs between protocols is in `models.wires`. Here is what they share: the address, the key,
what an endpoint refuses, complaints, and the rule that no reply may hold the key.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias
from urllib.parse import unquote

import msgspec

from toolmark.core import secrets
from toolmark.core.errors import EndpointError, Rejected, TornReply, suggest_names
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Reply, Request, Usage
from toolmark.models import (
    answer_facts,
    complaint_outcome,
    endpoint_address,
    endpoint_profile,
    provider_table,
    secret_mask,
)
from toolmark.models.connection_defaults import TIMEOUT_S
from toolmark.models.http_client import HttpClient, HttpResponse
from toolmark.models.request_adaptation import (
    UNREADABLE_STATUSES,
    RequestAdapter,
    begins_conversation,
    is_unreadable,
)
from toolmark.models.secret_mask import SecretMask
from toolmark.models.wait_headers import ServerLimits
from toolmark.models.wire_names import WireName
from toolmark.models.wires.chat_completions import CHAT_WIRE
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.request_parts import given_settings
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, Wire

Post: TypeAlias = Callable[[EncodedRequest], Coroutine[Any, Any, HttpResponse]]
"""Sends one encoded request; an adapted or continued request is another one."""
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_MAX_QUOTED_CHARS = 120
_MAX_INSPECTED_BYTES = 4096  # of an incomplete body that are checked
_PAGE_STARTS = ("<!doctype html", "<html")
_PAGE_STEP = "; a web page answers here: is the address right? It usually ends in /v1"
_MAX_PAUSES = 8  # of one reply that is asked to go on
_GATEWAY_TIMEOUTS = (504, 524)
_MIN_KEY_CHARS = 12  # shorter text, such as EMPTY, is no key, and any reply may contain it


def may_charge(status: int) -> bool:
    """Return whether a provider may charge for a request with an answer of this status.

    With 504 and 524 a gateway gives up waiting for a provider that goes on. Other errors are free.
    """
    return 200 <= status < 300 or status in _GATEWAY_TIMEOUTS


class RequestNotSent(asyncio.CancelledError):
    """A request was cancelled before it was sent."""


class EndpointModel(Model):
    """A model behind `url` (without the path of the wire), known there as `model`.

    `key` is sent in the wire's header only. `key_name` is the variable it came from, for
    messages. `public_url` is the address as it may be shown and stored. `headers` are added to each
    request. Images and audio are read from `media`. `before_repeat` is awaited before a request is
    sent in another form, `watch_limits` gets what answers say of limits, and `count_unanswered` is
    called for a request without a usable answer that may have been charged, where they are set.
    """

    is_answered_later: ClassVar[bool] = False
    """Whether the answer to a request can be read after this process has ended."""
    before_repeat: Callable[[], Awaitable[None]] | None = None
    count_unanswered: Callable[[], None] | None = None
    watch_limits: Callable[[ServerLimits, Usage], None] | None = None

    def __init__(
        self,
        url: str,
        model: str,
        *,
        wire: Wire = CHAT_WIRE,
        key: str = "",
        key_name: str = "OPENAI_API_KEY",
        headers: Mapping[str, str] = _NO_HEADERS,
        timeout_s: float = TIMEOUT_S,
        media: MediaStore | None = None,
        name: str = "",
        wire_profile: endpoint_profile.EndpointProfile | None = None,
        is_stream: bool = False,
    ) -> None:
        self.url = url
        self.model = model
        self.wire = wire
        self.is_stream = is_stream
        self.name = name or model
        self.key_name = key_name
        self.sends_key = bool(key) or any(
            each.lower() in secret_mask.KEY_HEADERS for each in headers
        )
        self.profile = wire.settle_profile(
            wire_profile or provider_table.profile_for_url(url, model, wire.name), headers
        )
        self._key = key
        self.public_url = secrets.mask_address(url)
        self.origin = _origin_digest(wire.name, self.public_url, model)
        self.media = media
        self._adapter = self._make_adapter(
            EncoderSettings(model, self.profile, media, self.origin, is_stream)
        )
        path = wire.request_path(model, is_stream=is_stream)
        self._request_url = endpoint_address.join_path(url, path)
        url_keys = tuple(
            form
            for part in secrets.keys_in_address(url)
            for form in dict.fromkeys((part, unquote(part)))
        )
        name_looks_like_key = secrets.looks_like_key(model)
        self.mask = SecretMask(
            key, (*headers.values(), *url_keys, *((model,) if name_looks_like_key else ()))
        )
        self._public_model_name = secrets.mask_model_spec(model) if name_looks_like_key else ""
        secrets_found = (key, *secret_mask.keys_in_headers(headers), *url_keys)
        self._reply_mask = SecretMask(
            "", (each for each in secrets_found if len(each) >= _MIN_KEY_CHARS)
        )
        default_headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream" if is_stream else "application/json",
            **wire.headers(key, self.profile),
        }
        self._unsent_settings: frozenset[str] = frozenset()
        self._client = HttpClient(_merge_headers(default_headers, headers), timeout_s=timeout_s)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(url={self.public_url!r}, model={self.model!r})"

    @property
    def identity(self) -> str:
        """What replies depend on in addition to the request; never the key.

        Settings that the endpoint refused are not part of it. They follow from the endpoint, and
        the identity must be the same before and after a refusal.
        """
        fields = endpoint_profile.identity_fields(self.profile, self.wire.name)
        settings: list[Any] = [self.public_url, self.model, fields]
        if self.wire.name != "chat" or self.is_stream:
            settings += [self.wire.name, self.is_stream]
        return msgspec.json.encode(settings).decode()

    @property
    def refused_settings(self) -> frozenset[str]:
        """The settings of Sampling that the endpoint refuses, and that all requests leave out.

        What a single request went without is in the adaptations of its reply.
        """
        return self._adapter.refused - {"max_tokens"}  # is sent by its newer name

    @property
    def settings_refused_once(self) -> frozenset[str]:
        """The settings without which at least one refused request passed."""
        return self._adapter.helpful_forms - {"max_tokens"}

    @property
    def unsent_settings(self) -> frozenset[str]:
        """The settings of Sampling that were asked for and that the profile never sends."""
        return self._unsent_settings

    async def __call__(self, request: Request, /) -> Reply:
        """Ask once; raises EndpointError, but a fault of the model is in the Reply.

        A reply that contains the key is refused, because replies are stored and passed on. A
        request that is refused for its form is sent again in a form that the endpoint accepts.
        """
        if self.profile.unsent_settings:
            unsent = given_settings(request.sampling).keys() & set(self.profile.unsent_settings)
            self._unsent_settings |= unsent
        adapter, answer = self._adapter, None
        try:  # all of it in one coroutine, as each further one costs time in every request
            if self.profile.max_tools is not None:
                self._check_tool_count(request, self.profile.max_tools)
            sent, n_proofs = adapter.encode_request(request), adapter.n_proofs
            answer = await self._post(sent)
            if answer.status != 200 and is_unreadable(answer, self._parse_complaint):
                sent, answer = await adapter.retry(
                    request, sent, answer, self._post_again, self._parse_complaint, n_proofs
                )
            elif n_proofs and answer.status == 200:
                adapter.note_answer(request, sent)
            if answer.status == 200:
                try:
                    if self.wire.may_pause:
                        answer = await self._read_paused_rest(sent, answer)
                    if answer.status == 200:
                        return self._decode_answer(request, sent, answer)
                except ErrorInBody as failure:
                    return await self._handle_failure(request, answer, None, failure.body)
                except TornReply as error:
                    raise self._quote_torn(error, answer) from None
            else:
                self._check_reply_limit(request, sent, answer)
            return await self._handle_failure(request, answer, answer.status, answer.body)
        except EndpointError as error:
            self._mask_error(error)
            if error.may_be_charged or (answer and may_charge(answer.status)):
                self._note_unanswered()
            raise
        except asyncio.CancelledError as cancelled:
            if not self.is_answered_later and not isinstance(cancelled, RequestNotSent):
                self._note_unanswered()
            raise

    def with_profile(self, new_profile: endpoint_profile.EndpointProfile) -> EndpointModel:
        """Return the same model with another profile, over the same connections."""
        other = copy.copy(self)
        other.profile = new_profile
        other._adapter = self._adapter.with_profile(new_profile)
        return other

    def wrap_posts(self, wrap: Callable[[Post], Post]) -> None:
        """Let `wrap` see each request that is sent, and decide when; for this model alone."""
        self._post = wrap(self._post)  # type: ignore[method-assign, assignment]

    async def list_models(self) -> tuple[str, ...] | None:
        """Return the names that the server offers; None if it does not list them.

        Raises EndpointError if it cannot be reached or refuses the key.
        """
        try:
            return await self._fetch_model_names()
        except EndpointError as error:
            self._mask_error(error)
            raise

    async def post_request(self, request: Request) -> HttpResponse:
        """Send a request once, as it is, and return the answer undecoded; raises EndpointError."""
        try:
            return await self._post(self._adapter.encoder.encode_request(request))
        except EndpointError as error:
            self._mask_error(error)
            raise

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _make_adapter(self, settings: EncoderSettings) -> RequestAdapter:
        return RequestAdapter(self.wire, settings)

    def _decode_answer(self, request: Request, sent: EncodedRequest, answer: HttpResponse) -> Reply:
        """Return the reply in an answer; raises what `Wire.decode_reply` does, and Rejected."""
        reply = self.wire.decode_reply(answer.body, sent.names, answer.latency_s, self.origin)
        if sent.adaptations or answer.request_id or answer.first_token_s is not None:
            reply = answer_facts.add_answer_facts(reply, sent, answer)
        if answer.limits is not None and self.watch_limits is not None:
            self.watch_limits(answer.limits, reply.usage)
        if reply.calls and reply.stop == "stop" and answer_facts.is_cut(request, sent, reply):
            reply = msgspec.structs.replace(reply, stop="length")
        return self._check_reply_secrets(reply, answer.body)

    def _quote_torn(self, error: TornReply, answer: HttpResponse) -> TornReply:
        """Return the error with the beginning of the answer, and its name."""
        text = answer.body[:_MAX_INSPECTED_BYTES].decode("utf-8", "replace")
        shown = self.mask.cut_text(
            text, _MAX_QUOTED_CHARS, is_complete=len(answer.body) <= _MAX_INSPECTED_BYTES
        )
        is_page = text.lstrip().casefold().startswith(_PAGE_STARTS)
        torn = TornReply(f"{error}: {shown!r}{_PAGE_STEP if is_page else ''}")
        torn.request_id = answer.request_id
        return torn

    async def _post_again(self, sent: EncodedRequest) -> HttpResponse:
        if self.before_repeat is not None:
            await self.before_repeat()
        return await self._post(sent)

    def _post(self, sent: EncodedRequest) -> Coroutine[Any, Any, HttpResponse]:
        if self.is_stream:
            assembler = self.wire.make_assembler()
            return self._client.post_stream(self._request_url, sent.body, assembler, sent.headers)
        return self._client.post(self._request_url, sent.body, sent.headers)

    async def _read_paused_rest(self, sent: EncodedRequest, answer: HttpResponse) -> HttpResponse:
        """Return the answer with all of its reply, for an endpoint that pauses a long one.

        Each part is asked for once; after the last allowed one the reply stays as it is.
        """
        for _ in range(_MAX_PAUSES):
            following = self.wire.continue_request(sent, answer.body)
            if following is None:
                break
            rest = await self._post_again(following)
            if rest.status != 200:
                return rest
            answer = answer._replace(
                body=self.wire.join_bodies(answer.body, rest.body),
                latency_s=answer.latency_s + rest.latency_s,
            )
        return answer

    def _note_unanswered(self) -> None:
        if self.count_unanswered is not None:
            self.count_unanswered()

    def _check_tool_count(self, request: Request, limit: int) -> None:
        if len(request.tools) > limit:
            raise Rejected(
                endpoint_profile.describe_tool_limit(len(request.tools), limit),
                kind="rejected.unsupported",
                subject="tools",
            )

    def _check_reply_limit(
        self, request: Request, sent: EncodedRequest, answer: HttpResponse
    ) -> None:
        """Raise Rejected where the limit of the reply is at fault, and no long conversation.

        A limit of the user is at fault where the model has said nothing yet: later it is the
        conversation that has grown.
        """
        own, limit = sent.own_max_tokens, request.sampling.max_tokens
        if answer.status not in UNREADABLE_STATUSES or not (own or limit):
            return
        if own or begins_conversation(request):
            complaint = self._parse_complaint(answer.body)
            refused = complaint_outcome.refused_reply_limit(complaint, answer.status, own, limit)
            if refused is not None:
                raise refused

    def _check_reply_secrets(self, reply: Reply, body: bytes) -> Reply:
        """Return a reply without a key; for a reply that was cut, the complete body is checked."""
        secret = self._reply_mask
        if secret and (
            secret.contains_secret("\n".join(secret_mask.reply_texts(reply)))
            or (reply.defects and secret.body_contains_secret(body))
        ):
            raise Rejected(
                f"the reply holds the key ({self.key_name}): none of it is stored. An endpoint "
                "that "
                "shows keys is not to be trusted with one"
            )
        if self._public_model_name and self.model in reply.model:
            return msgspec.structs.replace(reply, model=self._public_model_name)
        return reply

    async def _fetch_model_names(self) -> tuple[str, ...] | None:
        if not self.profile.lists_models:
            return None
        answer = await self._client.get(endpoint_address.join_path(self.url, self.wire.models_path))
        if answer.status in (400, 401, 403):
            found = complaint_outcome.reply_or_error(
                answer, self._parse_complaint(answer.body), self.key_name, answer.status
            )
            if isinstance(found, Rejected) and found.is_final:
                raise found
        if answer.status != 200:
            return None
        return self.wire.decode_model_names(answer.body)

    def _mask_error(self, error: EndpointError) -> None:
        """Remove secrets from the text of an error, so that it can be printed and stored."""
        error.args = (self.mask(error.reason),)
        error.request_id = self.mask(error.request_id)

    async def _handle_failure(
        self, request: Request, answer: HttpResponse, http_status: int | None, body: bytes
    ) -> Reply:
        """Return the Reply if the failure is the model's, else raise the endpoint's error."""
        if http_status is not None and not http_status >= 300:
            raise TornReply(f"status {http_status} is no answer to a request")
        complaint = self._parse_complaint(body)
        http_status = complaint.status() if http_status is None else http_status
        found = complaint_outcome.reply_or_error(
            answer,
            complaint,
            self.key_name,
            http_status,
            complaint_outcome.request_subjects(request),
        )
        if isinstance(found, Reply):
            return msgspec.structs.replace(found, latency_s=answer.latency_s)
        if isinstance(found, Rejected) and found.kind == "rejected.not_found":
            found.args = (f"{found.reason}{await self._suggest_model_names()}",)
        raise found

    def _parse_complaint(self, body: bytes) -> complaint_outcome.Complaint:
        return complaint_outcome.Complaint(body, self.mask)

    async def _suggest_model_names(self) -> str:
        """Return the end of a sentence about a model name that was not found."""
        try:
            names = await self.list_models()
        except EndpointError:
            return ""
        if not names or self.model in names:
            return ""
        return f"; is the model name {self.model!r} right?{suggest_names(self.model, names)}"


def _origin_digest(wire: WireName, url: str, model: str) -> str:
    """Return what identifies an endpoint's model, for the state that goes back to it."""
    return hashlib.sha256("\n".join((wire, url, model)).encode()).hexdigest()[:16]


def _merge_headers(defaults: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the default headers, replaced by the user's headers of the same name."""
    override_names = {name.lower() for name in overrides}
    return {
        name: value for name, value in defaults.items() if name.lower() not in override_names
    } | dict(overrides)

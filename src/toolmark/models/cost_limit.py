"""A limit of what requests may cost together: each is admitted only if its worst case fits.

The worst case of a request is reserved before it is sent, and replaced by what it cost when the
answer is there. So the sum never exceeds the limit, whatever arrives and however many requests are
in flight, as far as the prices are right and the endpoint keeps to the limit of tokens.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

from msgspec.structs import replace

from toolmark.core.errors import CostLimitReached, EndpointError, UsageError
from toolmark.core.model import DelegatingModel, Model
from toolmark.core.number_format import format_usd
from toolmark.core.records import Audio, Image, Reply, Request, Sampling
from toolmark.models import claude_models, price_list
from toolmark.models.endpoint_model import EndpointModel, Post, RequestNotSent, may_charge
from toolmark.models.http_client import HttpResponse
from toolmark.models.token_prices import ModelPrice, highest_cost, usage_cost
from toolmark.models.wires.wire import EncodedRequest

DEFAULT_MAX_TOKENS = 16_384
"""The limit of replies of simulated users and judges, which are asked without one."""
TEMPLATE_TOKENS = 2_048
"""Tokens that an endpoint may add to a request: its own words on tools, marks of messages."""
PICTURE_TOKENS = 50_000
"""The most tokens of one picture; small models count pictures at up to 48 thousand."""
SOUND_BYTES_PER_TOKEN = {"audio/wav": 80}
"""The fewest bytes of a recording for each of its tokens; 8 for other, compressed, types.

No endpoint counts more than 100 tokens for a second, which has at least 8 kB as WAV and 800 bytes
compressed.
"""
_COMPRESSED_BYTES_PER_TOKEN = 8
DOCUMENT_TOKENS = 1_000_000
"""The most tokens of one PDF: no endpoint takes more."""
_LIMIT_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
_CHOICE_FIELDS = ("n", "candidateCount")
_PDF_TYPE = "application/pdf"


class EndpointKey(NamedTuple):
    """What identifies the endpoint of a price: its public address, and the model there."""

    address: str
    model: str


class CostLimit:
    """What may be spent, is reserved by requests in flight, and was spent; all in US$.

    `unanswered_usd` is the part of `spent_usd` that stands for requests without a usable answer:
    whether they were charged is not known, so their worst case counts.
    """

    def __init__(
        self, limit_usd: float, prices: Mapping[EndpointKey, ModelPrice], spent_usd: float = 0.0
    ) -> None:
        self.limit_usd = limit_usd
        self.prices = prices
        self.spent_usd = spent_usd
        self.reserved_usd = 0.0
        self.unanswered_usd = 0.0
        self._n_in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def reserve_cost(self, usd: float) -> None:
        """Reserve the worst case of a request, when it fits.

        Requests in flight mostly cost less than was reserved for them, so this waits for them.
        Raises CostLimitReached where nothing is in flight and the request still does not fit.
        """
        while not self._has_room(usd):
            if not self._n_in_flight:
                raise self._reached_error(usd)
            settled = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled
        self._n_in_flight += 1
        self.reserved_usd += usd

    def extend_reservation(self, usd: float) -> None:
        """Reserve more for a request that holds a reservation. Raises CostLimitReached.

        It does not wait: two requests that wait for each other would wait for ever.
        """
        if not self._has_room(usd):
            raise self._reached_error(usd)
        self.reserved_usd += usd

    def settle_cost(
        self, reserved_usd: float, cost_usd: float, *, is_answered: bool = True
    ) -> None:
        """Replace a reservation by what the request cost."""
        self._n_in_flight -= 1
        self.reserved_usd = self.reserved_usd - reserved_usd if self._n_in_flight else 0.0
        self.spent_usd += cost_usd
        if not is_answered:
            self.unanswered_usd += cost_usd
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)

    def _has_room(self, usd: float) -> bool:
        return self.spent_usd + self.reserved_usd + usd <= self.limit_usd

    def _reached_error(self, usd: float) -> CostLimitReached:
        left = max(0.0, self.limit_usd - self.spent_usd - self.reserved_usd)
        return CostLimitReached(
            f"--max-cost {format_usd(self.limit_usd)} is reached: {format_usd(left)} are left, and "
            f"the next request could cost {format_usd(usd)}; next: the same command with a higher "
            "limit goes on"
        )


class _Reservation:
    """What one request holds of the limit."""

    def __init__(
        self, price: ModelPrice, request: Request, n_output: int, *, sends_wav: bool
    ) -> None:
        self.reserved_usd = 0.0
        self.is_reserved = False
        self._price = price
        self._n_output = n_output
        self._n_other_tokens = TEMPLATE_TOKENS
        self._n_media_bytes = 0
        for part in (part for message in request.messages for part in message.parts):
            if isinstance(part, Image):
                is_document = part.mime == _PDF_TYPE
                self._n_other_tokens += DOCUMENT_TOKENS if is_document else PICTURE_TOKENS
                self._n_media_bytes += _base64_size(part.size_bytes)
            elif isinstance(part, Audio):
                per_token = SOUND_BYTES_PER_TOKEN.get(part.mime, _COMPRESSED_BYTES_PER_TOKEN)
                self._n_other_tokens += math.ceil(part.size_bytes / per_token)
                # in another encoding it has another size, and its bytes count as text too
                self._n_media_bytes += _base64_size(part.size_bytes) if sends_wav else 0

    def highest_cost(self, n_bytes: int) -> float:
        """Return the most that a body can cost: each token of text is at least one byte of it."""
        n_text = max(0, n_bytes - self._n_media_bytes)
        return highest_cost(self._price, n_text + self._n_other_tokens, self._n_output)


def _base64_size(n_bytes: int) -> int:
    return 4 * ((n_bytes + 2) // 3)


_current: ContextVar[_Reservation | None] = ContextVar("current_reservation", default=None)


class LimitedModel(DelegatingModel):
    """An endpoint whose requests are sent only while their worst case fits the limit.

    `max_tokens` is the limit of replies that the wire sets where a request has none. The endpoint
    must send its requests by `wrap_post` (`limit_endpoint`).
    """

    def __init__(
        self, model: Model, limit: CostLimit, price: ModelPrice, max_tokens: int | None = None
    ) -> None:
        super().__init__(model)
        self.limit = limit
        self.price = price
        self._max_tokens = max_tokens
        self._sends_wav = self._is_answered_later = False
        if isinstance(model, EndpointModel):
            self._sends_wav = model.profile.audio_form == "wav"
            self._is_answered_later = model.is_answered_later

    async def __call__(self, request: Request, /) -> Reply:
        """Ask when the worst case fits. Raises CostLimitReached."""
        request, n_output = self._limit_reply(request)
        reservation = _Reservation(self.price, request, n_output, sends_wav=self._sends_wav)
        token = _current.set(reservation)
        reply = None
        try:
            reply = await self.model(request)
            return reply
        finally:
            _current.reset(token)
            if reservation.is_reserved:
                self._settle_request(reservation, reply)

    def _settle_request(self, reservation: _Reservation, reply: Reply | None) -> None:
        """Count what is known of the cost, else the worst case of what may have been charged."""
        cost = None if reply is None else usage_cost(self.price, reply.usage)
        if reply is None and self._is_answered_later:
            cost = 0.0  # its reply is read, and counted, when the run goes on
        elif reply is not None and reply.from_cache:
            cost = 0.0  # it shares the answer to an equal request of a batch
        is_known = cost is not None
        self.limit.settle_cost(
            reservation.reserved_usd,
            reservation.reserved_usd if cost is None else cost,
            is_answered=is_known,
        )

    def _limit_reply(self, request: Request) -> tuple[Request, int]:
        """Return a request whose reply has a limit of tokens, and that limit of all its replies."""
        sampling = request.sampling
        limits = reply_limits(sampling)
        if not limits and self._max_tokens is None:
            limited = replace(sampling, max_tokens=DEFAULT_MAX_TOKENS)
            request = replace(request, sampling=limited)
        choices = (n for name, n in _named_numbers(sampling.extra) if name in _CHOICE_FIELDS)
        n = max([1, *choices])
        return request, n * max(limits or [self._max_tokens or DEFAULT_MAX_TOKENS])

    def wrap_post(self, post: Post) -> Post:
        """Return what sends a request when it fits."""

        async def post_when_it_has_room(sent: EncodedRequest) -> HttpResponse:
            reservation = _current.get()
            if reservation is None:  # a probe, which is no request of a run
                return await post(sent)
            highest = reservation.highest_cost(sent.size_bytes)
            if reservation.reserved_usd > 0:
                self.limit.extend_reservation(highest)
            else:
                if reservation.is_reserved:  # what it reserved was released: wait like the others
                    reservation.is_reserved = False
                    self.limit.settle_cost(0.0, 0.0)
                try:
                    await self.limit.reserve_cost(highest)
                except asyncio.CancelledError:
                    raise RequestNotSent from None
                reservation.is_reserved = True
            reservation.reserved_usd += highest
            try:
                answer = await post(sent)
            except EndpointError as error:
                if not error.may_be_charged:
                    self._release_cost(reservation, highest)
                raise
            if not may_charge(answer.status):
                self._release_cost(reservation, highest)
            return answer

        return post_when_it_has_room

    def _release_cost(self, reservation: _Reservation, usd: float) -> None:
        reservation.reserved_usd -= usd
        self.limit.reserved_usd -= usd


def reply_limits(sampling: Sampling) -> list[int]:
    """Return the limits of tokens that settings give a reply: the field, and those in the body."""
    in_body = [n for name, n in _named_numbers(sampling.extra) if name in _LIMIT_FIELDS]
    return in_body if sampling.max_tokens is None else [sampling.max_tokens, *in_body]


def _named_numbers(fields: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the whole numbers in fields, and in those of objects within them, by name."""
    for name, value in fields.items():
        if isinstance(value, int) and not isinstance(value, bool):
            yield name, value
        elif isinstance(value, Mapping):
            yield from _named_numbers(value)


def apply_limit(model: Model, limit: CostLimit) -> Model:
    """Return a model that keeps to a limit.

    Raises UsageError for a model whose requests cannot be limited.
    """
    if not isinstance(model, EndpointModel):
        raise UsageError(
            "--max-cost limits what endpoints are asked, and this model sends its own requests; "
            "next: leave out --max-cost"
        )
    price = limit.prices.get(EndpointKey(model.public_url, model.model))
    # a suite may ask models of its own
    price = price or price_list.find_list_price(model.public_url, model.model, extra={})
    if not price.is_known:
        raise UsageError(
            f"--max-cost: the price of {model.name}, which the suite asks, is not known: "
            f"{price.unknown}; next: leave out --max-cost"
        )
    return limit_endpoint(model, limit, price)


def limit_endpoint(model: EndpointModel, limit: CostLimit, price: ModelPrice) -> LimitedModel:
    """Return an endpoint that keeps to a limit."""
    is_messages = model.wire.name == "anthropic"
    max_tokens = claude_models.model_by_name(model.model).max_tokens if is_messages else None
    limited = LimitedModel(model, limit, price, max_tokens)
    model.wrap_posts(limited.wrap_post)
    return limited

"""A model behind an endpoint that is asked in batches, by the wire's own bodies."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, ClassVar, TypeVar

from msgspec.structs import replace

from toolmark.core.errors import (
    EndpointError,
    RateLimited,
    Rejected,
    TornReply,
    Unavailable,
    UsageError,
)
from toolmark.core.records import Reply, Request
from toolmark.models import complaint_outcome
from toolmark.models.batches.anthropic_batches import AnthropicBatches
from toolmark.models.batches.batch_ledger import BatchLedger
from toolmark.models.batches.batch_protocol import BatchLimits, BatchProtocol, BatchStatus
from toolmark.models.batches.batch_queue import AskAgain, BatchQueue
from toolmark.models.batches.batch_worker import BatchTiming, BatchWorker
from toolmark.models.batches.bulk_transfer import RefusedAnswer
from toolmark.models.batches.openai_batches import OpenAIBatches
from toolmark.models.batches.running_batch import RunningBatch
from toolmark.models.connection_defaults import DEFAULT_RETRIES
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.http_client import HttpClient, HttpResponse
from toolmark.models.request_adaptation import RequestAdapter
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder, Wire

BATCH_WIRES = ("chat", "responses", "anthropic")
"""The wires whose requests can be asked in batches."""
DEFAULT_TIMING = BatchTiming()
_T = TypeVar("_T")
_ID_CHARS = 32  # providers take up to 64
_NO_BATCHES = "this endpoint offers no batches; next: leave out --batch"


def batch_limits(wire: str) -> BatchLimits:
    """Return the limits of one batch on a wire. Raises UsageError for a wire without batches."""
    if wire not in BATCH_WIRES:
        raise UsageError(
            f"the {wire} wire has no batches; next: leave out --batch, or ask a model of OpenAI or "
            "Anthropic"
        )
    return AnthropicBatches.limits if wire == "anthropic" else OpenAIBatches.limits


def make_protocol(wire: str, client: HttpClient, url: str) -> BatchProtocol:
    """Return the batches of the endpoint at an address. Raises UsageError for other wires."""
    batch_limits(wire)
    if wire == "anthropic":
        return AnthropicBatches(client, url)
    return OpenAIBatches(client, url, "responses" if wire == "responses" else "chat/completions")


class _Asking:
    """One request: its repeat, its last answer, and whether a refusal of before was believed.

    `is_shared`: an equal request had the same answer before.
    """

    def __init__(self, repeat: int) -> None:
        self.repeat = repeat
        self.has_old_refusal = False
        self.answered: tuple[str, RunningBatch] | None = None
        self.is_shared = False


_asking: ContextVar[_Asking] = ContextVar("asking")


class _DigestEncoder(RequestEncoder):
    """Encodes as another encoder, and returns the digest of the body in its place.

    A request waits for hours, and tens of thousands wait together: their bodies must not.
    """

    def __init__(self, encoder: RequestEncoder, keep: Callable[[bytes], None]) -> None:
        super().__init__(encoder.settings)
        self._encoder = encoder
        self._keep = keep

    def encode_request(self, request: Request, *, repair_arguments: bool = False) -> EncodedRequest:
        """Return the request with the digest of its body."""
        encoded = self._encoder.encode_request(request, repair_arguments=repair_arguments)
        self._keep(encoded.body)
        digest = hashlib.sha256(encoded.body).digest()
        return encoded._replace(body=digest, digested_bytes=len(encoded.body))


class _DigestAdapter(RequestAdapter):
    """Adapts requests that are encoded as digests.

    The refusals of one batch count each: a second batch may take a day.
    """

    counts_together = True

    def __init__(
        self, wire: Wire, settings: EncoderSettings, keep: Callable[[bytes], None]
    ) -> None:
        self._keep = keep
        super().__init__(wire, settings)

    def _make_encoder(self, profile: EndpointProfile) -> RequestEncoder:
        return _DigestEncoder(super()._make_encoder(profile), self._keep)


class BatchedEndpoint(EndpointModel):
    """An endpoint whose requests are answered by batches; else it is an EndpointModel.

    What was submitted is in the `ledger`, and nothing of it is submitted again. Equal requests of
    one repeat share an answer, which is paid once: the later replies are marked as from a cache.
    The times of replies are 0: nobody knows them.
    """

    is_answered_later: ClassVar[bool] = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        ledger: BatchLedger | None = None,
        max_retries: int = DEFAULT_RETRIES,
        timing: BatchTiming | None = None,
        **settings: Any,
    ) -> None:
        self._last_body = b""
        super().__init__(url, model, **settings)
        if self.is_stream:
            raise UsageError("a batch sends whole replies; next: leave out --stream or --batch")
        self.protocol = make_protocol(self.wire.name, self._client, url)
        worker = BatchWorker(
            self.protocol,
            ledger or BatchLedger(),
            self._read_refusal,
            max_retries,
            timing or DEFAULT_TIMING,
        )
        self.queue = BatchQueue(worker)
        self._name_suggestion: str | None = None
        self._answered_items: set[str] = set()

    async def __call__(self, request: Request, /) -> Reply:
        """Ask in the next batch; see `EndpointModel.__call__`."""
        asking = _Asking(request.repeat)
        token = _asking.set(asking)
        try:
            while True:
                try:
                    reply = await super().__call__(request)
                    return replace(reply, from_cache=True) if asking.is_shared else reply
                except AskAgain:
                    continue
                except (RateLimited, TornReply, Unavailable):
                    if asking.answered is not None:  # with an error, or what cannot be read
                        self.queue.forget_answer(*asking.answered)
                    raise
                except Rejected:
                    if not asking.has_old_refusal:
                        raise
                    asking.has_old_refusal = False  # perhaps the reason has passed
        finally:
            _asking.reset(token)

    @property
    def activity(self) -> str:
        """What the batches do."""
        return self.queue.describe_state()

    async def read_batch(self, batch_id: str) -> BatchStatus:
        """Return how far a batch is. Raises EndpointError."""
        return await self._ask_about(self.protocol.read_status(batch_id))

    async def cancel_batch(self, batch_id: str) -> None:
        """Ask the provider to end a batch. Raises EndpointError."""
        await self._ask_about(self.protocol.cancel_batch(batch_id))

    async def _ask_about(self, asked: Awaitable[_T]) -> _T:
        try:
            return await asked
        except RefusedAnswer as refusal:
            error = self._read_refusal(refusal.answer)
            self._mask_error(error)
            raise error from None

    async def close(self) -> None:
        """Leave the batches to the provider, and close the connections."""
        await self.queue.close()
        await super().close()

    def _make_adapter(self, settings: EncoderSettings) -> RequestAdapter:
        return _DigestAdapter(self.wire, settings, self._keep_body)

    def _keep_body(self, body: bytes) -> None:
        self._last_body = body  # of the request that is posted next, before any other is encoded

    async def _post(self, sent: EncodedRequest) -> HttpResponse:
        asking, body = _asking.get(), self._last_body
        self._last_body = b""
        item = self._item_id(sent, asking.repeat)
        asking.answered = None
        try:
            found = await self.queue.answer_item(item, body, sent.headers)
        except TornReply:  # there is a result, and it cannot be read
            raise
        except EndpointError as error:  # expired, cancelled, or its answer is read later
            error.may_be_charged = False
            raise
        asking.answered = item, found.batch
        if found.response.status == 200:
            asking.is_shared = item in self._answered_items
            self._answered_items.add(item)
        if found.is_old and found.response.status != 200:
            asking.has_old_refusal = True
        return found.response

    def _item_id(self, sent: EncodedRequest, repeat: int) -> str:
        """Return what identifies a request of this run to the provider and to later processes."""
        parts = (self.origin, str(repeat), str(sent.headers), sent.body.hex())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_ID_CHARS]

    def _read_refusal(self, answer: HttpResponse) -> EndpointError:
        """Return the error that a refused batch is."""
        complaint = self._parse_complaint(answer.body)
        found = complaint_outcome.reply_or_error(answer, complaint, self.key_name, answer.status)
        if isinstance(found, Reply):
            return Rejected(complaint.short_message, answer.status)
        if isinstance(found, Rejected) and answer.status in (404, 405):
            return Rejected(f"{found}; {_NO_BATCHES}", found.status, kind=found.kind)
        return found

    async def _suggest_model_names(self) -> str:
        """Ask for the names once: all requests of a batch are refused together."""
        if self._name_suggestion is None:
            self._name_suggestion = ""
            self._name_suggestion = await super()._suggest_model_names()
        return self._name_suggestion

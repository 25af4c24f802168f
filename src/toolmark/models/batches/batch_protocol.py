"""What a provider's batches must offer: how they are sent, watched, read, found and cancelled."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

from toolmark.core.errors import EndpointError, Timeout, TornReply
from toolmark.core.failure import Kind
from toolmark.models.batches.bulk_transfer import RefusedAnswer, Spool
from toolmark.models.http_client import HttpClient, HttpResponse

BatchOutcome: TypeAlias = Literal["running", "ended", "expired", "cancelled", "failed"]
"""`ended`: each request has a result. `failed`: none was answered, the batch itself is refused."""
Headers: TypeAlias = Sequence[tuple[str, str]]

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_MAX_ERRORS = 60_000  # of a refused batch: one for each request


class BatchLimits(NamedTuple):
    """How many requests, and how many bytes of them, one batch may have."""

    n_items: int
    n_bytes: int


class BatchComplaint(NamedTuple):
    """Why a batch is refused: a code and a text.

    `place` is that of the request that is the reason, from 0.
    """

    code: str
    message: str
    place: int | None = None


class BatchStatus(NamedTuple):
    """How far a batch is. `expires_s` is when it ends whatever is done, in seconds since 1970.

    `files` are the names of the files with its results, where there are such.
    """

    outcome: BatchOutcome
    n_done: int = 0
    n_all: int = 0
    expires_s: float | None = None
    files: tuple[str, ...] = ()
    complaints: tuple[BatchComplaint, ...] = ()


class ItemResult(NamedTuple):
    """What became of one request: an answer, or the error that stands for none."""

    item_id: str
    answer: HttpResponse | EndpointError


class BatchCancelled(EndpointError):
    """The request was not answered, because its batch was cancelled."""

    kind: Kind = "stopped"


def expired_item(item_id: str) -> ItemResult:
    """Return what became of a request whose batch had no more time."""
    return ItemResult(item_id, Timeout("the batch expired before this request was answered"))


def cancelled_item(item_id: str) -> ItemResult:
    """Return what became of a request whose batch was cancelled."""
    text = "the batch was cancelled before this request was answered"
    return ItemResult(item_id, BatchCancelled(text))


class BatchProtocol:
    """The batches of one provider. `url` is the address of the endpoint, without a path.

    `stores_keys`: the key of a batch is stored with it, so it can be found for certain.

    All methods that ask raise RefusedAnswer for an answer with another status than 200,
    EndpointError where none comes, TornReply for one of another shape.
    """

    limits: ClassVar[BatchLimits]
    stores_keys: ClassVar[bool] = False
    prefix: ClassVar[bytes] = b""
    separator: ClassVar[bytes] = b""
    suffix: ClassVar[bytes] = b""

    def __init__(self, client: HttpClient, url: str) -> None:
        self.client = client
        self.url = url

    def write_item(self, item_id: str, body: bytes) -> bytes:
        """Return one request as it stands in the batch."""
        raise NotImplementedError

    async def upload_items(self, key: str, spool: Spool) -> str:
        """Send the requests ahead of the batch, and return the file's id; "" where that is not so.

        It costs nothing, and may be done again.
        """
        raise NotImplementedError

    async def create_batch(self, key: str, file_id: str, spool: Spool, headers: Headers) -> str:
        """Submit the requests as a batch, and return its id."""
        raise NotImplementedError

    async def read_status(self, batch_id: str) -> BatchStatus:
        """Return how far a batch is."""
        raise NotImplementedError

    def read_results(self, batch_id: str, status: BatchStatus) -> AsyncGenerator[ItemResult, None]:
        """Yield the results of a batch that is over, in any order."""
        raise NotImplementedError

    async def cancel_batch(self, batch_id: str) -> None:
        """Ask the provider to end a batch."""
        raise NotImplementedError

    def find_batches(self, key: str, since_s: float, n_items: int) -> AsyncGenerator[str, None]:
        """Yield the ids of batches that may be the one submitted under `key` after a time.

        Where the provider stores no key, they are those of `n_items` requests, and only their
        results prove which it is.
        """
        raise NotImplementedError


def is_id(text: str) -> bool:
    """Return whether a text is an id that may stand in an address."""
    return _ID.fullmatch(text) is not None


def check_id(value: object) -> str:
    """Return an id that may stand in an address. Raises TornReply for any other."""
    if not isinstance(value, str) or not is_id(value):
        raise TornReply("the answer names no id that can be used")
    return value


def decode_answer(answer: HttpResponse, kind: type[Any]) -> Any:
    """Return the body of an answer as this type. Raises RefusedAnswer, TornReply."""
    if answer.status != 200:
        raise RefusedAnswer(answer)
    return _decode(answer.body, kind, "the answer is no batch")


def decode_line(line: bytes, kind: type[Any]) -> Any:
    """Return a line of results as this type. Raises TornReply."""
    return _decode(line, kind, "a line of the results has another shape")


def _decode(data: bytes, kind: type[Any], complaint: str) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise TornReply(complaint) from None


def cut_complaints(complaints: Sequence[BatchComplaint]) -> tuple[BatchComplaint, ...]:
    """Return as many complaints as a batch can have requests."""
    return tuple(complaints[:_MAX_ERRORS])

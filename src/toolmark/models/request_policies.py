"""Policies around any model: retries, pacing, and a cache.

They nest: CachedModel(RetryingModel(PacedModel(model))). So a wait before a retry takes no slot of
the pacing. Limits per minute are next to the model (`models.rate_limits`): a request is counted
when it is sent.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from random import Random

import msgspec
from msgspec.structs import replace

from toolmark.core.errors import (
    DataError,
    EndpointError,
    NotRecorded,
    RateLimited,
    Timeout,
    TornReply,
    Unavailable,
)
from toolmark.core.files import write_atomically
from toolmark.core.json_codec import decode_record, encode_record
from toolmark.core.model import DelegatingModel, Model
from toolmark.core.records import Record, Reply, Request, Usage
from toolmark.models.wait_headers import MAX_WAIT_S, ServerLimits

_CACHE_VERSION = 3
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0
_TIMER_SLACK_S = 0.01  # a timer of uvloop may end a millisecond early; a wait is never shorter
# the most retries by failure: any other failure may pass at any time, but a request that timed
# out or came torn twice more mostly does so for ever, and each time takes its full time limit
_MAX_RETRIES_BY_ERROR: dict[type[EndpointError], int | None] = {
    RateLimited: None,
    Unavailable: None,
    Timeout: 2,
    TornReply: 2,
}


class RetryingModel(DelegatingModel):
    """Asks again by a table of errors, with growing pauses and jitter.

    A wait that the server names replaces the pause. A Rejected request is never asked again, nor
    one of which the server says so.
    """

    def __init__(
        self,
        model: Model,
        retries: int,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        rng: Random | None = None,
    ) -> None:
        super().__init__(model)
        self.retries = retries
        self._sleep = sleep
        self._rng = rng or Random()
        self._reason_by_waiter: dict[object, str] = {}

    @property
    def wait_reasons(self) -> Collection[str]:
        """Why requests wait to be repeated now, here or inside."""
        return (*self._reason_by_waiter.values(), *self.model.wait_reasons)

    async def __call__(self, request: Request, /) -> Reply:
        """Ask until there is a reply. Raises the last EndpointError."""
        tries = 0
        while True:
            try:
                return await self.model(request)
            except EndpointError as error:
                if tries >= self._max_retries(error):
                    raise
                wait_s = self._pause_s(error, tries)
                if wait_s > MAX_WAIT_S:
                    raise
                reason = error.reason
            tries += 1
            waiter = object()
            self._reason_by_waiter[waiter] = reason
            try:
                await self._sleep(wait_s)
            finally:
                del self._reason_by_waiter[waiter]

    def _max_retries(self, error: EndpointError) -> int:
        if error.may_retry is False:
            return 0
        limit = _MAX_RETRIES_BY_ERROR.get(type(error), 0)
        return self.retries if limit is None else min(limit, self.retries)

    def _pause_s(self, error: EndpointError, tries: int) -> float:
        """Return how long to wait: full jitter over the upper half, so that requests spread."""
        pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0**tries) * (
            0.5 + self._rng.random() / 2
        )
        requested_s = error.wait_s if isinstance(error, RateLimited | Unavailable) else None
        return pause_s if requested_s is None else requested_s + pause_s * 0.1


class PacedModel(DelegatingModel):
    """Sends at most `limit` requests at once, and adapts the limit to the endpoint.

    It begins at `max_in_flight`. It halves when the endpoint is overloaded (once for all the
    requests that were in flight at that moment), and grows by one for each round without overload.
    While the endpoint asks to wait, no request begins: each would be refused, and counted.
    """

    def __init__(self, model: Model, max_in_flight: int) -> None:
        super().__init__(model)
        self.max_in_flight = max_in_flight
        self.limit = float(max_in_flight)
        self.n_in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._n_slowdowns = 0
        self._release: asyncio.TimerHandle | None = None  # ends the wait that is asked for
        self._pause_reason = ""

    @property
    def wait_reasons(self) -> Collection[str]:
        """Why requests wait for the endpoint, here or inside."""
        paused = (self._pause_reason,) * len(self._waiting) if self._release is not None else ()
        return (*paused, *self.model.wait_reasons)

    async def __call__(self, request: Request, /) -> Reply:
        """Ask when a slot is free."""
        if self.n_in_flight >= self.limit or self._release is not None:
            await self._wait_for_slot()
        else:
            self.n_in_flight += 1
        n_slowdowns = self._n_slowdowns
        try:
            reply = await self.model(request)
        except (RateLimited, Unavailable, Timeout) as error:
            self._slow_down(n_slowdowns)
            if isinstance(error, RateLimited) and error.wait_s and error.may_retry is not False:
                self._pause_requests(error.wait_s, error.reason)
            raise
        else:
            if self.limit < self.max_in_flight:
                self.limit = min(self.max_in_flight, self.limit + 1 / self.limit)
            return reply
        finally:
            self.n_in_flight -= 1
            if self._waiting:
                self._wake_waiting()

    def heed_limits(self, limits: ServerLimits, usage: Usage) -> None:
        """Have no more requests in flight than are left, and none until more are.

        `usage` is what the request used whose answer names the limits.
        """
        n_tokens = usage.input + usage.output
        left = limits.requests_left(n_tokens)
        if left is not None and left < self.limit:
            self.limit = float(max(1, left))
        if left == 0:
            self._pause_requests(limits.renewal_s(n_tokens), "the endpoint's limit is used up")

    def _pause_requests(self, wait_s: float, reason: str) -> None:
        """Begin no request for so many seconds, or until the end of a longer wait."""
        loop = asyncio.get_running_loop()
        end = loop.time() + wait_s + _TIMER_SLACK_S
        if not 0 < wait_s <= MAX_WAIT_S or (self._release and self._release.when() >= end):
            return
        if self._release is not None:
            self._release.cancel()
        self._pause_reason = reason
        self._release = loop.call_at(end, self._end_pause)

    def _end_pause(self) -> None:
        self._release = None
        self._wake_waiting()

    async def _wait_for_slot(self) -> None:
        """Wait for a slot; it is taken when this returns."""
        slot = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self.n_in_flight -= 1  # the slot was given just before
                self._wake_waiting()
            raise

    def _wake_waiting(self) -> None:
        while self._waiting and self.n_in_flight < self.limit and self._release is None:
            slot = self._waiting.popleft()
            if not slot.done():
                self.n_in_flight += 1
                slot.set_result(None)

    def _slow_down(self, n_slowdowns: int) -> None:
        if n_slowdowns == self._n_slowdowns:
            self._n_slowdowns += 1
            self.limit = max(1.0, self.limit / 2)


class CacheEntry(Record, frozen=True):
    """A stored reply, with the settings that were left out of its request."""

    reply: Reply
    refused_settings: tuple[str, ...] = ()
    unsent_settings: tuple[str, ...] = ()


class CachedModel(DelegatingModel):
    """Replies stored on disk, by what they depend on: the model, the request, the repeat.

    `identity` distinguishes models and never contains a key. An entry that cannot be read, or was
    changed, is asked again and rewritten. Failures are not stored. The key is the request before
    any setting is left out. The entry lists the settings that the endpoint refused or is never
    sent, so that a run which is answered from the cache can report them too. With `replay_only` the
    model is never asked.
    """

    def __init__(
        self, model: Model, folder: Path, identity: str, *, replay_only: bool = False
    ) -> None:
        super().__init__(model)
        self.folder = folder
        self.replay_only = replay_only
        self._prefix = hashlib.sha256(f"{_CACHE_VERSION}\n{identity}\n".encode())
        self._refused_in_cache: frozenset[str] = frozenset()
        self._unsent_in_cache: frozenset[str] = frozenset()

    @property
    def refused_settings(self) -> frozenset[str]:
        """What was left out of any request, including those answered from disk."""
        return self.model.refused_settings | self._refused_in_cache

    @property
    def unsent_settings(self) -> frozenset[str]:
        """What was never sent in any request, including those answered from disk."""
        return self.model.unsent_settings | self._unsent_in_cache

    async def __call__(self, request: Request, /) -> Reply:
        """Return the stored reply, marked as such, or ask and store the reply.

        Raises NotRecorded where the model may not be asked.
        """
        path = self._path(request)
        entry = _read_entry(path)
        if entry is None and self.replay_only:
            raise NotRecorded("the cache does not hold the reply to this request")
        if entry is None:
            reply = await self.model(request)
            refused, unsent = self.model.refused_settings, self.model.unsent_settings
            _write_entry(path, CacheEntry(reply, tuple(sorted(refused)), tuple(sorted(unsent))))
            return reply
        self._refused_in_cache |= frozenset(entry.refused_settings)
        self._unsent_in_cache |= frozenset(entry.unsent_settings)
        return replace(entry.reply, from_cache=True)

    def _path(self, request: Request) -> Path:
        key = self._prefix.copy()
        key.update(encode_record(request))  # the repeat is one of its fields
        name = key.hexdigest()
        return self.folder / name[:2] / name


def _read_entry(path: Path) -> CacheEntry | None:
    """Return the entry, or None if it is missing or not as it was written."""
    try:
        digest, _, line = path.read_bytes().partition(b"\n")
        if hashlib.sha256(line).hexdigest().encode() != digest:
            return None
        return decode_record(line, CacheEntry)
    except (OSError, msgspec.DecodeError):
        return None


def _write_entry(path: Path, entry: CacheEntry) -> None:
    """Write the entry atomically."""
    line = encode_record(entry)
    try:
        write_atomically(path, hashlib.sha256(line).hexdigest().encode() + b"\n" + line)
    except OSError as error:
        raise DataError(f"{path}: cannot write to the cache: {error.strerror}") from None

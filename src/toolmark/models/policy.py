"""Policies around any model: ask again, ask fewer at a time, ask once and remember.

They nest: Cache(Retry(Pace(model))). A wait for a retry so holds no slot of the pace.
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

from toolmark.codec import decode, encode
from toolmark.errors import DataError, EndpointError, RateLimited, Timeout, Torn, Unavailable
from toolmark.files import write_atomically
from toolmark.types import Model, Record, Reply, Request

RETRIES = 5
CONNECTIONS = 16
"""How often a request is asked again, and how many are in flight, where nobody says otherwise."""
_FORMAT = 2
_FIRST_S = 0.5
_LONGEST_S = 60.0
# a server that asks for more than this will not answer within this run
_PATIENCE_S = 600.0
# how often at most each failure is asked again: the others may pass at any time, but what
# timed out or came torn twice more mostly does so for ever, and each time costs its full length
_MOST: dict[type[EndpointError], int | None] = {
    RateLimited: None,
    Unavailable: None,
    Timeout: 2,
    Torn: 2,
}


class Wrapper:
    """What the policies share: the inner model's name, and its end."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = str(getattr(model, "name", type(model).__name__))

    @property
    def dropped(self) -> frozenset[str]:
        """The settings that the inner model's endpoint refused and that are left out since."""
        found = getattr(self.model, "dropped", None)
        return found if isinstance(found, frozenset) else frozenset()

    @property
    def hears(self) -> bool:
        """Whether the inner model takes sound; it does unless it says otherwise."""
        return bool(getattr(self.model, "hears", True))

    @property
    def waits(self) -> Collection[str]:
        """Why requests wait to be asked again just now, each with its reason."""
        found: Collection[str] = getattr(self.model, "waits", ())
        return found

    async def close(self) -> None:
        """Close the inner model, if it can be closed."""
        close = getattr(self.model, "close", None)
        if close is not None:
            await close()


class Retry(Wrapper):
    """Asks again by a table of errors, with growing, jittered pauses.

    A wait that the server names replaces the pause. Rejected is never asked again.
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
        self._waits: dict[object, str] = {}

    @property
    def waits(self) -> Collection[str]:
        """Why requests wait to be asked again just now, each with its reason."""
        return self._waits.values()

    async def __call__(self, request: Request, /) -> Reply:
        """Ask until there is a reply. Raises the last EndpointError."""
        tries = 0
        while True:
            try:
                return await self.model(request)
            except EndpointError as error:
                if tries >= self._most(error):
                    raise
                wait_s = self._pause(error, tries)
                if wait_s > _PATIENCE_S:
                    raise
                why = str(error)
            tries += 1
            turn = object()
            self._waits[turn] = why
            try:
                await self._sleep(wait_s)
            finally:
                del self._waits[turn]

    def _most(self, error: EndpointError) -> int:
        most = _MOST.get(type(error), 0)
        return self.retries if most is None else min(most, self.retries)

    def _pause(self, error: EndpointError, tries: int) -> float:
        """Return how long to wait: full jitter over the upper half, so that crowds spread."""
        pause_s = min(_LONGEST_S, _FIRST_S * 2.0**tries) * (0.5 + self._rng.random() / 2)
        asked_s = error.wait_s if isinstance(error, RateLimited | Unavailable) else None
        return pause_s if asked_s is None else asked_s + pause_s * 0.1


class Pace(Wrapper):
    """Lets at most `limit` requests out at once, and adapts the limit to the endpoint.

    It begins at `most`, halves when the endpoint is overloaded (once for all the requests that
    were out at that moment), and grows by one for each round that passes well.
    """

    def __init__(self, model: Model, most: int) -> None:
        super().__init__(model)
        self.most = most
        self.limit = float(most)
        self.out = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._era = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Ask when there is room."""
        if self.out >= self.limit:
            await self._room()
        else:
            self.out += 1
        era = self._era
        try:
            reply = await self.model(request)
        except (RateLimited, Unavailable, Timeout):
            self._slow(era)
            raise
        else:
            if self.limit < self.most:
                self.limit = min(self.most, self.limit + 1 / self.limit)
            return reply
        finally:
            self.out -= 1
            if self._waiting:
                self._wake()

    async def _room(self) -> None:
        """Wait for a slot; it is taken when this returns."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.out -= 1  # the slot was given just before
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self.out < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.out += 1
                turn.set_result(None)

    def _slow(self, era: int) -> None:
        if era == self._era:
            self._era += 1
            self.limit = max(1.0, self.limit / 2)


class Entry(Record, frozen=True):
    """A kept reply, with what was left out of its request."""

    reply: Reply
    dropped: tuple[str, ...] = ()


class Cache(Wrapper):
    """Replies kept on disk, by what they depend on: the model, the request, the repeat.

    `identity` tells models apart and never holds a key. An entry that cannot be read, or was
    changed, is asked again and written anew. Failures are not kept. The key is the request as
    it was meant; what the endpoint refused of it stands in the entry, so that a run which is
    answered from here can tell it too.
    """

    def __init__(self, model: Model, folder: Path, identity: str) -> None:
        super().__init__(model)
        self.folder = folder
        self._prefix = hashlib.sha256(f"{_FORMAT}\n{identity}\n".encode())
        self._kept: frozenset[str] = frozenset()

    @property
    def dropped(self) -> frozenset[str]:
        """What was left out of any request, those answered from disk included."""
        return super().dropped | self._kept

    async def __call__(self, request: Request, /) -> Reply:
        """Return the kept reply, which says that it is one, or ask and keep it."""
        path = self._path(request)
        entry = _read(path)
        if entry is None:
            reply = await self.model(request)
            _write(path, Entry(reply, tuple(sorted(super().dropped))))
            return reply
        self._kept |= frozenset(entry.dropped)
        return replace(entry.reply, kept=True)

    def _path(self, request: Request) -> Path:
        key = self._prefix.copy()
        key.update(encode(request))  # the repeat is one of its fields
        name = key.hexdigest()
        return self.folder / name[:2] / name


def _read(path: Path) -> Entry | None:
    """Return the entry, or None if it is missing or not as it was written."""
    try:
        told, _, line = path.read_bytes().partition(b"\n")
        if hashlib.sha256(line).hexdigest().encode() != told:
            return None
        return decode(line, Entry)
    except (OSError, msgspec.DecodeError):
        return None


def _write(path: Path, entry: Entry) -> None:
    """Write the entry whole or not at all."""
    line = encode(entry)
    try:
        write_atomically(path, hashlib.sha256(line).hexdigest().encode() + b"\n" + line)
    except OSError as error:
        raise DataError(f"{path}: cannot write to the cache: {error.strerror}") from None

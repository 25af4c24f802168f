"""Requests and tokens of a minute: buckets that fill at an even rate, and a queue before them.

Neither `aiolimiter` nor `pyrate-limiter` can settle an estimate by what was used. The first serves
the smallest amount that waits, so a large one may starve. In the second each waiter polls, in no
order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolmark.core.errors import RateLimited
from toolmark.core.json_codec import encode_record
from toolmark.core.model import DelegatingModel, Model
from toolmark.core.records import Reply, Request, Usage
from toolmark.models.wait_headers import MAX_WAIT_S

_WINDOW_S = 60.0
_FIRST_TOKENS_PER_BYTE = 0.25  # of a request as JSON, until replies say how many there are
_FIRST_OUTPUT_TOKENS = 256
_TINY = 1e-6  # of the unit; times are floating-point numbers


class RateBucket:
    """What may be taken of a limit per minute.

    It fills at an even rate and holds the burst: one second of the limit, at least 1. In no 60
    seconds more than the limit is taken, and by an amount larger than the burst at most that amount
    more. `level` is below 0 after such an amount, and after one that turned out larger.
    """

    def __init__(self, per_minute: float, read_clock: Callable[[], float]) -> None:
        self.burst = max(1.0, per_minute / _WINDOW_S)
        self.level = self.burst
        # the burst counts too: so no window holds more than the limit
        self._per_s = (per_minute - self.burst + 1.0) / _WINDOW_S
        self._read_clock = read_clock
        self._filled_at = read_clock()

    def wait_s(self, amount: float) -> float:
        """Return the seconds until so much may be taken; 0 for now."""
        self._update_level()
        missing = min(amount, self.burst) - self.level
        return missing / self._per_s if missing > _TINY else 0.0

    def take_amount(self, amount: float) -> None:
        """Take so much, also where it is not there."""
        self._update_level()
        self.level -= amount

    def return_amount(self, amount: float) -> None:
        """Return what was taken and not used; a negative amount takes more."""
        self._update_level()
        self.level = min(self.burst, self.level + amount)

    def _update_level(self) -> None:
        now = self._read_clock()
        self.level = min(self.burst, self.level + (now - self._filled_at) * self._per_s)
        self._filled_at = now


class RateLimiter:
    """Lets requests go one after the other, in their order, when both limits allow it.

    None is no limit. No request overtakes another, so none starves.
    """

    def __init__(
        self,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        *,
        read_clock: Callable[[], float],
    ) -> None:
        self._requests, self._tokens = (
            None if limit is None else RateBucket(limit, read_clock)
            for limit in (requests_per_minute, tokens_per_minute)
        )
        self._read_clock = read_clock
        self._paused_until = 0.0
        self._turn = asyncio.Lock()

    async def take_turn(self, n_tokens: float = 0.0) -> None:
        """Wait until a request with so many tokens may go, and count it."""
        async with self._turn:
            while (wait_s := self._wait_s(n_tokens)) > 0:
                await asyncio.sleep(wait_s)
            if self._requests is not None:
                self._requests.take_amount(1.0)
            if self._tokens is not None:
                self._tokens.take_amount(n_tokens)

    def settle_tokens(self, reserved: float, used: float) -> None:
        """Correct the tokens of a request to those that it used."""
        if self._tokens is not None:
            self._tokens.return_amount(reserved - used)

    def pause_sending(self, wait_s: float) -> None:
        """Let no request go for so many seconds: the endpoint asks for it."""
        self._paused_until = max(self._paused_until, self._read_clock() + min(wait_s, MAX_WAIT_S))

    def _wait_s(self, n_tokens: float) -> float:
        return max(
            self._paused_until - self._read_clock(),
            self._requests.wait_s(1.0) if self._requests is not None else 0.0,
            self._tokens.wait_s(n_tokens) if self._tokens is not None else 0.0,
        )


class TokenEstimate:
    """Guesses the tokens of a request before it is sent, from those that replies reported."""

    def __init__(self) -> None:
        self._n_bytes = self._n_input = self._n_output = self._n_replies = 0

    def estimate_tokens(self, n_bytes: int, max_tokens: int | None) -> float:
        """Return the tokens in and out of a request that has so many bytes as JSON."""
        if self._n_replies:
            output = self._n_output / self._n_replies
            return n_bytes * self._n_input / self._n_bytes + min(output, max_tokens or output)
        output = min(_FIRST_OUTPUT_TOKENS, max_tokens or _FIRST_OUTPUT_TOKENS)
        return n_bytes * _FIRST_TOKENS_PER_BYTE + output

    def learn_usage(self, n_bytes: int, usage: Usage) -> None:
        """Count what a request used."""
        self._n_bytes += n_bytes
        self._n_input += usage.input
        self._n_output += usage.output
        self._n_replies += 1


class RateLimitedModel(DelegatingModel):
    """Keeps to the user's limits of requests and tokens per minute.

    The tokens of a request are reserved by an estimate, and settled when its reply reports them. A
    request that failed counts, as it does at the endpoint. What waits has a slot of the pacing.
    """

    def __init__(self, model: Model, limiter: RateLimiter) -> None:
        super().__init__(model)
        self.limiter = limiter
        self._estimate = TokenEstimate()

    async def __call__(self, request: Request, /) -> Reply:
        """Ask when the limits allow it."""
        n_bytes = len(encode_record(request))
        reserved = self._estimate.estimate_tokens(n_bytes, request.sampling.max_tokens)
        await self.limiter.take_turn(reserved)
        try:
            reply = await self.model(request)
        except RateLimited as error:
            if error.wait_s is not None:
                self.limiter.pause_sending(error.wait_s)
            raise
        used = reply.usage.input + reply.usage.output
        if used:
            self.limiter.settle_tokens(reserved, used)
            self._estimate.learn_usage(n_bytes, reply.usage)
        return reply

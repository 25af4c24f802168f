"""What the head of an answer says of waiting: how long, whether to ask again, and what is left.

Every provider names it in its own headers, as seconds, as a duration (`1m30s`, `6ms`), as a time
(RFC 3339, an HTTP date), or as seconds or milliseconds since 1970. Times are compared with the
answer's own `Date`: the clocks of two machines may differ.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import NamedTuple

HeaderReader = Callable[[str], str]
"""Returns a header by its name in lower case; "" where it is absent or unreadable."""

MAX_WAIT_S = 600.0
"""An endpoint that asks for a longer wait will not answer within a run."""
_MAX_CHARS = 64  # of a header that names a wait
_SECONDS_BY_UNIT = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|[dhms])", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,40})?", re.ASCII)
_FIRST_EPOCH_S, _FIRST_EPOCH_MS = 1e9, 1e12  # no wait is so long: a greater number is a time


class _LimitNames(NamedTuple):
    """The headers of one limit: how much of it is left, and when it is renewed."""

    remaining: str
    reset: str


class _LimitFamily(NamedTuple):
    """The headers of one kind of endpoint; of several limits on tokens the strictest counts."""

    requests: _LimitNames
    tokens: tuple[_LimitNames, ...]


_ANTHROPIC = "anthropic-ratelimit"
_FAMILIES = (
    _LimitFamily(
        _LimitNames("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        (_LimitNames("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),),
    ),
    _LimitFamily(
        _LimitNames(f"{_ANTHROPIC}-requests-remaining", f"{_ANTHROPIC}-requests-reset"),
        tuple(
            _LimitNames(f"{_ANTHROPIC}-{kind}-remaining", f"{_ANTHROPIC}-{kind}-reset")
            for kind in ("tokens", "input-tokens", "output-tokens")
        ),
    ),
)


class LimitState(NamedTuple):
    """How much is left of one limit, and the seconds until it is renewed; None where not said."""

    remaining: int | None = None
    reset_s: float | None = None


class ServerLimits(NamedTuple):
    """What is left of an endpoint's limits, as an answer said."""

    requests: LimitState
    tokens: LimitState

    def requests_left(self, tokens_per_request: int) -> int | None:
        """Return how many such requests are left; None where nothing is said."""
        found = [] if self.requests.remaining is None else [self.requests.remaining]
        if self.tokens.remaining is not None and tokens_per_request > 0:
            found.append(self.tokens.remaining // tokens_per_request)
        return min(found, default=None)

    def renewal_s(self, tokens_per_request: int) -> float:
        """Return the seconds until what is used up is renewed; 0 where nothing says so."""
        used_up = [self.requests] if self.requests.remaining == 0 else []
        if self.tokens.remaining is not None and self.tokens.remaining < tokens_per_request:
            used_up.append(self.tokens)
        return max((each.reset_s or 0.0 for each in used_up), default=0.0)


def read_wait(read: HeaderReader) -> float | None:
    """Return the seconds that a refusal asks to wait; None where it names no wait.

    `retry-after-ms` counts before `retry-after`, and both before the resets of limits.
    """
    milliseconds = _read_number(read("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    named = parse_wait(read("retry-after"), partial(_answer_time, read))
    return _reset_wait(read) if named is None else named


def read_may_retry(read: HeaderReader) -> bool | None:
    """Return what the endpoint says of asking again; None where it says nothing."""
    return {"true": True, "false": False}.get(read("x-should-retry").strip().lower())


def read_limits(read: HeaderReader) -> ServerLimits | None:
    """Return what is left of the limits; None where an answer does not say."""
    for family in _FAMILIES:
        requests = _read_states(read, (family.requests,))
        tokens = _read_states(read, family.tokens)
        if requests or tokens:
            return ServerLimits(_find_strictest(requests), _find_strictest(tokens))
    return None


def parse_wait(text: str, read_time: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that a header's text stands for; None for a text that names no wait.

    `read_time` returns the seconds since 1970 with which times are compared; the wait for a time
    that is over is 0.
    """
    text = text.strip()
    if not text or len(text) > _MAX_CHARS:
        return None
    number = _read_number(text)
    if number is None:
        duration = _parse_duration(text)
        return _seconds_until(text, read_time()) if duration is None else duration
    if number < _FIRST_EPOCH_S:
        return number
    moment_s = number / 1000 if number >= _FIRST_EPOCH_MS else number
    return max(0.0, moment_s - read_time())


def _read_number(text: str) -> float | None:
    return float(text) if len(text) <= _MAX_CHARS and _NUMBER.fullmatch(text) else None


def _parse_duration(text: str) -> float | None:
    """Read `1h2m3.5s`, `6ms`: numbers with their units, and nothing else."""
    total_s, position = 0.0, 0
    while position < len(text):
        part = _DURATION_PART.match(text, position)
        if part is None:
            return None
        total_s += float(part[1]) * _SECONDS_BY_UNIT[part[2]]
        position = part.end()
    return total_s


def _seconds_until(text: str, now_s: float) -> float | None:
    """Return the seconds until an RFC 3339 time or an HTTP date, without a zone in UTC."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = parse(text)
            zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            return max(0.0, zoned.timestamp() - now_s)
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
    return None


def _answer_time(read: HeaderReader) -> float:
    """Return the time of the answer by its server's clock, else by this machine's."""
    date = read("date")
    try:
        return parsedate_to_datetime(date[:_MAX_CHARS]).timestamp() if date else time.time()
    except (ValueError, OverflowError, TypeError, IndexError):
        return time.time()


def _reset_wait(read: HeaderReader) -> float | None:
    """Return the longest time until a limit is renewed.

    Of limits that say what is left, those that are used up count alone. A limit that is renewed
    after `MAX_WAIT_S` counts only if it is used up: it may be that of a day.
    """
    states = [
        state
        for family in _FAMILIES
        for state in _read_states(read, (family.requests, *family.tokens))
    ]
    used_up = [each.reset_s for each in states if each.remaining == 0 and each.reset_s is not None]
    if used_up:
        return max(used_up)
    return max(
        (
            each.reset_s
            for each in states
            if each.reset_s is not None and each.reset_s <= MAX_WAIT_S
        ),
        default=None,
    )


def _read_states(read: HeaderReader, names: Iterable[_LimitNames]) -> list[LimitState]:
    """Return the limits of these names that an answer names."""
    found = []
    for each in names:
        remaining, reset = read(each.remaining).strip(), read(each.reset)
        # some endpoints write -1 for a limit that they do not count
        known = int(remaining) if remaining.isdecimal() and len(remaining) <= _MAX_CHARS else None
        if remaining and known is None:
            continue
        if remaining or reset:
            found.append(LimitState(known, parse_wait(reset, partial(_answer_time, read))))
    return found


def _find_strictest(states: list[LimitState]) -> LimitState:
    """Return the limit with the least left."""
    known = [each for each in states if each.remaining is not None]
    return min(known, key=lambda each: each.remaining or 0, default=LimitState())

"""An endpoint with a limit of requests, which names the wait as one of the providers does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from tests.servers import fake

Naming = Callable[[float], tuple[dict[str, str], dict[str, Any]]]
"""From the seconds to wait to the headers, and to the members of the error."""


def _rfc_3339(wait_s: float) -> str:
    return datetime.fromtimestamp(time.time() + wait_s, UTC).isoformat()


def _http_date(wait_s: float) -> dict[str, str]:
    now = datetime.now(UTC)
    later = datetime.fromtimestamp(int(now.timestamp() + wait_s) + 1, UTC)
    return {
        "date": format_datetime(now, usegmt=True),
        "retry-after": format_datetime(later, usegmt=True),
    }


NAMINGS: dict[str, Naming] = {
    "retry-after-ms": lambda s: ({"retry-after-ms": f"{s * 1000:.3f}", "retry-after": "0"}, {}),
    "seconds": lambda s: ({"retry-after": f"{s:.6f}"}, {}),
    "date": lambda s: (_http_date(s), {}),
    "retry-info": lambda s: ({}, {"details": [{"retryDelay": f"{s:.6f}s"}]}),
    "openai": lambda s: ({"x-ratelimit-reset-requests": f"{s * 1000:.3f}ms"}, {}),
    "anthropic": lambda s: ({"anthropic-ratelimit-requests-reset": _rfc_3339(s)}, {}),
}
REMAINING = {
    "openai": "x-ratelimit-remaining-requests",
    "anthropic": "anthropic-ratelimit-requests-remaining",
}
"""The headers of answers that say what is left."""


class LimitedEndpoint:
    """Answers `limit` requests in each window of `window_s` seconds, and refuses the others.

    `n_early` counts requests that arrived before the end of the wait that was asked for.
    """

    def __init__(self, naming: str, limit: int, window_s: float) -> None:
        self.naming, self.limit, self.window_s = naming, limit, window_s
        self.n_answered = self.n_refused = self.n_early = 0
        self._left, self._window_end, self._asked_until = limit, 0.0, 0.0

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        now = time.monotonic()
        self.n_early += now < self._asked_until
        if now >= self._window_end:
            self._left, self._window_end = self.limit, now + self.window_s
        is_refused = self._left == 0
        self._left -= not is_refused
        wait_s = self._window_end - now
        headers, members = NAMINGS[self.naming](wait_s)
        if self.naming in REMAINING:
            headers[REMAINING[self.naming]] = str(self._left)
        if is_refused:
            self.n_refused += 1
            self._asked_until = self._window_end
            error = {"error": {"message": "slow down", **members}}
            await fake.answer(429, error, headers)(asked, writer)
        else:
            self.n_answered += 1
            more = headers if self.naming in REMAINING else {}
            await fake.answer(200, fake.says("done"), more)(asked, writer)

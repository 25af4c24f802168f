"""How much work is too much: bounded by the processor's clock, which a busy machine does not move.

What takes linear time ends within a fraction of the limit, what does not takes many times of it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LIMIT_S = 30.0


class TooMuchWork(AssertionError):
    """The limit was used up."""


@contextmanager
def processor_limit(limit_s: float = LIMIT_S) -> Iterator[None]:
    """Raise TooMuchWork once this process has used so many seconds of the processor."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooMuchWork(f"used more than {limit_s:g} s of the processor")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)

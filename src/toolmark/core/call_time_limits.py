"""Time limits of functions of the user, which may block or swallow what is raised in them."""

from __future__ import annotations

import asyncio
import math
import signal
import threading
import time
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

_LEAST_S = 0.001  # a timer of 0 seconds is none
_REPEATED_S = 1.0  # an interruption that the function swallows comes again


# when the time of the running episode is over, by `time.monotonic`; None without a limit
_episode_end: ContextVar[float | None] = ContextVar("episode_end", default=None)


class CallHangs(BaseException):
    """A call took too long. It is not an Exception: code that catches all of them lets it pass.

    `of_episode` says that the episode's time was over, and not that of the call.
    """

    def __init__(self, *, of_episode: bool = False) -> None:
        super().__init__()
        self.of_episode = of_episode


class EpisodeTimeOver(Exception):
    """The time of an episode was over while a function of the user ran."""


def limit_episode(limit_s: float) -> None:
    """Let functions that the running episode calls end with its time, these seconds from now."""
    _episode_end.set(time.monotonic() + limit_s)


@contextmanager
def bounded_time(limit_s: float) -> Iterator[None]:
    """Interrupt the block after some seconds, or when the time of the episode is over.

    It works in the main thread only, where signals are handled; in other threads nothing is done.
    """
    end = _episode_end.get()
    left_s = math.inf if end is None else end - time.monotonic()
    of_episode = left_s < limit_s
    limit_s = max(min(limit_s, left_s), _LEAST_S)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_running, is_over = True, False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_over
        if is_running:
            is_over = True
            raise CallHangs(of_episode=of_episode)

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, limit_s, _REPEATED_S)
    try:
        yield
    finally:
        is_running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if is_over:  # the block swallowed the interruption and then ended
        raise CallHangs(of_episode=of_episode)


class BoundedSteps(Generator[Any, Any, Any]):
    """A coroutine of which each stretch between two awaits is interrupted after some seconds."""

    def __init__(self, made: Coroutine[Any, Any, Any], limit_s: float) -> None:
        self._steps = made.__await__()
        self._limit_s = limit_s

    def __await__(self) -> BoundedSteps:
        return self

    def send(self, value: Any) -> Any:
        """Go on to the next await."""
        with bounded_time(self._limit_s):
            return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise an error at the current await, such as a cancellation."""
        with bounded_time(self._limit_s):
            return self._steps.throw(*error)

    def close(self) -> None:
        """End it."""
        self._steps.close()


def is_own_timeout(error: TimeoutError) -> bool:
    """Return whether `asyncio.timeout` raised it, and not what the function did."""
    return isinstance(error.__cause__, asyncio.CancelledError)

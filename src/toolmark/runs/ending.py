"""How the program is asked to end: SIGTERM and SIGHUP are heeded as Ctrl-C is.

Left alone they end a process on the spot, and the servers that it started and the folders that it
made stay behind. A signal that was ignored when the program began, as under `nohup`, stays ignored.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

_ENDS = (signal.SIGTERM, signal.SIGHUP)


def unwinding() -> AbstractContextManager[None]:
    """Let each of these signals raise KeyboardInterrupt, as Ctrl-C does."""
    return _raising(_ENDS, lambda how: how is signal.SIG_DFL)


def interruptible() -> AbstractContextManager[None]:
    """Let signals that a loop would heed later raise KeyboardInterrupt now: it stands still."""
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return _raising((signal.SIGINT, *_ENDS), callable)


@contextmanager
def _raising(ends: Iterable[signal.Signals], mine: Callable[[object], bool]) -> Iterator[None]:
    """Take the signals over whose handler is `mine` to take, and give them back in the end."""
    before = {end: how for end in ends if mine(how := signal.getsignal(end))}
    try:
        for end in before:
            signal.signal(end, signal.default_int_handler)
        yield
    finally:
        for end, how in before.items():
            signal.signal(end, how)


def stopping(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Let the first of these signals, or Ctrl-C, set `stop`; the next raises KeyboardInterrupt."""
    heeded = [end for end in (signal.SIGINT, *_ENDS) if signal.getsignal(end) != signal.SIG_IGN]

    def first() -> None:
        stop.set()
        for end in heeded:
            loop.remove_signal_handler(end)
            signal.signal(end, signal.default_int_handler)

    for end in heeded:
        loop.add_signal_handler(end, first)

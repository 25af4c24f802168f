"""How the program is asked to end: SIGTERM and SIGHUP are heeded as Ctrl-C is.

Left alone they end a process on the spot, and the servers that it started and the folders that it
made stay behind. A signal that was ignored when the program began, as under `nohup`, stays ignored.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def unwinding() -> Iterator[None]:
    """Let each of these signals raise KeyboardInterrupt, as Ctrl-C does."""
    before = {end: signal.getsignal(end) for end in _ENDS}
    mine = [end for end, how in before.items() if how is signal.SIG_DFL]
    for end in mine:
        signal.signal(end, signal.default_int_handler)
    try:
        yield
    finally:
        for end in mine:
            signal.signal(end, before[end])


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

"""How the program is asked to end: SIGTERM and SIGHUP are heeded as Ctrl-C is.

Left alone they end a process on the spot, and the servers that it started and the folders that it
made stay behind. A signal that was ignored when the program began, as under `nohup`, stays ignored.

The first signal asks. Whatever the program does then, the operating system itself ends it at the
second Ctrl-C: a handler of Python's does not run while a call into C holds the interpreter. What is
on disk consists of complete lines at every instant.
"""

from __future__ import annotations

import asyncio
import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType

_ENDS = (signal.SIGTERM, signal.SIGHUP)
# struct sigaction: how many bytes it takes at most, where its flags stand, the flag of one use
_SIGACTION_BYTES = 512
_FLAGS = {"linux": (136, 0x80000000), "darwin": (12, 0x4)}


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
            _heed(end, signal.default_int_handler)
        yield
    finally:
        for end, how in before.items():
            if callable(how):
                _heed(end, how)
            else:
                signal.signal(end, how)


@contextmanager
def held_back() -> Iterator[Callable[[], None]]:
    """Let these signals wait while a loop is being set up, which one of them would break.

    Calling what it gives lets them through, and so does leaving it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *_ENDS))

    def let_through() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        yield let_through
    finally:
        let_through()


@contextmanager
def stopping(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Iterator[None]:
    """Let the first of these signals, or Ctrl-C, set `stop`.

    The next SIGTERM or SIGHUP raises KeyboardInterrupt, the next Ctrl-C ends the process.
    """
    before = {end: signal.getsignal(end) for end in (signal.SIGINT, *_ENDS)}
    heeded = [end for end, how in before.items() if how != signal.SIG_IGN]

    def first(number: int, frame: FrameType | None) -> None:
        for end in heeded:
            if end is signal.SIGINT:
                signal.signal(end, signal.SIG_DFL)
            else:
                _heed(end, signal.default_int_handler)
        loop.call_soon_threadsafe(stop.set)

    try:
        for end in heeded:
            _heed(end, first)
        yield
    finally:
        for end in heeded:
            if signal.getsignal(end) is first:
                signal.signal(end, before[end])


def _heed(end: signal.Signals, how: Callable[[int, FrameType | None], object]) -> None:
    """Handle a signal once; by the next of its kind the operating system ends the process.

    Python cannot ask for that (SA_RESETHAND), so the flag is set in the C library. Where the layout
    of its structure is not known, the handler stays.
    """
    signal.signal(end, how)
    if sys.platform not in _FLAGS or ctypes.sizeof(ctypes.c_void_p) != 8:
        return
    offset, once = _FLAGS[sys.platform]
    known = ctypes.create_string_buffer(_SIGACTION_BYTES)
    library = ctypes.CDLL(None)
    if library.sigaction(end.value, None, known) == 0:
        flags = ctypes.c_uint32.from_buffer(known, offset)
        flags.value |= once
        library.sigaction(end.value, known, None)

"""How the program is asked to end: SIGTERM and SIGHUP are treated as Ctrl-C is.

By default these signals end a process at once, and the servers that it started and the folders that
it made are left. A signal that was ignored when the program began, as under `nohup`, stays ignored.

The first signal asks the program to end. At the second Ctrl-C the operating system itself ends it,
whatever the program does: a Python handler does not run while a call into C blocks the interpreter.
What is on disk consists of complete lines at every time.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
# struct sigaction: its maximum size in bytes, the offset of its flags, the flag for one use
_SIGACTION_BYTES = 512
_SIGACTION_FLAGS = {"linux": (136, 0x80000000), "darwin": (12, 0x4)}


def interrupt_on_termination() -> AbstractContextManager[None]:
    """Let each of these signals raise KeyboardInterrupt, as Ctrl-C does."""
    return _raise_on_signals(_TERMINATION_SIGNALS, lambda how: how is signal.SIG_DFL)


def interrupt_immediately() -> AbstractContextManager[None]:
    """Let signals that an event loop would handle later raise KeyboardInterrupt at once.

    Use it while the loop is blocked. Outside the main thread it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return _raise_on_signals((signal.SIGINT, *_TERMINATION_SIGNALS), callable)


@contextmanager
def _raise_on_signals(
    signals: Iterable[signal.Signals], is_replaceable: Callable[[object], bool]
) -> Iterator[None]:
    """Handle the signals whose handler `is_replaceable`, and restore the handlers at the end."""
    previous_handlers = {
        number: handler for number in signals if is_replaceable(handler := signal.getsignal(number))
    }
    try:
        for number in previous_handlers:
            _handle_once(number, signal.default_int_handler)
        yield
    finally:
        for number, handler in previous_handlers.items():
            if callable(handler):
                _handle_once(number, handler)
            else:
                signal.signal(number, handler)


@contextmanager
def delay_signals() -> Iterator[Callable[[], None]]:
    """Block these signals while a loop is being set up, which one of them would break.

    Calling the yielded function delivers them; leaving the context does so too.
    """
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *_TERMINATION_SIGNALS))

    def deliver_signals() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)

    try:
        yield deliver_signals
    finally:
        deliver_signals()


@contextmanager
def stop_on_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Iterator[None]:
    """Let the first of these signals, or Ctrl-C, set `stop`.

    The next SIGTERM or SIGHUP raises KeyboardInterrupt, the next Ctrl-C ends the process.
    """
    previous_handlers = {
        handled_signal: signal.getsignal(handled_signal)
        for handled_signal in (signal.SIGINT, *_TERMINATION_SIGNALS)
    }
    handled_signals = [
        handled_signal
        for handled_signal, handler in previous_handlers.items()
        if handler != signal.SIG_IGN
    ]

    def request_stop(number: int, frame: FrameType | None) -> None:
        for handled_signal in handled_signals:
            if handled_signal is signal.SIGINT:
                signal.signal(handled_signal, signal.SIG_DFL)
            else:
                _handle_once(handled_signal, signal.default_int_handler)
        loop.call_soon_threadsafe(stop.set)

    try:
        for handled_signal in handled_signals:
            _handle_once(handled_signal, request_stop)
        yield
    finally:
        for handled_signal in handled_signals:
            if signal.getsignal(handled_signal) is request_stop:
                signal.signal(handled_signal, previous_handlers[handled_signal])


def _handle_once(
    signal_number: signal.Signals, handler: Callable[[int, FrameType | None], object]
) -> None:
    """Handle a signal once; the operating system ends the process at the next signal of its kind.

    Python does not offer this (SA_RESETHAND), so the flag is set in the C library. Where the layout
    of its structure is not known, the handler stays.
    """
    signal.signal(signal_number, handler)
    if sys.platform not in _SIGACTION_FLAGS or ctypes.sizeof(ctypes.c_void_p) != 8:
        return
    offset, one_shot_flag = _SIGACTION_FLAGS[sys.platform]
    action = ctypes.create_string_buffer(_SIGACTION_BYTES)
    library = ctypes.CDLL(None)
    if library.sigaction(signal_number.value, None, action) == 0:
        flags = ctypes.c_uint32.from_buffer(action, offset)
        flags.value |= one_shot_flag
        library.sigaction(signal_number.value, action, None)

"""An event loop whose time passes only while it waits: hours of waiting take no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class _ClockSelector(selectors.SelectSelector):
    """Waits by setting the clock forward."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now_s += timeout or 0.0
        return super().select(0)


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _ClockSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now_s


def run_virtually(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine in a loop that begins at 0 seconds."""
    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(main)

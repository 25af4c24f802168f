"""Waiting for what does not answer: seen by who watches, and given up in common.

Everything of a run that waits stands in one mapping, which the runner lays out with `watch`:
worlds are wrapped in many ways, and whoever watches should not have to look through them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar

from toolmark.errors import WorldError

FIRST = 3
"""Waits of a question after which what never answered anything is down."""
LOST = 3
"""Questions in a row, asked in vain to the end, after which what answered before is down."""

_WAITS: ContextVar[dict[object, str]] = ContextVar("waits")


def watch() -> Mapping[object, str]:
    """Return a live view of why worlds wait that this task, or one it starts, opens from now on."""
    waits: dict[object, str] = {}
    _WAITS.set(waits)
    return waits


class Patience:
    """What all questions to a search provider share: whether it answers, and when to give it up."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._heard = False
        self._lost = 0
        self._down = ""
        self._fallen = asyncio.Event()

    def heard(self) -> None:
        """Note that it is there: something answered."""
        self._heard = True

    def well(self) -> None:
        """Note that a question was answered."""
        self._lost = 0

    def check(self) -> None:
        """Raise WorldError where it was given up."""
        if self._down:
            raise WorldError(f"the search provider {self.name} is given up: {self._down}")

    async def wait(self, tries: int, wait_s: float, why: str) -> None:
        """Wait before a question is asked again. Raises WorldError once it is given up.

        `tries` counts the waits of this question before.
        """
        if tries >= FIRST and not self._heard:
            self._fall(f"it never answered; {why}")
        self.check()
        waits, turn = _WAITS.get({}), object()
        waits[turn] = f"{self.name}, {why}"
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._fallen.wait(), wait_s)
        finally:
            del waits[turn]
        self.check()

    def lost(self, why: str) -> WorldError:
        """Return what to raise for a question that was asked in vain to the end."""
        self._lost += 1
        if self._lost >= LOST:
            self._fall(f"{LOST} searches in a row in vain; {why}")
        return WorldError(f"the search provider {self.name}: {why}")

    def _fall(self, why: str) -> None:
        self._down = self._down or why
        self._fallen.set()

"""Rows that can be gone through without what most of their making goes into.

To draw some rows of many, and to learn what the baselines answer, nobody reads what a model is
told: rows that spare that can say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from toolmark.suites.multinet.frame import Frame, Rows


@runtime_checkable
class Bare(Protocol):
    """Rows that can be had in two steps."""

    def bare(self) -> Iterator[Frame]:
        """Go through them without fields and guesses; all else is as it is."""
        ...

    def full(self, frame: Frame) -> Frame:
        """Return the whole of one of them."""
        ...


def bare(rows: Rows) -> Iterable[Frame]:
    """Go through rows that need not be whole."""
    return rows.bare() if isinstance(rows, Bare) else rows


def full(rows: Rows, frame: Frame) -> Frame:
    """Return the whole of one of those that `bare` goes through."""
    return rows.full(frame) if isinstance(rows, Bare) else frame

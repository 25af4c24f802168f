"""Pairing two sides so that as many as possible fit."""

from __future__ import annotations

from collections.abc import Sequence


def most(fits: Sequence[Sequence[bool]]) -> dict[int, int]:
    """Return a largest matching, right side to left side, of a square of what fits what.

    Augmenting paths (Kuhn 1955), cubic at worst; the sides are a handful of calls.
    """
    owner: dict[int, int] = {}
    for left in range(len(fits)):
        _seat(left, fits, owner, set())
    return owner


def _seat(
    left: int, fits: Sequence[Sequence[bool]], owner: dict[int, int], tried: set[int]
) -> bool:
    """Find a place for one, moving others if need be."""
    for right, fit in enumerate(fits[left]):
        if not fit or right in tried:
            continue
        tried.add(right)
        if right not in owner or _seat(owner[right], fits, owner, tried):
            owner[right] = left
            return True
    return False

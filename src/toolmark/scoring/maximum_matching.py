"""Maximum bipartite matching."""

from __future__ import annotations

from collections.abc import Sequence


def match_most(fits: Sequence[Sequence[bool]]) -> dict[int, int]:
    """Return a maximum matching, from right side to left side; `fits[left][right]` allows a pair.

    It uses augmenting paths (Kuhn 1955), in cubic time at worst; the sides are a few calls.
    """
    owner: dict[int, int] = {}
    for left in range(len(fits)):
        _augment_path(left, fits, owner, set())
    return owner


def _augment_path(
    left: int, fits: Sequence[Sequence[bool]], owner: dict[int, int], visited: set[int]
) -> bool:
    """Match `left`, rematching others where necessary; return whether it succeeds."""
    for right, fit in enumerate(fits[left]):
        if not fit or right in visited:
            continue
        visited.add(right)
        if right not in owner or _augment_path(owner[right], fits, owner, visited):
            owner[right] = left
            return True
    return False

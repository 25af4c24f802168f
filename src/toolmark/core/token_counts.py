"""Sums of token counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from toolmark.core.records import Usage

_COUNT_NAMES = tuple(name for name in Usage.__struct_fields__ if name != "cost")
_counts_of = attrgetter(*_COUNT_NAMES)


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """Return the sum of all counts, and of the costs where every part names its own."""
    found = tuple(usages)
    sums = map(sum, zip(*map(_counts_of, found), strict=True))
    return Usage(**dict(zip(_COUNT_NAMES, sums, strict=False)), cost=sum_costs(found))


def sum_costs(usages: Sequence[Usage]) -> float | None:
    """Return the sum of the costs that an endpoint names, in US$.

    None where none is named, or where a part has tokens and no cost: the sum would be too small.
    """
    costs = [each.cost for each in usages if each.cost is not None]
    if not costs:
        return None
    counted = sum(each.cost is not None or bool(each.input or each.output) for each in usages)
    return sum(costs) if counted == len(costs) else None

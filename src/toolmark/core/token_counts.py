"""Sums of token counts."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from toolmark.core.records import Usage

_counts_of = attrgetter(*Usage.__struct_fields__)


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """Return the sum of all counts."""
    sums = map(sum, zip(*map(_counts_of, usages), strict=True))
    return Usage(**dict(zip(Usage.__struct_fields__, sums, strict=False)))

"""Published entries that cannot be scored fairly as published, with the reason (`errata.toml`).

The official rule scores all of them, as the official grader does. The fair rule sets aside the
entries of `set_aside`, and corrects the truth of those amended to what was clearly meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from toolmark.core.data_files import DataRecord, read_table


class Errata(DataRecord, frozen=True, kw_only=True):
    """The data file: reasons by entry, and its version.

    unsatisfiable: no answer passes the official checker. unreasonable: only an answer passes that
    no sensible model gives. contradicted: the truth contradicts the question, so the requested
    answer fails. amended: the fair rule takes a single value as a list with that one alternative.
    `satisfiable_with_collections` pass where the fair rule reads Java collections. questionable:
    nearly all models fail, and the reference is the likely reason; the fair rule scores them.
    """

    version: int
    satisfiable_with_collections: frozenset[str]
    unsatisfiable: dict[str, str]
    unreasonable: dict[str, str]
    contradicted: dict[str, str]
    amended: dict[str, str]
    questionable: dict[str, str]


def errata() -> Errata:
    """Return the content of the data file."""
    return read_table(__file__, "errata.toml", Errata)


@cache
def set_aside() -> Mapping[str, str]:
    """Return the reasons of the entries that the fair rule does not score."""
    found = errata()
    reasons = found.unsatisfiable | found.unreasonable | found.contradicted
    return {
        entry: why
        for entry, why in reasons.items()
        if entry not in found.satisfiable_with_collections
    }

"""Who made scores: the identity of a scorer's code."""

from __future__ import annotations

from toolmark.core.records import Record


class ScorerId(Record, frozen=True, kw_only=True):
    """Who made scores: `sha256` over `files`, the hashes of the scorer's modules and data by name.

    `sha256` is "" where the scorer's source cannot be found, for example in a notebook: no scorer
    is equal to such a scorer. `judges_whole_run` is true where the scorer judges the complete run
    together, so that its scores change with every episode that is added.
    """

    sha256: str = ""
    files: dict[str, str] = {}
    judges_whole_run: bool = False

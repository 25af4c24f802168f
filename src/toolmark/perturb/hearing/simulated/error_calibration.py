"""Odds of an error per word that give a word error rate (per cent), for each preset.

`python benchmarks/recognisers.py --calibrate` computes them on one half of BFCL's user turns. Run
it again whenever the draws, the tables or the lexicon change.
"""

from __future__ import annotations

from toolmark.core.data_files import DataRecord, read_table


class ErrorOdds(DataRecord, frozen=True):
    """The data file: error rates in per cent, and for each preset the odds that give them."""

    error_rates: tuple[float, ...]
    odds: dict[str, tuple[float, ...]]


def error_odds_table() -> ErrorOdds:
    """Return the content of the data file."""
    return read_table(__file__, "error_odds.toml", ErrorOdds)

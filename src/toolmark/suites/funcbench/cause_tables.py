"""Tables of why trials failed, how they ended, what was repaired, and where values came from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import EpisodeFilter, Table
from toolmark.statistics.failure_mode_tables import failed_answers
from toolmark.statistics.group_tables import count_run, group_table
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.table_cells import mean_share_cell
from toolmark.suites.funcbench.argument_origins import ORIGIN_LABELS, ORIGINS
from toolmark.suites.funcbench.column_slices import rows_by_variant
from toolmark.suites.funcbench.trial_causes import RECOVERIES

_ORIGIN_NOTES = {
    "never_seen": "neither given nor returned by any earlier call",
    "other_variable": "returned earlier, for another variable",
    "misplaced": "given in the prompt, for another variable",
    "stale": "returned earlier for this variable, and replaced by a later call since",
    "transposed": "true values of the same call, in each other's places",
    "inherited": "what an earlier wrong call returned for this variable",
}


def make_cause_tables(columns: Columns) -> Iterator[Table]:
    """Yield the tables for which the run has data."""
    failed = failed_answers(columns)
    if len(failed):
        yield _cause_table(failed)
    ran = columns.where(columns.run)
    if (ran.part("divergences") > 0).any():
        yield _recovery_table(ran, columns)
    if any(np.nansum(columns.part(f"from_{origin}")) for origin in ORIGINS):
        yield _origin_table(ran)


def _cause_table(failed: Columns) -> Table:
    """Return a row for each cause, ending and recovery that occur together, the commonest first."""
    keys = [
        tuple(map(str, key))
        for key in zip(
            failed.cause,
            failed.suite_cause,
            failed.trait_column("ending"),
            failed.trait_column("recovery"),
            strict=True,
        )
    ]
    counts = {key: keys.count(key) for key in sorted(set(keys))}
    rows = sorted(counts.items(), key=lambda pair: -pair[1])
    return Table(
        title="Why trials failed, how they ended, and what was repaired before",
        head=("cause", "what", "ending", "recovery", "trials", "of all failed"),
        rows=tuple((*key, n, number_format.format_percent(n / len(failed))) for key, n in rows),
        note="The cause is the first thing that went wrong and was never repaired.",
        row_episodes=tuple(
            EpisodeFilter(cause=(cause, what), traits={"ending": ending, "recovery": recovery})
            for (cause, what, ending, recovery), _ in rows
        ),
    )


def _recovery_table(ran: Columns, whole: Columns) -> Table:
    groups = (
        ((label, word), rows)
        for label, part in rows_by_variant(ran)
        for word in RECOVERIES
        if len(rows := part.where(part.trait_column("recovery") == word))
    )
    return group_table(
        "Success by what was repaired",
        ("model", "recovery"),
        groups,
        {"trials": count_run, "success": mean_share_cell},
        note="Bad calls of needed functions and of functions that do not exist count. A later call"
        " of the same function that gets further repairs one.",
        whole=whole,
    )


def _origin_table(ran: Columns) -> Table:
    """Return where the wrong arguments of well-formed calls came from."""
    sums = {origin: float(np.nansum(ran.part(f"from_{origin}"))) for origin in ORIGINS}
    total = sum(sums.values())
    return Table(
        title="Where wrong values came from",
        head=("origin", "arguments", "share", "meaning"),
        rows=tuple(
            (
                ORIGIN_LABELS[origin],
                round(n),
                number_format.format_percent(n / total),
                _ORIGIN_NOTES[origin],
            )
            for origin, n in sums.items()
        ),
        note="Counted over the arguments of all well-formed calls that are not the true value.",
        row_episodes=(EpisodeFilter(outcome="run"),) * len(sums),
        column_episodes=(None, EpisodeFilter(), EpisodeFilter(), None),
    )

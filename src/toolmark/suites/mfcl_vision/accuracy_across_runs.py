"""Accuracy of several vision runs: the paper's Table 2 in its layout, and what variations cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, Table
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.score_columns import (
    Columns,
    have_equal_values,
    ordered_levels,
    runs_with_answers,
)
from toolmark.suites.mfcl_vision import behaviour_tables, variation_statistics
from toolmark.suites.mfcl_vision.accuracy_tables import ACCURACY_NOTE, accuracy_title
from toolmark.suites.mfcl_vision.item_records import (
    BASE_VARIATION,
)


def build_comparison_tables(
    runs_by_rule: Mapping[str, Mapping[str, Columns]],
) -> Sequence[Table | Chart]:
    """Return Table 2 in the paper's layout, a row per run, then costs and behaviour of runs."""
    first_rule, *others = runs_by_rule
    runs = runs_with_answers(runs_by_rule[first_rule])
    if len(runs) < 2:
        return ()
    equal_rules = [
        name for name in others if _equal_results(runs_by_rule[name], runs_by_rule[first_rule])
    ]
    rule_names = " and ".join([first_rule, *equal_rules])
    found: list[Table | Chart] = [accuracy_by_run(rule_names, runs), *_cost_table(rule_names, runs)]
    found += [
        accuracy_by_run(name, runs_with_answers(runs_by_rule[name]))
        for name in others
        if name not in equal_rules
    ]
    return [*found, *behaviour_tables.build_comparison_tables(runs)]


def _equal_results(a: Mapping[str, Columns], b: Mapping[str, Columns]) -> bool:
    return a.keys() == b.keys() and all(
        have_equal_values(columns, b[name]) for name, columns in a.items()
    )


def _variations_of_runs(runs: Mapping[str, Columns]) -> list[str]:
    """Return the variations that any run has: Table 2's in its order, then others by name."""
    found = [
        name
        for columns in runs.values()
        for name in variation_statistics.present_variations(columns)
    ]
    return ordered_levels(found, tuple(variation_statistics.VARIATION_LABELS))


def accuracy_by_run(rule: str, runs: Mapping[str, Columns]) -> Table:
    """Return Table 2: a row per run, overall and every variation with its interval."""
    names = _variations_of_runs(runs)
    rows: list[tuple[Cell, ...]] = []
    for run, columns in runs.items():
        cells = (
            number_format.format_plus_minus(
                estimate_mean(variation_statistics.answers_in_variation(columns, name), name)
            )
            for name in names
        )
        n, mode = int(columns.run.sum()), behaviour_tables.tool_call_mode(columns)
        rows.append(
            (
                run,
                mode,
                n,
                number_format.format_plus_minus(variation_statistics.overall_score(columns)),
                *cells,
            )
        )
    head = ("run", "mode", "n", "overall", *map(variation_statistics.variation_label, names))
    return Table(title=accuracy_title(rule), head=head, rows=tuple(rows), note=ACCURACY_NOTE)


def _cost_table(rule: str, runs: Mapping[str, Columns]) -> Iterator[Table]:
    """Yield the cost of each variation for each run."""
    names = [name for name in _variations_of_runs(runs) if name != BASE_VARIATION]
    rows: list[tuple[Cell, ...]] = []
    for run, columns in runs.items():
        found = [variation_statistics.compare_with_base(columns, name) for name in names]
        rows.append(
            (
                run,
                *(number_format.format_points(x.difference) if x.n_items else None for x in found),
            )
        )
    if names and any(cell for row in rows for cell in row[1:]):
        yield Table(
            title=f"What each variation costs ({rule})",
            head=("run", *map(variation_statistics.variation_label, names)),
            rows=tuple(rows),
            note="Accuracy against the run's own base in percentage points, paired by item; in "
            "brackets 95 % intervals over items.",
        )

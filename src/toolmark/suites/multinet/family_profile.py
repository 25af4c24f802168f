"""One model over MultiNet's families: its headline in each, and its lead over the baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, Estimate, Series, Table
from toolmark.runs.suite import ComparedRun
from toolmark.statistics.class_formulas import MacroRecall
from toolmark.statistics.estimate_charts import bar_positions, estimate_series
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.score_columns import Columns
from toolmark.suites.multinet import paper_comparison, report_tables
from toolmark.suites.multinet.multinet_families import (
    FAMILIES,
)
from toolmark.suites.multinet.profile_rows import ColumnsByRow, select_runs
from toolmark.suites.multinet.tables import score_columns

MAX_CHART_ROWS = 8  # rows that fit in a chart
_MAX_NAMED_ROWS = 3  # rows that the note on a baseline names
_MEAN_BASELINE = "mean"
_BEST_LABEL = "best baseline"
_DAGGER = "†"
_PROFILE_NOTE = (
    "Exact match; of openx the share of rows closer than the training mean, which is no better "
    "than that mean at 50 %. Families differ in "
    "what they ask and how hard it is: compare within a column, not along a row. Where a run used "
    "your own data, its numbers describe these data, whatever the family is called."
)


def profile_tables(runs: Sequence[ComparedRun]) -> Sequence[Table | Chart]:
    """Return each model's shares by family, their lead over the best baseline, and a chart."""
    found, notes = select_runs(runs)
    families = [name for name in FAMILIES if any(name in each for each in found.values())]
    if len(families) < 2:
        return ()
    floors = _baseline_floors(found, families)
    charts = (
        [_profile_chart(families, found, floors)]
        if len(found) + len(floors) <= MAX_CHART_ROWS
        else []
    )
    return [
        _profile_table(families, found, floors, notes),
        *_macro_recall_table(families, found),
        *_openx_error_table(found),
        *charts,
        _above_baseline_table(families, found),
    ]


# --- baselines --------------------------------------------------------------------------


def best_baseline(columns: Columns) -> tuple[str, Columns] | None:
    """Return the baseline with the highest share on these rows, None if there is none.

    A baseline that knows what the model does not see is left out. For openx the training mean is
    included; it ties with itself and has share 0.5.
    """
    found: dict[str, Columns] = {}
    motion = score_columns.answer_kind(columns) == "motion"
    if motion and len(
        rows := score_columns.mean_vector_rows(columns).where(
            score_columns.has_number(columns, "base_mae")
        )
    ):
        found[_MEAN_BASELINE] = rows
    for name in score_columns.baseline_names(columns):
        if motion and name == _MEAN_BASELINE:
            continue
        rows = (
            score_columns.baseline_vector_rows(columns, name)
            if motion
            else score_columns.baseline_rows(columns, name)
        )
        if len(rows) and name not in score_columns.history_baselines(columns):
            found[name] = rows
    if not found:
        return None
    return max(found.items(), key=lambda pair: float(pair[1].value.mean()))


class _BestBaseline(NamedTuple):
    """A baseline's name and share, and whether the rows that it answered are synthetic."""

    name: str
    share: float
    synthetic: bool


BaselineFloor: TypeAlias = Mapping[str, _BestBaseline]
"""The best baseline of each family."""


def _baseline_floors(found: ColumnsByRow, families: Sequence[str]) -> dict[str, BaselineFloor]:
    """Return the best baselines, once for all rows if they agree, else by row."""
    floors: list[tuple[list[str], dict[str, _BestBaseline]]] = []
    for name, each in found.items():
        baselines = {family: best_baseline(each[family]) for family in families if family in each}
        floor = {
            family: _BestBaseline(
                baseline[0],
                float(baseline[1].value.mean()),
                score_columns.is_synthetic(each[family]),
            )
            for family, baseline in baselines.items()
            if baseline
        }
        twin = next((earlier for earlier in floors if _floors_agree(earlier[1], floor)), None)
        if twin:
            twin[0].append(name)
            twin[1].update(floor)
        else:
            floors.append(([name], floor))
    several = len(floors) > 1
    return {
        f"{_BEST_LABEL}, rows of {_join_names(row_names)}" if several else _BEST_LABEL: floor
        for row_names, floor in floors
    }


def _floors_agree(one: BaselineFloor, other: BaselineFloor) -> bool:
    """Return whether two sets of baselines agree on every family that both have."""
    return all(one[family] == other[family] for family in one.keys() & other.keys())


def _join_names(names: Sequence[str]) -> str:
    if len(names) <= _MAX_NAMED_ROWS:
        return ", ".join(names)
    return f"{', '.join(names[:_MAX_NAMED_ROWS])} and {len(names) - _MAX_NAMED_ROWS} more"


# --- tables and charts ------------------------------------------------------------------


def _mark_families(families: Sequence[str], found: ColumnsByRow) -> tuple[str, ...]:
    """Return the families, marked if all their rows are synthetic."""
    return tuple(
        f"{name} {_DAGGER}" if _is_family_synthetic(found, name) else name for name in families
    )


def _is_family_synthetic(found: ColumnsByRow, family: str) -> bool:
    return all(
        score_columns.is_synthetic(each[family]) for each in found.values() if family in each
    )


def _marked_name(name: str, columns_by_family: Mapping[str, Columns]) -> str:
    """Return a row's name, marked if all its cells are synthetic."""
    is_synthetic = all(map(score_columns.is_synthetic, columns_by_family.values()))
    return f"{name} {_DAGGER}" if is_synthetic else name


def _is_mixed_synthetic(synthetic: bool, family: str, found: ColumnsByRow) -> bool:
    """Return whether a cell is synthetic in a column that has other cells too."""
    return synthetic and not _is_family_synthetic(found, family)


def _synthetic_note(found: ColumnsByRow) -> str:
    """Return a note that says which rows are synthetic."""
    descriptions = []
    if all(_is_family_synthetic(found, family) for each in found.values() for family in each):
        found = {"every run": next(iter(found.values()))}
    for name, each in found.items():
        synthetic_families = [
            family for family, columns in each.items() if score_columns.is_synthetic(columns)
        ]
        if synthetic_families:
            descriptions.append(
                name
                if len(synthetic_families) == len(each)
                else f"{name} on {', '.join(synthetic_families)}"
            )
    explanation = "generated stand-ins, no measure on the published data"
    return f"{_DAGGER} {explanation}: {'; '.join(descriptions)}." if descriptions else ""


def _profile_table(
    families: Sequence[str],
    found: ColumnsByRow,
    floors: Mapping[str, BaselineFloor],
    notes: Sequence[str],
) -> Table:
    def cell(family: str, value: float | None, synthetic: bool) -> Cell:
        if value is None or not _is_mixed_synthetic(synthetic, family, found):
            return value
        return f"{number_format.format_percent(value)} {_DAGGER}"

    def model_cell(family: str, rows: Columns | None) -> Cell:
        if rows is None:
            return None
        return cell(family, estimate_mean(rows, "").value, score_columns.is_synthetic(rows))

    def floor_cell(family: str, baseline: _BestBaseline | None) -> Cell:
        return None if baseline is None else cell(family, baseline.share, baseline.synthetic)

    rows: list[tuple[Cell, ...]] = [
        (_marked_name(name, each), *(model_cell(family, each.get(family)) for family in families))
        for name, each in found.items()
    ]
    for name, floor in floors.items():
        rows.append((name, *(floor_cell(family, floor.get(family)) for family in families)))
    published = [
        name
        for name in families
        if not any(
            score_columns.is_synthetic(each[name]) for each in found.values() if name in each
        )
    ]
    rows += [
        (
            f"{model} (paper)",
            *(cells[published.index(x)] if x in published else None for x in families),
        )
        for model, cells in _paper_shares(published, found).items()
    ]
    note_parts = [
        _PROFILE_NOTE,
        *notes,
        _best_baselines_note(floors),
        "The paper's models were asked other rows." if published else "",
        _synthetic_note(found),
    ]
    return Table(
        title="Profile over the families",
        head=("model", *_mark_families(families, found)),
        rows=tuple(rows),
        n_shaded_columns=len(families),
        note=" ".join(filter(None, note_parts)),
    )


def _best_baselines_note(floors: Mapping[str, BaselineFloor]) -> str:
    """Return a note that names the best baselines."""
    names_by_family: dict[str, dict[str, None]] = {}
    for floor in floors.values():
        for family, (name, *_) in floor.items():
            names_by_family.setdefault(family, {})[name] = None
    listed = ", ".join(
        f"{family} {' or '.join(names)}" for family, names in names_by_family.items()
    )
    return (
        f"Best baselines, of those that know no more than the model: {listed}."
        if names_by_family
        else ""
    )


def _paper_shares(families: Sequence[str], found: ColumnsByRow) -> dict[str, list[float | None]]:
    """Return the shares of the paper's models that have a figure in any of these families."""
    shares_by_family: dict[str, dict[str, float | None]] = {
        family: {
            model: next(iter(shares.values()))
            for model, shares in paper_comparison.paper_shares()[family].items()
        }
        for family in families
        if family in paper_comparison.paper_shares()
    }
    if "odinw" in families:
        common = paper_comparison.shared_subsets(
            each["odinw"] for each in found.values() if "odinw" in each
        )
        exact = [paper_comparison.gpt5_odinw()[name][0] for name in common]
        shares_by_family["odinw"] = {"GPT-5": sum(exact) / len(exact)} if exact else {}
    models = [
        model
        for model in paper_comparison.paper_openx()
        if any(model in each for each in shares_by_family.values())
    ]
    return {
        model: [shares_by_family.get(family, {}).get(model) for family in families]
        for model in models
    }


def _macro_recall_table(families: Sequence[str], found: ColumnsByRow) -> Iterator[Table]:
    """Yield the macro recall of families whose answers are classes, and the best baseline's."""
    chosen = [
        name
        for name in families
        if any(
            score_columns.answer_kind(each[name]) in ("choice", "odds")
            for each in found.values()
            if name in each
        )
    ]
    rows: list[tuple[Cell, ...]] = []
    for name, each in found.items():
        columns = [each.get(family) for family in chosen]
        if any(part is not None for part in columns):
            rows.append((_marked_name(name, each), *map(_macro_recall_cell, columns)))
            baselines = [None if part is None else best_baseline(part) for part in columns]
            rows.append(
                (
                    f"{_BEST_LABEL} on its rows",
                    *(_macro_recall_cell(None if pair is None else pair[1]) for pair in baselines),
                )
            )
    if rows:
        yield Table(
            title="Profile: macro recall",
            head=("model", *_mark_families(chosen, found)),
            rows=tuple(dict.fromkeys(rows)),
            note="The mean recall of all classes, which exact match does not show where one class "
            "is frequent: constant answers have 1 / classes. A class without rows counts 0, so the "
            "most that can be reached is the share of classes with rows, behind the slash.",
        )


def _macro_recall_cell(columns: Columns | None) -> Cell:
    """Return macro recall and the most that these rows allow; None where nothing ran."""
    if columns is None or not columns.run.any():
        return None
    formula = report_tables.macro_recall_metric(columns).formula
    assert isinstance(formula, MacroRecall)
    estimate = number_format.format_estimate(formula.measure(columns))
    return f"{estimate} / {number_format.format_percent(formula.highest_value(columns))}"


def _openx_error_table(found: ColumnsByRow) -> Iterator[Table]:
    """Yield the relative errors of openx, which the share of closer rows does not show."""
    openx_columns = {name: each["openx"] for name, each in found.items() if "openx" in each}
    rows: list[tuple[Cell, ...]] = []
    for name, columns in openx_columns.items():
        metrics_by_name = {metric.name: metric for metric in report_tables.build_metrics(columns)}
        numbers = (
            metrics_by_name[error].measure(columns)
            for error in ("rel_mae", "rel_mse", "rel_mae_filtered")
        )
        rows.append((_marked_name(name, found[name]), *map(number_format.format_estimate, numbers)))
    if rows:
        rows.append(("training mean", "1", "1", "1"))
        yield Table(
            title="Profile: errors on openx", rows=tuple(rows),
            head=("model", "RelMAE", "RelMSE", "RelMAE, filtered"),
            note="Errors over those of the training mean, of several morphologies their mean: less "
            "is better, 1 is no better than it. Who is closer in most rows may be far off in the "
            "rest. Filtered: over the rows between the 5th and 95th percentile of the errors.",
        )  # fmt: skip


def _profile_chart(
    families: Sequence[str], found: ColumnsByRow, floors: Mapping[str, BaselineFloor]
) -> Chart:
    series = [
        estimate_series(
            _marked_name(name, each),
            [
                estimate_mean(each[family], "") if family in each else Estimate(name="")
                for family in families
            ],
        )
        for name, each in found.items()
    ]
    for name, floor in floors.items():
        levels = tuple(floor[x].share if x in floor else np.nan for x in families)
        series.append(Series(name=name, x=bar_positions(len(families)), y=levels))
    return Chart(title="Profile over the families, drawn", kind="bar", series=tuple(series),
                 ticks=_mark_families(families, found), y_label="share right",
                 note="Whiskers are 95 % intervals.")  # fmt: skip


def _above_baseline_table(families: Sequence[str], found: ColumnsByRow) -> Table:
    """Return each model's lead over the best baseline on its own rows, in percentage points."""

    def cell(family: str, columns: Columns | None) -> str | None:
        baseline = None if columns is None else best_baseline(columns)
        if columns is None or baseline is None:
            return None
        difference = number_format.format_points(compare_paired(columns, baseline[1]).difference)
        return (
            f"{difference} {_DAGGER}"
            if _is_mixed_synthetic(score_columns.is_synthetic(columns), family, found)
            else difference
        )

    rows = tuple(
        (_marked_name(name, each), *(cell(family, each.get(family)) for family in families))
        for name, each in found.items()
    )
    return Table(
        title="Above the best baseline, in points",
        head=("model", *_mark_families(families, found)),
        rows=rows,
        note="Each model against the baseline that did best on the very rows that it "
        "was asked and knows no more than it was given, paired by row; in brackets 95 % intervals. "
        "The best of several is chosen on these rows, which flatters it: it is a high bar. Of "
        "openx it is the training mean where none does better, 50 %.",
    )

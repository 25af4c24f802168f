"""The paper's figures next to those of a run, by family (MultiNet v1.0: GPT-5, Pi0, Magma).

The figures come from the paper's tables and from the results published with its code. For BFCL, and
for half of ODinW's sub-sets, we know no published figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.records import Cell, Chart, Table
from toolmark.statistics import published_figures
from toolmark.statistics.error_formulas import RelativeError
from toolmark.statistics.estimates import estimate_mean, estimate_part_average
from toolmark.statistics.score_columns import Columns, ordered_levels
from toolmark.suites.multinet import report_tables
from toolmark.suites.multinet.tables import choice_tables, score_columns

ShareFunction: TypeAlias = Callable[[Columns], float | None]


class SubsetRow(DataRecord, frozen=True):
    """GPT-5's figures on a sub-set of ODinW."""

    subset: str
    exact_match: float
    macro_recall: float
    macro_f1: float


class MorphologyRow(DataRecord, frozen=True):
    """A model's errors on a morphology of Open X-Embodiment, relative to those of the mean.

    That is the mean of the paper's own test rows. An invalid row has the error of the full range of
    the actions.
    """

    model: str
    morphology: str
    rel_mae: float
    rel_mse: float


class ShareRow(DataRecord, frozen=True):
    """A model's figure on a family, by the name of the measure."""

    family: str
    model: str
    measure: str
    value: float


@cache
def gpt5_odinw() -> Mapping[str, tuple[float, ...]]:
    """Return GPT-5's exact match, macro recall and macro F1 by sub-set."""
    rows = read_table(__file__, "paper_odinw.csv", tuple[SubsetRow, ...])
    return {row.subset: (row.exact_match, row.macro_recall, row.macro_f1) for row in rows}


@cache
def paper_openx() -> Mapping[str, Mapping[str, tuple[float, float]]]:
    """Return RelMAE and RelMSE by model and morphology."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in read_table(__file__, "paper_openx.csv", tuple[MorphologyRow, ...]):
        found.setdefault(row.model, {})[row.morphology] = (row.rel_mae, row.rel_mse)
    return found


@cache
def paper_shares() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    """Return the figures of the other families by family, model and measure."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in read_table(__file__, "paper_shares.csv", tuple[ShareRow, ...]):
        found.setdefault(row.family, {}).setdefault(row.model, {})[row.measure] = row.value
    return found


_OTHER_ROWS_NOTE = (
    "The paper's models were asked other rows with other prompts: read theirs as orientation, not "
    "as a comparison."
)
_TABLE_TITLE = "Next to the paper's models"
_REFERENCE_RULE = "reference"
_NO_FIGURES_NOTE = "The paper has no figures of these rows."
_LAX_RULE_NOTE = (
    " Probabilities are read as the code of the paper's runs read them, in the reference rule."
)


def _exact_match(columns: Columns) -> float | None:
    return estimate_mean(columns, "").value


def _exact_of_valid(columns: Columns) -> float | None:
    return estimate_mean(score_columns.valid_rows(columns), "").value


def _macro_recall(columns: Columns) -> float | None:
    return report_tables.macro_recall_metric(columns).measure(columns).value


def _macro_f1(columns: Columns) -> float | None:
    return report_tables.macro_f1_metric(columns).measure(columns).value


def _player_share(player: str) -> ShareFunction:
    return lambda columns: choice_tables.player_exact_match(columns, player).value


_MEASURES: Mapping[str, ShareFunction] = {
    "exact match": _exact_match,
    "exact of valid": _exact_of_valid,
    "macro recall": _macro_recall,
    "macro F1": _macro_f1,
    "player 0": _player_share("_0"),
    "player 1": _player_share("_1"),
}
_FAMILY_NOTES: Mapping[str, str] = {
    "overcooked": " Its games are of 2020, where standing still would be right in 43.1 % of the "
    "steps; GPT-5 gave probabilities there, Pi0 actions.",
}
_SYNTHETIC_NOTE = (
    "The rows are generated: the paper's models, which were asked the published ones, do not stand "
    "next to them."
)
GPT5_BRIERS: Mapping[str, tuple[str, float]] = {
    "brier": ("Brier, linear", 1.9296),
    "brier_sq": ("Brier, quadratic", 1.4884),
    "brier_0": ("player 0, linear", 1.6384),
    "brier_1": ("player 1, linear", 1.6916),
}
"""GPT-5's figures on Overcooked, by the part of a verdict: joint action, then each player's."""


def run_tables(columns_by_rule: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, with the paper's figures after the first."""
    labelled = {
        name: {score_columns.OWN_RUN_LABEL: columns} for name, columns in columns_by_rule.items()
    }
    return _insert_paper_tables(report_tables.run_tables(columns_by_rule), labelled)


def cross_run_tables(runs_by_rule: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return the tables over several runs, with the paper's figures after the first table."""
    return _insert_paper_tables(report_tables.cross_run_tables(runs_by_rule), runs_by_rule)


def _insert_paper_tables(
    report_parts: Sequence[Table | Chart], runs_by_rule: Mapping[str, Mapping[str, Columns]]
) -> Sequence[Table | Chart]:
    if not report_parts:
        return report_parts
    found = _comparable_runs(runs_by_rule)
    published = {run: rows for run, rows in found.items() if not score_columns.is_synthetic(rows)}
    tables = _paper_tables(published) if published else []
    note = _NO_FIGURES_NOTE if published else _SYNTHETIC_NOTE
    return published_figures.insert_after_table(report_parts, tables, note)


def _comparable_runs(runs_by_rule: Mapping[str, Mapping[str, Columns]]) -> dict[str, Columns]:
    """Return the rows of each run and form, under the rule that is comparable for their kind.

    For vectors and probabilities that is the rule of the published code, which produced the paper's
    figures. For other kinds both rules are comparable.
    """
    first, *_ = runs_by_rule
    kinds = {
        run: score_columns.answer_kind(columns) for run, columns in runs_by_rule[first].items()
    }
    names = {
        run: _REFERENCE_RULE
        if kind in ("motion", "odds") and _REFERENCE_RULE in runs_by_rule
        else first
        for run, kind in kinds.items()
    }
    found = report_tables.variants_by_run(
        {first: {run: runs_by_rule[name][run] for run, name in names.items()}}
    )
    return {run: rows for of in found.values() for run, (_, rows) in of.items()}


def family_of_rows(columns: Columns) -> str:
    """Return the family of rows."""
    return next(iter(ordered_levels(columns.axis("family"))), "")


def _paper_tables(runs: Mapping[str, Columns]) -> list[Table]:
    """Return the paper's figures next to the runs, with a row for each form of a run."""
    name = family_of_rows(next(iter(runs.values())))
    if name == "odinw":
        return _odinw_table(runs)
    if name == "openx":
        return _openx_table(runs)
    models = paper_shares().get(name)
    if models is None:
        return []
    measures = tuple(next(iter(models.values())))
    comparison = published_figures.PublishedComparison(
        title=_TABLE_TITLE,
        head=measures,
        measure_run=lambda rows: [_MEASURES[measure](rows) for measure in measures],
        read_published=lambda: {model: [*shares.values()] for model, shares in models.items()},
        note=_OTHER_ROWS_NOTE
        + _FAMILY_NOTES.get(name, "")
        + _LAX_RULE_NOTE * any(map(_has_distributions, runs.values())),
        missing_note=_NO_FIGURES_NOTE,
    )
    return [*published_figures.compare_runs(comparison, runs), *_brier_table(runs)]


def _has_distributions(columns: Columns) -> bool:
    """Return whether a probability for each option was asked for."""
    return bool(score_columns.has_number(columns, "brier_0").any())


def _brier_table(runs: Mapping[str, Columns]) -> Iterator[Table]:
    """Yield the Brier scores of runs that were asked for probabilities, and GPT-5's."""
    distribution_runs = {run: rows for run, rows in runs.items() if _has_distributions(rows)}
    if distribution_runs:
        rows = [
            (
                run,
                *(
                    number_format.format_estimate(
                        replace(estimate_part_average(rows, part), is_share=False)
                    )
                    for part in GPT5_BRIERS
                ),
            )
            for run, rows in distribution_runs.items()
        ]
        rows.append(
            (
                "GPT-5 (paper)",
                *(number_format.format_fixed(cost, 3) for _, cost in GPT5_BRIERS.values()),
            )
        )
        head = ("run", *(name for name, _ in GPT5_BRIERS.values()))
        note = f"Less is better; an invalid answer costs 2.{_LAX_RULE_NOTE} {_OTHER_ROWS_NOTE}"
        yield Table(title=f"{_TABLE_TITLE}: probabilities", head=head, rows=tuple(rows), note=note)


_SUBSET_MEASURES = ("exact", "macro recall", "macro F1")


def _odinw_table(runs: Mapping[str, Columns]) -> list[Table]:
    """Return exact match, macro recall and macro F1 by sub-set, with means over the shared ones."""
    found = {run: _subset_figures(columns) for run, columns in runs.items()}
    names = [name for name in gpt5_odinw() if any(name in each for each in found.values())]
    if not names:
        return []
    sides = [*found.values(), gpt5_odinw()]
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            *(
                each[name][i] if name in each else None
                for i in range(len(_SUBSET_MEASURES))
                for each in sides
            ),
        )
        for name in names
    ]
    if common := shared_subsets(runs.values()):
        means = (
            float(np.mean([each[name][i] for name in common]))
            for i in range(len(_SUBSET_MEASURES))
            for each in sides
        )
        rows.append((f"mean over {len(common)}", *means))
    who = (*found, "GPT-5 (paper)")
    head = ("sub-set", *(f"{name}: {what}" for what in _SUBSET_MEASURES for name in who))
    note = f"The mean is over those of these sub-sets that every column has. {_OTHER_ROWS_NOTE}"
    return [
        Table(
            title=_TABLE_TITLE,
            head=head,
            rows=tuple(rows),
            n_shaded_columns=len(head) - 1,
            note=note,
        )
    ]


def shared_subsets(runs: Iterable[Columns]) -> list[str]:
    """Return the sub-sets for which every run has rows and the paper has figures."""
    ran = [set(ordered_levels(rows.category[rows.run])) for rows in runs]
    return [name for name in gpt5_odinw() if all(name in each for each in ran)]


def _subset_figures(columns: Columns) -> dict[str, tuple[float, ...]]:
    return {
        name: (
            float(part.value.mean()),
            _macro_recall(part) or 0.0,
            _macro_f1(part) or 0.0,
        )
        for name, part in score_columns.ran_by_category(columns).items()
    }


def _openx_table(runs: Mapping[str, Columns]) -> list[Table]:
    """Return RelMAE and RelMSE by morphology."""
    present = {level for columns in runs.values() for level in ordered_levels(columns.category)}
    names = [name for name in paper_openx()["GPT-5"] if name in present]
    errors_by_run = {
        run: {name: _relative_errors(columns, name) for name in names}
        for run, columns in runs.items()
    }
    all_rows = {
        **errors_by_run,
        **{f"{model} (paper)": found for model, found in paper_openx().items()},
    }
    rows = tuple(
        (run, *(number_format.format_decimal(x) for name in names for x in found[name]))
        for run, found in all_rows.items()
    )
    head = ("run", *(f"{name}: {what}" for name in names for what in ("RelMAE", "RelMSE")))
    note = (
        "Reference rule: an invalid row costs the whole range of the actions. Less is better, "
        "1 is the training mean; the paper's rows are compared with the mean of its test rows. "
        f"{_OTHER_ROWS_NOTE}"
    )
    return [Table(title=_TABLE_TITLE, head=head, rows=rows, note=note)] if names else []


def _relative_errors(columns: Columns, level: str) -> tuple[float, ...]:
    part = columns.where((columns.category == level) & columns.run)
    found = (RelativeError(part=error).measure(part).value for error in ("mae", "mse"))
    return tuple(np.nan if value is None else value for value in found)

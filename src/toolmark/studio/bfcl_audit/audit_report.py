"""What an audit finds: per model and category what was published, and what it is after corrections.

Everything here is plain data: `audit.json` is an `AuditReport`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from toolmark.core.records import Estimate, Record, Task
from toolmark.official_bfcl import errata, official_data
from toolmark.statistics import run_ranking
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.linearisation import linearise_mean
from toolmark.statistics.score_columns import Columns
from toolmark.studio.bfcl_audit.difference_reasons import DifferenceReason
from toolmark.studio.bfcl_audit.published_entries import ChangedEntry
from toolmark.studio.bfcl_audit.published_layouts import LayoutKind
from toolmark.studio.bfcl_audit.re_judging import Difference, JudgedEntry, JudgedModel

ALL = "all entries"
CORRECTIONS = ("errata", "changed entries", "API errors", "leaked calls")


class CategoryAudit(Record, frozen=True, kw_only=True):
    """One category of one model; shares of correct entries.

    `published` is the official accuracy of the score file, over `n_published` entries.
    `n_published_correct` of these are correct by the list of failures. `reproduced` is judged anew,
    by the official rule and today's data. Each of `after` applies one correction to it, `corrected`
    all of them.
    """

    category: str
    n_published: int
    published: float | None
    n_published_correct: int | None
    reproduced: Estimate
    n_reproduced_correct: int
    n_differences: int
    n_set_aside: int
    n_asked_otherwise: int
    n_api_errors: int
    n_leaked_calls: int
    after: dict[str, float | None]
    corrected: Estimate


class ModelAudit(Record, frozen=True, kw_only=True):
    """One model; `reading` is how its replies were read (`published_readings`).

    `n_reading_agrees` of `n_reading_compared` published readings are found by it.
    """

    model: str
    reading: str
    n_reading_agrees: int
    n_reading_compared: int
    categories: list[CategoryAudit]
    total: CategoryAudit
    problems: list[str]


class RankedModel(Record, frozen=True, kw_only=True):
    """A model's rank, 1 for the best, with its 95 % confidence set (`statistics.rank_sets`)."""

    model: str
    value: float
    rank: int
    low: int
    high: int


class Ranking(Record, frozen=True, kw_only=True):
    """The ranks of all models over the entries that all of them have.

    `n_entries` counts those that count for any model. `warnings` say what is known against the
    sets.
    """

    title: str
    n_entries: int
    n_clusters: int
    critical_value: float
    models: list[RankedModel]
    warnings: list[str] = []


class AuditReport(Record, frozen=True, kw_only=True):
    """An audit of a folder of published results."""

    kind: LayoutKind
    folder: str
    data: str
    errata_version: int
    categories: list[str]
    models: list[ModelAudit]
    changed_entries: list[ChangedEntry]
    n_entries: int
    n_described: int
    differences: list[Difference]
    rankings: list[Ranking]
    notes: list[str] = []

    @property
    def n_verdicts(self) -> int:
        """The number of entries that were judged, over all models."""
        return sum(each.total.reproduced.n for each in self.models)


def count_reasons(report: AuditReport) -> dict[DifferenceReason, int]:
    """Return the number of differences by reason, the most frequent first."""
    return dict(Counter(each.reason for each in report.differences).most_common())


# --- one model --------------------------------------------------------------------------


def summarise_model(judged: JudgedModel, categories: Sequence[str]) -> ModelAudit:
    """Return what an audit says of a model."""
    by_category: dict[str, list[JudgedEntry]] = {name: [] for name in categories}
    for entry in judged.entries:
        by_category[entry.task.category].append(entry)
    parts = [
        _summarise_entries(name, entries, judged)
        for name, entries in by_category.items()
        if entries
    ]
    return ModelAudit(
        model=judged.name,
        reading=judged.reading.reading.name,
        n_reading_agrees=judged.reading.n_agreeing,
        n_reading_compared=judged.reading.n_compared,
        categories=parts,
        total=_summarise_entries(ALL, judged.entries, judged),
        problems=judged.problems,
    )


def _summarise_entries(
    category: str, entries: Sequence[JudgedEntry], judged: JudgedModel
) -> CategoryAudit:
    scores = [score for name, score in judged.scores.items() if category in (ALL, name)]
    n_published, n_right = (
        sum(score.n_total or 0 for score in scores),
        sum(score.n_correct or 0 for score in scores),
    )
    has_counts = bool(scores) and all(score.n_total is not None for score in scores)
    scored = [entry for entry in entries if entry.published is not None]
    return CategoryAudit(
        category=category,
        n_published=n_published,
        published=n_right / n_published if has_counts and n_published else None,
        n_published_correct=sum(bool(each.published) for each in scored) if scored else None,
        reproduced=_estimate_values(entries, reproduced_value),
        n_reproduced_correct=sum(entry.reproduced for entry in entries),
        n_differences=sum(category in (ALL, each.category) for each in judged.differences),
        n_set_aside=sum(entry.is_set_aside for entry in entries),
        n_asked_otherwise=sum(entry.is_asked_otherwise for entry in entries),
        n_api_errors=sum(entry.is_api_error for entry in entries),
        n_leaked_calls=sum(bool(entry.leaked_syntax) for entry in entries),
        after={
            name: _estimate_values(entries, partial(corrected_value, corrections=(name,))).value
            for name in CORRECTIONS
        },
        corrected=_estimate_values(entries, corrected_value),
    )


def reproduced_value(entry: JudgedEntry) -> float:
    """Return 1 for an entry that the official rule finds correct on today's data, else 0."""
    return float(entry.reproduced)


def published_value(entry: JudgedEntry) -> float:
    """Return 1 for an entry published as correct, 0 for another; nan without a score file."""
    return np.nan if entry.published is None else float(entry.published)


def corrected_value(entry: JudgedEntry, corrections: Sequence[str] = CORRECTIONS) -> float:
    """Return the value of an entry after corrections; nan: it does not count.

    `errata`: entries that are set aside do not count, and amended references are used. `changed
    entries`: an entry that asks for another answer today does not count. `API errors`: an entry
    whose reply is an API error was not run. `leaked calls`: where no call is right, a call of an
    offered tool in another syntax is a call.
    """
    if "API errors" in corrections and entry.is_api_error:
        return np.nan
    if "changed entries" in corrections and entry.is_asked_otherwise:
        return np.nan
    if "errata" in corrections and entry.is_set_aside:
        return np.nan
    is_right = entry.amended if "errata" in corrections else entry.reproduced
    if "leaked calls" in corrections and entry.leaked_syntax and "relevance" in entry.task.category:
        is_right = "irrelevance" not in entry.task.category
    return float(is_right)


def _estimate_values(
    entries: Sequence[JudgedEntry], value_of: Callable[[JudgedEntry], float]
) -> Estimate:
    values = np.array([value_of(entry) for entry in entries], dtype=float)
    counted = [entry for entry, value in zip(entries, values, strict=True) if value == value]
    tasks = [entry.task for entry in counted]
    return estimate_mean(_make_columns(tasks, values[~np.isnan(values)]), "")


def _make_columns(tasks: Sequence[Task], values: NDArray[np.float64]) -> Columns:
    """Return a row for each task; a value of nan does not count."""
    ids = np.array([task.id for task in tasks], dtype=object)
    n = len(tasks)
    nothing = np.full(n, "", dtype=object)
    return Columns(
        task=ids,
        item=ids,
        category=np.array([task.category for task in tasks], dtype=object),
        repeat=np.zeros(n, dtype=np.int64),
        run=~np.isnan(values),
        correct=values == 1,
        value=values,
        cause=nothing,
        suite_cause=nothing,
        axes={"group": np.array([task.axes.get("group", "") for task in tasks], dtype=object)},
        parts={},
    )


# --- all models -------------------------------------------------------------------------


class ScoreTable:
    """Values of all models by entry: what rankings are computed from."""

    def __init__(self) -> None:
        self.models: list[str] = []
        self._values: dict[str, list[dict[str, float]]] = {}
        self._tasks: dict[str, Task] = {}

    def add_model(self, judged: JudgedModel) -> None:
        """Add the values of a model."""
        self.models.append(judged.name)
        self._tasks.update((entry.task.id, entry.task) for entry in judged.entries)
        for title, value_of in (
            ("as published", published_value),
            ("judged again", reproduced_value),
            ("after corrections", corrected_value),
        ):
            values = {entry.task.id: value_of(entry) for entry in judged.entries}
            self._values.setdefault(title, []).append(values)

    def make_rankings(self) -> list[Ranking]:
        """Return the rankings that can be computed: of two models or more, with values each."""
        return [
            ranking
            for title, values in self._values.items()
            if (ranking := rank_models(title, self.models, self._tasks.values(), values))
            is not None
        ]


def rank_models(
    title: str,
    models: Sequence[str],
    tasks: Iterable[Task],
    values: Sequence[Mapping[str, float]],
) -> Ranking | None:
    """Return the ranks of models by the mean of their values by entry, nan for what does not count.

    Only entries that all models have are used. None for fewer than two models or groups of entries,
    and where no entry of a model counts.
    """
    common = [task for task in tasks if all(task.id in by_entry for by_entry in values)]
    rows = [
        _make_columns(common, np.array([by_entry[task.id] for task in common], dtype=float))
        for by_entry in values
    ]
    n_missing = [int((~each.run).sum()) for each in rows]
    n_clusters = len({cluster for each in rows for cluster in each.cluster[each.run]})
    if len(rows) < 2 or n_clusters < 2 or max(n_missing) == len(common):
        return None
    found = run_ranking.rank_numbers([linearise_mean(each) for each in rows], rows)
    sets = found.sets
    n_never = int(np.all([~each.run for each in rows], axis=0).sum())
    return Ranking(
        title=title,
        n_entries=len(common) - n_never,
        n_clusters=sets.n_clusters,
        critical_value=sets.critical_value,
        models=[
            RankedModel(
                model=models[at],
                value=float(found.values[at]),
                rank=int(sets.rank[at]),
                low=int(sets.low[at]),
                high=int(sets.high[at]),
            )
            for at in np.lexsort((np.arange(len(rows)), sets.rank))
        ],
        warnings=[
            *([found.warning] if found.warning else []),
            *run_ranking.missing_items_warnings(
                models,
                [n - n_never for n in n_missing],
                "common entry",
                "common entries",
                "not counted",
            ),
        ],
    )


def make_report(
    *,
    kind: LayoutKind,
    folder: str,
    categories: Sequence[str],
    models: Sequence[ModelAudit],
    changed_entries: Iterable[ChangedEntry],
    n_entries: int,
    n_described: int,
    differences: Sequence[Difference],
    table: ScoreTable,
    notes: Sequence[str],
) -> AuditReport:
    """Return the report of a folder."""
    return AuditReport(
        kind=kind,
        folder=folder,
        data=f"{official_data.PACKAGE.name} {official_data.PACKAGE.version}",
        errata_version=errata.errata().version,
        categories=list(categories),
        models=list(models),
        changed_entries=list(changed_entries),
        n_entries=n_entries,
        n_described=n_described,
        differences=list(differences),
        rankings=table.make_rankings(),
        notes=list(notes),
    )

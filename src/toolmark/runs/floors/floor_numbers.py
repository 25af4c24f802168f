"""The floors of a scored run as numbers: the highest one, and what the run scores above it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from toolmark.core.records import Estimate
from toolmark.runs.floors.floor_records import StoredFloors, floor_columns, read_floors
from toolmark.runs.run_store import Run
from toolmark.statistics.floor_comparison import ABOVE_FLOOR, compare_with_floor, find_best_floor
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.paired_comparison import PairedComparison
from toolmark.statistics.score_columns import Columns

OTHER_SCORES = "made for other tasks or by another scorer; next: toolmark score RUN --floors auto"


class FloorNumber(NamedTuple):
    """One floor: its value over the run's tasks, and the run's headline minus it.

    `reason` says why there is no value.
    """

    name: str
    description: str
    value: float | None
    above: Estimate
    reason: str = ""


class FloorNumbers(NamedTuple):
    """All floors of a run; `highest` is the one that the headline is measured against."""

    floors: tuple[FloorNumber, ...]
    highest: FloorNumber | None

    @property
    def missing(self) -> tuple[FloorNumber, ...]:
        """The floors without a value."""
        return tuple(each for each in self.floors if each.reason)


def read_valid_floors(run: Run) -> StoredFloors | None:
    """Return the stored floors of a run; those of other tasks or another scorer have no scores."""
    found = read_floors(run.path)
    if found is None:
        return None
    is_same = (
        found.tasks_sha256 == run.info.tasks_sha256 and found.scorer_sha256 == run.scorer().sha256
    )
    return found if is_same else _without_scores(found)


def _without_scores(found: StoredFloors) -> StoredFloors:
    floors = (
        structs.replace(each, scores=(), reason=each.reason or OTHER_SCORES)
        for each in found.floors
    )
    return structs.replace(found, floors=tuple(floors))


def read_floor_numbers(
    run: Run, columns: Columns, metric: Metric, rule: str
) -> FloorNumbers | None:
    """Return the stored floors of a run over these columns; None where it has none."""
    stored = read_valid_floors(run)
    return None if stored is None else measure_floors(stored, columns, metric, rule)


def measure_floors(
    stored: StoredFloors, columns: Columns, metric: Metric, rule: str
) -> FloorNumbers:
    """Return the floors over the tasks of these columns that ran, under one grading rule.

    A partial headline has no floor: the difference would not be that of the headline.
    """
    partial = metric.measure(columns).partial
    found = []
    compared = []
    for each in stored.floors:
        reason, value, above = each.reason, None, Estimate(name=ABOVE_FLOOR)
        if not reason and partial:
            reason = f"the headline is partial: {partial}"
        elif not reason:
            pairs = compare_with_floor(columns, floor_columns(each, rule), metric)
            compared.append((each.name, pairs))
            value, above = pairs.value_b, pairs.difference
            reason = "" if value is not None else "no task that ran has its score"
        found.append(FloorNumber(each.name, each.description, value, above, reason))
    name = find_best_floor(compared, lower_is_better=metric.lower_is_better)
    highest = next((each for each in found if each.name == name), None)
    return FloorNumbers(tuple(found), highest)


def measure_common_floor(
    runs: Iterable[Run], tables: Sequence[Columns], metric: Metric, rule: str
) -> tuple[str, list[PairedComparison]]:
    """Return the best floor over tasks that several runs have, and each run minus it.

    `tables` has these tasks of each run. The floors are those of the first run that has any. "" and
    no comparison where none has.
    """
    known = (found for run in runs if (found := read_valid_floors(run)) is not None)
    stored = next((each for each in known if any(floor.scores for floor in each.floors)), None)
    if stored is None:
        return "", []
    compared = {
        each.name: [compare_with_floor(rows, floor_columns(each, rule), metric) for rows in tables]
        for each in stored.floors
        if not each.reason
    }
    name = find_best_floor(
        ((name, above[0]) for name, above in compared.items()),
        lower_is_better=metric.lower_is_better,
    )
    return name, compared.get(name, [])


def floor_fields(found: FloorNumbers) -> dict[str, Any]:
    """Return the floors as `summary.json` has them."""
    highest = found.highest
    return {
        **({"highest": highest.name, "value": highest.value} if highest else {}),
        **({"above": _above_fields(highest.above)} if highest else {}),
        "agents": {
            each.name: {
                "description": each.description,
                **(
                    {"not_computed": each.reason}
                    if each.reason
                    else {"value": each.value, "above": _above_fields(each.above)}
                ),
            }
            for each in found.floors
        },
    }


def _above_fields(above: Estimate) -> dict[str, Any]:
    return {
        "value": above.value,
        "low": above.low,
        "high": above.high,
        "n": above.n,
        **({} if above.is_share else {"is_share": False}),
        **({"warning": above.warning} if above.warning else {}),
    }

"""Why episodes failed or were not run, counted from a run's scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolmark import codec
from toolmark.failure import NO_VERDICT, Failure, grouped
from toolmark.report import names, tables
from toolmark.report.tables import Grid
from toolmark.stats import figures
from toolmark.types import Label, Score, Table

LISTED = 500  # episodes that were not run, by name
SHOWN = 300  # characters of a message


@dataclass(frozen=True, slots=True)
class Cause:
    """One row of the failure table; `show` are the filters that list its episodes."""

    cause: str
    native: str
    n: int
    share: float
    n_also: int
    evidence: str
    example: str
    show: str


@dataclass(frozen=True, slots=True)
class Causes:
    """The failures of one reading, or of several that have the same; the first one's are shown."""

    readings: list[str]
    rows: list[Cause]
    n_failed: int
    n_run: int


def count(index: int, scores: Iterable[Score], reading: str, natives: Mapping[str, str]) -> Causes:
    """Count the causes of one reading's failures. `index` is the run's place on the page."""
    primary: Counter[tuple[str, str]] = Counter()
    also: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], tuple[Label, Score]] = {}
    n_run = 0
    for score in scores:
        verdict = score.readings.get(reading)
        if verdict is None:
            continue
        n_run += 1
        chosen = [label for label in verdict.labels if label.primary]
        mine = {(label.cause, label.native) for label in chosen}
        primary.update(mine)
        also.update({(label.cause, label.native) for label in verdict.labels} - mine)
        for label in (*chosen, *verdict.labels):
            example.setdefault((label.cause, label.native), (label, score))
    total = primary.total()
    keys = sorted(example, key=lambda key: (-primary[key], -also[key], key))
    rows = [
        _cause(index, reading, natives, primary[key], total, also[key], *example[key])
        for key in keys
    ]
    return Causes([reading], rows, total, n_run)


def merged(found: Sequence[Causes]) -> list[Causes]:
    """Join readings that fail as often and for the same primary causes."""
    made: list[Causes] = []
    for each in found:
        alike = next((kept for kept in made if _failures(kept) == _failures(each)), None)
        if alike is None:
            made.append(each)
        else:
            alike.readings.extend(each.readings)
    return made


def _failures(found: Causes) -> tuple[Any, ...]:
    return found.n_failed, found.n_run, [(x.cause, x.native, x.n) for x in found.rows if x.n]


def _cause(
    index: int,
    reading: str,
    natives: Mapping[str, str],
    n: int,
    total: int,
    n_also: int,
    label: Label,
    score: Score,
) -> Cause:
    native = tables.visible(label.native)
    wanted = [label.cause, native] if native else [label.cause]
    show = {"run": str(index), "reading": reading, "cause": codec.encode(wanted).decode()}
    evidence = label.evidence if len(label.evidence) <= 300 else f"{label.evidence[:300]} …"
    return Cause(
        cause=label.cause,
        native=names.failure(label.native, natives),
        n=n,
        share=n / total if total else 0.0,
        n_also=n_also,
        evidence=tables.visible(evidence),
        example=tables.visible(score.task),
        show=codec.encode(show).decode(),
    )


def absent(scores: Iterable[Score], reading: str) -> tuple[Grid, Grid]:
    """Return the failures by kind with their counts, and the first episodes not run."""
    rows: list[tuple[str, int, str, str]] = []

    def failures() -> Iterator[Failure]:
        for score in scores:
            if reading in score.readings:
                continue
            failure = score.failure or NO_VERDICT
            if len(rows) < LISTED:
                rows.append((score.task, score.repeat, failure.kind, failure.first[:SHOWN]))
            yield failure

    groups = grouped(failures())
    total = sum(n for n, _ in groups)
    told = [
        (
            each.kind, each.stage, each.status or None, each.subject, n, figures.percent(n / total),
            each.first[:SHOWN],
        )
        for n, (each, *_) in groups
    ]  # fmt: skip
    note = f"the first {LISTED} of {figures.count(total)}" if total > LISTED else ""
    head = ("kind", "stage", "status", "refuses", "episodes", "share", "message, e.g.")
    return (
        tables.grid(Table(title="Failures", head=head, rows=tuple(told))),
        tables.grid(
            Table(title="", head=("task", "repeat", "kind", "message"), rows=tuple(rows), note=note)
        ),
    )

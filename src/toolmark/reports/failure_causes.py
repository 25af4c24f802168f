"""Why episodes failed or were not run, counted from a run's scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolmark.core import json_codec, number_format
from toolmark.core.failure import NO_VERDICT, Failure, group_failures
from toolmark.core.records import Label, Score, Table
from toolmark.reports import run_names, table_format
from toolmark.reports.table_format import Grid

MAX_EPISODES_LISTED = 500  # episodes not run that are listed by name
MAX_MESSAGE_LENGTH = 300  # characters of a message


@dataclass(frozen=True, slots=True)
class Cause:
    """One row of the failure table; `filters` has the filters that list its episodes."""

    cause: str
    suite_cause: str
    n: int
    share: float
    n_also: int
    evidence: str
    example: str
    filters: str


@dataclass(frozen=True, slots=True)
class Causes:
    """The failures of one grading rule, or of several with equal failures.

    The rows are those of the first rule in `rules`.
    """

    rules: list[str]
    rows: list[Cause]
    n_failed: int
    n_run: int


def count_causes(
    index: int,
    scores: Iterable[Score],
    rule: str,
    suite_cause_descriptions: Mapping[str, str],
    *,
    has_variations: bool = False,
) -> Causes:
    """Count the causes of failure under one grading rule; `index` is the run's page position.

    With `has_variations` the page lists varied tasks too, which the links leave out.
    """
    primary: Counter[tuple[str, str]] = Counter()
    secondary: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], tuple[Label, Score]] = {}
    n_run = 0
    for score in scores:
        verdict = score.verdicts.get(rule)
        if verdict is None:
            continue
        n_run += 1
        chosen = [label for label in verdict.labels if label.primary]
        primary_keys = {(label.cause, label.suite_cause) for label in chosen}
        primary.update(primary_keys)
        secondary.update(
            {(label.cause, label.suite_cause) for label in verdict.labels} - primary_keys
        )
        for label in (*chosen, *verdict.labels):
            examples.setdefault((label.cause, label.suite_cause), (label, score))
    total = primary.total()
    keys = sorted(examples, key=lambda key: (-primary[key], -secondary[key], key))
    rows = [
        _cause_row(
            index,
            rule,
            suite_cause_descriptions,
            primary[key],
            total,
            secondary[key],
            *examples[key],
            has_variations,
        )
        for key in keys
    ]
    return Causes([rule], rows, total, n_run)


def merge_equal_causes(found: Sequence[Causes]) -> list[Causes]:
    """Merge grading rules that have the same number of failures and the same primary causes."""
    groups: list[Causes] = []
    for each in found:
        same = next(
            (group for group in groups if _failure_profile(group) == _failure_profile(each)), None
        )
        if same is None:
            groups.append(each)
        else:
            same.rules.extend(each.rules)
    return groups


def _failure_profile(found: Causes) -> tuple[Any, ...]:
    return found.n_failed, found.n_run, [(x.cause, x.suite_cause, x.n) for x in found.rows if x.n]


def _cause_row(
    index: int,
    rule: str,
    suite_cause_descriptions: Mapping[str, str],
    n: int,
    total: int,
    n_also: int,
    label: Label,
    score: Score,
    has_variations: bool,
) -> Cause:
    native = table_format.visible_text(label.suite_cause)
    filter_values = [label.cause, native] if native else [label.cause]
    filters = {
        "run": str(index),
        "rule": rule,
        "cause": json_codec.encode_record(filter_values).decode(),
        **({"axes": table_format.AS_ASKED} if has_variations else {}),
    }
    evidence = label.evidence if len(label.evidence) <= 300 else f"{label.evidence[:300]} …"
    return Cause(
        cause=label.cause,
        suite_cause=run_names.suite_cause_label(label.suite_cause, suite_cause_descriptions),
        n=n,
        share=n / total if total else 0.0,
        n_also=n_also,
        evidence=table_format.visible_text(evidence),
        example=table_format.visible_text(score.task),
        filters=json_codec.encode_record(filters).decode(),
    )


def not_run_grids(scores: Iterable[Score], rule: str) -> tuple[Grid, Grid]:
    """Return the failures by kind with their counts, and the first episodes not run."""
    rows: list[tuple[str, int, str, str]] = []

    def failures() -> Iterator[Failure]:
        for score in scores:
            if rule in score.verdicts:
                continue
            failure = score.failure or NO_VERDICT
            if len(rows) < MAX_EPISODES_LISTED:
                rows.append(
                    (
                        score.task,
                        score.repeat,
                        failure.kind,
                        failure.first_line[:MAX_MESSAGE_LENGTH],
                    )
                )
            yield failure

    groups = group_failures(failures())
    total = sum(n for n, _ in groups)
    failure_rows = [
        (
            failure.kind,
            failure.stage,
            failure.status or None,
            failure.subject,
            n,
            number_format.format_percent(n / total),
            failure.first_line[:MAX_MESSAGE_LENGTH],
        )
        for n, (failure, *_) in groups
    ]
    note = (
        f"the first {MAX_EPISODES_LISTED} of {number_format.format_count(total)}"
        if total > MAX_EPISODES_LISTED
        else ""
    )
    head = ("kind", "stage", "status", "refuses", "episodes", "share", "message, e.g.")
    return (
        table_format.make_grid(Table(title="Failures", head=head, rows=tuple(failure_rows))),
        table_format.make_grid(
            Table(title="", head=("task", "repeat", "kind", "message"), rows=tuple(rows), note=note)
        ),
    )

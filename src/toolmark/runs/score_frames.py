"""The scores of a run as a data frame of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from toolmark.core import user_modules
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Score

_EXTRA = "rows"
_COLUMNS = (
    "task", "item", "category", "repeat", "outcome", "value", "cause", "suite_cause", "failure",
)  # fmt: skip


def make_frame(scores: Iterable[Score], rule: str = "") -> Any:
    """Return a data frame with a row for each episode, under a grading rule, "" for the headline.

    The columns are task, item, category, repeat, outcome ("correct", "incorrect" or "not run"),
    value, cause, suite_cause, failure (the kind, where it was not run), then `axis.NAME`,
    `trait.NAME` and `part.NAME`. Raises UsageError where pandas is not installed, and for an
    unknown rule.
    """
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError:
        step = user_modules.install_command(_EXTRA)
        raise UsageError(f"pandas is not installed; next: {step}") from None
    rows = list(_score_rows(scores, rule))
    further = dict.fromkeys(name for row in rows for name in row if name not in _COLUMNS)
    return pandas.DataFrame(rows, columns=[*_COLUMNS, *further])


def _score_rows(scores: Iterable[Score], rule: str) -> Iterator[dict[str, Any]]:
    known: dict[str, None] = {}
    n_found = 0
    for score in scores:
        known |= dict.fromkeys(score.verdicts)
        chosen = rule or next(iter(score.verdicts), "")
        if score.failure is None and chosen not in score.verdicts:
            continue
        n_found += score.failure is None
        yield _score_row(score, chosen)
    if rule and known and not n_found:
        raise UsageError(f"no grading rule {rule!r}{suggest_names(rule, known)}")


def _score_row(score: Score, rule: str) -> dict[str, Any]:
    verdict = score.verdicts.get(rule) if score.failure is None else None
    label = next((each for each in verdict.labels if each.primary), None) if verdict else None
    row = {
        "task": score.task,
        "item": score.item,
        "category": score.category,
        "repeat": score.repeat,
        "outcome": verdict.outcome if verdict else "not run",
        "value": verdict.value if verdict else None,
        "cause": label.cause if label else "",
        "suite_cause": label.suite_cause if label else "",
        "failure": score.failure.kind if score.failure else "",
    }
    row |= {f"axis.{name}": level for name, level in score.axes.items()}
    row |= {f"trait.{name}": word for name, word in (verdict.traits if verdict else {}).items()}
    return row | {f"part.{name}": part for name, part in (verdict.parts if verdict else {}).items()}

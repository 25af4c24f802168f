from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import Score, Verdict
from toolmark.statistics.score_columns import Columns, gather_columns

Builder = Callable[..., Columns]


def build_columns(values: Sequence[Sequence[float | None]], *, prefix: str = "t") -> Columns:
    """Make columns of a table of values: a row per item, a column per repeat; None is not run."""
    return gather_columns(
        (
            Score(
                task=f"{prefix}{i}",
                item=f"i{i}",
                repeat=repeat,
                verdicts={} if value is None else {"r": _verdict(value)},
                failure=NOT_REACHED if value is None else None,
            )
            for i, row in enumerate(values)
            for repeat, value in enumerate(row)
        ),
        "r",
    )


def _verdict(value: float) -> Verdict:
    return Verdict(outcome="correct" if value > 0.5 else "incorrect", value=value)


@pytest.fixture
def table() -> Builder:
    return build_columns

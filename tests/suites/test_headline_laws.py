"""The difference of two runs is the one value minus the other, for the metrics of every suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from tests.test_smoke import SMALL

import toolmark as tm
from toolmark.core.records import Score, Verdict
from toolmark.runs.run_scoring import summary_metrics
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.paired_rows import match_runs
from toolmark.statistics.score_columns import Columns, gather_columns

# suites that synthesise speech or start servers have the metrics of the others
CHEAP = [name for name in SMALL if "engines" not in SMALL[name] and name != "m3-local"]
N_COPIES = 12


def _random_scores(scores: Sequence[Score], rng: Random) -> Iterator[Score]:
    """Yield copies of the tasks, each with the verdicts of a random episode of its own task."""
    pools: dict[str, list[dict[str, Verdict]]] = {}
    for score in scores:
        pools.setdefault(score.task, []).append(score.verdicts)
    for task in pools:
        score = next(each for each in scores if each.task == task)
        for copy in range(N_COPIES):
            name = f"{score.item} {copy}"
            yield replace(
                score,
                task=f"{task} {copy}",
                item=name,
                verdicts=rng.choice(pools[task]),
                axes=score.axes | {"group": f"{score.axes.get('group', '')} {copy // 2}"},
            )


def _columns(scores: Sequence[Score], rule: str, seed: int) -> Columns:
    return gather_columns(_random_scores(scores, Random(seed)), rule)


@pytest.mark.parametrize("name", CHEAP)
def test_every_metric_of_a_suite_is_compared_by_its_own_value(name: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = dict(SMALL[name])
    suite = tm.load(name, **settings)
    runs = [
        tm.run(suite, f"control/{control}", limit=4, log_dir=tmp_path)
        for control in ("oracle", "null", "always-call")
    ]
    scores = [score for run in runs for score in run.scores()]
    rule = suite.scorer.rules[0]
    a, b = (_columns(scores, rule, seed) for seed in (1, 2))
    metrics = summary_metrics(suite.scorer, a)
    assert _is_compared(metrics[0], a, b)
    assert sum(_is_compared(metric, a, b) for metric in metrics) >= 1


def _is_compared(metric: Metric, a: Columns, b: Columns) -> bool:
    """Check the law for a metric; tell whether it had a value in both runs."""
    rows = [metric.select_rows(each) for each in (a, b)]
    found = compare_paired(rows[0], rows[1], metric.formula)
    if found.difference.value is None:
        return False
    sides = match_runs(rows[0], rows[1], metric.formula)
    values = [metric.formula.measure(side.rows) for side in (sides.a, sides.b)]
    assert values[0].value is not None and values[1].value is not None
    if values[0].partial:
        return True  # the weights of what is missing are shared out: the scale differs
    assert found.difference.value == pytest.approx(values[0].value - values[1].value, abs=1e-12)
    low, high = found.difference.low, found.difference.high
    if low is not None and high is not None and found.p is not None:
        assert (found.p < 0.05) == (low > 0 or high < 0)
    return True

"""The effect of a variation is the paired difference of the headline, task by task."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from toolmark.core.records import Score, Verdict
from toolmark.statistics.metric_formulas import Mean, Metric
from toolmark.statistics.paired_comparison import compare_paired, holm_adjusted
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns, gather_columns, without_variations
from toolmark.statistics.variation_effects import (
    compare_variation,
    effect_table,
    measure_effects,
    summary_fields,
)

HEADLINE = Metric("accuracy", Mean())


def make_scores(kind: str, values: Sequence[float], category: str = "x") -> list[Score]:
    return [
        Score(
            task=f"t{n}@{kind}" if kind else f"t{n}",
            item=f"i{n // 2}",
            category=category if n % 3 else "y",
            axes={"vary": kind} if kind else {},
            verdicts={"r": Verdict(outcome="correct" if value == 1 else "incorrect", value=value)},
        )
        for n, value in enumerate(values)
    ]


def read_both(own: Sequence[float], varied: Sequence[float]) -> tuple[Columns, Columns]:
    scores = make_scores("", own) + make_scores("names", varied)
    return gather_columns(scores, "r"), gather_columns(scores, "r", "names")


def test_columns_hold_tasks_as_asked_or_those_of_one_kind() -> None:
    own, varied = read_both([1, 0, 1], [0, 0])
    assert [*own.task] == ["t0", "t1", "t2"] and [*varied.task] == ["t0@names", "t1@names"]
    scores = make_scores("", [1]) + make_scores("names", [1])
    assert [score.task for score in without_variations(scores)] == ["t0"]


@pytest.mark.parametrize(
    ("own", "varied"), [([1, 1, 0, 1], [0, 1, 0, 1]), ([1] * 40, [0, 1] * 20), ([0.5] * 6, [1] * 6)]
)
def test_the_effect_is_the_comparison_of_two_runs_on_the_same_tasks(
    own: list[float], varied: list[float]
) -> None:
    first, second = (gather_columns(make_scores("", values), "r") for values in (own, varied))
    expected = compare_paired(first, second, Mean(), name="names")
    found = compare_variation(*read_both(own, varied), "names", HEADLINE)
    assert (found.difference, found.p, found.n_pairs) == (
        expected.difference, expected.p, expected.n_pairs,
    )  # fmt: skip
    mean = [sum(each) / len(each) for each in (own, varied)]
    assert found.difference.value == pytest.approx(mean[0] - mean[1])


def test_only_tasks_that_have_a_variation_are_compared() -> None:
    own, varied = read_both([1, 1, 0, 0, 0, 0], [1, 0])
    found = compare_variation(own, varied, "names", HEADLINE)
    assert (found.value_a, found.value_b, found.n_pairs, found.unpaired_a) == (1, 0.5, 2, 0)


def test_a_filter_of_the_headline_holds_for_both_sides() -> None:
    only = RowFilter(column="category", values=("x",))
    own, varied = read_both([0, 1, 1, 0, 1, 1], [0, 0, 1, 0, 0, 1])
    found = compare_variation(own, varied, "names", Metric("a", Mean(), filters=(only,)))
    assert (found.value_a, found.value_b, found.n_pairs) == (1, 0.5, 4)


def test_kinds_that_are_read_together_are_adjusted_together() -> None:
    """The p-values are Holm's over the kinds that were tested; a single kind has none."""
    own = make_scores("", [1.0] * 40)
    kinds = {"names": [0.0] * 6 + [1.0] * 34, "order": [0.0] * 7 + [1.0] * 33, "none": []}
    scores = own + [each for kind, values in kinds.items() for each in make_scores(kind, values)]
    columns = gather_columns(scores, "r")
    varied = {kind: gather_columns(scores, "r", kind) for kind in kinds}
    effects = measure_effects(columns, varied, HEADLINE)
    ps = [effect.comparison.p for effect in effects]
    assert ps[0] is not None and ps[1] is not None and ps[2] is None
    assert [effect.p_adjusted for effect in effects] == [*holm_adjusted([ps[0], ps[1]]), None]
    table = effect_table(effects, "r")
    assert "p, all kinds" in table.head and "adjusted for all of them" in table.note
    assert [fields.get("p_adjusted") for fields in summary_fields(effects)] == [
        effect.p_adjusted for effect in effects
    ]
    (alone,) = measure_effects(columns, {"names": varied["names"]}, HEADLINE)
    assert alone.p_adjusted is None and "p, all kinds" not in effect_table([alone], "r").head


def test_a_kind_whose_tasks_did_not_run_has_no_number() -> None:
    own, _ = read_both([1, 0], [])
    (effect,) = measure_effects(own, {"names": gather_columns([], "r", "names")}, HEADLINE)
    assert effect.comparison.difference.value is None and effect.comparison.n_pairs == 0
    assert summary_fields([effect])[0]["difference"] is None
    assert effect_table([effect], "r").rows[0][1] == 0

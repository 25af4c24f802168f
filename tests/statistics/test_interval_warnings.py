"""Laws of the warnings on an interval: few groups, rare outcomes, and what was not run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from msgspec.structs import replace as replace_fields
from tests.statistics.test_formula_laws import FORMULAS, WEIGHTED, random_run

from toolmark.runs.run_scoring import headline_warning
from toolmark.statistics.interval_warnings import complete_rows, warned_numbers_note
from toolmark.statistics.label_formulas import PredictionPoweredMean
from toolmark.statistics.level_formulas import LevelMean
from toolmark.statistics.metric_formulas import Mean, Metric, StratifiedMean
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.score_columns import Columns

WITHOUT_WEIGHTS = {"labels"}  # the judge's mean stands for it
IN_STEPS = {"filtered error"}  # percentiles of weighted rows are not interpolated


def _group_rows(sizes: list[int], share: float = 0.5) -> Columns:
    """Return groups of these sizes with rows that are right in this share."""
    n = sum(sizes)
    rows = random_run(1, n=n)
    group = np.array([f"g{i}" for i, size in enumerate(sizes) for _ in range(size)], dtype=object)
    value = (np.random.default_rng(n).random(n) < share).astype(float)
    return replace(rows, value=value, correct=value == 1, axes={"group": group})


@pytest.mark.parametrize(
    ("sizes", "warned"),
    [
        ([31] * 5, "5 groups of answers;"),
        ([3] * 19, "19 groups of answers;"),
        ([3] * 20, ""),
        ([40] * 8 + [5] * 32, "40 groups of answers, which weigh as much as 16.9 equal ones;"),
        ([1] * 10, ""),
    ],
)
def test_an_interval_over_fewer_than_twenty_groups_has_a_warning(
    sizes: list[int], warned: str
) -> None:
    """Five conversations are few; groups of unequal size count as their effective number."""
    rows = _group_rows(sizes)
    for found in (Mean().measure(rows), compare_paired(rows, _group_rows(sizes, 0.6)).difference):
        assert bool(found.warning) == bool(warned)
        assert warned in found.warning


def test_a_rare_outcome_in_few_groups_has_a_warning() -> None:
    """Four groups with a success are too few, five are not."""
    for n_right, warned in ((4, True), (5, False)):
        rows = _group_rows([3] * 40, 0.0)
        value = rows.value.copy()
        value[: 3 * n_right : 3] = 1.0
        found = Mean().measure(replace(rows, value=value, correct=value == 1))
        assert ("the rarer outcome occurs in 4 groups" in found.warning) == warned


def test_labels_of_few_groups_have_a_warning() -> None:
    """The interval of a judge's mean that labels correct rests on the groups with a label."""
    for n_groups, warned in ((12, True), (30, False)):
        rows = _group_rows([8] * n_groups)
        label = np.where(np.arange(len(rows)) % 2 == 0, rows.value, np.nan)
        rows = replace(rows, parts={**rows.parts, "label": label})
        found = PredictionPoweredMean(label_part="label", fewest_labels=10).measure(rows)
        assert found.low is not None
        assert (f"{n_groups} groups of answers" in found.warning) == warned


def test_a_table_names_the_numbers_that_have_a_warning() -> None:
    """In their order, each once; all of them at once where none is without."""
    few, many = (replace_fields(Mean().measure(_group_rows([3] * n)), name=f"{n}") for n in (5, 30))
    assert warned_numbers_note([many]) == ""
    assert warned_numbers_note([few, many, few]).endswith("a rare outcome): 5.")
    assert warned_numbers_note([few, few]).endswith("all rows.")


# --- what was not run -------------------------------------------------------------------


def _repeat_rows(n_repeats: int = 3, n: int = 90) -> Columns:
    """Return tasks whose repeats all have the same answers."""
    once = random_run(5, n=n)
    rows = once.where(np.repeat(np.arange(n), n_repeats))
    return replace(rows, repeat=np.tile(np.arange(n_repeats), n))


def _drop_rows(columns: Columns, missing: np.ndarray) -> Columns:
    """Return the columns where these rows were not run."""
    return replace(
        columns,
        run=~missing,
        value=np.where(missing, np.nan, columns.value),
        correct=columns.correct & ~missing,
        parts={name: np.where(missing, np.nan, x) for name, x in columns.parts.items()},
    )


@pytest.mark.parametrize("name", sorted(FORMULAS.keys() - WITHOUT_WEIGHTS - IN_STEPS))
def test_repeats_that_ran_stand_for_those_that_did_not(name: str) -> None:
    """Where repeats of a task are equal, any formula has the value that the complete run has."""
    formula, whole = FORMULAS[name], _repeat_rows()
    rng = np.random.default_rng(8)
    missing = rng.random(len(whole)) < 0.4
    missing[::3] = False  # one repeat of each task ran
    completed = formula.linearise(complete_rows(_drop_rows(whole, missing))).value
    assert completed == pytest.approx(formula.linearise(whole).value, abs=1e-12)


def test_other_tasks_of_an_item_stand_for_it_in_its_own_level() -> None:
    """Items are answered alike in all levels, and hard ones are missing in one: nothing is lost."""
    n, levels = 60, np.array(["low", "mid", "high"], dtype=object)
    item = np.repeat(np.arange(n), 3)
    value = (item % 3 == 0).astype(float)
    rows = replace(
        random_run(1, n=3 * n),
        item=np.array([f"i{each}" for each in item], dtype=object),
        value=value,
        correct=value == 1,
        axes={"level": np.tile(levels, n)},
    )
    formula = LevelMean(axis="level", levels_label="levels")
    broken = _drop_rows(rows, (np.tile(levels, n) == "high") & (value == 0) & (item % 2 == 0))
    assert formula.measure(broken).value != pytest.approx(formula.measure(rows).value, abs=0.01)
    completed = formula.linearise(complete_rows(broken)).value
    assert completed == pytest.approx(formula.linearise(rows).value, abs=1e-12)


def test_items_that_never_ran_are_like_their_category() -> None:
    """A hard category of which half is missing counts whole; one of which nothing ran is left."""
    rows = random_run(1, n=120)
    value = np.isin(rows.category, ["a", "b"]).astype(float)
    rows = replace(rows, value=value, correct=value == 1)
    half = (rows.category == "c") & (np.arange(120) % 8 < 4)
    completed = complete_rows(_drop_rows(rows, half | (rows.category == "d")))
    assert Mean().linearise(completed).value == pytest.approx(2 / 3)


def test_the_warning_is_that_of_the_headline_and_its_weights() -> None:
    """Hard items are missing in one of four categories, whose weights are not their sizes.

    The points are those by which the headline differs from the headline of the whole run, and not
    those of the plain mean.
    """
    whole = _repeat_rows(2, n=200)
    category = np.array(["b", *"acd", *"cd"], dtype=object)[np.repeat(np.arange(200) % 6, 2)]
    hard = np.repeat(np.arange(200) % 12 < 6, 2)
    value = np.where(hard, 0.0, 1.0)
    whole = replace(whole, category=category, value=value, correct=value == 1)
    missing = hard & (whole.repeat == 1) & (category == "b")
    metric = Metric("overall", StratifiedMean(group=WEIGHTED))
    broken = _drop_rows(whole, missing)
    text = headline_warning(metric, broken)
    observed, complete = (metric.measure(x).value or 0.0 for x in (broken, whole))
    assert "harder" in text and f"{100 * (observed - complete):.1f} points lower" in text
    plain = [Mean().measure(x).value or 0.0 for x in (broken, whole)]
    assert f"{100 * (plain[0] - plain[1]):.1f} points" not in text
    turned = headline_warning(Metric("errors", metric.formula, lower_is_better=True), broken)
    assert "easier" in turned and "points lower" in turned


def test_labels_of_people_leave_the_warning_of_the_judge() -> None:
    """With labels the warning is about the mean of the judge's values, as without them."""
    whole = _repeat_rows(2, n=200)
    missing = (whole.value == 0) & (whole.repeat == 1)
    broken = _drop_rows(whole, missing)
    labelled = Metric("judged", PredictionPoweredMean(label_part="label", fewest_labels=10))
    assert headline_warning(labelled, broken) == headline_warning(Metric("judged"), broken) != ""

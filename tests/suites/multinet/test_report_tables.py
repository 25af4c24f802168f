"""The tables of MultiNet's suites: what they count, by which rows, and what stands beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import published_data
from tests.suites.multinet import made_scores, made_tasks
from tests.suites.multinet.made_scores import cells, titled

from toolmark.core import number_format
from toolmark.core.errors import UsageError
from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import Chart, Estimate, Reply, Score, Table
from toolmark.scoring import classification
from toolmark.scoring.episode import Episode
from toolmark.statistics.class_formulas import MacroF1
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.multinet import paper_comparison, report_tables
from toolmark.suites.multinet.frame_records import Form
from toolmark.suites.multinet.multinet_suites import SCORER
from toolmark.suites.multinet.tables import (
    choice_tables,
    class_tables,
    form_comparison,
    probability_tables,
    score_columns,
    vector_tables,
)

BOTH: tuple[Form, ...] = ("text", "tool")


def ran(
    family: str, n: int, asked: tuple[Form, ...] = ("text",), skill: float = 0.5
) -> list[Score]:
    return [
        Score(task=task.id, item=task.item, category=task.category, axes=task.axes,
              verdicts=dict(SCORER.score(Episode(task, made_tasks.answered(task, skill)))))
        for task in made_tasks.tasks(family, n, asked)
    ]  # fmt: skip


def numbers(readings: Mapping[str, Columns]) -> dict[str, Estimate]:
    first = readings["paper"]
    return {metric.name: metric.measure(first) for metric in report_tables.build_metrics(first)}


# --- the published figures --------------------------------------------------------------


@pytest.mark.parametrize("model", ["GPT-5", "Pi0"])
def test_recorded_answers_give_the_published_figures(model: str) -> None:
    collected = published_data.read_json(published_data.MULTINET_PREDICTIONS)["overcooked"]
    said = collected[{"GPT-5": "gpt5_pred", "Pi0": "pi0_pred"}[model]]
    readings = made_scores.rows(made_scores.played(collected["true"], said))
    own = titled(paper_comparison.run_tables(readings))["Next to the paper's models"]
    found = cells(own)
    ours, theirs = found["this run"], found[f"{model} (paper)"]
    names = ["exact match", "exact of valid", "macro recall", "macro F1"]
    names += ["player 0", "player 1"] if model == "Pi0" else []  # GPT-5's are of probabilities
    assert [ours[x] for x in names] == pytest.approx([theirs[x] for x in names], abs=6e-5)
    if model == "Pi0":
        near = cells(choice_tables.main_table({"": ("paper", readings["paper"])}, ""))[""]
        clipped = collected["pi0_expected"]["avg_clipped_emr"]
        assert near["clipped"] == number_format.format_percent(clipped)


# --- one run ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "family", ["piqa", "odinw", "overcooked", "odds", "sqa3d", "bfcl", "openx"]
)
@pytest.mark.parametrize("asked", [("text",), BOTH])
def test_what_was_silent_or_not_run_breaks_no_table(family: str, asked: tuple[Form, ...]) -> None:
    tasks = made_tasks.tasks(family, 5, asked)
    silent = [
        Score(task=task.id, item=task.item, category=task.category, axes=task.axes,
              verdicts=dict(SCORER.score(Episode(task, made_tasks.silent(task)))))
        for task in tasks
    ]  # fmt: skip
    absent = [Score(task=x.task, item=x.item, axes=x.axes, failure=NOT_REACHED) for x in silent]
    readings = made_scores.rows(silent)
    assert all(x.value == 0 for name, x in numbers(readings).items() if name.startswith("valid"))
    assert titled(SCORER.presentation.tables(readings))
    assert titled(SCORER.presentation.tables(made_scores.rows([*silent[:1], *absent[1:]])))
    assert not SCORER.presentation.tables(made_scores.rows(absent))
    assert all(x.value is None for x in numbers(made_scores.rows(absent)).values())


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), min_size=1, max_size=40))
def test_a_baseline_is_measured_as_a_model_that_answers_so(
    drawn: list[tuple[int, int]],
) -> None:
    truth, said = ([pair[i] for pair in drawn] for i in (0, 1))
    certain = [max(0, x) for x in said]
    own = gather_columns(made_scores.chosen(truth, certain, 4), "paper")
    guessed = gather_columns(
        made_scores.chosen(truth, said, 4, guesses={"other": certain}), "paper"
    )
    theirs = score_columns.baseline_rows(guessed, "other")
    assert choice_tables.main_row("x", "paper", own) == choice_tables.main_row("x", "paper", theirs)


def test_intervals_go_by_group_where_rows_hang_together() -> None:
    truth = [0, 1] * 50
    said = [0] * 50 + [1] * 50
    alone = gather_columns(made_scores.chosen(truth, said, 2), "paper")
    group = np.array([f"g{i // 25}" for i in range(100)], dtype=object)
    grouped = replace(alone, axes={**alone.axes, "group": group},
                      value=np.array([1.0] * 50 + [0.0] * 50))  # fmt: skip
    single, several = estimate_mean(alone, ""), estimate_mean(grouped, "")
    assert single.value == several.value == 0.5
    assert single.low is not None and several.low is not None and several.low < single.low - 0.1


def test_invalid_answers_are_wrong_out_of_range_is_clipped_and_no_number_stays() -> None:
    made = made_scores.chosen([3, 3, 1, 0, 1], [3, -1, -1, 0, -1], 4, raw={1: 9})
    row = cells(choice_tables.main_table({"x": ("paper", gather_columns(made, "paper"))}, ""))["x"]
    assert row["exact match"] == number_format.format_share(
        estimate_mean(gather_columns(made, "paper"), "")
    )
    assert str(row["exact match"]).startswith(number_format.format_percent(0.4))
    assert str(row["exact of valid"]).startswith(number_format.format_percent(1))
    assert (row["invalid"], row["clipped"]) == (
        number_format.format_percent(0.6),
        number_format.format_percent(0.6),
    )


def test_where_options_differ_macro_means_are_over_the_sets() -> None:
    one = made_scores.chosen([0, 1], [0, 0], 2, category="A")
    two = made_scores.chosen([0, 1, 2], [0, 1, 2], 3, category="B")
    made = gather_columns([*one, *two], "paper")
    assert [name for name, _ in score_columns.option_sets(made)] == ["A", "B"]
    found = [
        classification.classification_measures(class_tables.tally_answers(part, "paper"))
        for _, part in score_columns.option_sets(made)
    ]
    row = cells(choice_tables.main_table({"x": ("paper", made)}, "sub-set"))["x"]
    assert row["macro F1"] == number_format.format_percent((found[0]["macro_f1"] + 1) / 2)


def test_a_confusion_is_a_table_of_few_classes_and_a_map_of_many() -> None:
    rng = made_scores.draws(3)
    for n in (3, 36):
        truth, said = rng.integers(0, n, 300).tolist(), rng.integers(-1, n, 300).tolist()
        made = gather_columns(made_scores.chosen(truth, said, n), "paper")
        found = titled(report_tables.run_tables({"paper": made}))["Confusion: what was said where"]
        if isinstance(found, Table):
            shares: list[Any] = [row[2:] for row in found.rows]
        else:
            assert found.kind == "heat" and len(found.ticks) == n + 1
            shares = [series.y for series in found.series]
        assert (n > 10) == isinstance(found, Chart)
        assert np.allclose([sum(row) for row in shares], 1)
        recall = [np.mean([x == i for t, x in zip(truth, said, strict=True) if t == i])
                  for i in range(n)]  # fmt: skip
        assert [row[i] for i, row in enumerate(shares)] == pytest.approx(recall)


def test_every_class_that_is_right_somewhere_has_its_recall() -> None:
    made = made_scores.rows(made_scores.chosen([0, 0, 2, 2], [0, 1, 2, 2], 4))
    chart = titled(report_tables.run_tables(made))["Recall by class"]
    assert isinstance(chart, Chart)
    assert (chart.ticks, chart.series[0].y) == (("0", "2"), (0.5, 1.0))
    assert "2 of 4 classes" in chart.note


def test_each_player_is_measured_by_itself() -> None:
    # both right; player 0 alone; player 1 alone; invalid
    made = made_scores.rows(made_scores.played([28, 28, 28, 28], [28, 24, 4, -1]))
    found = numbers(made)
    assert (found["player_0"].value, found["player_1"].value) == (0.5, 0.5)
    table = titled(report_tables.run_tables(made))["Each player's action"]
    row = cells(table, 0, 1)["player 0", "this run"]
    assert (row["stay"], row["north"]) == (0.5, None)
    assert cells(table, 0, 1)["player 1", "stay"]["stay"] == 1.0


# --- readings ---------------------------------------------------------------------------


def test_rules_have_own_rows_only_where_they_differ() -> None:
    same = made_scores.rows(made_scores.chosen([0, 1], [0, 0], 2))
    assert list(score_columns.split_variants(same)) == [""]
    reported = {
        "paper": same["paper"],
        "reference": gather_columns(made_scores.chosen([0, 1], [0, 1], 2), "paper"),
    }
    assert list(score_columns.split_variants(reported)) == ["paper rule", "reference rule"]
    row = cells(titled(report_tables.run_tables(reported))["Exact match and classes"])
    assert set(row) == {"this run: paper rule", "this run: reference rule"}


def test_a_stand_in_is_named_before_any_number() -> None:
    made = made_scores.rows(made_scores.chosen([0], [0], 2, source="synthetic"))["paper"]
    assert report_tables.synthetic_caution(made).startswith("SYNTHETIC")
    assert not report_tables.synthetic_caution(
        made_scores.rows(made_scores.chosen([0], [0], 2, source="real"))["paper"]
    )


# --- forms ------------------------------------------------------------------------------


def test_forms_are_paired_and_every_row_has_one_fate() -> None:
    readings = made_scores.rows(ran("overcooked", 120, BOTH))
    shares, fates = form_comparison.form_comparison_tables(readings, "exact match")
    rows = cells(shares)
    table = [row[1:] for row in fates.rows]
    assert sum(sum(int(str(x)) for x in row) for row in table) == 120
    both = sum(int(str(x)) for row in table[:2] for x in row[:2])
    assert rows["exact match, of what is valid in both forms"]["rows"] == both
    valid = rows["valid: it can be read"]
    assert str(valid["text"]).startswith(
        number_format.format_percent(1 - sum(map(int, map(str, table[2]))) / 120)
    )
    assert not list(
        form_comparison.form_comparison_tables(made_scores.rows(ran("overcooked", 12)), "x")
    )


def test_failures_of_format_are_distinguished_from_failures_to_act() -> None:
    text = made_scores.chosen([0, 1] * 20, [0, 1] * 20, 2)
    tool = made_scores.chosen([0, 1] * 20, [0, 1] * 10 + [-1] * 20, 2, form="tool")
    rows = cells(
        next(
            form_comparison.form_comparison_tables(made_scores.rows([*text, *tool]), "exact match")
        )
    )
    assert str(rows["valid: it can be read"]["text minus tool"]).startswith("+50.0")
    assert str(rows["exact match, of what is valid in both forms"]["text minus tool"]).startswith(
        "0.0"
    )


# --- probabilities ----------------------------------------------------------------------


def odd(top: Sequence[float], right: Sequence[bool]) -> Columns:
    return gather_columns(
        [
            made_scores.answer(
                f"p{i}",
                {
                    "valid": 1,
                    "truth": 0,
                    "predicted": 0 if ok else 1,
                    "classes": 2,
                    "top": p,
                    "p": p if ok else 1 - p,
                    "brier": 2 * (1 - p if ok else p),
                    "brier_sq": 2 * (1 - p if ok else p) ** 2,
                },
                ok,
            )
            for i, (p, ok) in enumerate(zip(top, right, strict=True))
        ],
        "paper",
    )


def test_probabilities_that_hold_what_they_promise_have_no_gap() -> None:
    saved = odd([0.75] * 40, [True] * 30 + [False] * 10)
    assert probability_tables.expected_calibration_error(
        probability_tables.reliability_bins(saved)
    ) == pytest.approx(0)
    bold = odd([1.0] * 40, [True] * 30 + [False] * 10)
    ((low, high, n, top, right),) = probability_tables.reliability_bins(bold)
    assert (low, high, n, top, right.value) == (0.9, 1.0, 40, 1.0, 0.75)
    assert probability_tables.expected_calibration_error(
        probability_tables.reliability_bins(bold)
    ) == pytest.approx(0.25)


def test_the_linear_brier_rewards_the_bold_and_the_quadratic_one_the_honest() -> None:
    right = [True] * 30 + [False] * 10
    costs = {}
    for name, top in (("honest", 0.75), ("bold", 1.0)):
        row, *_ = probability_tables.brier_table({name: ("paper", odd([top] * 40, right))}).rows
        costs[name] = [float(str(cell).partition(" ")[0]) for cell in row[2:4]]
    assert costs["bold"][0] < costs["honest"][0] and costs["bold"][1] > costs["honest"][1]


def test_a_certain_baseline_has_the_brier_of_one_option() -> None:
    made = made_scores.rows(ran("odds", 60))["paper"]
    rows = cells(probability_tables.brier_table({"x": ("paper", made)}))
    right = float(score_columns.baseline_rows(made, "stay").value.mean())
    assert str(rows["stay"]["Brier, linear"]).startswith(f"{2 * (1 - right):.3f}")
    assert rows["uniform: even odds"]["Brier, linear"] == f"{2 * (1 - 1 / 36):.3f}"
    assert "uniform" not in rows
    assert str(rows["stay"]["player 0, linear"])[0].isdigit()


def test_notes_say_what_holds_of_actions_and_what_of_probabilities() -> None:
    acted, weighed = (made_scores.rows(ran(family, 60)) for family in ("overcooked", "odds"))
    both = "A joint action is right where both are."
    for readings, holds in ((acted, True), (weighed, False)):
        table = titled(SCORER.presentation.tables(readings))["Each player's action"]
        assert isinstance(table, Table) and (both in table.note) == holds
        rows = readings["paper"]
        right = (rows.part(f"predicted{i}") == rows.part(f"truth{i}") for i in ("_0", "_1"))
        assert np.array_equal(np.logical_and(*right), rows.correct) or not holds


def test_probabilities_by_the_reference_rule_have_no_upper_end() -> None:
    readings = made_scores.rows(ran("odds", 60))
    (task,) = made_tasks.tasks("odds", 1)
    numbers = [5.0, -4.0, *[0.0] * 34]
    lax = SCORER.score(
        Episode(task, made_tasks.trajectory(task, [Reply(text=json.dumps(numbers))]))
    )
    assert lax["paper"].parts["brier"] == 2 < 8 <= lax["reference"].parts["brier"]
    own = {name: (name, rows) for name, rows in readings.items()}
    several = probability_tables.brier_table(own)  # type: ignore[arg-type]
    alone = probability_tables.brier_table({"x": ("paper", readings["paper"])})
    assert "neither error has an upper end" in several.note and "upper" not in alone.note
    assert "Of valid distributions both lie in 0 to 2" in alone.note


# --- vectors ----------------------------------------------------------------------------


def test_the_mean_itself_has_relative_errors_of_one_and_rules_differ_where_invalid() -> None:
    readings = made_scores.rows(ran("openx", 80, BOTH))
    table = cells(titled(report_tables.run_tables(readings))["Errors of the vectors"], 0, 1)
    assert {row["RelMAE"] for key, row in table.items() if key[1] == "mean"} == {"1.000"}
    mine = [table["bimanual", f"this run: tool, {name} rule"] for name in made_scores.READINGS]
    assert mine[0]["n"] == mine[1]["n"] == 40 and mine[0]["MAE"] != mine[1]["MAE"]
    part = readings["paper"].where(readings["paper"].category == "bimanual")
    found = vector_tables.vector_errors(part)
    assert found.rel_mae == pytest.approx(part.part("mae").sum() / part.part("base_mae").sum())
    halves = [vector_tables.vector_errors(part, f".arm{i}").mae for i in (1, 2)]
    assert np.mean(halves) == pytest.approx(found.mae)


def test_errors_are_drawn_for_every_row_and_the_worst_come_first() -> None:
    made = titled(report_tables.run_tables(made_scores.rows(ran("openx", 60))))
    drawn = [each for title, each in made.items() if title.startswith("Errors: how")]
    assert len(drawn) == 2
    for chart in drawn:
        assert isinstance(chart, Chart) and [sum(s.y) for s in chart.series] == pytest.approx(
            [1, 1]
        )
    worst = [each for title, each in made.items() if title.startswith("Errors: the largest")]
    for table in worst:
        assert isinstance(table, Table)
        errors = [float(str(row[1])) for row in table.rows]
        assert errors == sorted(errors, reverse=True) and len(errors) == 10


def test_a_truth_that_is_no_class_is_refused() -> None:
    found = gather_columns(made_scores.chosen([0, 1, 2, 1], [0, 1, 0, 1], 2), "paper")
    with pytest.raises(UsageError, match=r"1 of 4.*row 2: 2"):
        MacroF1(default_n_classes=2).measure(found)

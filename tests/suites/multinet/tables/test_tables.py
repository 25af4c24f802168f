"""What the tables say is what the library of metrics says, of either form, whatever was said."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.page_reader import read_page
from tests.suites.multinet import made_scores, made_tasks
from tests.suites.multinet.made_scores import cells, titled

from toolmark.core import number_format
from toolmark.core.records import Chart, Reply, Score, Table
from toolmark.reports import html_report
from toolmark.scoring import action_errors, brier_errors, conversation_matching, text_similarity
from toolmark.scoring.episode import Episode
from toolmark.scoring.error_statistics import GRADING_RULES
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.multinet import task_making
from toolmark.suites.multinet.frame_records import Choice, Form
from toolmark.suites.multinet.multinet_suites import SCORER
from toolmark.suites.multinet.tables import (
    choice_tables,
    class_tables,
    probability_tables,
    score_columns,
    text_and_call_tables,
    vector_tables,
)

BOTH: tuple[Form, ...] = ("text", "tool")
FAMILIES = ("piqa", "odinw", "overcooked", "odds", "sqa3d", "bfcl", "openx")


def judged(task: Any, trajectory: Any) -> Score:
    return Score(task=task.id, item=task.item, category=task.category, axes=task.axes,
                 verdicts=dict(SCORER.score(Episode(task, trajectory))))  # fmt: skip


def ran(family: str, n: int, asked: tuple[Form, ...] = ("text",)) -> dict[str, Columns]:
    asked_for = made_tasks.tasks(family, n, asked)
    return made_scores.rows(judged(task, made_tasks.answered(task, 0.5)) for task in asked_for)


def silent(readings: Mapping[str, Columns], form: str) -> dict[str, Columns]:
    """Make the answers of a form invalid."""
    made = {}
    for name, rows in readings.items():
        lost = rows.axis("form") == form
        parts = {part: np.where(lost, np.nan, rows.part(part)) for part in ("top", "p")}
        parts["valid"] = np.where(lost, 0.0, rows.part("valid"))
        made[name] = replace(rows, parts={**rows.parts, **parts})
    return made


@pytest.mark.parametrize("family", FAMILIES)
def test_cells_and_points_are_plain_numbers_and_titles_are_said_once(family: str) -> None:
    for each in titled(SCORER.presentation.tables(ran(family, 60, BOTH))).values():
        if isinstance(each, Table):
            reported = [cell for row in each.rows for cell in row]
            assert {type(cell) for cell in reported} <= {str, int, float, bool, type(None)}, (
                each.title
            )
        else:
            points = [x for line in each.series for x in (*line.x, *line.y, *line.low, *line.high)]
            assert {type(x) for x in points} <= {float}, each.title


# --- vectors ----------------------------------------------------------------------------


def moved(rows: Sequence[tuple[float, float, bool]]) -> Columns:
    """Rows by their errors: one's own, the mean's, whether the answer was valid."""
    return gather_columns(
        [made_scores.answer(f"m{i}", {"valid": float(valid), "mae": own, "mse": own * own,
                               "base_mae": base, "base_mse": base * base}, own < base,
                     category="wheeled", family="openx")
         for i, (own, base, valid) in enumerate(rows)],
        "paper",
    )  # fmt: skip


ERRORS = st.integers(0, 16).map(lambda x: x / 4)


@given(st.lists(st.tuples(ERRORS, ERRORS, st.booleans()), min_size=1, max_size=30))
def test_vectors_are_measured_by_the_library(rows: list[tuple[float, float, bool]]) -> None:
    made = moved(rows)
    own, base, valid = (np.array(column) for column in zip(*rows, strict=True))
    found = {}
    for reading in GRADING_RULES:
        errors = action_errors.ErrorAccumulator(reading)
        errors.feed(action_errors.RowErrors(own, own * own, base, base * base, valid))
        found[reading] = errors.measures()
    paper, reference = found["paper"], found["reference"]
    assert list(vector_tables.vector_errors(made)) == pytest.approx(
        [paper["mae"], paper["mse_mean_over_dims"], paper["approx_rel_mae"],
         paper["approx_rel_mse"], paper["quantile_filtered_rel_mae_pairwise"],
         reference["normalised_quantile_filtered_mae"], paper["max_rel_mae"],
         paper["prop_beyond_3x_median"]], nan_ok=True,
    )  # fmt: skip
    rest = vector_tables.rare_measures(made)
    assert rest.exact == np.mean((own == 0) & valid)
    assert rest.ratios == pytest.approx(reference["avg_baseline_relative_mae"], nan_ok=True)
    assert valid.all() or rest.ratios == np.inf
    assert rest.filtered_full_baseline == pytest.approx(
        paper["quantile_filtered_rel_mae_full_baseline"], nan_ok=True
    )


def test_huge_vectors_are_tabulated_without_a_warning() -> None:
    tasks = made_tasks.tasks("openx", 12)
    huge = [made_tasks.trajectory(t, [Reply(text=str([1e308] * (14, 2)[i % 2]))])
            for i, t in enumerate(tasks)]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        readings = made_scores.rows(map(judged, tasks, huge))
        made = titled(SCORER.presentation.tables(readings))
        first = readings["paper"]
        reported = [metric.measure(first) for metric in SCORER.metrics(first)]
    assert reported
    rows = cells(made["Errors of the vectors"], 0, 1)
    assert rows["wheeled", "this run"]["MSE"] == "∞"
    table = made["Errors of the vectors"]
    assert isinstance(table, Table) and "∞: larger than numbers go" in table.note


def test_an_exact_baseline_is_closer_than_a_mean_that_is_exact_too() -> None:
    made = moved([(0.5, 0.0, True), (0.5, 1.0, True)])
    guessed = replace(made, parts={**made.parts, "guess.mean.mae": np.array([0.0, 1.0]),
                                   "guess.mean.mse": np.array([0.0, 1.0])})  # fmt: skip
    assert score_columns.baseline_vector_rows(guessed, "mean").value.tolist() == [1, 0]


# --- readings and forms -----------------------------------------------------------------


def test_rows_that_differ_in_their_rule_alone_appear_once() -> None:
    rows: list[tuple[Any, ...]] = [
        ("x", "r: paper rule", 1), ("x", "r: reference rule", 1),
        ("y", "r: paper rule", 1), ("y", "r: reference rule", 2),
        ("z", "r: text, paper rule", None), ("z", "r: tool, paper rule", None),
        ("z", "r: text, reference rule", None), ("z", "stay", None),
    ]  # fmt: skip
    assert score_columns.merge_equal_rows(rows, 1) == (
        ("x", "r: both rules", 1), *rows[2:4], ("z", "r: text, both rules", None), rows[5],
        rows[7],
    )  # fmt: skip


def test_a_category_without_invalid_vectors_has_one_row_for_both_rules() -> None:
    paper = moved([(1.0, 2.0, True), (2.0, 2.0, False)])
    other = moved([(1.0, 2.0, True), (9.0, 2.0, False)])
    kinds = np.array(["bimanual", "wheeled"], dtype=object)
    readings = {
        "paper": replace(paper, category=kinds),
        "reference": replace(other, category=kinds),
    }
    table = vector_tables.main_table(
        score_columns.label_variants(score_columns.split_variants(readings)), "morphology"
    )
    assert [row[:2] for row in table.rows] == [
        ("bimanual", "this run: both rules"), ("wheeled", "this run: paper rule"),
        ("wheeled", "this run: reference rule"),
    ]  # fmt: skip


def test_each_form_has_its_calibration_and_one_without_answers_hides_no_other() -> None:
    readings = ran("odds", 40, BOTH)
    chart = titled(probability_tables.probability_tables(readings))[
        "Probabilities: predicted and observed"
    ]
    assert isinstance(chart, Chart)
    assert [line.name for line in chart.series] == ["text", "tool", "as promised"]
    left = titled(probability_tables.probability_tables(silent(readings, "text")))
    chart = left["Probabilities: predicted and observed"]
    table = left["Probabilities by confidence"]
    assert isinstance(chart, Chart) and isinstance(table, Table)
    assert [line.name for line in chart.series] == ["tool", "as promised"]
    assert "By text no answer was valid" in chart.note
    assert {row[0] for row in table.rows} == {"tool"}


def test_texts_stand_by_type_in_each_form() -> None:
    made = titled(text_and_call_tables.text_tables(ran("sqa3d", 24, BOTH), "type"))["Texts by type"]
    rows = cells(made, 0, 1)
    assert set(rows) == {(kind, form) for kind in ("what", "how", "can") for form in BOTH}


# --- classes ----------------------------------------------------------------------------

UNO = ("3", "4", *(f"card {i}" for i in range(2, 10)), "0", "1", "10")


def drawn(said: Sequence[int]) -> dict[str, Columns]:
    """Answers to sub-sets whose options are called by numbers that are not their own."""
    made = []
    for i, right in enumerate(said):
        frame = made_tasks.frame("odinw", i, Choice(options=UNO), right, slices={"subset": "Uno"})
        task = task_making.TaskBuilder(False, 1, with_pictures=True).build_task(frame, "text")
        made.append(judged(task, made_tasks.trajectory(task, [Reply(text=str(right))])))
    return made_scores.rows(made)


def test_names_that_are_numbers_are_not_taken_for_indices() -> None:
    rows = drawn([0, 10, 12, 5] * 12)["paper"]
    axis = {str(level) for level in rows.axis("class")}
    assert sorted(axis) == ["00 3", "05 card 5", "10 0", "12 10"]
    names = score_columns.option_names(rows, 13)
    assert [names[i] for i in (0, 10, 12)] == ["3", "0", "10"]
    assert names[1] == "#1" and names[11] == "#11"
    chart = class_tables.confusion_chart(rows, class_tables.tally_answers(rows, "paper"))
    assert [line.y[i] for i, line in enumerate(chart.series) if i in (0, 5, 10, 12)] == [1] * 4
    table = titled(choice_tables.choice_tables({"paper": rows}, "sub-set"))["Per class"]
    by_index = cells(table, 1)
    assert by_index["10"]["class"] == "0" and by_index["10"]["rows"] == 12


def test_sets_with_as_many_options_are_not_taken_for_one() -> None:
    rows = []
    for k, name in ((0, "A"), (1, "B")):
        level: Any = {"class": f"{k} {name}"}
        rows += made_scores.chosen([k], [k], 2, category=name, **level)
    assert [name for name, _ in score_columns.option_sets(gather_columns(rows, "paper"))] == [
        "A",
        "B",
    ]


def test_few_rows_make_no_map_and_the_report_says_so() -> None:
    for n, there in ((12, False), (48, True)):
        made = titled(choice_tables.choice_tables(drawn([i % 13 for i in range(n)]), "sub-set"))
        assert ("Confusion: what was said where" in made) == there
        table = made["Per class"]
        assert isinstance(table, Table) and ("No map" in table.note) != there
    one = made_scores.chosen([0] * 60, [0] * 60, 3, category="A")
    other = made_scores.chosen([0] * 8, [0] * 8, 4, category="B")
    made = titled(
        choice_tables.choice_tables({"paper": gather_columns([*one, *other], "paper")}, "sub-set")
    )
    assert "Confusion: what was said where (A)" in made
    assert "Confusion: what was said where (B)" not in made
    table = made["Per class"]
    assert isinstance(table, Table) and "No map of the confusions of B:" in table.note


def test_what_is_invalid_leaves_the_precision_and_stays_in_the_recall() -> None:
    rows = gather_columns(made_scores.chosen([0, 1, 1, 0], [0, 1, -1, -1], 2, raw={2: 7}), "paper")
    reported = cells(choice_tables.rare_measures_table({"x": ("paper", rows)}, ""))["x"]
    assert (
        reported["right"],
        reported["wrong"],
        reported["invalid"],
        reported["out of range"],
    ) == (2, 0, 2, 1)
    assert reported["F1 without invalid"] == number_format.format_percent(2 / 3)
    assert reported["precision without invalid"] == number_format.format_percent(1)


# --- probabilities ----------------------------------------------------------------------


def test_the_spread_of_briers_is_the_librarys() -> None:
    rows = ran("odds", 60)["paper"]
    reported = cells(probability_tables.brier_spread_table({"x": ("paper", rows)}), 0, 1)
    errors = brier_errors.BrierAccumulator()
    errors.add_errors(rows.part("brier"), rows.part("brier_sq"), rows.part("valid") == 1)
    found = errors.measures()
    assert reported["the whole", "x"]["largest / median"] == number_format.format_decimal(
        found["max_rel_mae"]
    )
    assert reported["the whole", "x"]["beyond 3 × median"] == number_format.format_percent(
        found["prop_beyond_3x_median"]
    )
    assert ("player 1", "stay") in reported


def test_a_certain_baseline_costs_2_where_it_is_wrong() -> None:
    rows = score_columns.baseline_rows(ran("odds", 30)["paper"], "stay")
    assert set(zip(rows.correct.tolist(), rows.part("brier").tolist(), strict=True)) == {
        (True, 0.0), (False, 2.0)
    }  # fmt: skip
    for player in ("_0", "_1"):
        right = rows.part(f"truth{player}") == rows.part(f"predicted{player}")
        assert np.array_equal(rows.part(f"brier{player}") == 0, right)


# --- texts and calls --------------------------------------------------------------------


def test_texts_are_measured_by_the_library() -> None:
    rows = ran("sqa3d", 40)["paper"]
    alike = np.linspace(0, 1, len(rows))
    rows = replace(rows, parts={**rows.parts, "similarity": alike})
    (table,) = text_and_call_tables.similarity_spread_table({"x": ("paper", rows)})
    whole = text_similarity.TextAccumulator()
    whole.add_cosines(alike)
    found = whole.measures()
    assert cells(table)["x"]["standard deviation"] == number_format.format_decimal(
        found["similarity_std"]
    )
    main = cells(text_and_call_tables.answer_table({"x": ("paper", rows)}))["x"]
    assert main["≥ 0.8"] == number_format.format_percent(found["similar"])


@pytest.mark.parametrize("reading", GRADING_RULES)
def test_conversations_are_measured_by_the_library(reading: Any) -> None:
    tasks = made_tasks.tasks("bfcl", 9)
    truths = [task.data["truth"] for task in tasks]
    said = [
        ([truth[0]] * 3, [(), truth[1][:1], (*truth[2], "rm()")], truth)[i % 3]
        for i, truth in enumerate(truths)
    ]
    replies = [[Reply(text=f"[{', '.join(calls)}]" if calls else "No.") for calls in each]
               for each in said]  # fmt: skip
    rows = made_scores.rows(map(judged, tasks, map(made_tasks.trajectory, tasks, replies)))[reading]
    found = conversation_matching.measure_conversations(truths, said, rule=reading)
    made = titled(text_and_call_tables.conversation_tables({"x": (reading, rows)}))
    reported = cells(made["Conversations"])["x"]
    assert reported["invalid turns"] == number_format.format_percent(
        found["invalid_turn_percentage"] / 100
    )
    assert reported["first failure"] == f"{found['avg_turn_of_first_failure']:.2f}"
    assert reported["calls"] == f"{found['avg_predicted_functions_per_sample']:.2f}"
    by_turn = cells(made["Calls by turn"], 0, 1)
    for k in (1, 2, 3):
        right = found["turn_level_accuracy"][f"turn_{k}_accuracy"]
        recall = found["turn_level_recalls_until_failure"][f"turn_{k}_recall_until_failure"]
        assert by_turn["x", "all calls"][f"turn {k}"] == pytest.approx(right)
        assert by_turn["x", "recall"][f"turn {k}"] == pytest.approx(recall)
    chart = made["Recall of calls by turn"]
    assert isinstance(chart, Chart)
    # a turn counts by itself: what went wrong before it costs it nothing
    assert chart.series[0].y[1] > 0 and "by itself" in chart.note


# --- the page ---------------------------------------------------------------------------


def test_rarer_measures_are_folded_on_the_page(tmp_path: Path) -> None:
    run = made_tasks.make(tmp_path, "openx", 24)
    page = read_page(html_report.write_report([run], tmp_path / "r.html"))
    folded = [each.text for each in page.section("tables").find("summary")]
    assert "More measures: vectors" in folded
    assert not any(title.startswith("Errors of the vectors") for title in folded)

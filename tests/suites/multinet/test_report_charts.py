"""What figures are drawn of, what stands where nothing ran or few rows did, and ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.reports.page_reader import read_page
from tests.suites.multinet import made_scores, made_tasks
from tests.suites.multinet.made_scores import titled
from tests.suites.multinet.test_report_tables import BOTH, ran

import toolmark as tm
from toolmark.cli import console_output
from toolmark.core import number_format, sentence_encoder
from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import Chart, Estimate, Reply, Score, Table
from toolmark.reports import html_report
from toolmark.scoring.episode import Episode
from toolmark.statistics import interval_limits
from toolmark.statistics.score_columns import Columns
from toolmark.suites.multinet import multinet_families, report_tables
from toolmark.suites.multinet.multinet_suites import SCORER
from toolmark.suites.multinet.tables import choice_tables, vector_tables


def numbers(found: Columns) -> dict[str, Estimate]:
    return {metric.name: metric.measure(found) for metric in report_tables.build_metrics(found)}


def reported(found: Columns) -> list[str]:
    return [metric.title for metric in report_tables.build_metrics(found)]


# --- where nothing ran ------------------------------------------------------------------


@pytest.mark.parametrize("family", ["piqa", "odinw", "overcooked", "sqa3d", "bfcl", "openx"])
@pytest.mark.parametrize("asked", [("text",), BOTH])
def test_numbers_are_called_alike_whether_anything_ran(family: str, asked: Sequence[str]) -> None:
    scores = ran(family, 24, tuple(asked))  # type: ignore[arg-type]
    lost = made_scores.rows(replace(x, verdicts={}, failure=NOT_REACHED) for x in scores)["paper"]
    there = made_scores.rows(scores)["paper"]
    assert reported(lost)[0] == reported(there)[0]
    assert all(each.value is None for each in numbers(lost).values())
    assert {*numbers(lost)} <= {*numbers(there)}


def test_the_share_of_nearer_rows_says_what_is_no_better() -> None:
    assert "50 %" in reported(made_scores.rows(ran("openx", 24))["paper"])[0]
    table = titled(SCORER.presentation.tables(made_scores.rows(ran("openx", 24))))[
        "Errors of the vectors"
    ]
    assert isinstance(table, Table) and "50 % is no better" in table.note


# --- few rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [60, 198, 252])
def test_errors_of_few_groups_or_rows_have_no_interval(n: int) -> None:
    """Rows are of two morphologies, twelve in a group: 60 are of 5 groups, 252 of 21."""
    found = numbers(made_scores.rows(ran("openx", n))["paper"])
    for name in ("mae", "rel_mae", "rel_mse"):
        there = found[name].low is not None and found[name].high is not None
        assert there == (n == 252) != number_format.lacks_interval(found[name])


def test_answers_that_are_all_invalid_have_no_interval_of_no_width() -> None:
    made = [
        Score(task=task.id, item=task.item, category=task.category, axes=task.axes,
              verdicts=dict(SCORER.score(Episode(task, made_tasks.silent(task)))))
        for task in made_tasks.tasks("odds", 252)
    ]  # fmt: skip
    found = numbers(made_scores.rows(made)["paper"])
    for name in ("brier", "brier_sq"):
        assert (found[name].value, found[name].low, found[name].high) == (2, None, None)


def test_a_relative_error_needs_rows_as_well_as_groups() -> None:
    found = made_scores.rows(ran("openx", 280))["paper"]
    part = found.where(found.category == "wheeled")
    some = part.where(np.arange(len(part)) < interval_limits.FEWEST_ANSWERS - 1)
    own = {name: np.arange(len(some)).astype(str).astype(object) for name in ("group",)}
    single = Columns(**{x: getattr(some, x) for x in Columns.__slots__} | {"axes": some.axes | own})
    assert numbers(single)["mae"].low is not None
    assert numbers(single)["rel_mae"].low is None


def test_page_and_terminal_say_why_an_interval_lacks(tmp_path: Path) -> None:
    run = made_tasks.make(tmp_path, "openx", 24)
    console = Console(file=StringIO(), width=300)
    console_output.print_summary(console, run.summary())
    assert isinstance(console.file, StringIO)
    assert interval_limits.NO_INTERVAL_NOTE in console.file.getvalue()
    assert (
        interval_limits.NO_INTERVAL_NOTE
        in html_report.write_report([run], tmp_path / "r.html").read_text()
    )


def test_filters_by_percentiles_are_left_out_of_few_rows() -> None:
    for n, there in ((8, False), (80, True)):
        found = made_scores.rows(ran("openx", n))["paper"]
        part = found.where(found.category == "wheeled")
        cell = vector_tables.main_row(part)[
            vector_tables._MAIN_HEAD.index("normalised, filtered") - 2
        ]
        assert (cell != number_format.DASH) == there


# --- forms ------------------------------------------------------------------------------


def muted(family: str, form: str) -> Mapping[str, Columns]:
    """Rows in both forms, of which one gave nothing that can be read."""
    made = []
    for task in made_tasks.tasks(family, 40, BOTH):
        said = (
            made_tasks.silent(task) if task.axes["form"] == form else made_tasks.answered(task, 0.9)
        )
        made.append(Score(task=task.id, item=task.item, category=task.category, axes=task.axes,
                          verdicts=dict(SCORER.score(Episode(task, said)))))  # fmt: skip
    return made_scores.rows(made)


@pytest.mark.parametrize("family", ["piqa", "odinw", "overcooked", "openx"])
@pytest.mark.parametrize("form", BOTH)
def test_figures_are_of_the_form_that_could_be_read(family: str, form: str) -> None:
    (other,) = {*BOTH} - {form}
    names = ("Recall by class", "Per class", "Exact match by", "Errors: ", "Right and said")
    drawn = [
        each
        for each in SCORER.presentation.tables(muted(family, form))
        if each.title.startswith(names)
    ]
    assert drawn and all(other in each.title and form not in each.title for each in drawn)


def test_classes_without_a_row_and_an_answer_are_counted_and_not_listed() -> None:
    made = made_scores.rows(
        made_scores.chosen([0, 1, 0, 1] * 5, [0, 2, 0, 1] * 5, 30, family="odinw")
    )
    table = titled(choice_tables.choice_tables(made, "sub-set"))["Per class"]
    assert isinstance(table, Table) and table.is_collapsed
    assert [row[1] for row in table.rows] == [0, 1, 2] and "27" in table.note
    assert not any(
        isinstance(each, Chart) and "30" in each.title for each in report_tables.run_tables(made)
    )


# --- probabilities ----------------------------------------------------------------------


def test_the_first_of_equal_probabilities_is_said_and_the_evidence_tells_it() -> None:
    for task in made_tasks.tasks("odds", 40):
        flat = Reply(text=str([1 / 36] * 36).replace(" ", ""))
        verdict = SCORER.score(Episode(task, made_tasks.trajectory(task, [flat])))["paper"]
        assert verdict.parts["predicted"] == 0
        if verdict.labels:
            assert "the first of 36 that are equally likely" in verdict.labels[0].evidence
    certain = Reply(text=str([0.0] * 35 + [1.0]))
    others = SCORER.score(Episode(task, made_tasks.trajectory(task, [certain])))["paper"]
    assert not any("equally" in label.evidence for label in others.labels)


# --- similarity -------------------------------------------------------------------------


@pytest.mark.parametrize("there", [True, False])
def test_a_suite_says_that_similarity_lacks(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_encoder, "is_installed", lambda: there)
    families: tuple[multinet_families.Family, ...] = ("sqa3d", "robovqa")
    for family in families:
        name = multinet_families.suite_name(family)
        made = tm.load(name, items=2, seed=1, pictures=False)
        lacks = [note for note in made.provenance.notes if "similarity" in note]
        assert bool(lacks) != there and all("embed" in note for note in lacks)
        off = tm.load(name, items=2, seed=1, pictures=False, similarity="none")
        assert not any("similarity" in note for note in off.provenance.notes)


def test_a_run_in_one_form_stands_in_the_row_of_that_form(tmp_path: Path) -> None:
    made = [made_tasks.make(tmp_path / "a", "piqa", 12, model="one"),
            made_tasks.make(tmp_path / "b", "piqa", 12, model="two", forms=BOTH)]  # fmt: skip
    page = read_page(html_report.write_report(made, tmp_path / "r.html"))
    scores = [table.rows for table in page.section("result").find("table")]
    (row,) = (row for rows in scores for row in rows if row[0] == "exact match, by text")
    assert sum("%" in cell for cell in row) == 2

"""The numbers of a run's headline, runs beside each other and the paper, and the profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console
from tests.suites.multinet import made_scores, made_tasks
from tests.suites.multinet.made_scores import cells, titled
from tests.suites.multinet.test_report_tables import BOTH, ran

from toolmark.cli import console_output
from toolmark.core import number_format
from toolmark.core.records import Estimate, Score, Table
from toolmark.reports import html_report
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import read_presentation
from toolmark.scoring import classification
from toolmark.statistics import interval_limits
from toolmark.statistics.class_formulas import MacroRecall
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites import suite_registry
from toolmark.suites.multinet import family_profile, paper_comparison, report_tables
from toolmark.suites.multinet.multinet_suites import SCORER
from toolmark.suites.multinet.tables import class_tables, score_columns, vector_tables

PLAIN = {"mae", "rel_mae", "rel_mse", "rel_mae_filtered", "brier", "brier_sq", "similarity"}


def metrics(found: Columns) -> dict[str, Metric]:
    return {metric.name: metric for metric in report_tables.build_metrics(found)}


def numbers(found: Columns) -> dict[str, Estimate]:
    return {name: metric.measure(found) for name, metric in metrics(found).items()}


def paper_rows(scores: Sequence[Score]) -> Columns:
    return gather_columns(scores, "paper")


# --- the headline and what it hangs on --------------------------------------------------


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("piqa", ["exact", "macro_recall", "valid", "exact_of_valid", "macro_f1"]),
        ("overcooked", ["exact", "macro_recall", "valid", "exact_of_valid", "macro_f1",
                        "player_0", "player_1"]),
        ("odds", ["exact", "macro_recall", "valid", "exact_of_valid", "macro_f1", "brier",
                  "brier_sq", "player_0", "player_1"]),
        ("sqa3d", ["exact", "valid", "exact_of_valid"]),
        ("bfcl", ["exact", "valid", "exact_of_valid", "ast"]),
        ("openx", ["closer", "valid", "mae", "rel_mae", "rel_mse", "rel_mae_filtered"]),
    ],
)  # fmt: skip
def test_the_first_number_is_a_share_and_others_say_that_they_are_none(
    family: str, names: Sequence[str]
) -> None:
    found = numbers(paper_rows(ran(family, 252)))
    assert list(found) == names
    for name, each in found.items():
        assert each.name == name and each.is_share == (name not in PLAIN)
        assert each.value is not None and each.n
        if name not in ("macro_f1", "macro_recall"):
            assert each.low is not None and each.high is not None
            assert each.low <= each.value <= each.high
        assert not each.is_share or 0 <= each.value <= 1
        reported = number_format.format_estimate(each)
        assert ("%" in reported) == each.is_share


def test_a_relative_error_is_a_sum_over_a_sum_and_of_several_morphologies_their_mean() -> None:
    found = paper_rows(ran("openx", 252))
    one = {}
    for level in ("bimanual", "wheeled"):
        part = found.where(found.category == level)
        one[level] = numbers(part)["rel_mae"]
        sums = part.part("mae").sum() / part.part("base_mae").sum()
        assert one[level].value == pytest.approx(sums)
    both = numbers(found)["rel_mae"]
    assert both.value == pytest.approx(np.mean([x.value for x in one.values()]))
    assert both.low is not None and both.high is not None
    widths = [x.high - x.low for x in one.values() if x.high is not None and x.low is not None]
    assert max(widths) / 2 <= both.high - both.low <= sum(widths) / 2


def test_a_filtered_error_is_that_of_the_metrics_library() -> None:
    found = paper_rows(ran("openx", 252))
    for level in ("bimanual", "wheeled"):
        part = found.where(found.category == level)
        expected = vector_tables.vector_errors(part.where(part.run)).filtered
        assert numbers(part)["rel_mae_filtered"].value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("family", ["piqa", "odinw", "overcooked", "odds"])
def test_macro_recall_is_that_of_the_metrics_library_and_has_a_known_ceiling(family: str) -> None:
    found = paper_rows(ran(family, 252))
    sets = score_columns.option_sets(found.where(found.run))
    expected = [
        classification.classification_measures(class_tables.tally_answers(part, "paper"))
        for _, part in sets
    ]
    assert numbers(found)["macro_recall"].value == pytest.approx(
        np.mean([each["macro_recall"] for each in expected]), rel=1e-12
    )
    formula = metrics(found)["macro_recall"].formula
    assert isinstance(formula, MacroRecall)
    right = replace(found, parts={**found.parts, "predicted": found.part("truth")})
    assert formula.highest_value(found) == formula.measure(right).value
    n_absent, n = formula.count_absent_classes(found)
    title = metrics(found)["macro_recall"].title
    assert (f"{n_absent} of {n} classes" in title) == (n_absent > 0)


def test_a_baseline_without_errors_gives_no_relative_error() -> None:
    found = paper_rows(ran("openx", 20))
    still = np.zeros(len(found))
    none = replace(found, parts={**found.parts, "base_mae": still})
    assert numbers(none)["rel_mae"].value is None


def test_similarity_is_reported_where_it_was_made() -> None:
    found = paper_rows(ran("sqa3d", 20))
    alike = replace(found, parts={**found.parts, "similarity": np.linspace(0, 1, len(found))})
    assert numbers(alike)["similarity"].value == pytest.approx(0.5)
    assert "similarity" not in numbers(found)


def test_in_both_forms_the_headline_says_so_and_every_number_stands_by_form() -> None:
    found = paper_rows(ran("overcooked", 60, BOTH))
    reported, values = metrics(found), numbers(found)
    assert next(iter(reported.values())).title == "exact match, both forms"
    for name, each in numbers(found.where(found.axis("form") == "text")).items():
        assert values[f"{name}_text"].value == each.value
        assert reported[f"{name}_text"].title.endswith(", by text")
    assert values["exact_text"].n == values["exact_tool"].n == values["exact"].n / 2
    alone = metrics(found.where(found.axis("form") == "tool"))
    assert not any("form" in each.title or "tool" in each.title for each in alone.values())


def test_a_run_tells_its_numbers_its_groups_and_what_must_be_known_first(tmp_path: Path) -> None:
    run = made_tasks.make(tmp_path, "openx", 252)
    summary = run.summary()
    stored = read_presentation(Run(run.path))
    assert (
        stored is not None
        and summary["caution"] == report_tables.SYNTHETIC_CAUTION == stored.caution
    )
    mae = summary["parts"]["mae"]
    assert mae["is_share"] is False and "is_share" not in summary["score"]
    assert summary["score"]["n_groups"] == 21
    console = Console(file=StringIO(), width=120)
    console_output.print_summary(console, summary)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert "252 answers in 21 groups" in text and interval_limits.NO_INTERVAL_NOTE not in text
    (line,) = (line for line in text.splitlines() if line.strip().startswith("RelMAE "))
    assert "%" not in line and "[" in line and line.endswith("n=252 answers")
    reported = html_report.write_report([run], tmp_path / "r.html").read_text()
    assert "in 21 groups" in reported and interval_limits.NO_INTERVAL_NOTE not in reported


# --- runs beside each other -------------------------------------------------------------


def published(readings: Mapping[str, Columns]) -> Mapping[str, Columns]:
    """The same rows, as if they were published ones."""
    return {
        name: replace(x, axes={**x.axes, "source": np.full(len(x), "published", dtype=object)})
        for name, x in readings.items()
    }


def adjacent(runs: Mapping[str, Mapping[str, Columns]]) -> dict[str, Any]:
    by_reading = {name: {run: x[name] for run, x in runs.items()} for name in made_scores.READINGS}
    return titled(suite_registry.load_overview(SCORER.presentation.overview)(by_reading))


def test_runs_of_one_suite_share_a_table_and_keep_their_forms() -> None:
    made = adjacent(
        {
            "a": published(made_scores.rows(ran("overcooked", 40, BOTH))),
            "b": published(made_scores.rows(ran("odds", 40))),
        }
    )
    for title in ("Exact match and classes", "Next to the paper's models"):
        assert {"a: text", "a: tool", "b: text"} <= set(cells(made[title]))
        assert "a" not in cells(made[title])
    apart = adjacent({f: made_scores.rows(ran("piqa", 30, (f,))) for f in BOTH})
    assert {"text: text", "tool: tool"} <= set(cells(apart["Exact match and classes"]))


def test_generated_rows_stand_in_no_table_of_the_papers() -> None:
    for family in ("overcooked", "odds", "piqa"):
        made = titled(paper_comparison.run_tables(made_scores.rows(ran(family, 40))))
        assert not any("(paper)" in str(each) for each in made.values())
    mixed = adjacent(
        {
            "made": made_scores.rows(ran("odds", 40)),
            "real": published(made_scores.rows(ran("odds", 40))),
        }
    )
    assert "real" in cells(mixed["Next to the paper's models"])
    assert "made" not in cells(mixed["Next to the paper's models"])


def test_probabilities_are_compared_with_the_papers() -> None:
    made = titled(paper_comparison.run_tables(published(made_scores.rows(ran("odds", 40)))))
    rows = cells(made["Next to the paper's models: probabilities"])
    assert rows["GPT-5 (paper)"]["Brier, linear"] == "1.930"
    assert str(rows["this run"]["Brier, linear"])[0].isdigit()
    assert "Next to the paper's models: probabilities" not in titled(
        paper_comparison.run_tables(published(made_scores.rows(ran("overcooked", 40))))
    )


def test_probabilities_are_compared_by_the_rule_of_the_papers_code() -> None:
    readings = published(made_scores.rows(ran("odds", 40)))
    worse = np.full(len(readings["paper"]), 2.0)
    strict = replace(readings["paper"], parts={**readings["paper"].parts, "brier": worse})
    apart = {"paper": replace(strict, value=worse - 2), "reference": readings["reference"]}
    mean = number_format.format_decimal(float(readings["reference"].part("brier").mean()))
    alone = titled(paper_comparison.run_tables(apart))
    acts = published(made_scores.rows(ran("overcooked", 40)))
    several = adjacent({"acts": acts, "shares": apart})
    for made, name in ((alone, "this run"), (several, "shares")):
        table = made["Next to the paper's models: probabilities"]
        assert str(cells(table)[name]["Brier, linear"]).startswith(mean)
        shares = made["Next to the paper's models"]
        exact = readings["reference"].value.mean()
        assert cells(shares)[name]["exact match"] == pytest.approx(exact) != 0
        for each in (table, shares):
            assert isinstance(each, Table) and "reference rule" in each.note
    assert cells(several["Next to the paper's models"])["acts"]["exact match"] == pytest.approx(
        acts["paper"].value.mean()
    )
    plain = titled(paper_comparison.run_tables(acts))["Next to the paper's models"]
    assert isinstance(plain, Table) and "reference" not in plain.note


def sorted_as(*subsets: str, right: int = 1) -> Mapping[str, Columns]:
    made = [
        score
        for name in subsets
        for score in made_scores.chosen([0, 1], [0, right], 2, category=name, family="odinw")
    ]
    return made_scores.rows(made)


def test_means_over_sub_sets_are_over_those_that_both_have() -> None:
    table = titled(paper_comparison.run_tables(sorted_as("BCCD", "PKLot", "OwnSet")))[
        "Next to the paper's models"
    ]
    rows = cells(table)
    assert set(rows) == {"BCCD", "PKLot", "mean over 2"}
    theirs = rows["mean over 2"]
    for at, what in enumerate(("exact", "macro recall", "macro F1")):
        mean = (
            paper_comparison.gpt5_odinw()["BCCD"][at] + paper_comparison.gpt5_odinw()["PKLot"][at]
        ) / 2
        assert theirs[f"GPT-5 (paper): {what}"] == pytest.approx(mean)
        assert theirs[f"this run: {what}"] == 1
    assert "Next to the paper's models" not in titled(
        paper_comparison.run_tables(sorted_as("OwnSet"))
    )
    two = adjacent({"a": sorted_as("BCCD"), "b": sorted_as("PKLot")})["Next to the paper's models"]
    assert set(cells(two)) == {"BCCD", "PKLot"}


# --- baselines that know more -----------------------------------------------------------


def reported_before(readings: Mapping[str, Columns]) -> Mapping[str, Columns]:
    """The same rows, asked with the answers before them."""
    return {
        name: replace(x, axes={**x.axes, "history": np.full(len(x), "given", dtype=object)})
        for name, x in readings.items()
    }


def test_baselines_with_extra_knowledge_are_marked_and_never_best() -> None:
    known = {"previous": [0, 1] * 20, "majority": [0] * 40}
    made = made_scores.chosen([0, 1] * 20, [0, 0] * 20, 2, family="overcooked", guesses=known)
    knowing = made_scores.rows(made)
    table = titled(report_tables.run_tables(knowing))["Exact match and classes"]
    assert isinstance(table, Table) and "previous *" in cells(table)
    assert "majority" in cells(table) and "not given here" in table.note
    found = family_profile.best_baseline(knowing["paper"])
    assert found is not None and found[0] == "majority"
    reported = reported_before(knowing)
    plain = titled(report_tables.run_tables(reported))["Exact match and classes"]
    assert isinstance(plain, Table) and "previous" in cells(plain) and "*" not in plain.note
    best = family_profile.best_baseline(reported["paper"])
    assert best is not None and best[0] == "previous"


def test_a_class_that_is_called_as_a_baseline_is_not_marked() -> None:
    made = []
    for i in range(40):
        level: Any = {"class": f"{i % 2} {('previous', 'linear')[i % 2]}"}
        made += made_scores.chosen([i % 2], [0], 2, guesses={"previous": [0]}, **level)
    made = [structs.replace(each, item=f"{i}", task=f"{i}") for i, each in enumerate(made)]
    tables = [
        each for each in report_tables.run_tables(made_scores.rows(made)) if isinstance(each, Table)
    ]
    for table in tables:
        named = [str(x) for row in table.rows for x in row] + list(table.head)
        own = table.title in ("Exact match and classes", "More measures: classes")
        assert ("previous *" in named) == own == ("not given here" in table.note), table.title
        assert "linear *" not in named
    assert any("previous" in table.head for table in tables)

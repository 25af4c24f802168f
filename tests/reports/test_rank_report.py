"""`rank`: stored runs in order, with what the order hangs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replace_fields

import pytest
from msgspec.structs import replace
from tests.cli.conftest import toolmark
from tests.reports.made_runs import SCORER, Maker, presented
from tests.servers.planning_endpoint import Command

from toolmark.core.errors import UsageError
from toolmark.core.records import Verdict
from toolmark.reports import gates, rank_report, rank_tables
from toolmark.reports.comparison_report import verdict_sentence
from toolmark.reports.run_comparison import compare_runs
from toolmark.runs import run_finalization
from toolmark.runs.run_store import Run
from toolmark.scoring.episode import Episode
from toolmark.statistics.label_formulas import PredictionPoweredMean
from toolmark.statistics.level_formulas import LevelMean
from toolmark.statistics.metric_formulas import Metric, PassRate, UnboundedMean

__all__ = ["toolmark"]


@pytest.fixture
def three_runs(make_run: Maker) -> list[Run]:
    return [
        make_run(n=60, model=f"test/{name}", luck=luck)
        for name, luck in (("bad", 5), ("middle", 50), ("good", 95))
    ]


def test_ranks_follow_the_headline_values(three_runs: list[Run]) -> None:
    """The value of a run is its headline, and the order is that of the values."""
    found = rank_report.rank_stored_runs(three_runs)
    values = {each.run: each.value for each in found.runs}
    for run in three_runs:
        name = run.info.plan.model
        assert values[name] == pytest.approx(run.summary()["score"]["value"], abs=1e-12)
    assert [each.run for each in found.runs] == ["test/good", "test/middle", "test/bad"]
    assert [(each.rank, each.low, each.high) for each in found.runs] == [
        (i, i, i) for i in (1, 2, 3)
    ]
    assert sum(each.share_first for each in found.runs) == pytest.approx(1)


def test_runs_that_cannot_be_ranked_are_refused(three_runs: list[Run], make_run: Maker) -> None:
    """One run, another rule than there is, no common item, no scores: each with a next step."""
    unscored = make_run(n=30, model="test/unscored")
    (unscored.path / "scores.jsonl").unlink()
    cases: list[Callable[[], object]] = [
        lambda: rank_report.rank_stored_runs([three_runs[0], unscored]),
        lambda: rank_report.rank_stored_runs([unscored, three_runs[0]]),
        lambda: rank_report.rank_stored_runs(three_runs[:1]),
        lambda: rank_report.rank_stored_runs(three_runs, "no such rule"),
        lambda: rank_report.rank_stored_runs([three_runs[0], make_run(n=30, offset=1000)]),
    ]
    for case in cases:
        with pytest.raises(UsageError, match=r"next:|did you mean|known:"):
            case()


def test_items_that_a_run_did_not_run_are_said(make_run: Maker) -> None:
    """Its value is over the others, which may be easier; a run named twice is said too."""
    runs = [make_run(n=40, model="test/a", absent=4), make_run(n=40, model="test/b")]
    found = rank_report.rank_stored_runs([*runs, runs[1]])
    assert sorted(each.n_not_run for each in found.runs) == [0, 0, 4]
    assert any("4 common items not run" in warning for warning in found.warnings)
    assert "a run is named twice" in found.warnings


def test_the_sets_rest_on_the_influences_of_the_headline(three_runs: list[Run]) -> None:
    """The values are those of the plain weighted means, and so are the sets."""
    found = rank_report.rank_stored_runs(three_runs)
    assert found.n_items == 60
    assert found.n_clusters <= 60
    assert found.critical_value > 1.96


def test_repeats_give_the_noise_of_asking_again(make_run: Maker) -> None:
    """Without repeats there is none."""
    once = rank_report.rank_stored_runs([make_run(n=40, model=f"test/{i}") for i in "ab"])
    often = rank_report.rank_stored_runs(
        [make_run(n=40, model=f"test/{i}", repeats=3) for i in "cd"]
    )
    assert once.repeat_error is None
    assert often.repeat_error is not None
    assert 0 <= often.repeat_error < 0.2


NUMBERS = {
    "mean": Metric("success"),
    "levels": Metric("levels", LevelMean(axis="core", levels_label="sizes")),
    "judged": Metric("judged", PredictionPoweredMean(label_part="label")),
    "passes": Metric("passes", PassRate(k=1, all_attempts=True)),
}


def _headed(runs: Sequence[Run], *metrics: Metric) -> list[Run]:
    scorer = replace_fields(SCORER, metrics=lambda columns: metrics)
    return [presented(run, scorer) for run in runs]


@pytest.mark.parametrize("name", NUMBERS)
def test_any_headline_is_ranked_by_its_own_values(three_runs: list[Run], name: str) -> None:
    """Two runs' values differ by what `compare` says; only weighted scores have other weights."""
    runs = _headed(three_runs, NUMBERS[name])
    found = rank_report.rank_stored_runs(runs)
    assert [each.run for each in found.runs] == ["test/good", "test/middle", "test/bad"]
    values = {each.run: each.value for each in found.runs}
    paired = compare_runs(runs[0], runs[2]).paired
    assert paired.difference.value == pytest.approx(values["test/bad"] - values["test/good"])
    assert (found.n_categories > 0) == (name in ("mean", "levels"))
    assert (found.runs[0].items_equal is None) == (found.n_categories == 0)
    rank_tables.ranking_tables(found)


def test_a_column_of_other_ranks_stands_where_it_changes_one(three_runs: list[Run]) -> None:
    found = rank_report.rank_stored_runs(three_runs)
    names = ("items equal", "categories equal", "random weights")
    (table, *_) = rank_tables.ranking_tables(found)
    assert not {*names} & {*table.head} and all(name in table.note for name in names)
    first, second, *others = found.runs
    swapped = [replace(first, items_equal=second.rank), replace(second, items_equal=first.rank)]
    (table, *_) = rank_tables.ranking_tables(replace(found, runs=[*swapped, *others]))
    column = table.head.index("items equal")
    assert [row[column] for row in table.rows][:2] == [second.rank, first.rank]
    assert "items equal" not in table.note and "categories equal" in table.note


def test_a_number_of_which_less_is_better_turns_the_order(three_runs: list[Run]) -> None:
    """A ranking, a comparison and its gate all prefer the run with the lower number."""

    def score_errors(episode: Episode) -> Mapping[str, Verdict]:
        return {
            name: replace(verdict, parts={"errors": 3.0 - 2.5 * verdict.value})
            for name, verdict in SCORER.score(episode).items()
        }

    errors = Metric("errors", UnboundedMean(part="errors"), "mean errors", lower_is_better=True)
    for run in three_runs:
        run_finalization.rescore_run(run, replace_fields(SCORER, score=score_errors))
    runs = _headed(three_runs, errors, Metric("success"))
    found = rank_report.rank_stored_runs(runs)
    assert [each.run for each in found.runs] == ["test/good", "test/middle", "test/bad"]
    assert [(each.low, each.high) for each in found.runs] == [(1, 1), (2, 2), (3, 3)]
    assert "less is better" in rank_tables.ranking_tables(found)[0].head[3]
    by_success = rank_report.rank_stored_runs(runs, metric="success")
    assert [each.run for each in by_success.runs] == [each.run for each in found.runs]
    with pytest.raises(UsageError, match="no metric 'sucess'; did you mean: success"):
        rank_report.rank_stored_runs(runs, metric="sucess")
    comparison = compare_runs(runs[0], runs[2])
    assert comparison.paired.difference.value == pytest.approx(
        found.runs[2].value - found.runs[0].value
    )
    assert gates.comparison_outcome(comparison) == "better"
    sentence = verdict_sentence(comparison)
    assert sentence.startswith("test/good is better than test/bad by 2.")
    assert "points" not in sentence + gates.check_comparison(comparison, ["worse"]).observed


def test_the_command_prints_what_the_report_has(toolmark: Command, three_runs: list[Run]) -> None:
    """JSON is the whole ranking."""
    words = [str(run.path) for run in three_runs]
    done = toolmark("rank", *words, "--json")
    assert done.code == 0
    assert '"test/good"' in done.out
    shown = toolmark("rank", *words)
    assert shown.code == 0
    assert shown.out.index("test/good") < shown.out.index("test/bad")

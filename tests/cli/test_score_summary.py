"""What the terminal tells of scores: the reading, plain names, evidence only once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO

from msgspec import structs
from rich.console import Console
from tests.reports.made_runs import presented

from toolmark.cli import console_output, episode_output
from toolmark.core.records import Label, Score, Task, Trajectory, Verdict
from toolmark.reports import run_facts
from toolmark.runs import run_finalization
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import read_presentation
from toolmark.runs.suite import Scorer
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns

Maker = Callable[..., Run]


def written(show: Callable[[Console], None]) -> list[str]:
    console = Console(file=StringIO(), width=100)
    show(console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def verdict(*reported: str) -> Verdict:
    labels = tuple(
        Label(cause="missing_call", evidence=text, primary=i == 0)
        for i, text in enumerate(reported)
    )
    return Verdict(outcome="incorrect", value=0.5, labels=labels)


def test_evidence_is_shown_once_and_then_what_differs() -> None:
    readings = {
        "fair": verdict("a", "b"),
        "official": verdict("a", "b"),
        "paper": verdict("a", "c"),
    }
    score = Score(task="t", item="t", verdicts=readings)
    task, played = Task(id="t", suite="s", turns=()), Trajectory(task="t", ending="steps")
    lines = written(lambda console: episode_output.print_episode(console, task, played, score, ()))
    at = lines.index("fair incorrect 0.5")
    assert [line.split() for line in lines[at:]] == [
        ["fair", "incorrect", "0.5"],
        ["official", "incorrect", "0.5"],
        ["paper", "incorrect", "0.5"],
        ["*", "missing_call", "a"],
        ["missing_call", "b"],
        ["paper", "also:", "missing_call", "c"],
        ["paper", "not:", "missing_call", "b"],
    ]


def test_a_summary_names_its_rule_and_says_what_it_counts(make_run: Maker, scorer: Scorer) -> None:
    def metrics(columns: Columns) -> Sequence[Metric]:
        head, part, *_ = scorer.metrics(columns)
        return [head, structs.replace(part, name="sim_cov", title="similarity", unit="calls made")]

    run = make_run(n=12)
    found = run_finalization.rescore_run(run, replace(scorer, metrics=metrics))
    lines = written(lambda console: console_output.print_summary(console, found))
    assert any(line.strip().startswith("success, official rule ") for line in lines)
    assert any("similarity " in line and line.endswith("n=4 calls made") for line in lines)
    assert not any("sim_cov" in line for line in lines)
    only = replace(
        scorer,
        rules=("official",),
        score=lambda episode: {"official": scorer.score(episode)["official"]},
    )
    alone = run_finalization.rescore_run(run, only)
    assert not any(
        "reading" in x for x in written(lambda to: console_output.print_summary(to, alone))
    )


def test_a_run_of_nothing_does_not_count_its_empty_parts(make_run: Maker) -> None:
    found = make_run(n=6, absent=6).summary()
    lines = written(lambda console: console_output.print_summary(console, found))
    assert not any("without a result" in line for line in lines)


def test_a_report_that_is_older_than_the_scores_is_marked(make_run: Maker) -> None:
    run = make_run(n=3)
    page = run.path / "report.html"
    assert written(lambda console: console_output.print_stale_report_note(console, run.path)) == []
    page.write_text("")
    assert written(lambda console: console_output.print_stale_report_note(console, run.path)) == []
    os.utime(page, (1, 1))
    assert "earlier scores" in " ".join(
        written(lambda console: console_output.print_stale_report_note(console, run.path))
    )


def test_a_class_of_failure_has_the_suites_words(make_run: Maker, scorer: Scorer) -> None:
    run = make_run(n=8, luck=0)
    words = {"calls": "asked for too much", "type_error:nested": "within"}
    listed = written(lambda to: console_output.print_outcomes(to, run, failure_names=words))
    assert any("over_limit  calls asked for too much" in line for line in listed)
    common = written(lambda to: console_output.print_failures(to, run, words))
    assert "  2 failures: wrong_value  type_error:nested within" in common
    assert len(common) == console_output.MAX_REASONS + 1  # the last one counts the others
    shown = read_presentation(
        presented(
            run, replace(scorer, presentation=replace(scorer.presentation, failure_names=words))
        )
    )
    assert shown is not None
    made, _ = run_facts.gather_run_facts(0, run, shown, "a")
    rows = {row.suite_cause: row for causes in made.causes for row in causes.rows}
    assert "calls" in rows["calls asked for too much"].filters, "episodes are found by the code"
    assert "4 incorrect value" in rows, "classes without words stay as they are"


def test_answers_that_share_items_are_counted_with_their_items() -> None:
    head = {"name": "success", "value": 1.0, "low": 0.7, "high": 1.0, "n": 80, "n_items": 10}
    assert console_output._sample_size_text(head) == "80 answers, 10 items"
    found = {"score": head, "n_run": 80}
    assert console_output._episode_counts_text(found) == "80 answers, 10 items"
    part = {"score": head | {"n": 10, "n_items": 0, "title": "as it is"}, "n_run": 20}
    assert console_output._episode_counts_text(part) == "10 of all 20 answers"


def test_a_summary_knows_items_only_where_answers_share_them(make_run: Maker) -> None:
    assert "n_items" not in make_run(n=6).summary()["score"]
    assert make_run(n=6, repeats=2).summary()["score"]["n_items"] == 6


def test_repeats_tell_how_often_all_and_any_of_them_are_right(make_run: Maker) -> None:
    assert not any(name.startswith("pass") for name in make_run(n=6).summary()["parts"])
    found = make_run(n=12, repeats=5).summary()
    names = ["pass^2", "pass^4", "pass^5", "pass@2", "pass@4", "pass@5"]
    assert [name for name in found["parts"] if name.startswith("pass")] == names
    all_, any_ = ([found["parts"][f"pass{sign}{k}"]["value"] for k in (2, 4, 5)] for sign in "^@")
    assert found["score"]["value"] >= all_[0] >= all_[1] >= all_[2]
    assert found["score"]["value"] <= any_[0] <= any_[1] <= any_[2]
    reported = "\n".join(written(lambda console: console_output.print_summary(console, found)))
    assert "all of 4 right (pass^4)" in reported and "n=12 tasks" in reported


def test_repeats_of_a_score_that_is_no_right_or_wrong_pass_nothing(
    make_run: Maker, scorer: Scorer
) -> None:
    run = make_run(n=6, repeats=2)
    half = replace(
        scorer,
        score=lambda _: {name: Verdict(outcome="correct", value=0.5) for name in scorer.rules},
    )
    assert not any(
        name.startswith("pass") for name in run_finalization.rescore_run(run, half)["parts"]
    )

"""What the terminal tells of scores: the reading, plain names, evidence only once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO

from rich.console import Console

from toolmark.cli import terminal
from toolmark.runs import scoring
from toolmark.runs.store import Run
from toolmark.runs.suite import Metric, Scorer
from toolmark.stats.columns import Columns
from toolmark.types import Label, Score, Task, Trajectory, Verdict

Maker = Callable[..., Run]


def written(show: Callable[[Console], None]) -> list[str]:
    console = Console(file=StringIO(), width=100)
    show(console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def verdict(*told: str) -> Verdict:
    labels = tuple(
        Label(cause="missing_call", evidence=text, primary=i == 0) for i, text in enumerate(told)
    )
    return Verdict(outcome="incorrect", value=0.5, labels=labels)


def test_evidence_is_shown_once_and_then_what_differs() -> None:
    readings = {
        "fair": verdict("a", "b"),
        "official": verdict("a", "b"),
        "paper": verdict("a", "c"),
    }
    score = Score(task="t", item="t", readings=readings)
    task, played = Task(id="t", suite="s", turns=()), Trajectory(task="t", ending="steps")
    lines = written(lambda console: terminal.episode(console, task, played, score, ()))
    at = lines.index("fair incorrect 0.500")
    assert [line.split() for line in lines[at:]] == [
        ["fair", "incorrect", "0.500"],
        ["official", "incorrect", "0.500"],
        ["paper", "incorrect", "0.500"],
        ["*", "missing_call", "a"],
        ["missing_call", "b"],
        ["paper", "also:", "missing_call", "c"],
        ["paper", "not:", "missing_call", "b"],
    ]


def test_a_summary_names_its_reading_and_says_what_it_counts(
    make_run: Maker, scorer: Scorer
) -> None:
    def metrics(columns: Columns) -> Sequence[Metric]:
        head, part, *_ = scorer.metrics(columns)
        return [head, replace(part, name="sim_cov", told="similarity", unit="calls made")]

    run = make_run(n=12)
    found = scoring.rescore(run, replace(scorer, metrics=metrics))
    lines = written(lambda console: terminal.summary(console, found))
    assert any(line.strip().startswith("success, official reading ") for line in lines)
    assert any("similarity " in line and line.endswith("n=4 calls made") for line in lines)
    assert not any("sim_cov" in line for line in lines)
    alone = scoring.rescore(run, replace(scorer, readings=("official",)))
    assert not any("reading" in x for x in written(lambda to: terminal.summary(to, alone)))


def test_a_run_of_nothing_does_not_count_its_empty_parts(make_run: Maker) -> None:
    found = make_run(n=6, absent=6).summary()
    lines = written(lambda console: terminal.summary(console, found))
    assert not any("without a result" in line for line in lines)


def test_a_report_that_is_older_than_the_scores_is_told(make_run: Maker) -> None:
    run = make_run(n=3)
    page = run.path / "report.html"
    assert written(lambda console: terminal.stale(console, run.path)) == []
    page.write_text("")
    assert written(lambda console: terminal.stale(console, run.path)) == []
    os.utime(page, (1, 1))
    assert "from before" in " ".join(written(lambda console: terminal.stale(console, run.path)))

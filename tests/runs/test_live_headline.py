"""The score that is shown while a run goes on is that which its summary will have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import mini

import toolmark as tm
from toolmark.core.records import Estimate, Score, Verdict
from toolmark.runs.live_headline import MIN_INTERVAL_S, MOST_OF_THE_TIME, LiveHeadline
from toolmark.runs.runner import Progress
from toolmark.runs.suite import Scorer
from toolmark.statistics.confidence_intervals import wilson
from toolmark.statistics.metric_formulas import Metric, StratifiedMean
from toolmark.statistics.weighted_means import EvenGroup


def wrong_third(i: int, repeat: int) -> str | None:
    return "no" if i % 3 == 0 else None  # whatever the repeat: repeats of a task agree


def play(
    folder: Path, scorer: Scorer = mini.SCORER, **more: Any
) -> tuple[dict[str, Any], list[Estimate]]:
    seen: list[Estimate] = []

    def watch(progress: Progress) -> None:
        seen.append(progress.headline)

    suite = replace(mini.load(n=12), scorer=scorer)
    run = tm.run(suite, mini.Adder(wrong_third), log_dir=folder, watch=watch, **more)
    return run.summary()["score"], seen


@pytest.mark.parametrize("repeats", [1, 2, 6])
def test_the_last_interval_shown_is_that_of_the_summary(tmp_path: Path, repeats: int) -> None:
    head, seen = play(tmp_path, repeats=repeats)
    shown = seen[-1]
    assert (shown.value, shown.low, shown.high, shown.n) == (
        head["value"], head["low"], head["high"], head["n"],
    )  # fmt: skip


def test_repeats_that_agree_do_not_narrow_the_interval(tmp_path: Path) -> None:
    head, seen = play(tmp_path, repeats=6)
    as_if_independent = wilson(round(head["value"] * 72), 72)
    assert seen[-1].low is not None and seen[-1].high is not None
    width = seen[-1].high - seen[-1].low
    assert width > 1.5 * (as_if_independent[1] - as_if_independent[0])


def test_a_resumed_run_shows_the_score_of_all_that_is_stored(tmp_path: Path) -> None:
    first = mini.Adder(lambda i, r: "no" if i % 3 == 0 else None)
    tm.run(mini.load(n=12), first, log_dir=tmp_path, repeats=2)
    (folder,) = tmp_path.glob("*/")
    lines = (folder / "trajectories.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "trajectories.jsonl").write_bytes(b"".join(lines[:20]))
    for name in ("scores.jsonl", "summary.json", "state.json", "scorer.json"):
        (folder / name).unlink()
    seen: list[tuple[int, int, int]] = []
    run = tm.run(
        mini.load(n=12), first, log_dir=tmp_path, repeats=2,
        watch=lambda p: seen.append((p.n_done_before, p.n_run, p.headline.n)),
    )  # fmt: skip
    assert seen[0] == (20, 0, 20) and seen[-1] == (20, 4, 24)
    assert run.path == folder and run.summary()["n_run"] == 24


def test_the_formula_of_the_summary_measures_it_whatever_it_is(tmp_path: Path) -> None:
    group = EvenGroup(name="all", members=("odd", "even", "elsewhere"))
    scorer = replace(
        mini.SCORER, metrics=lambda columns: (Metric("mean", StratifiedMean(group=group)),)
    )
    head, seen = play(tmp_path, scorer)
    assert head["partial"] and seen[-1].partial == head["partial"]


def score(task: str, repeat: int, value: float) -> Score:
    verdict = Verdict(outcome="correct" if value == 1 else "incorrect", value=value,
                      labels=() if value == 1 else mini.WRONG.labels)  # fmt: skip
    return Score(task=task, item=task, repeat=repeat, verdicts={"exact": verdict})


def counting(seconds_each: float) -> tuple[Scorer, Callable[[], float], list[float], list[int]]:
    """Return a scorer whose metrics take time, a clock, its time, and how many rows it saw."""
    now, rows = [0.0], list[int]()

    def metrics(columns: Any) -> tuple[Metric]:
        now[0] += seconds_each
        rows.append(len(columns))
        return (Metric("accuracy"),)

    return replace(mini.SCORER, metrics=metrics), lambda: now[0], now, rows


def test_measuring_takes_a_small_share_of_the_time_however_long_it_takes() -> None:
    scorer, clock, now, rows = counting(seconds_each=0.5)
    live = LiveHeadline(scorer, clock)
    for i in range(1_000):
        live.add(score(f"t{i}", 0, 1.0))
        live.measure()
        now[0] += 0.1
    assert 0.5 * len(rows) <= MOST_OF_THE_TIME * now[0] + 0.5
    assert len(rows) >= 4  # and yet it goes on


def test_what_did_not_change_is_not_measured_again() -> None:
    scorer, clock, now, rows = counting(seconds_each=0.0)
    live = LiveHeadline(scorer, clock)
    assert live.measure().value is None and rows == []
    live.add(score("a", 0, 1.0))
    assert live.measure().value == 1.0
    live.add(score("a", 1, 0.0))
    assert live.measure().value == 1.0  # too soon
    assert live.measure(now=True).value == 0.5
    now[0] += MIN_INTERVAL_S
    live.measure()
    assert rows == [1, 2]

"""The real games of 2019: what baselines are worth there, and how sure that is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import toolmark as tm
from toolmark.runs.suite import Suite
from toolmark.statistics import confidence_intervals
from toolmark.suites.multinet import baseline_answers
from toolmark.suites.multinet.frame_records import Answer, Frame
from toolmark.suites.multinet.overcooked import overcooked_rows

PUBLISHED = {"stay": 0.3292, "majority": 0.3292, "majority-by-layout": 0.3292, "previous": 0.1736}
"""As `benchmarks/overcooked.py` prints them."""


@cache
def games() -> tuple[tuple[Frame, dict[str, Answer]], ...]:
    """Return every step and what the baselines answer; nobody reads what a model is told there."""
    made = baseline_answers.add_baseline_answers(
        overcooked_rows.rows(split="test"), overcooked_rows.rows(split="train"), 0
    )
    return tuple((frame, made.baseline_answers(frame)) for frame in made.partial_frames())


def hits(name: str) -> NDArray[np.float64]:
    return np.array([said[name] == frame.truth for frame, said in games()], dtype=float)


def test_baselines_are_worth_what_is_published() -> None:
    for name, share in PUBLISHED.items():
        assert hits(name).mean() == pytest.approx(share, abs=5e-5), name
    assert hits("uniform").mean() == pytest.approx(1 / 36, abs=3e-3)


def test_previous_is_the_truth_one_step_before_and_standing_still_at_the_start() -> None:
    truths: dict[str, list[int]] = {}
    for frame, said in games():
        own = truths.setdefault(frame.group, [])
        assert frame.step == len(own)
        assert said["previous"] == (own[-1] if own else baseline_answers.STAY_JOINT_ACTION)
        own.append(frame.truth)  # type: ignore[arg-type]
    assert len(truths) == 37


def test_rows_of_a_game_are_alike_so_that_intervals_count_games() -> None:
    found = hits("stay")
    groups = [frame.group for frame, _ in games()]
    low, high = confidence_intervals.ratio_interval(found, np.ones(len(found)), groups)
    alone, other = confidence_intervals.wilson(int(found.sum()), len(found))
    assert low < PUBLISHED["stay"] < high and high - low > 5 * (other - alone)


@pytest.mark.parametrize("name", ["stay", "previous"])
def test_the_suite_plays_them_as_the_rows_tell(name: str, tmp_path: Path) -> None:
    run = tm.run(asked(), f"baseline/{name}", log_dir=tmp_path)
    known = {frame.id: said[name] == frame.truth for frame, said in games()}
    scores = list(run.scores())
    assert len(scores) == 60 and run.summary()["n_not_run"] == 0
    for each in scores:
        assert each.verdicts["paper"].value == known[each.item]
    assert "SYNTHETIC" not in tm.write_report(run).read_text(encoding="utf-8")


@cache
def asked() -> Suite:
    return tm.load("multinet-overcooked", items="30", pictures=False, form="both")

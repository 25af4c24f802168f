"""A data frame holds the scores of a run, one row for each episode."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.core.errors import UsageError

ROWS = [
    {"id": f"t{at}", "question": f"{at}?", "group": f"g{at % 2}", "category": "even"}
    for at in range(4)
]


def is_even(episode: tm.Episode) -> bool:
    return episode.task.id in ("t0", "t2")


def break_once(episode: tm.Episode) -> bool:
    if episode.task.id == "t3":
        raise RuntimeError("no connection")
    return is_even(episode)


def play(folder: Path, scorer: Any = is_even, **how: Any) -> tm.Run:
    suite = tm.Suite(
        name="even",
        tasks=tm.read_tasks(ROWS),
        scorer=scorer,
        metrics=[tm.mean("calls", lambda episode: len(episode.calls))],
    )
    return tm.run(suite, "control/null", log_dir=folder, **how)


def test_a_frame_has_the_scores_that_the_run_stores(tmp_path: Path) -> None:
    run = tm.open_run(play(tmp_path, repeats=2).path)
    frame = run.frame()
    scores = list(run.scores())
    assert len(frame) == len(scores) == 8
    assert list(frame["task"]) == [score.task for score in scores]
    assert list(frame["repeat"]) == [score.repeat for score in scores]
    assert list(frame["value"]) == [score.verdicts["score"].value for score in scores]
    assert frame["value"].mean() == run.summary()["score"]["value"]
    assert set(frame["axis.group"]) == {"g0", "g1"} and set(frame["part.calls"]) == {0.0}
    assert set(frame[frame["outcome"] == "incorrect"]["cause"]) == {"no_answer"}


def test_what_was_not_scored_has_no_value_and_the_kind_of_its_failure(tmp_path: Path) -> None:
    frame = play(tmp_path, break_once).frame().set_index("task")
    assert frame.loc["t3", "outcome"] == "not run" and frame.loc["t3", "failure"] == "scorer"
    assert frame["value"].isna().sum() == 1


def test_an_unknown_rule_and_a_missing_library_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = play(tmp_path)
    with pytest.raises(UsageError, match="scor"):
        run.frame("scores")
    assert len(run.frame("score")) == 4
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pandas is not installed; next: "):
        run.frame()

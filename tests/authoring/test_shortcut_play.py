"""`check` plays the shortcut agents: what is solved by one surface feature is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

import toolmark as tm
from toolmark.authoring.shortcut_checks import CheckedTasks, Played
from toolmark.authoring.shortcut_play import ShortcutTrial, check_shortcuts
from toolmark.baselines.shortcut_agents import SHORTCUT_NAMES, SHORTCUTS
from toolmark.cli.app import app
from toolmark.core.errors import UsageError
from toolmark.core.records import Check, Score, Verdict
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Defaults, Suite
from toolmark.suites.run_floors import list_shortcuts

WORDS = [
    "apple",
    "brick",
    "cloud",
    "delta",
    "eagle",
    "flint",
    "grape",
    "heron",
    "ivory",
    "jolly",
    "kayak",
    "lemon",
]


def make_task(question: str, id: str) -> tm.Task:
    return tm.Task(
        id=id, turns=(tm.Turn(messages=(tm.Message(role="user", parts=(tm.Text(question),)),)),)
    )


def make_suite(questions: Sequence[str], answers: Sequence[str], **defaults: object) -> Suite:
    """Return a suite in which the answer to each question is one of its words."""
    expected = dict(zip(questions, answers, strict=True))
    tasks = [make_task(question, f"t{at}") for at, question in enumerate(questions)]
    return Suite(
        name="words",
        tasks=tasks,
        scorer=lambda episode: episode.answer == expected[episode.task.turns[0].messages[0].text],
        defaults=Defaults(**defaults),  # type: ignore[arg-type]
    )


def shortcuts_of(suite: Suite, **settings: float) -> list[Check]:
    return [each for each in tm.check(suite, **settings) if each.name == "shortcuts"]


def test_those_that_play_every_suite_are_two_controls_and_twelve_baselines() -> None:
    baselines = {f"baseline/{name}" for name in SHORTCUT_NAMES}
    assert {*SHORTCUTS} == baselines | {"control/null", "control/always-call"}
    assert len(SHORTCUTS) == 14 and all(SHORTCUTS.values())


def test_an_answer_that_always_stands_last_is_named_with_its_agent() -> None:
    suite = make_suite([f"Of x, yy, {word}" for word in WORDS], WORDS)
    summary, *weak = shortcuts_of(suite)
    assert (
        summary.status == "ok"
        and summary.detail.startswith("14 agents")
        and "100.0 %" in summary.detail
    )
    (found,) = weak
    assert found.status == "warn" and found.next_step
    # the last word is also the longest one
    assert found.detail.startswith("baseline/longest-word, baseline/last-word: +100.0")


def test_a_set_without_such_a_feature_is_named_for_none() -> None:
    suite = make_suite([f"Which of {word}, elephants, ab" for word in WORDS], WORDS)
    (summary,) = shortcuts_of(suite)
    assert summary.status == "ok" and summary.next_step == ""


def test_what_a_floor_of_the_run_scores_is_no_news() -> None:
    floors = {"control/null": "replies nothing", "baseline/last-word": "replies with the last word"}
    suite = make_suite([f"Which of elephants, {word}" for word in WORDS], WORDS, floors=floors)
    (summary,) = shortcuts_of(suite)
    assert "the floor of a run is 100.0 % (baseline/last-word)" in summary.detail


def test_agents_that_a_suite_names_are_played_too() -> None:
    further = {"baseline/no-such": "is unknown"}
    suite = make_suite([f"Which of {word}, ab" for word in WORDS], WORDS, shortcuts=further)
    assert list_shortcuts(suite).keys() == {*SHORTCUTS, *further}
    (summary,) = shortcuts_of(suite)
    assert "not played: baseline/no-such: no baseline" in summary.detail


@pytest.mark.parametrize(("n", "time_s"), [(9, 10.0), (12, 0.0)])
def test_nothing_is_said_of_few_tasks_and_without_time(n: int, time_s: float) -> None:
    suite = make_suite([f"Which of {word}" for word in WORDS[:n]], WORDS[:n])
    assert shortcuts_of(suite, shortcut_time_s=time_s) == []


# --- the bound, by a counted clock ------------------------------------------------------


class CountedClock:
    """A clock that goes on when an agent plays, by the seconds that it takes."""

    def __init__(self, seconds_each: float) -> None:
        self.now_s = 100.0
        self.seconds_each = seconds_each
        self.played: list[str] = []
        self.limits_s: list[float] = []

    def read_time(self) -> float:
        return self.now_s

    def play_agent(self, run: Run, name: str, time_s: float) -> Sequence[Score]:
        self.played.append(name)
        self.limits_s.append(time_s)
        self.now_s += min(self.seconds_each, time_s)
        if self.seconds_each > time_s:
            raise UsageError("it takes too long")
        return scores_of(12)


def scores_of(n: int) -> list[Score]:
    verdict = Verdict(outcome="correct", value=1.0)
    return [Score(task=f"t{at}", item=f"t{at}", verdicts={"correct": verdict}) for at in range(n)]


def checks_with(clock: CountedClock, tmp_path: Path, time_s: float) -> list[Check]:
    suite = make_suite(WORDS, WORDS)
    run = tm.run(suite, "control/null", log_dir=tmp_path, limit=1)
    null = Played(scores_of(12), [], 1.0, (), run)
    scope = CheckedTasks(12, 12)
    trial = ShortcutTrial(list_shortcuts(suite), clock.play_agent, time_s)
    return [*check_shortcuts(suite, null, trial, scope, read_clock=clock.read_time)]


def test_agents_share_the_time_and_those_for_whom_none_is_left_are_named(tmp_path: Path) -> None:
    clock = CountedClock(3.0)
    (summary,) = checks_with(clock, tmp_path, 10.0)
    assert clock.limits_s == [10.0, 7.0, 4.0, 1.0]
    assert clock.now_s == 110.0
    late = [name for name in SHORTCUTS if name not in ("control/null", *clock.played[:3])]
    assert f"not played in 10 s: {', '.join(late)}" in summary.detail
    assert summary.next_step.startswith("--shortcut-time")
    assert summary.detail.startswith("4 agents")


def test_with_time_enough_all_are_played(tmp_path: Path) -> None:
    clock = CountedClock(0.5)
    (summary,) = checks_with(clock, tmp_path, 10.0)
    assert (
        len(clock.played) == 13 and summary.next_step == "" and "not played" not in summary.detail
    )


def test_the_command_says_what_the_agents_score(tmp_path: Path) -> None:
    row = '{"question": "Add %d and 2.", "tools": [], "expected": []}\n'
    (tmp_path / "rows.jsonl").write_text("".join(row % at for at in range(12)))
    for more, has_line in (([], True), (["--shortcut-time", "0"], False)):
        done = CliRunner().invoke(app, ["check", str(tmp_path / "rows.jsonl"), *more])
        assert ("without any knowledge of the task score" in done.output) == has_line

"""What the terminal shows of runs: the line of progress, lists, one episode."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from io import StringIO

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.reports.made_runs import SCORER

from toolmark import api
from toolmark.cli import console_output, episode_output, progress_display
from toolmark.core.failure import Failure
from toolmark.core.records import (
    Attempt,
    Audio,
    Call,
    Estimate,
    Message,
    Reply,
    Result,
    Score,
    Step,
    Task,
    Trajectory,
)
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_store import Run
from toolmark.runs.runner import Progress
from toolmark.suites import model_registry
from toolmark.suites import suite_registry as known
from toolmark.suites.multinet import multinet_families

Maker = Callable[..., Run]


def counts() -> Progress:
    headline = Estimate(name="success", value=0.5051, low=0.448, high=0.561, n=297)
    made = Progress(n_planned=2000, n_run=300, n_not_run=3, headline=headline,
                    input_tokens=1_234_567, output_tokens=34_567)  # fmt: skip
    made.started_s -= 100
    return made


def written(show: Callable[[Console], None], width: int = 80) -> Sequence[str]:
    console = Console(file=StringIO(), width=width)
    show(console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [160, 110, 100, 80, 60, 45, 40])
def test_a_narrow_line_keeps_what_was_not_run_and_the_time_left(width: int) -> None:
    line = progress_display.progress_line(
        counts(), "funcbench some-org/a-long-model-name-32b", width
    )
    assert len(line) <= width
    assert "303 of 2 000" in line
    assert "not run 3  left 9 min " in line


def test_tokens_go_first() -> None:
    assert "tokens" in progress_display.progress_line(counts(), "funcbench m")
    line = progress_display.progress_line(counts(), "funcbench m", 80)
    assert "tokens" not in line
    assert "score 50.5 %" in line


def test_a_piped_line_is_one_line_and_names_the_model_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress_display, "PLAIN_EVERY_S", -1.0)

    def show(console: Console) -> None:
        title = "bfcl http://127.0.0.1:8000/v1#org/model"
        with progress_display.show_progress(console, title) as watch:
            watch(counts())

    (line,) = written(show, width=40)
    assert line.startswith("bfcl org/model  303 of 2 000")
    assert "left 9 min " in line


def test_a_run_lists_its_tasks_with_outcome_and_cause(make_run: Maker) -> None:
    run = make_run(n=60, absent=1)
    lines = written(lambda console: console_output.print_outcomes(console, run))
    assert len(lines) == 1 + console_output.MAX_LISTED_EPISODES + 2
    assert any("incorrect" in line and "wrong_value" in line for line in lines)
    assert lines[-2].startswith("... and 10 more: --all lists them")
    assert lines[-1] == f"next: toolmark show {run.path} ID"


@pytest.mark.parametrize("outcome", ["correct", "incorrect", "not run"])
def test_a_list_can_be_whole_or_of_one_outcome(make_run: Maker, outcome: str) -> None:
    run = make_run(n=60, absent=1)

    def fits(score: Score) -> bool:
        return console_output.headline_outcome(score) == outcome

    lines = written(lambda console: console_output.print_outcomes(console, run, list_all=True))
    assert len(lines) == 1 + 60 + 1
    chosen = written(
        lambda console: console_output.print_outcomes(console, run, fits, list_all=True)
    )
    expected = [line for line in lines if f"  {outcome}" in line]
    assert [line.split() for line in chosen[1:-1]] == [line.split() for line in expected]
    none = written(lambda console: console_output.print_outcomes(console, run, lambda score: False))
    assert "no episode fits" in none[1]


@pytest.mark.parametrize("known", [True, False])
def test_a_recording_is_printed_by_its_length_file_and_words(make_run: Maker, known: bool) -> None:
    run, sha = make_run(n=1), "ab" * 32
    audio = Audio(sha256=sha, mime="audio/wav", size_bytes=1000)
    turn = {"uttered": "um book it", "seconds": 6.12, "audio": msgspec.to_builtins(audio)}
    speech = {"speech": {"turns": [turn]}} if known else None
    task = replace(next(run.tasks()), data=speech)
    [trajectory] = run.trajectories()
    step = replace(trajectory.steps[0], new_messages=(Message(role="user", parts=(audio,)),))
    played = replace(trajectory, steps=(step,))
    lines = written(lambda console: episode_output.print_episode(console, task, played, None, ()))
    length, words = ("6.12 s", ' "um book it"') if known else ("1\u202f000 bytes", "")
    assert f"user [sound {length}, media/ab/{sha}]{words}" in [line.strip() for line in lines]


def test_what_is_empty_is_not_printed() -> None:
    step = Step(reply=Reply(), calls=(Call(name="f"),), results=(Result(),))
    played = Trajectory(task="t", steps=(step,), ending="steps")
    task = Task(id="t", suite="s", turns=())
    lines = written(lambda console: episode_output.print_episode(console, task, played, None, ()))
    assert [line for line in lines if "answer" in line or "=" in line] == []
    assert "  f {}" in lines


def test_the_list_names_everyone_who_can_play() -> None:
    reported = " ".join(console_output.AGENT_DESCRIPTIONS.values())
    for name in (
        *model_registry._BASELINE_SPECS,
        *multinet_families.FAMILIES_BY_BASELINE,
        *model_registry._CONTROL_SPECS,
    ):
        assert f"/{name}" in reported


def test_the_tool_formats_that_are_listed_exist() -> None:
    assert all(map(known.tool_format_note, known.SUITES))
    listed = re.findall(r"[\w-]+", known.tool_format_note("funcbench").replace("call syntaxes", ""))
    assert listed == list(api.load("funcbench").tool_formats)


def test_what_is_asked_again_is_shown_with_the_reason() -> None:
    waiting = counts()
    assert "retrying" not in progress_display.progress_line(waiting, "bfcl m")
    waiting.wait_reasons = ["refused", "too many\nsecond line", "refused"]
    assert progress_display.progress_line(waiting, "bfcl m").endswith("  retrying 3: refused")
    waiting.wait_reasons = ["the endpoint cannot be reached (connection refused)"] * 16
    assert "retrying 16: the endp" in progress_display.progress_line(waiting, "bfcl m", 80)
    assert "not run 3  left 9 min " in progress_display.progress_line(waiting, "bfcl m", 40)


def lost(task: str, message: str) -> Attempt:
    failure = Failure(stage="environment", kind="environment", message=message)
    return Attempt(task=task, repeat=0, failure=failure)


def test_only_the_latest_reason_of_what_is_still_not_run_counts(make_run: Maker) -> None:
    run = make_run(n=6, absent=2)  # lab-4 and lab-5
    lines = RecordAppender(run.path / "attempts.jsonl")
    for task, reason in (("lab-0", "mended since"), ("lab-4", "of old"), ("lab-4", "stderr: x\ny")):
        lines.append(lost(task, reason))
    lines.close()
    reported = written(lambda console: console_output.print_not_run(console, run))
    assert reported == [
        "  not run, 1 episode: rate_limited: 429 after 5 tries",
        "  not run, 1 episode: environment: stderr: x",
        f"  next: see one of them whole: toolmark show {run.path} lab-5",
        "  next: give the same command again to run what is missing",
    ]


def test_no_run_repairs_what_a_set_lacks(make_run: Maker) -> None:
    run = make_run(n=6, absent=2)  # lab-4 and lab-5
    lines = RecordAppender(run.path / "attempts.jsonl")
    lacking = Failure(stage="preparation", kind="preparation", message="not spoken")
    lines.append(Attempt(task="lab-4", repeat=0, failure=lacking))
    lines.close()
    reported = written(lambda console: console_output.print_not_run(console, run))
    assert "same command" in reported[-1] and not any("make the set" in line for line in reported)
    plan = replace(run.info.plan, tasks="made")
    run.info = replace(run.info, plan=plan)
    reported = written(lambda console: console_output.print_not_run(console, run))
    assert "  next: make the set again: 1 episode of it could not be made" in reported[-2]
    assert "same command" in reported[-1]  # for lab-5
    lines = RecordAppender(run.path / "attempts.jsonl")
    lines.append(Attempt(task="lab-5", repeat=0, failure=lacking))
    lines.close()
    reported = written(lambda console: console_output.print_not_run(console, run))
    assert "2 episodes of it" in reported[-1]


def test_a_reason_is_shown_to_its_end(make_run: Maker) -> None:
    run = make_run(n=2, absent=1)
    reason = f"servers cannot run: {'a, ' * 100}next: fetch them"
    lines = RecordAppender(run.path / "attempts.jsonl")
    lines.append(lost("lab-1", reason))
    lines.close()
    api.rescore(run, SCORER)
    listed = written(lambda console: console_output.print_outcomes(console, run))
    ended = written(lambda console: console_output.print_not_run(console, run))
    for reported in (listed, ended):
        assert any(line.endswith("next: fetch them") for line in reported)


def test_progress_after_a_resume_counts_what_was_done_and_its_rate_only_what_is_new() -> None:
    resumed = counts()
    resumed.n_done_before = 1_500
    line = progress_display.progress_line(resumed, "bfcl m")
    assert "  1 803 of 2 000  3.0/s  " in line
    assert "  left 1 min 5 s" in line  # 197 at 3.03 a second


def test_making_tasks_after_a_resume_counts_those_that_were_made() -> None:
    making = Progress(n_planned=0, n_to_make=1_200, n_made_before=1_000, n_made=50)
    making.started_s -= 100
    line = progress_display.progress_line(making, "m")
    assert line == "m  tasks made: 1 050 of 1 200  0.5/s  left 5 min"


def test_a_run_without_a_score_shows_a_dash_and_one_that_is_no_share_no_per_cent() -> None:
    assert "score –" in progress_display.progress_line(Progress(n_planned=9), "m")
    error = Estimate(name="error", value=0.879, low=0.812, high=0.951, is_share=False)
    line = progress_display.progress_line(Progress(n_planned=9, headline=error), "m")
    assert "score 0.879 [0.812, 0.951]" in line

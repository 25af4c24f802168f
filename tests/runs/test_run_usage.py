"""What a run took is told after it ended, and adds up over everything that was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict
from tests.reports.page_reader import read_page
from tests.runs import mini

import toolmark as tm
from toolmark.core.errors import ToolmarkError, Unavailable
from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import Attempt, Judgement, Reply, Ruling, Step, Trajectory, Usage
from toolmark.reports import usage_text
from toolmark.runs import reply_facts
from toolmark.runs.costs import run_usage
from toolmark.runs.costs.run_usage import RunUsage
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_store import Run

ZERO = {"input": 0, "output": 0, "reasoning": 0, "cached": 0, "cache_written": 0}
USAGE = st.builds(
    Usage, **{name: st.integers(0, 10**9) for name in ("input", "output", "reasoning", "cached")}
)
STEPS = st.lists(
    st.builds(
        Step,
        reply=st.builds(Reply, usage=USAGE),
        ruling=st.none() | st.builds(Ruling, allowed=st.just(True), usage=USAGE),
    ),
    max_size=3,
).map(tuple)


def summed(used: list[Usage]) -> Usage:
    return Usage(**{name: sum(getattr(each, name) for each in used) for name in ZERO})


def test_a_run_says_what_it_took(tmp_path: Path) -> None:
    found = tm.run(mini.load(n=10), mini.Adder(), log_dir=tmp_path, repeats=2)
    took = found.summary()["spent"]
    assert took["tokens"] == {
        "input": 240,
        "output": 100,
        "reasoning": 0,
        "cached": 0,
        "cache_written": 0,
    }
    assert (took["n_episodes"], took["n_requests"]) == (20, 40)
    assert "not_run" not in took and "judges" not in took
    assert 0 < took["wall_s"] == found.info.wall_s
    tm.rescore(found, mini.SCORER)
    assert found.summary()["spent"] == took


def test_sittings_add_up(tmp_path: Path) -> None:
    def flaky(item: int, repeat: int) -> ToolmarkError | None:
        return Unavailable("x") if item > 4 else None

    first = tm.run(mini.load(n=8), mini.Adder(flaky), log_dir=tmp_path, max_retries=0)
    wall_s = first.info.wall_s
    again = tm.run(mini.load(n=8), mini.Adder(), log_dir=tmp_path)
    assert again.path == first.path and again.info.wall_s > wall_s > 0
    assert again.summary()["spent"]["n_requests"] == 16


def written(folder: Path, name: str, lines: list[Any]) -> None:
    file = RecordAppender(folder / name)
    for each in lines:
        file.append(each)
    file.close()


@given(st.lists(STEPS, max_size=4), st.lists(STEPS, max_size=4), st.lists(USAGE, max_size=4))
def test_every_token_is_counted_once_with_whom_it_went_to(
    tmp_path_factory: Any, complete: list[Any], lost: list[Any], judged: list[Usage]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    run = tm.run(mini.load(n=1), mini.Adder(), log_dir=folder)
    for name in ("trajectories.jsonl", "attempts.jsonl"):
        (run.path / name).unlink(missing_ok=True)
    replies = [[step.reply.usage for step in steps] for steps in complete]
    written(run.path, "trajectories.jsonl", [
        Trajectory(task=f"t{i}", steps=steps, usage=summed(used), latency_s=0.5)
        for i, (steps, used) in enumerate(zip(complete, replies, strict=True))
    ])  # fmt: skip
    written(run.path, "attempts.jsonl", [
        Attempt(task="t", repeat=0, failure=NOT_REACHED, steps=steps) for steps in lost
    ])  # fmt: skip
    written(run.path, "judgements.jsonl", [
        Judgement(task="t", kind="k", judge="j", usage=usage) for usage in judged
    ])  # fmt: skip
    took = run_usage.measure_run_usage(Run(run.path))
    every = [step for steps in (*complete, *lost) for step in steps]
    assert took.tokens == summed([usage for used in replies for usage in used])
    assert took.not_run == summed([step.reply.usage for steps in lost for step in steps])
    assert took.user == summed([step.ruling.usage for step in every if step.ruling])
    assert took.judges == summed(judged)
    assert (took.n_episodes, took.n_requests) == (len(complete), sum(map(len, complete)))
    assert took.reply_s == len(complete) * 0.5
    stored = {"spent": run_usage.summary_fields(took), **reply_facts.summary_fields(took.replies)}
    assert run_usage.usage_from_summary(stored) == took


def test_a_summary_from_before_is_made_up_for_by_the_files(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path)
    took = run_usage.run_usage(run)
    summary = run.path / "summary.json"
    for text in (b"{}", None):
        summary.unlink() if text is None else summary.write_bytes(text)
        assert run_usage.run_usage(run) == took == run_usage.measure_run_usage(run)
    assert (
        run_usage.usage_from_summary({}) == RunUsage() and usage_text.summary_usage_line({}) == ""
    )


def test_the_line_tells_what_there_is() -> None:
    one = RunUsage(
        n_episodes=2, n_requests=61, tokens=Usage(input=48_210, output=3_120, reasoning=1_024),
        reply_s=9.0, wall_s=723.4, not_run=Usage(input=7, cached=3), judges=Usage(output=2),
    )  # fmt: skip
    line = usage_text.usage_line(one)
    for part in ("61 requests", "12 min 3 s", "4.5 s per episode", "episodes not run", "judges"):
        assert part in line
    assert "simulated user" not in line and "\n" not in line
    assert (
        usage_text.usage_line(RunUsage(n_episodes=1, n_requests=5)) == "5 requests, no token counts"
    )
    assert asdict(one.tokens)["cached"] == 0


def test_two_runs_are_compared_by_tokens_per_episode(tmp_path: Path) -> None:
    one = tm.run(mini.load(n=4), mini.Adder(), log_dir=tmp_path / "a")
    other = tm.run(mini.load(n=4), mini.Adder(lambda i, r: "no"), log_dir=tmp_path / "b")
    found = tm.compare(one, other)
    assert (found.usage_a.tokens_per_episode, found.usage_b.tokens_per_episode) == (17.0, None)
    row = next(line for line in str(found).splitlines() if "tokens per episode" in line)
    assert "A 17, B –" in row


def test_the_report_tells_it_too(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=4), mini.Adder(), log_dir=tmp_path)
    page = read_page(tm.write_report(run)).root.text
    assert (
        "8 requests" in page
        and usage_text.usage_line(run_usage.measure_run_usage(run)).split(";")[0].split(",")[0]
        in page
    )

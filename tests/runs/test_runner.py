"""Three outcomes; exactly once; stop at any time; bounded."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.runs import mini

import toolmark as tm
from toolmark.core.errors import (
    DataError,
    Rejected,
    SimulatedUserError,
    Timeout,
    ToolmarkError,
    Unavailable,
    UsageError,
)
from toolmark.core.failure import Failure
from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Reply, Request, Turn, Verdict
from toolmark.environments.provider_circuit_breaker import ProviderCircuitBreaker
from toolmark.runs import record_files
from toolmark.runs.circuit_breaker import MAX_CONSECUTIVE_FAILURES
from toolmark.runs.run_store import Run
from toolmark.runs.runner import Progress
from toolmark.runs.suite import ScoreFunction


def run(model: mini.Adder, folder: Path, *, n: int = 20, **more: Any) -> Run:
    more = {"max_retries": 0, **more}  # the trouble is wanted: to ask again would only cost time
    return tm.run(mini.load(n=n), model, log_dir=folder, **more)


def pairs(found: Run) -> list[tuple[str, int]]:
    return [(t.task, t.repeat) for t in found.trajectories()]


def test_a_run_keeps_every_episode_and_its_score(tmp_path: Path) -> None:
    found = run(mini.Adder(), tmp_path, repeats=2)
    summary = found.summary()
    assert sorted(pairs(found)) == sorted((f"sum-{i}", r) for i in range(20) for r in range(2))
    assert summary["score"]["value"] == 1.0
    assert (summary["n_planned"], summary["n_run"], summary["n_not_run"]) == (40, 40, 0)
    first = next(found.trajectories())
    assert [len(step.calls) for step in first.steps] == [1, 0]
    assert first.usage.input == 12


def test_wrong_is_incorrect_with_a_cause(tmp_path: Path) -> None:
    found = run(mini.Adder(lambda i, r: "no idea"), tmp_path)
    assert found.summary()["score"]["value"] == 0.0
    assert {s.verdicts["exact"].labels[0].cause for s in found.scores()} == {"wrong_answer"}


def test_a_failing_endpoint_is_never_an_answer(tmp_path: Path) -> None:
    found = run(mini.Adder(lambda i, r: Timeout("slow") if i % 4 == 0 else None), tmp_path)
    summary = found.summary()
    assert (summary["n_run"], summary["n_not_run"]) == (15, 5)
    assert summary["score"]["value"] == 1.0
    assert summary["score"]["worst"] == 0.75
    assert summary["score"]["best"] == 1.0
    assert Counter(a.failure.stage for a in found.attempts()) == {"model": 5}
    lost = Failure(stage="model", kind="timeout", message="slow")
    assert all(s.failure == lost for s in found.scores() if not s.verdicts)
    assert summary["failures"] == {"timeout": 5}


def test_a_dead_environment_is_not_run_and_its_steps_remain(tmp_path: Path) -> None:
    suite = mini.load(n=5, dead=("sum-3",))
    found = tm.run(suite, mini.Adder(), log_dir=tmp_path)
    (attempt,) = found.attempts()
    failure = attempt.failure
    assert (attempt.task, failure.stage, failure.kind) == ("sum-3", "environment", "environment")
    assert found.summary()["n_not_run"] == 1


def test_a_dead_server_scores_nothing(tmp_path: Path) -> None:
    model = mini.Adder(lambda i, r: Unavailable("refused"))
    summary = run(model, tmp_path, n=100, max_connections=4).summary()
    assert (summary["n_run"], summary["n_not_run"]) == (0, 100)
    assert summary["score"] | {"n": 0} == {
        "name": "accuracy", "value": None, "low": None, "high": None, "n": 0, "worst": None,
        "best": None,
    }  # fmt: skip
    assert len(model.asked) < MAX_CONSECUTIVE_FAILURES + 4


def test_the_breaker_counts_failures_in_a_row_only(tmp_path: Path) -> None:
    model = mini.Adder(lambda i, r: Unavailable("flaky") if i % 20 else None)
    run(model, tmp_path, n=100, max_connections=1)
    assert len(model.asked) == 100


def test_a_simulated_user_that_always_fails_meets_the_breaker(tmp_path: Path) -> None:
    model = mini.Adder(lambda i, r: SimulatedUserError("it names a topic that is not listed"))
    found = run(model, tmp_path, n=MAX_CONSECUTIVE_FAILURES + 10, max_connections=1)
    assert len(model.asked) == MAX_CONSECUTIVE_FAILURES
    assert found.summary()["failures"] == {"user": MAX_CONSECUTIVE_FAILURES, "stopped": 10}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_key_stops_the_run_at_once(tmp_path: Path, status: int) -> None:
    def trouble(item: int, repeat: int) -> ToolmarkError | None:
        return Rejected("check OPENAI_API_KEY", status) if item >= 10 else None

    model = mini.Adder(trouble)
    with pytest.raises(Rejected, match="OPENAI_API_KEY"):
        run(model, tmp_path, n=500, max_connections=1)
    assert len(model.asked) == 11
    (path,) = tmp_path.glob("*/")
    assert Run(path).summary()["n_run"] == 10


def test_one_item_that_a_server_refuses_does_not_end_the_run(tmp_path: Path) -> None:
    model = mini.Adder(lambda i, r: Rejected("bad schema", 400) if i == 7 else None)
    assert run(model, tmp_path).summary()["n_not_run"] == 1
    with pytest.raises(Rejected):
        run(mini.Adder(lambda i, r: Rejected("bad", 400)), tmp_path, n=21)


def test_a_fault_of_the_scorer_is_named_contained_and_corrected_by_rescoring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = mini.Adder(
        lambda i, r: "break the scorer" if i == 2 else Timeout("x") if i == 3 else None
    )
    found = run(model, tmp_path)
    summary = found.summary()
    assert (summary["n_run"], summary["n_not_run"]) == (18, 2)
    assert summary["score"]["worst"] == 0.9
    (faulty,) = [s for s in found.scores() if s.task == "sum-2"]
    assert faulty.failure is not None and faulty.failure.kind == "scorer"
    assert "the scorer broke" in faulty.failure.message
    again = run(mini.Adder(), tmp_path)  # the other missing one is still completed
    assert again.path == found.path
    assert again.summary()["n_run"] == 19
    amended = dataclasses.replace(mini.SCORER, score=lambda _: {"exact": mini.WRONG})
    tm.rescore(again, amended)
    assert again.summary()["n_not_run"] == 0


def test_rescoring_waits_for_the_writer(tmp_path: Path) -> None:
    found = run(mini.Adder(), tmp_path)
    with (
        record_files.lock_folder(found.path),
        pytest.raises(UsageError, match="another process is writing"),
    ):
        tm.rescore(found, mini.SCORER)
    assert len(list(found.scores())) == 20


def test_damaged_tasks_are_named_and_the_scores_remain(tmp_path: Path) -> None:
    found = run(mini.Adder(), tmp_path)
    path = found.path / "tasks.jsonl"
    whole = path.read_bytes()
    for damaged, said in (
        (whole[:30] + b"\n" + whole[30:], "line 1"),
        (whole[:-20], "line 20"),
        (whole.replace(b"What is 3 + 1?", b"What is 4 + 1?"), "changed since the run began"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=said):
            tm.rescore(tm.open_run(found.path), mini.SCORER)
        assert len(list(found.scores())) == 20


def test_one_refused_item_among_slow_successes_does_not_end_the_run(tmp_path: Path) -> None:
    model = mini.Adder(lambda i, r: Rejected("bad", 400) if i == 0 else None)
    assert run(model, tmp_path, n=60).summary()["n_not_run"] == 1
    assert run(model, tmp_path, n=60).summary()["n_not_run"] == 1  # resumed: nothing but that item


def test_a_run_out_of_credit_says_so(tmp_path: Path) -> None:
    model = mini.Adder(lambda i, r: Rejected("no credit left", 402) if i > 10 else None)
    with pytest.raises(Rejected, match="no credit") as caught:
        run(model, tmp_path, n=100, max_connections=1)
    assert Run(Path(caught.value.run_dir)).summary()["n_run"] == 11


def test_own_tasks_that_changed_are_another_run(tmp_path: Path) -> None:
    first = run(mini.Adder(lambda i, r: Timeout("x") if i == 1 else None), tmp_path, n=3)
    own = tmp_path / "own.jsonl"
    own.write_bytes((first.path / "tasks.jsonl").read_bytes())
    broken = run(mini.Adder(lambda i, r: Timeout("x")), tmp_path, n=3, tasks=own)
    own.write_bytes(own.read_bytes().splitlines(keepends=True)[0])
    again = run(mini.Adder(), tmp_path, n=3, tasks=own)
    assert again.path != broken.path
    assert again.summary()["n_run"] == 1


def test_the_same_command_completes_exactly_what_is_missing(tmp_path: Path) -> None:
    broken = mini.Adder(lambda i, r: Timeout("slow") if (i + r) % 3 == 0 else None)
    first = run(broken, tmp_path, repeats=2)
    healthy = mini.Adder()
    second = run(healthy, tmp_path, repeats=2)
    assert second.path == first.path
    assert sorted(healthy.asked) == sorted(
        (i, r) for i in range(20) for r in range(2) if (i + r) % 3 == 0
    )
    assert max(Counter(pairs(second)).values()) == 1
    assert second.summary()["n_run"] == 40
    assert len(list(second.scores())) == 40
    third = run(mini.Adder(), tmp_path, repeats=2)
    assert third.path != first.path  # nothing was missing: a new run


def test_fresh_starts_a_new_run(tmp_path: Path) -> None:
    first = run(mini.Adder(lambda i, r: Timeout("slow")), tmp_path)
    assert run(mini.Adder(), tmp_path, resume=False).path != first.path


def test_other_settings_are_another_run(tmp_path: Path) -> None:
    first = run(mini.Adder(lambda i, r: Timeout("slow")), tmp_path, temperature=0.0)
    assert run(mini.Adder(), tmp_path, temperature=0.5).path != first.path


def test_no_more_than_max_connections_are_in_flight(tmp_path: Path) -> None:
    model = mini.Adder(wait_s=0.001)
    run(model, tmp_path, n=100, max_connections=7)
    assert model.most == 7


def test_stopping_is_clean_and_resumable(tmp_path: Path) -> None:
    async def main() -> Run:
        stop = asyncio.Event()

        def watch(progress: Progress) -> None:
            if progress.n_run == 30:
                stop.set()

        return await tm.arun(
            mini.load(n=200), mini.Adder(wait_s=0.001), log_dir=tmp_path, stop=stop, watch=watch,
            max_connections=5,
        )  # fmt: skip

    found = asyncio.run(main())
    n_run = found.summary()["n_run"]
    assert 30 <= n_run < 60
    assert len(pairs(found)) == n_run
    done = run(mini.Adder(), tmp_path, n=200)
    assert done.path == found.path
    assert done.summary()["n_run"] == 200


def test_replies_of_an_episode_that_is_stopped_are_recorded_as_used(tmp_path: Path) -> None:
    async def main() -> Run:
        stop = asyncio.Event()

        async def halting(request: Request) -> Reply:
            if request.messages[-1].role == "tool":
                stop.set()
                await asyncio.sleep(3_600)
            return await mini.Adder()(request)

        return await tm.arun(
            mini.load(n=3), halting, log_dir=tmp_path, stop=stop, max_connections=1
        )

    found = asyncio.run(main())
    (attempt,) = found.attempts()
    assert (attempt.failure.kind, len(attempt.steps)) == ("stopped", 1)
    assert found.summary()["spent"]["not_run"]["input"] == attempt.steps[0].reply.usage.input > 0


def test_what_searches_wait_for_is_shown_and_recorded_of_those_that_were_stopped(
    tmp_path: Path,
) -> None:
    searches = ProviderCircuitBreaker("serpapi")

    async def adder(request: Request) -> Reply:
        await searches.wait_before_retry(0, 3_600.0, "connection refused")
        raise AssertionError("it was stopped")

    async def main() -> tuple[Run, set[str]]:
        stop, seen = asyncio.Event(), set[str]()

        def watch(progress: Progress) -> None:
            seen.update(progress.wait_reasons)
            if len(progress.wait_reasons) == 2:
                stop.set()

        found = await tm.arun(mini.load(n=3), adder, log_dir=tmp_path, stop=stop, watch=watch,
                              max_connections=2)  # fmt: skip
        return found, seen

    found, seen = asyncio.run(main())
    assert seen == {"serpapi, connection refused"}
    reported = [(attempt.task, attempt.failure.message) for attempt in found.attempts()]
    why = "stopped by the user while 2 waited: serpapi, connection refused"
    assert sorted(reported) == [("sum-0", why), ("sum-1", why)]


def test_rescoring_gives_the_same_scores_and_asks_nobody(tmp_path: Path) -> None:
    found = run(mini.Adder(lambda i, r: Timeout("x") if i == 3 else "7"), tmp_path)
    before = sorted(map(msgspec.json.encode, found.scores()))
    summary = found.summary()
    (found.path / "scores.jsonl").unlink()
    (found.path / "summary.json").unlink()
    with pytest.raises(UsageError, match="toolmark score"):
        found.summary()
    tm.rescore(found, mini.SCORER)
    assert sorted(map(msgspec.json.encode, found.scores())) == before
    assert found.summary() == summary


def test_a_run_folder_cannot_make_us_import_its_suite(tmp_path: Path) -> None:
    found = run(mini.Adder(), tmp_path)
    with pytest.raises(UsageError, match="not a built-in suite"):
        tm.rescore(found)


def test_own_tasks_are_asked_instead_of_the_suites(tmp_path: Path) -> None:
    found = run(mini.Adder(), tmp_path, n=5)
    again = run(mini.Adder(), tmp_path, n=5, tasks=found.path / "tasks.jsonl", limit=2)
    assert [t.id for t in again.tasks()] == ["sum-0", "sum-1"]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"repeats": 0}, "^repeats "),
        ({"max_connections": 0}, "^max_connections: "),
        ({"tool_format": "nativ"}, "'nativ'"),
    ],
)
def test_impossible_settings_are_refused_before_a_folder_is_made(
    tmp_path: Path, wrong: dict[str, Any], named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        run(mini.Adder(), tmp_path, **wrong)
    assert list(tmp_path.iterdir()) == []


def test_progress_counts_and_scores_as_it_goes(tmp_path: Path) -> None:
    seen: list[tuple[int, int, float | None]] = []
    run(
        mini.Adder(lambda i, r: "no" if i % 2 else None),
        tmp_path,
        watch=lambda p: seen.append((p.n_run, p.n_not_run, p.headline.value)),
    )
    assert seen[-1] == (20, 0, 0.5)
    assert list(dict.fromkeys(s[0] for s in seen)) == list(range(21))


def chain(folder: Path, model: mini.Adder, **more: Any) -> Run:
    return tm.run(mini.load(n=6, chain=True), model, log_dir=folder, max_retries=0, **more)


def test_what_a_task_needs_is_run_first_and_its_state_handed_on(tmp_path: Path) -> None:
    found = chain(tmp_path, mini.Adder(wait_s=0.001), repeats=2)
    states = {(t.task, t.repeat): t.state for t in found.trajectories()}
    assert len(states) == 16
    for repeat in range(2):
        assert states["sum-1", repeat] == {"sum-0": {}}
        assert states["sum-5", repeat] == {"sum-0": {}, "sum-1": {"sum-0": {}}}
    summary = found.summary()
    assert (summary["n_planned"], summary["n_run"]) == (12, 12)
    assert not {s.task for s in found.scores()} & {"sum-0", "sum-1"}


def test_what_needs_a_task_that_was_not_run_is_not_run(tmp_path: Path) -> None:
    found = chain(tmp_path, mini.Adder(lambda i, r: Timeout("x") if i == 1 else None))
    assert found.summary()["n_run"] == 0
    assert Counter(a.failure.kind for a in found.attempts()) == {"timeout": 1, "needs": 6}
    healthy = mini.Adder()
    again = chain(tmp_path, healthy)
    assert again.path == found.path
    assert again.summary()["n_run"] == 6
    assert (0, 0) not in healthy.asked  # its state was kept
    assert {t.task: t.state for t in again.trajectories()}["sum-7"]["sum-1"] == {"sum-0": {}}


def test_a_selection_brings_along_what_it_needs(tmp_path: Path) -> None:
    found = chain(tmp_path, mini.Adder(), ids=("sum-4",))
    assert [t.id for t in found.tasks()] == ["sum-0", "sum-1", "sum-4"]
    found = chain(tmp_path, mini.Adder(), limit=1)
    assert [t.id for t in found.tasks()] == ["sum-0", "sum-1", "sum-2"]


def test_dead_environments_do_not_stop_the_others(tmp_path: Path) -> None:
    dead = tuple(f"sum-{i}" for i in range(MAX_CONSECUTIVE_FAILURES * 2))
    model = mini.Adder()
    found = tm.run(mini.load(n=100, dead=dead), model, log_dir=tmp_path, max_connections=1)
    assert found.summary()["n_run"] == 100 - len(dead)


def test_evidence_is_gathered_once_over_the_whole_run(tmp_path: Path) -> None:
    seen: list[int] = []

    def gather(found: Run) -> ScoreFunction:
        answers = {t.task: t.answer for t in found.trajectories()}
        seen.append(len(answers))
        right = Verdict(outcome="correct", value=1.0)
        return lambda episode: {"exact": right if answers[episode.task.id] else mini.WRONG}

    scorer = dataclasses.replace(mini.SCORER, prepare=gather)
    suite = dataclasses.replace(mini.load(n=6), scorer=scorer)
    found = tm.run(suite, mini.Adder(lambda i, r: "no idea"), log_dir=tmp_path, floors="off")
    assert seen == [6]
    assert found.summary()["score"]["value"] == 1.0  # without evidence they are all wrong
    tm.rescore(found, scorer)
    assert seen == [6, 6]
    assert found.summary()["score"]["value"] == 1.0


def test_a_run_keeps_copies_of_what_its_tasks_show(tmp_path: Path) -> None:
    store = MediaStore(tmp_path / "store")
    shown = store.add_image(b"not really a picture", "image/png")
    small = mini.load(n=2)
    tasks = [
        msgspec.structs.replace(
            task, turns=(Turn(messages=(Message(role="user", parts=(shown,)),)), *task.turns)
        )
        for task in small
    ]
    suite = dataclasses.replace(
        small, tasks=tasks, provenance=dataclasses.replace(small.provenance, media=store)
    )
    found = tm.run(suite, mini.Adder(), log_dir=tmp_path / "runs")
    assert MediaStore(found.path / "media").read(shown) == b"not really a picture"
    with pytest.raises(DataError, match="cannot read media"):
        tm.run(
            dataclasses.replace(
                suite, provenance=dataclasses.replace(suite.provenance, media=MediaStore(tmp_path))
            ),
            mini.Adder(),
            log_dir=tmp_path,
        )
    assert not list(tmp_path.glob("mini-*"))

"""A run on disk: its states, what a resume keeps, and what decides whether it goes on."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.runs import mini

import toolmark as tm
from toolmark.core import json_codec, user_modules
from toolmark.core.errors import DataError, Timeout, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Task, Trajectory, Verdict
from toolmark.runs import code_hashes, record_files
from toolmark.runs.run_lifecycle import (
    SUMMARY_FILE,
    Heartbeat,
    finishing_command,
    is_alive,
    read_heartbeat,
)
from toolmark.runs.run_plan import Plan, plan_differences
from toolmark.runs.run_store import Run, RunWriter
from toolmark.runs.runner import Progress
from toolmark.runs.setup_states import SetupNotRun, SetupStates
from toolmark.runs.stored_presentation import unfinished_notice
from toolmark.runs.suite import Suite
from toolmark.scoring.episode import Episode


class Judge:
    """A scorer's function that counts what it is asked."""

    def __init__(self) -> None:
        self.judged: list[str] = []

    def __call__(self, episode: Episode) -> dict[str, Verdict]:
        self.judged.append(episode.task.id)
        return mini.score(episode)


def judged_by(judge: Judge, *reads: Path, **shape: Any) -> Suite:
    scorer = dataclasses.replace(mini.SCORER, score=judge, files=reads)
    return dataclasses.replace(mini.load(**{"n": 6} | shape), scorer=scorer)


def play(folder: Path, model: mini.Adder, suite: Suite | None = None, **more: Any) -> Run:
    # the judge of a test counts what it is asked
    given: dict[str, Any] = {"log_dir": folder, "max_retries": 0, "floors": "off"} | more
    return tm.run(suite or mini.load(n=6), model, **given)


def begun(folder: Path, model: mini.Adder, suite: Suite | None = None, **more: Any) -> list[str]:
    """Run, and return why the run went on or began."""
    seen: list[Progress] = []
    play(folder, model, suite, watch=lambda p: seen.append(dataclasses.replace(p)), **more)
    return list(seen[0].start_notes)


# --- states -----------------------------------------------------------------------------------


def test_a_run_goes_through_its_states_and_the_summary_is_written_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []
    real = os.replace

    def spied(self: Path, target: Path) -> Path:
        real(self, target)
        if Path(target).parent.parent == tmp_path:
            seen.append((Path(target).name, read_heartbeat(Path(target).parent).state))
        return Path(target)

    monkeypatch.setattr(Path, "replace", spied)
    found = play(tmp_path, mini.Adder())
    states = list(dict.fromkeys(state for _, state in seen))
    assert states == ["planned", "running", "scoring", "finished"]
    assert seen[-1] == (SUMMARY_FILE, "finished")
    assert [name for name, _ in seen].count(SUMMARY_FILE) == 1
    assert found.is_finished and found.heartbeat().n_stored == 6


def test_while_it_runs_its_state_and_process_are_readable(tmp_path: Path) -> None:
    seen: list[tuple[Heartbeat, bool, bool]] = []

    def watch(progress: Progress) -> None:
        (path,) = tmp_path.glob("*/")
        seen.append((read_heartbeat(path), is_alive(read_heartbeat(path)), Run(path).is_finished))

    found = play(tmp_path, mini.Adder(), watch=watch)
    assert {sign.state for sign, _, _ in seen} == {"running"}
    assert all(alive and not finished for _, alive, finished in seen)
    assert {sign.pid for sign, _, _ in seen} == {os.getpid()}
    assert not is_alive(found.heartbeat())


def test_of_a_run_under_way_it_is_said_who_works_on_it(tmp_path: Path) -> None:
    seen: list[set[str]] = []

    def watch(progress: Progress) -> None:
        (path,) = tmp_path.glob("*/")
        seen.append({s.failure.message for s in Run(path).scores() if s.failure is not None})

    found = play(tmp_path, mini.Adder(), watch=watch)
    assert seen[0] == {"not asked yet"}
    (found.path / SUMMARY_FILE).unlink()
    assert "shown. next: toolmark score " in unfinished_notice(found)
    with subprocess.Popen(
        [sys.executable, "-c", WORKING, str(found.path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as child:  # fmt: skip
        assert child.stdout is not None
        child.stdout.readline()
        reported = unfinished_notice(found)
        assert f"Process {child.pid} on " in reported
        assert "works on it; when that has ended, next: toolmark score " in reported
        child.kill()
        child.wait()
    assert "shown. next: toolmark score " in unfinished_notice(found)


WORKING = (
    "import sys; from pathlib import Path; from toolmark.runs.run_lifecycle import StateWriter; "
    "StateWriter(Path(sys.argv[1])).write_state('running', 3); "
    "print('there', flush=True); sys.stdin.read()"
)


def test_a_process_that_is_gone_is_dead_and_one_elsewhere_by_its_last_sign(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORKING, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        sign = read_heartbeat(tmp_path)
        assert (sign.state, sign.n_stored, sign.pid) == ("running", 3, child.pid)
        assert is_alive(sign)
        child.kill()
        child.wait()
    assert not is_alive(sign)
    now = datetime.now(UTC)
    far = replace(sign, system="another", time=(now - timedelta(seconds=20)).isoformat())
    assert is_alive(far, now)
    assert not is_alive(far, now + timedelta(seconds=60))
    assert not is_alive(replace(far, time="?"), now)


def test_what_cannot_be_read_of_a_state_hides_nothing(tmp_path: Path) -> None:
    found = play(tmp_path, mini.Adder())
    (found.path / "state.json").write_text("{")
    assert (found.heartbeat().state, found.summary()["n_run"]) == ("finished", 6)
    found.summary()
    (found.path / SUMMARY_FILE).unlink()
    assert found.heartbeat().state == "planned"
    with pytest.raises(UsageError, match=r"next: toolmark score "):
        found.summary()


def test_the_command_that_finishes_a_run_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").touch()
    assert finishing_command(Path("r"), "shop.py:load") == "toolmark score r --suite shop.py:load"
    # from here the file is not found: what the user has to put in is not a name of a file
    for spec in ("a/shop.py:load", "/home/other/shop.py:load"):
        reported = finishing_command(Path("r"), spec)
        assert reported == "toolmark score r --suite FOLDER/shop.py:load"
    assert finishing_command(Path("runs/a b")) == "toolmark score 'runs/a b'"
    assert finishing_command(Path("r"), "shop:load") == "toolmark score r --suite shop:load"


# --- what a resume keeps ----------------------------------------------------------------------


def test_what_is_scored_is_not_scored_again(tmp_path: Path) -> None:
    judge = Judge()
    first = play(tmp_path, mini.Adder(lambda i, r: Timeout("x") if i > 3 else None),
                 judged_by(judge))  # fmt: skip
    assert sorted(judge.judged) == ["sum-0", "sum-1", "sum-2", "sum-3"]
    judge.judged.clear()
    second = play(tmp_path, mini.Adder(), judged_by(judge))
    assert second.path == first.path
    assert sorted(judge.judged) == ["sum-4", "sum-5"]
    assert second.summary()["n_run"] == 6
    assert sorted(score.task for score in second.scores()) == [f"sum-{i}" for i in range(6)]


def test_a_run_of_which_all_is_stored_is_finished_without_a_question(tmp_path: Path) -> None:
    judge, model = Judge(), mini.Adder()
    first = play(tmp_path, model, judged_by(judge))
    summary = first.summary()
    lines = (first.path / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (first.path / "scores.jsonl").write_bytes(b"".join(lines[:2]))
    (first.path / SUMMARY_FILE).unlink()
    judge.judged.clear()
    model.asked.clear()
    unfinished = [score for score in Run(first.path).scores() if score.failure is not None]
    assert len(unfinished) == 4
    assert {score.failure.message for score in unfinished if score.failure} == {
        "stored, but not scored yet"
    }
    second = play(tmp_path, model, judged_by(judge))
    assert second.path == first.path
    assert (model.asked, len(judge.judged)) == ([], 4)
    assert second.summary() == summary
    assert play(tmp_path, model, judged_by(judge)).path != first.path  # nothing was left to do


def test_another_scorer_scores_all_of_it_and_asks_nothing(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_text("1")
    judge, model = Judge(), mini.Adder()
    first = play(tmp_path / "runs", model, judged_by(judge, table))
    before = first.scorer()
    table.write_text("2")
    judge.judged.clear()
    model.asked.clear()
    second = play(tmp_path / "runs", model, judged_by(judge, table))
    assert second.path == first.path
    assert (model.asked, len(judge.judged)) == ([], 6)
    assert second.scorer().sha256 != before.sha256 and second.scorer().files["table"]


def test_scores_of_two_scorers_are_compared_with_a_warning(tmp_path: Path) -> None:
    table = tmp_path / "table"
    runs: list[Run] = []
    for content in ("1", "2", "2"):
        table.write_text(content)
        folder = tmp_path / f"runs-{len(runs)}"
        runs.append(play(folder, mini.Adder(), judged_by(Judge(), table)))
    reported = tm.compare(runs[0], runs[1]).warnings
    assert [line for line in reported if "different scorers of mini" in line and "table" in line]
    assert not tm.compare(runs[1], runs[2]).warnings


def test_scores_of_an_unknown_scorer_are_made_again(tmp_path: Path) -> None:
    judge = Judge()
    first = play(tmp_path, mini.Adder(lambda i, r: Timeout("x") if i > 3 else None),
                 judged_by(judge))  # fmt: skip
    for damage in ("{", None):
        path = first.path / "scorer.json"
        path.unlink() if damage is None else path.write_text(damage)
        judge.judged.clear()
        play(tmp_path, mini.Adder(lambda i, r: Timeout("x") if i > 4 else None), judged_by(judge))
        assert len(judge.judged) >= 5


def test_a_damaged_file_of_scores_is_made_again(tmp_path: Path) -> None:
    judge = Judge()
    first = play(tmp_path, mini.Adder(lambda i, r: Timeout("x") if i > 3 else None),
                 judged_by(judge))  # fmt: skip
    (first.path / "scores.jsonl").write_bytes(b"{\n{}\n")
    judge.judged.clear()
    assert play(tmp_path, mini.Adder(), judged_by(judge)).summary()["n_run"] == 6
    assert len(judge.judged) == 6


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_wherever_a_write_was_torn_only_what_is_missing_is_asked_again(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    first = play(folder, mini.Adder())
    path = first.path / "trajectories.jsonl"
    whole = path.read_bytes()
    # the size varies with how long the episodes took
    cut = len(whole) * data.draw(st.integers(0, 1000)) // 1000
    path.write_bytes(whole[:cut])
    (first.path / SUMMARY_FILE).unlink()
    stored = {task for task, _ in Run(first.path).completed_episodes()}
    model = mini.Adder()
    second = play(folder, model)
    assert second.path == first.path
    assert {f"sum-{i}" for i, _ in model.asked} == {f"sum-{i}" for i in range(6)} - stored
    assert len(second.completed_episodes()) == 6 and second.summary()["n_run"] == 6


def test_the_place_of_an_episode_is_where_its_line_stands(tmp_path: Path) -> None:
    found = play(tmp_path, mini.Adder())
    data = (found.path / "trajectories.jsonl").read_bytes()
    places = found.episodes.locations("trajectories")
    assert len(places) == 6
    for (task, repeat), (offset, length) in places.items():
        line = data[offset : offset + length]
        assert line.endswith(b"\n")
        read = found.episodes.record_at("trajectories", places[task, repeat], Trajectory)
        assert json_codec.decode_record(line, Trajectory) == read
        assert (read.task, read.repeat) == (task, repeat)
    with RunWriter(found.path) as opened:
        opened.episodes.append(Trajectory(task="sum-0", repeat=1))
    assert found.episodes.locations("trajectories")["sum-0", 1].offset == len(data)


def test_states_of_set_up_tasks_are_freed_once_nobody_needs_them() -> None:
    async def main() -> None:
        tasks = list(mini.Chain(2))  # two that set up, the second needs the first; two need both
        states = SetupStates([(task, 0) for task in tasks])
        assert states.needed_episodes() == {("sum-0", 0), ("sum-1", 0)}
        states.put(("sum-0", 0), {"a": 1})
        states.put(("elsewhere", 0), {"b": 1})
        for task in tasks[1:3]:
            states.put(("sum-1", 0), {"c": 1}) if task is tasks[2] else None
            await states.take_states(task, 0)
        assert len(states) == 2
        assert await states.take_states(tasks[3], 0) == {"sum-0": {"a": 1}, "sum-1": {"c": 1}}
        assert len(states) == 0

    asyncio.run(main())


def test_each_task_that_needs_a_set_up_task_that_was_not_run_is_not_run() -> None:
    async def main() -> None:
        tasks = list(mini.Chain(2))
        states = SetupStates([(task, 0) for task in tasks])
        states.record_failure(("sum-0", 0))
        for task in tasks[1:]:
            with pytest.raises(SetupNotRun, match="sum-0"):
                await states.take_states(task, 0)
        assert len(states) == 0

    asyncio.run(main())


# --- the disk is full -------------------------------------------------------------------------


def full_from(n: int) -> Callable[[int, bytes, int], int]:
    """Return an os.pwrite that fails from the n-th call on, and writes half of that one."""
    real, count = os.pwrite, iter(range(1, 10**9))

    def pwrite(fd: int, data: bytes, at: int) -> int:
        call = next(count)
        if call > n or (call == n and len(data) < 2):
            raise OSError(28, os.strerror(28))
        return real(fd, data[: len(data) // 2] if call == n else data, at)

    return pwrite


@pytest.mark.parametrize("chain", [False, True])
def test_a_disk_that_is_full_at_any_write_destroys_and_repeats_nothing_stored(
    chain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, size = mini.load(n=6, chain=chain), 8 if chain else 6
    whole = play(tmp_path / "whole", mini.Adder(), suite)
    n, failed = 0, True
    while failed:
        n += 1
        folder, model = tmp_path / f"run-{n}", mini.Adder()
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full_from(n))
            try:
                play(folder, model, suite, max_connections=2)
                failed = False
            except DataError as error:
                assert "No space left" in str(error)
        runs = [path for path in folder.glob("*") if (path / "run.json").exists()]
        stored = {task for task, _ in Run(runs[0]).completed_episodes()} if runs else set()
        assert len(model.asked) - len(stored) <= 2  # what was in flight
        if failed:
            model.asked.clear()
            again = play(folder, model, suite, max_connections=2)
            assert not stored & {f"sum-{i}" for i, _ in model.asked}
            assert {t.task: t.answer for t in again.trajectories()} == {
                t.task: t.answer for t in whole.trajectories()
            }
            assert len(again.completed_episodes()) == size
            ours, theirs = again.summary(), whole.summary()
            for summary in (ours, theirs):
                del summary["spent"], summary["run_dir"]
            assert ours == theirs
    assert n > size  # every write was one that failed


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB; where none may be mounted there is nothing to test."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here; the faults above stand in for it")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_on_a_real_disk_that_is_full_nothing_stored_is_asked_again(small_disk: Path) -> None:
    room = 4_096
    for n_free in range(1, 16):
        folder, filler, model = small_disk / "runs", small_disk / "filler", mini.Adder()
        free = os.statvfs(small_disk)
        filler.write_bytes(b"x" * (free.f_bavail * free.f_frsize - n_free * room))
        stored: set[str] = set()
        try:
            play(folder, model, max_connections=2)
        except (DataError, UsageError) as error:
            assert "No space left" in str(error)
            runs = [p for p in folder.glob("*") if (p / "run.json").exists()]
            stored = {task for task, _ in Run(runs[0]).completed_episodes()} if runs else set()
            assert len(model.asked) - len(stored) <= 2
        filler.unlink()
        model.asked.clear()
        done = play(folder, model, max_connections=2) if len(stored) < 6 else None
        assert not stored & {f"sum-{i}" for i, _ in model.asked}
        assert done is None or done.summary()["n_run"] == 6
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_a_disk_without_room_for_media_ends_the_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Site(mini.Site):
        """Its worlds keep a picture, for which there is no room."""

        def __init__(self, media: MediaStore) -> None:
            super().__init__()
            self.media = media

        @asynccontextmanager
        async def open_environment(self, task: Task, needed: Any, /) -> AsyncIterator[mini.World]:
            world = mini.World(needed)

            async def final_state() -> dict[str, Any]:
                self.media.add_image(task.id.encode(), "image/png")
                return {}

            monkeypatch.setattr(world, "final_state", final_state)
            yield world

    @asynccontextmanager
    async def site(media: MediaStore) -> AsyncIterator[Site]:
        (media.folder.parent / "media").write_text("")  # no folder can be made there
        yield Site(media)

    model = mini.Adder()
    suite = dataclasses.replace(
        mini.load(n=20), environment=dataclasses.replace(mini.load(n=20).environment, open=site)
    )
    with pytest.raises(DataError, match="cannot write media"):
        play(tmp_path, model, suite, max_connections=2)
    assert len(model.asked) <= 2


def test_a_disk_that_fails_to_keep_what_was_written_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = record_files.RecordAppender(tmp_path / "x.jsonl")
    lines.append({"a": 1})

    def broken(fd: int) -> None:
        raise OSError(5, os.strerror(5))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(DataError, match="Input/output error"):
            lines.sync()
    with pytest.raises(DataError, match="Input/output error"):
        lines.append({"a": 2})
    with pytest.raises(DataError, match="Input/output error"):
        lines.close()


# --- what decides whether a run goes on -------------------------------------------------------

SHOP = """
import dataclasses
from tests.runs import mini
{scorer}

def load(*, n: int = 6, word: str = ""):
    \"\"\"A shop.\"\"\"
    made = mini.load(n=n)
    source = dataclasses.replace(made.environment, missing_parts=missing)
    return dataclasses.replace(made, name="shop", scorer=SCORER, environment=source,
                               parameters={{"n": n, "word": word}})


def missing(tasks):
    return {{}}
"""
OWN_SCORER = """
def score(episode):
    return mini.score(episode)


SCORER = dataclasses.replace(mini.SCORER, score=score)
"""


class Shop:
    """A suite in files that are edited, and loaded anew by name."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, apart: bool) -> None:
        self.folder, self._patch = folder, monkeypatch
        monkeypatch.syspath_prepend(str(folder))
        for name in ("shop", "shop_score"):  # what a test imports does not outlast it
            monkeypatch.setitem(sys.modules, name, sys.modules[__name__])
            monkeypatch.delitem(sys.modules, name)
        if apart:
            head = "import dataclasses\nfrom tests.runs import mini\n"
            (folder / "shop_score.py").write_text(head + OWN_SCORER)
        scorer = "from shop_score import SCORER" if apart else OWN_SCORER
        (folder / "shop.py").write_text(SHOP.format(scorer=scorer))

    def edit(self, name: str) -> None:
        path = self.folder / name
        path.write_text(path.read_text() + "\n# edited\n")

    def suite(self, **parameters: Any) -> Suite:
        for name in ("shop", "shop_score"):
            self._patch.delitem(sys.modules, name, raising=False)
        return tm.load("shop:load", **parameters)


broken = mini.Adder(lambda i, r: Timeout("x") if i > 3 else None)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({}, {"temperature": 0.5}, "new run: temperature differs (none -> 0.5)"),
        ({}, {"repeats": 2}, "new run: repeats differs (1 -> 2)"),
        ({"limit": 5}, {"limit": 6}, "new run: limit differs (5 -> 6)"),
    ],
)
def test_what_differs_is_said_in_a_line(
    first: dict[str, Any], second: dict[str, Any], said: str, tmp_path: Path
) -> None:
    assert begun(tmp_path, broken, **first) == []
    assert begun(tmp_path, broken, **second) == [said]
    (reported,) = begun(tmp_path, mini.Adder(), **second)
    assert reported.startswith("continuing ") and reported.endswith("episodes are stored")


def test_of_long_values_what_differs_is_shown_and_of_many_files_the_first() -> None:
    words = [f"category_{n}" for n in range(30)]
    read = {f"data/{n}.json": "0" * 64 for n in range(9)}
    old = Plan(
        suite="s",
        model="m",
        tool_format="native",
        parameters={"category": words},
        environment_hashes=read,
    )
    new = replace(old, parameters={"category": [*words[:20], "other"]}, environment_hashes={})
    first, *rest, last = plan_differences(old, new)
    before, after = first.removeprefix("-T category differs (").removesuffix(")").split(" -> ")
    assert "category_20" in before and "other" in after and len(first) < 180
    assert rest == [f"what is read, data/{n}.json differs (00000000 -> none)" for n in range(3)]
    assert last == "what is read, 6 more differ"


def test_a_parameter_that_differs_is_named(tmp_path: Path) -> None:
    begun(tmp_path, broken, mini.load(n=5))
    assert begun(tmp_path, broken) == ["new run: -T n differs (5 -> 6)"]


def test_a_notebook_s_edited_tasks_are_never_mixed_with_those_before(tmp_path: Path) -> None:
    """Code in no file has no hash, so that its tasks are all that tells of an edit."""

    def suite(seed: int) -> Suite:
        class Rows(mini.Sums):
            def __iter__(self) -> Iterator[Task]:
                return (replace(task, seed=seed) for task in super().__iter__())

        async def site(media: MediaStore) -> AsyncIterator[mini.Site]:
            yield mini.Site()

        def score(episode: Episode) -> dict[str, Verdict]:
            return mini.score(episode)

        for each in (Rows, site, score):
            each.__module__ = "a_notebook"
        scorer = dataclasses.replace(mini.SCORER, score=score)
        made = dataclasses.replace(mini.load(n=6), tasks=Rows(6), scorer=scorer)
        return dataclasses.replace(
            made, environment=dataclasses.replace(made.environment, open=asynccontextmanager(site))
        )

    assert code_hashes.suite_hashes(suite(1)) == {}
    assert begun(tmp_path, broken, suite(1)) == []
    (reported,) = begun(tmp_path, broken, suite(1))
    assert reported.startswith("continuing ")
    (reported,) = begun(tmp_path, mini.Adder(), suite(2))
    assert reported.startswith("new run: the tasks differ from those of ")


def test_a_suite_is_toolmark_s_own_where_all_of_it_is() -> None:
    own = tm.load("funcbench", core=3, depth=2, graphs=1, seed=1)
    assert code_hashes.is_builtin_suite(own)
    assert not code_hashes.is_builtin_suite(dataclasses.replace(own, tasks=list(own)))
    assert not code_hashes.is_builtin_suite(dataclasses.replace(own, scorer=mini.SCORER))
    assert not code_hashes.is_builtin_suite(mini.load())


def test_a_run_that_is_done_begins_anew_and_says_so(tmp_path: Path) -> None:
    first = play(tmp_path, mini.Adder())
    assert begun(tmp_path, mini.Adder()) == [f"new run: {first.path} has all of its episodes"]


def test_an_edited_suite_is_never_mixed_with_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, runs, model = Shop(tmp_path, monkeypatch, apart=False), tmp_path / "runs", mini.Adder()
    first = play(runs, broken, shop.suite())
    shop.edit("shop.py")
    lines = begun(runs, broken, shop.suite(), sample=None)
    assert lines[0].startswith("new run: the suite's module shop differs (")
    assert "holds the scorer too" in lines[1]
    assert lines[2] == f"--continue accepts the edit, and goes on with {first.path}"
    assert len(list(runs.glob("*/"))) == 2
    assert model.asked == []


def test_to_continue_is_offered_only_where_it_would_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, runs = Shop(tmp_path, monkeypatch, apart=True), tmp_path / "runs"
    play(runs, mini.Adder(), shop.suite())
    shop.edit("shop.py")
    (line,) = begun(runs, mini.Adder(), shop.suite())  # there is nothing left to go on with
    assert line.startswith("new run: the suite's module shop differs (")


def test_an_edit_is_accepted_of_the_run_that_was_asked_so_not_of_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, runs = Shop(tmp_path, monkeypatch, apart=True), tmp_path / "runs"
    first = play(runs, broken, shop.suite())
    newer = play(runs, broken, shop.suite(), temperature=0.5)
    shop.edit("shop.py")
    assert play(runs, mini.Adder(), shop.suite(), continue_=True).path == first.path
    found = play(runs, mini.Adder(), shop.suite(), temperature=0.5, continue_=True)
    assert found.path == newer.path


def test_one_file_is_one_suite_however_its_place_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Shop(tmp_path, monkeypatch, apart=False)
    place = next(tmp_path.rglob("shop.py"))
    monkeypatch.chdir(place.parent)
    ways = ("shop.py", "./shop.py", f"../{place.parent.name}/shop.py", str(place))
    assert {tm.load(f"{way}:load").provenance.spec for way in ways} == {"shop.py:load"}
    monkeypatch.chdir(tmp_path.parent)
    assert (
        user_modules.normalize_spec(f"{place}:load") == f"{place.relative_to(tmp_path.parent)}:load"
    )
    assert user_modules.normalize_spec("elsewhere.shop:load") == "elsewhere.shop:load"


def test_an_edit_that_is_accepted_goes_on_and_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, runs = Shop(tmp_path, monkeypatch, apart=False), tmp_path / "runs"
    first, model = play(runs, broken, shop.suite()), mini.Adder()
    shop.edit("shop.py")
    second = play(runs, model, shop.suite(), continue_=True)
    assert second.path == first.path
    assert sorted(i for i, _ in model.asked) == [4, 5]
    (edited,) = second.info.replaced_hashes
    assert edited["shop"] == first.info.plan.modules["shop"]
    assert second.info.plan.modules["shop"] != edited["shop"]
    (second.path / SUMMARY_FILE).unlink()
    assert play(runs, model, shop.suite()).path == first.path  # under the code of now
    with pytest.raises(UsageError, match=r"--fresh.*--continue"):
        play(runs, model, shop.suite(), continue_=True, resume=False)


def test_an_edit_of_the_scorer_alone_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, runs, model = Shop(tmp_path, monkeypatch, apart=True), tmp_path / "runs", mini.Adder()
    first = play(runs, mini.Adder(), shop.suite())
    assert set(first.info.plan.modules) >= {"shop"}
    assert "shop_score" not in first.info.plan.modules
    shop.edit("shop_score.py")
    second = play(runs, model, shop.suite())
    assert (second.path, model.asked) == (first.path, [])
    assert second.scorer().sha256 != first.scorer().files["shop_score"]


@pytest.mark.parametrize("vary", [(), ("wording",)])
def test_other_tasks_under_the_same_request_are_another_run(
    tmp_path: Path, vary: tuple[str, ...]
) -> None:
    first = play(tmp_path, broken, vary=vary)
    (reported,) = begun(tmp_path, broken, vary=vary)
    assert reported.startswith("continuing ")
    tasks = [replace(task, category="other") for task in mini.load(n=6)]
    other = dataclasses.replace(mini.load(n=6), tasks=tasks)
    (reported,) = begun(tmp_path, broken, other, vary=vary)
    assert reported == f"new run: the tasks differ from those of {first.path}"


def test_an_edited_model_is_another_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path, runs = tmp_path / "my_adder.py", tmp_path / "runs"
    path.write_text(
        "from tests.runs import mini\nfrom toolmark.core.errors import Timeout\n\n"
        "model = mini.Adder(lambda i, r: Timeout('x') if i > 3 else None)\n"
    )

    def run() -> Run:
        monkeypatch.delitem(sys.modules, "my_adder", raising=False)
        settings: dict[str, Any] = {"log_dir": runs, "max_retries": 0}
        return tm.run(mini.load(n=6), "my_adder:model", **settings)

    first = run()
    assert run().path == first.path
    path.write_text(path.read_text().replace("i > 3", "i > 4"))
    assert run().path != first.path


def test_a_folder_that_never_became_a_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=str(tmp_path)):
        Run(tmp_path)


def test_a_run_without_its_request_tells_that_its_answers_are_there(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path)
    (run.path / "run.json").unlink()
    with pytest.raises(DataError, match=r"run\.json"):
        Run(run.path)


def test_scores_that_are_cut_are_no_scores(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=5), mini.Adder(), log_dir=tmp_path)
    path = run.path / "scores.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:9])
    with pytest.raises(DataError, match=r"scores\.jsonl: .*2 of 5"):
        list(Run(run.path).scores())
    path.write_bytes(b"")
    emptied = Run(run.path)
    assert not emptied.is_finished
    kinds = [score.failure.kind for score in emptied.scores() if score.failure]
    assert kinds == ["not_reached"] * 5
    tm.rescore(emptied, mini.SCORER)
    assert path.read_bytes() == b"".join(lines)


def test_answers_that_are_gone_are_missed_before_the_rest_is_scored(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=5), mini.Adder(), log_dir=tmp_path)
    path = run.path / "trajectories.jsonl"
    scores = (run.path / "scores.jsonl").read_bytes()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    with pytest.raises(DataError, match=r"trajectories\.jsonl: .*2 of 5"):
        tm.rescore(Run(run.path), mini.SCORER)
    assert (run.path / "scores.jsonl").read_bytes() == scores
    model = mini.Adder()
    again = tm.run(mini.load(n=5), model, log_dir=tmp_path)
    assert again.path == run.path and len(model.asked) == 3
    path.write_bytes(b"".join(lines[:2]))
    (run.path / "state.json").unlink()
    assert tm.rescore(Run(run.path), mini.SCORER).summary()["n_run"] == 2

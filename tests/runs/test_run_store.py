"""The run folder loses nothing and mixes nothing up."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import json_codec
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Message, Task, Text, Trajectory, Turn
from toolmark.runs import run_folders
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run, RunWriter
from toolmark.runs.task_selection import TaskFile

PLAN = Plan(suite="s", model="http://h:1/v1#m/x", tool_format="native")


def task(name: str, category: str = "") -> Task:
    said = Message(role="user", parts=(Text("hi"),))
    return Task(id=name, suite="s", category=category, turns=(Turn(messages=(said,)),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = run_folders.claim_folder(tmp_path, PLAN)
    run_folders.write_run(path, PLAN, [task("a"), task("b")], seed=1)
    return path


def test_a_folder_is_named_after_its_request_and_numbered(tmp_path: Path) -> None:
    first = run_folders.claim_folder(tmp_path, PLAN)
    run_folders.write_run(first, PLAN, [task("a")], seed=1)
    second = run_folders.claim_folder(tmp_path, PLAN)
    assert first.name == f"s-http-h-1-v1-m-x-native-{PLAN.hash}-1"
    assert second.name.endswith("-2")
    found = run_folders.newest_matching_run(tmp_path, PLAN)
    assert found is not None
    assert found.path == first  # the second one never became a run


def test_nothing_is_left_of_a_run_without_tasks(tmp_path: Path) -> None:
    path = run_folders.claim_folder(tmp_path, PLAN)
    with pytest.raises(UsageError, match="no task is left"):
        run_folders.write_run(path, PLAN, [], seed=1)
    assert list(tmp_path.iterdir()) == []


def test_equal_ids_are_refused(tmp_path: Path) -> None:
    path = run_folders.claim_folder(tmp_path, PLAN)
    with pytest.raises(DataError, match="'a'"):
        run_folders.write_run(path, PLAN, [task("a"), task("a")], seed=1)


def test_a_torn_last_line_is_dropped(folder: Path) -> None:
    path = folder / "trajectories.jsonl"
    whole = json_codec.encode_record(Trajectory(task="a")) + b"\n"
    path.write_bytes(whole + b'{"task":"b","st')
    assert [t.task for t in Run(folder).trajectories()] == ["a"]
    assert path.read_bytes() != whole  # a reader changes nothing
    with RunWriter(folder) as opened:
        opened.episodes.append(Trajectory(task="b"))
    assert path.read_bytes() == whole + json_codec.encode_record(Trajectory(task="b")) + b"\n"


@given(st.integers(0, 400), st.lists(st.integers(1, 150), max_size=4))
def test_whatever_byte_a_kill_falls_on_whole_lines_survive(cut: int, sizes: list[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x.jsonl"
        lines = [b"%d" % (10 ** (size - 1)) + b"\n" for size in sizes]
        path.write_bytes(b"".join(lines)[:cut])
        file = RecordAppender(path)
        file.append(7)
        file.close()
        saved, rest = [], cut
        for line in lines:
            if len(line) > rest:
                break
            saved.append(line)
            rest -= len(line)
        assert path.read_bytes() == b"".join(saved) + b"7\n"


def test_half_a_line_in_the_middle_is_named_and_nothing_is_changed(folder: Path) -> None:
    path = folder / "trajectories.jsonl"
    text = b'{"task":"a"}\n{"task":"b","st\n{"task":"c"}\n'
    path.write_bytes(text)
    with pytest.raises(DataError, match=r"trajectories\.jsonl, line 2"):
        list(Run(folder).trajectories())
    with pytest.raises(DataError, match="line 2"):
        Run(folder).completed_episodes()
    assert path.read_bytes() == text


def test_an_episode_twice_is_damage(folder: Path) -> None:
    (folder / "trajectories.jsonl").write_bytes(b'{"task":"a"}\n{"task":"a"}\n')
    with pytest.raises(DataError, match="twice"):
        Run(folder).completed_episodes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "run.json: cannot be read"),
        (b"[]", "run.json: cannot be read"),
        (b"\xff\xfe", "run.json: cannot be read"),
        (b'{"format":99,"plan":{"suite":"s","model":"m","tool_format":"d"},"seed":1,"n_tasks":1}',
         "a newer version of toolmark .format 99, this one reads 3.; open it with that"),
        (b'{"format":1,"plan":{},"seed":1,"command":"toolmark run s -m m"}',
         "an older version of toolmark .format 1,.*; make a new run: toolmark run s -m m --fresh$"),
        (b'{"format":1}', "an older version of toolmark .*make a new run: the command that"),
    ],
)  # fmt: skip
def test_a_foreign_run_json_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(DataError, match=said):
        Run(tmp_path)
    assert (tmp_path / "run.json").read_bytes() == content


def test_any_folder_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run folder"):
        Run(tmp_path)


def test_one_writer_at_a_time(folder: Path) -> None:
    with RunWriter(folder), pytest.raises(UsageError, match="another process is writing"):
        RunWriter(folder)
    with RunWriter(folder):
        pass


def test_a_full_disk_destroys_nothing_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "trajectories.jsonl"
    with RunWriter(folder) as opened:
        opened.episodes.append(Trajectory(task="a"))
        before = path.read_bytes()
        real = os.pwrite

        def full(fd: int, data: bytes, at: int) -> int:
            if len(data) <= 5:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(fd, data[: len(data) - 5], at)

        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(DataError, match="No space left"):
            opened.episodes.append(Trajectory(task="b"))
        monkeypatch.undo()
        assert path.read_bytes() == before
        opened.episodes.append(Trajectory(task="b"))
    assert [t.task for t in Run(folder).trajectories()] == ["a", "b"]


def test_an_unwritable_place_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=str(tmp_path / "file")):
        run_folders.claim_folder(tmp_path / "file" / "runs", PLAN)


def test_a_task_is_found_by_its_id(folder: Path) -> None:
    assert Run(folder).task("b") == task("b")
    with pytest.raises(DataError, match="no task 'z'"):
        Run(folder).task("z")


def test_own_tasks_are_read_with_line_numbers(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(json_codec.encode_record(task("a")) + b"\n\n" + b'{"id": 3}\n')
    tasks = TaskFile(path, "s")
    assert len(tasks) == 2
    with pytest.raises(DataError, match=r"own.jsonl, line 3: not a task"):
        list(tasks)
    with pytest.raises(DataError, match=r"line 1: .*'s'.*'other'"):
        list(TaskFile(path, "other"))
    with pytest.raises(UsageError, match="cannot read tasks"):
        TaskFile(tmp_path / "none.jsonl", "s")

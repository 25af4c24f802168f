"""Every run begun in a folder is in its logbook, and what is done to the logbook shows."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs import mini

import toolmark as tm
from toolmark.core.errors import DataError, Rejected
from toolmark.core.records import Reply, Request
from toolmark.reports import run_series
from toolmark.runs import record_files, run_logbook
from toolmark.runs.run_logbook import LOGBOOK_FILE, read_logbook
from toolmark.runs.run_store import Run
from toolmark.statistics.metric_formulas import Metric, StratifiedMean
from toolmark.statistics.weighted_means import WeightedGroup

PATH = Path("runs") / LOGBOOK_FILE


def _events(folder: Path) -> list[str]:
    return [entry.event for entry in read_logbook(folder).entries]


def test_a_run_is_entered_before_its_first_episode_and_again_with_its_score(
    tmp_path: Path,
) -> None:
    seen: list[list[str]] = []

    class Spy(mini.Adder):
        async def __call__(self, request: Request, /) -> Reply:
            seen.append(_events(tmp_path))
            return await super().__call__(request)

    run = tm.run(mini.load(n=3), Spy(), log_dir=tmp_path)
    assert seen[0] == ["begun"]
    begun, ended = read_logbook(tmp_path).entries
    assert (begun.event, ended.event) == ("begun", "ended")
    assert begun.run == run.path.name and begun.suite == "mini" and begun.model == "adder"
    assert begun.tasks_sha256 == run.info.tasks_sha256
    assert begun.settings_sha256 == run.info.plan.sha256
    assert begun.previous == ""
    first_line = (tmp_path / LOGBOOK_FILE).read_bytes().splitlines()[0]
    assert ended.previous == hashlib.sha256(first_line).hexdigest()
    score = run.summary()["score"]
    assert ended.headline is not None and ended.headline.value == score["value"]
    assert (ended.n_run, ended.n_planned) == (3, 3)


def test_removed_and_fresh_runs_stay_in_the_logbook(tmp_path: Path) -> None:
    for _ in range(3):
        run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path, resume=False)
        shutil.rmtree(run.path)
    last = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path, resume=False)
    series = run_series.find_series(last)
    assert series is not None and (series.position, series.n_runs) == (4, 4)
    assert [each.is_removed for each in series.runs] == [True, True, True, False]
    text = run_series.describe_series(series)
    assert text.startswith("run 4 of 4 of this suite and model in this folder: ")
    assert text.count("removed") == 3


def test_runs_of_different_agents_are_no_looks_at_one_number(tmp_path: Path) -> None:
    async def one(session: tm.AgentSession) -> str:
        return "1"

    async def two(session: tm.AgentSession) -> str:
        return "2"

    suite = mini.load(n=8)
    runs = [tm.run(suite, agent=each, log_dir=tmp_path, floors="off") for each in (one, two, one)]
    runs.append(tm.run(suite, "baseline/none", log_dir=tmp_path, floors="off", agent=two))
    series = [run_series.find_series(run) for run in runs]
    assert [(each.position, each.n_runs) for each in series if each] == [(1, 2), (1, 2), (2, 2),
                                                                         (2, 2)]  # fmt: skip
    text = run_series.describe_series(series[0])
    assert text.startswith("run 1 of 2 of this suite, model and agent in this folder: ")
    assert not any("best of" in each for each in tm.compare(runs[0], runs[2]).warnings)


def test_a_comparison_of_chosen_runs_says_how_many_there_were(tmp_path: Path) -> None:
    """Two runs are no choice; of four, three others could have been compared with the first."""
    suite = mini.load(n=8)
    runs = [tm.run(suite, mini.Adder(), log_dir=tmp_path, resume=False) for _ in range(2)]
    assert not any("best of" in text for text in tm.compare(*runs).warnings)
    runs += [tm.run(suite, mini.Adder(), log_dir=tmp_path, resume=False) for _ in range(2)]
    (text,) = (text for text in tm.compare(runs[0], runs[3]).warnings if "best of" in text)
    assert text.startswith("A is run 1 of 4 of this suite and model in this folder; B is run 4 of")
    assert "for the best of 3 it is at most 3 times as large" in text


def test_a_run_that_continues_is_one_run(tmp_path: Path) -> None:
    suite = mini.load(n=4)
    trouble = mini.Adder(lambda item, repeat: Rejected("no key", 401) if item == 2 else None)
    with pytest.raises(Rejected):
        tm.run(suite, trouble, log_dir=tmp_path, max_connections=1)
    run = tm.run(suite, mini.Adder(), log_dir=tmp_path)
    assert _events(tmp_path) == ["begun", "ended", "continued", "ended"]
    assert len(read_logbook(tmp_path).runs) == 1
    assert run_series.find_series(run) is None


def test_the_same_score_is_entered_once(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path)
    before = (tmp_path / LOGBOOK_FILE).read_bytes()
    tm.rescore(run, mini.SCORER)
    assert (tmp_path / LOGBOOK_FILE).read_bytes() == before


def test_a_run_that_was_copied_elsewhere_makes_no_entry_there(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path / "a")
    shutil.copytree(run.path, tmp_path / "b" / run.path.name)
    tm.rescore(Run(tmp_path / "b" / run.path.name), mini.SCORER)
    assert not (tmp_path / "b" / LOGBOOK_FILE).exists()
    tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path / "b")
    [line] = run_logbook.unlogged_runs(read_logbook(tmp_path / "b"))
    assert line.startswith(f"{run.path.name}: no entry")


def _chain(n: int) -> list[bytes]:
    lines: list[bytes] = []
    for number in range(n):
        previous = hashlib.sha256(lines[-1]).hexdigest() if lines else ""
        entry = {
            "previous": previous, "event": "begun", "time": f"2026-01-01T00:00:{number:02}+00:00",
            "run": f"r-{number}", "suite": "mini", "model": "adder", "n_planned": number + 1,
        }  # fmt: skip
        lines.append(json.dumps(entry).encode())
    return lines


def _faults(lines: list[bytes]) -> list[str]:
    return run_logbook.parse_logbook(PATH, b"".join(line + b"\n" for line in lines)).faults


@given(n=st.integers(3, 9), data=st.data())
def test_any_edit_removal_addition_or_reordering_before_the_last_line_is_a_fault(
    n: int, data: st.DataObject
) -> None:
    lines = _chain(n)
    assert _faults(lines) == []
    at = data.draw(st.integers(0, n - 2))
    match data.draw(st.sampled_from(["bit", "cut", "remove", "double", "swap", "headless"])):
        case "bit":
            position = data.draw(st.integers(0, len(lines[at]) - 1))
            changed = bytearray(lines[at])
            changed[position] ^= data.draw(st.integers(1, 255))
            if 10 in changed:
                changed[position] = 0
            lines[at] = bytes(changed)
        case "cut":
            lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at]) - 1))]
        case "remove":
            del lines[at]
        case "double":
            lines.insert(at, lines[at])
        case "swap":
            other = data.draw(st.integers(0, n - 1).filter(lambda i: i != at))
            lines[at], lines[other] = lines[other], lines[at]
        case "headless":
            lines = lines[at + 1 :]
    assert _faults(lines)


@given(n=st.integers(1, 5), data=st.data())
def test_an_incomplete_last_line_is_no_fault_and_is_named(n: int, data: st.DataObject) -> None:
    lines = _chain(n)
    cut = data.draw(st.integers(1, len(lines[-1]) - 1))
    found = run_logbook.parse_logbook(
        PATH, b"".join(line + b"\n" for line in lines[:-1]) + lines[-1][:cut]
    )
    assert found.faults == [] and len(found.entries) == n - 1
    assert found.torn == lines[-1][:cut].decode()


def test_what_was_torn_is_quoted_by_the_next_entry(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path)
    path = tmp_path / LOGBOOK_FILE
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    run_logbook.enter_run(run, is_new=False)
    found = read_logbook(tmp_path)
    assert found.faults == [] and [each.event for each in found.entries] == ["begun", "continued"]
    torn = whole[:-30].rpartition(b"\n")[2].decode()
    assert found.entries[-1].torn == torn


def test_a_last_entry_without_its_newline_is_whole(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path)
    path = tmp_path / LOGBOOK_FILE
    path.write_bytes(path.read_bytes()[:-1])
    run_logbook.enter_run(run, is_new=False)
    found = read_logbook(tmp_path)
    assert found.faults == [] and len(found.entries) == 3 and not found.entries[-1].torn


def test_a_broken_chain_is_reported_and_not_repaired(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path)
    tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path, resume=False)
    path = tmp_path / LOGBOOK_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + lines[2:]))
    again = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path, resume=False)
    for each in (run, again):
        series = run_series.find_series(each)
        assert series is not None and "line 2: does not follow" in series.faults[0]
    assert path.read_bytes().startswith(lines[0] + lines[2])


def _enter_often(folder: str, run: str, n: int) -> None:
    opened = Run(Path(folder) / run)
    for _ in range(n):
        run_logbook.enter_run(opened, is_new=False)


def test_processes_that_write_at_once_make_one_chain(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path)
    context = multiprocessing.get_context("fork")
    writers = [
        context.Process(target=_enter_often, args=(str(tmp_path), run.path.name, 25))
        for _ in range(3)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = read_logbook(tmp_path)
    assert found.faults == [] and len(found.entries) == 2 + 3 * 25


def test_a_run_killed_between_its_entry_and_its_first_request_is_in_the_logbook(
    tmp_path: Path,
) -> None:
    def run_and_die() -> None:
        tm.run(mini.load(n=2), mini.Adder(lambda item, repeat: os._exit(9)), log_dir=tmp_path)

    process = multiprocessing.get_context("fork").Process(target=run_and_die)
    process.start()
    process.join()
    assert process.exitcode == 9 and _events(tmp_path) == ["begun"]
    run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path)
    assert _events(tmp_path) == ["begun", "continued", "ended"]
    assert len(read_logbook(tmp_path).runs) == 1 and run_series.find_series(run) is None


def test_nothing_is_asked_where_the_logbook_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / LOGBOOK_FILE).mkdir()
    model = mini.Adder()
    with pytest.raises(DataError, match=r"logbook\.jsonl"):
        tm.run(mini.load(n=2), model, log_dir=tmp_path)
    assert model.asked == []


def test_a_withdrawal_never_hides_a_run_that_has_ended(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path)
    run_logbook.enter_withdrawal(run)
    assert _events(tmp_path) == ["begun", "ended"]
    (tmp_path / LOGBOOK_FILE).unlink()
    run_logbook.enter_withdrawal(run)  # of a run that was refused before its entry
    assert not (tmp_path / LOGBOOK_FILE).exists()


def test_a_partial_headline_is_said_to_be_partial(tmp_path: Path) -> None:
    group = WeightedGroup("overall", ("odd", "even"), (0.5, 0.5))
    suite = mini.load(n=4)
    metrics = (Metric("overall", StratifiedMean(group=group)),)
    suite = replace(suite, scorer=replace(suite.scorer, metrics=lambda columns: metrics))
    runs = [tm.run(suite, mini.Adder(), log_dir=tmp_path, limit=n) for n in (1, 4)]
    text = run_series.describe_series(run_series.find_series(runs[1]))
    assert "partial: 1 of 2 categories run, 100.0" in text


def test_a_full_disk_leaves_the_entries_as_they_were(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path)
    before = (tmp_path / LOGBOOK_FILE).read_bytes()
    with (
        mock.patch.object(os, "pwrite", side_effect=OSError(28, "No space left")),
        pytest.raises(DataError, match="No space left"),
    ):
        run_logbook.enter_run(run, is_new=False)
    assert (tmp_path / LOGBOOK_FILE).read_bytes() == before


def test_an_entry_is_pushed_to_the_disk_once_a_run(tmp_path: Path) -> None:
    pushed: list[str] = []

    def note(descriptor: int) -> None:
        pushed.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)

    with mock.patch.object(record_files, "sync_descriptor", note):
        tm.run(mini.load(n=5), mini.Adder(), log_dir=tmp_path)
    assert pushed.count(LOGBOOK_FILE) == 1


def test_keys_never_reach_the_logbook(tmp_path: Path) -> None:
    key = "sk-proj-4fT9xQ2mLw7ZpR8vKc1NdY6b"
    tm.run(
        mini.load(n=1), "http://127.0.0.1:9/v1#m", log_dir=tmp_path, max_retries=0, timeout_s=2,
        headers={"Authorization": f"Bearer {key}"}, price="1,2",
    )  # fmt: skip
    assert key not in (tmp_path / LOGBOOK_FILE).read_text()
    assert read_logbook(tmp_path).entries[0].event == "begun"

"""Work in other processes: in order, errors told, and nothing of the script that asked is run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from toolmark.core import worker_processes
from toolmark.core.errors import DataError, UsageError
from toolmark.core.worker_processes import available_cores  # a test's own `worker_processes` has 1


def test_results_come_in_order_from_other_processes() -> None:
    assert list(worker_processes.map_in_processes(str, range(50), 3)) == [str(n) for n in range(50)]
    pids = set(worker_processes.map_in_processes(own_pid, range(20), 2))
    assert os.getpid() not in pids and len(pids) <= 2


def own_pid(_: int) -> int:
    return os.getpid()


def test_few_items_and_those_of_one_core_are_done_here() -> None:
    here = {os.getpid()}
    assert set(worker_processes.map_in_processes(own_pid, range(2), 2, min_parallel=3)) == here
    assert set(worker_processes.map_in_processes(own_pid, range(9), 1, min_parallel=3)) == here
    away = list(worker_processes.map_in_processes(own_pid, range(3), 2, min_parallel=3))
    assert len(away) == 3 and not here & set(away)
    assert list(worker_processes.map_in_processes(str, iter(range(9)), 2, min_parallel=3)) == [
        str(n) for n in range(9)
    ]
    assert list(worker_processes.map_in_processes(str, (), 2, min_parallel=3)) == []


def test_who_stops_early_leaves_no_process() -> None:
    pids = worker_processes.map_in_processes(own_pid, range(1000), 2)
    first = next(pids)
    pids.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def own_group(_: int) -> int:
    return os.getpgrp()


def test_ctrl_c_reaches_the_one_who_started_it_alone() -> None:
    assert os.getpgrp() not in set(worker_processes.map_in_processes(own_group, range(4), 2))


def test_processors_are_counted_on_systems_that_tell_less(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity")
    assert available_cores() == os.cpu_count()


def refuse(n: int) -> int:
    if n == 3:
        raise UsageError("three is too many")
    return n


def test_what_the_work_raises_is_raised() -> None:
    found = worker_processes.map_in_processes(refuse, range(9), 2)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(UsageError, match="three is too many"):
        next(found)


def die(n: int) -> int:
    os._exit(7)


def killed(n: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return n


def faulty(n: int) -> int:
    known: dict[str, int] = {}
    return known["no such key"] if n == 2 else n


def test_a_process_that_dies_is_reported_and_lack_of_memory_is_blamed_for_kills_alone() -> None:
    with pytest.raises(DataError, match="exited with code 7") as found:
        list(worker_processes.map_in_processes(die, range(3), 2))
    assert "memory" not in str(found.value)
    with pytest.raises(DataError, match="worked on 0 was ended by SIGKILL; was memory short"):
        list(worker_processes.map_in_processes(killed, range(3), 1))


def test_a_fault_of_the_work_is_raised_with_its_item(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="work on 2 failed: KeyError: 'no such key'") as found:
        list(worker_processes.map_in_processes(faulty, range(3), 1))
    assert "memory" not in str(found.value)
    assert "in faulty" in capfd.readouterr().err


def test_what_lies_in_the_current_folder_is_not_run(tmp_path: Path) -> None:
    """The library imports modules of these names before it can be told where to look."""
    (tmp_path / "here").mkdir()
    for name in ("tempfile", "struct", "socket", "toolmark"):
        (tmp_path / "here" / f"{name}.py").write_text("open('ran', 'w')\nraise SystemExit(3)\n")
    script = tmp_path / "mine.py"
    script.write_text(
        "from toolmark.core import worker_processes\n"
        "print(list(worker_processes.map_in_processes(abs, [-1, -2], 2)))\n"
    )
    made = subprocess.run([sys.executable, script], cwd=tmp_path / "here", capture_output=True,
                          text=True, timeout=100)  # fmt: skip
    assert made.stdout == "[1, 2]\n", made.stderr
    assert not (tmp_path / "here/ran").exists()


@pytest.mark.speech
@pytest.mark.skipif(not shutil.which("flite"), reason="speech needs flite")
def test_a_script_without_a_guard_makes_its_tasks_once(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(textwrap.dedent("""\
        import toolmark as tm
        print("started", flush=True)
        suite = tm.load("mfcl-transcripts", category="simple_python", items=4, conditions="clean",
                        engines="flite", recognisers="simulated:a", seed=3)
        run = tm.run(suite, "control/oracle", log_dir="runs")
        print(run.summary()["n_run"], "of 4")
        """))  # fmt: skip
    made = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True,
                          text=True, timeout=280)  # fmt: skip
    assert made.stdout.split("\n")[:2] == ["started", "4 of 4"], made.stderr
    assert "Traceback" not in made.stderr

"""Whenever a run in batches is killed, nothing is submitted twice, and the scores are the same."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.models.test_batches import answer_body
from tests.runs.batched_rows import N_ROWS, ROWS, facts, write_rows
from tests.runs.interrupted_runs import Zygote
from tests.runs.killed_process import Sitting
from tests.servers import fake
from tests.servers.batch_server import KEY, BatchServer

from toolmark.runs.batches import batch_records
from toolmark.runs.run_store import Run

pytestmark = pytest.mark.servers
N_REFUSED = 2  # of the rows: one is wrong, one is too long


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOOLMARK_API_KEY", KEY)
        found = Zygote("tests.runs.killed_batches")
    yield found
    found.close()


class KilledRun:
    """A run of the rows in a folder of its own, and the server that it asks."""

    def __init__(self, zygote: Zygote, folder: Path, wire: str) -> None:
        self.zygote, self.folder, self.wire = zygote, folder, wire
        self.server = BatchServer(answer_body, n_looks=2)
        folder.mkdir()
        write_rows(folder)

    def kill_at_submission(self, request: str) -> None:
        """Kill the program when it submits a batch: the batch is there, and its id is not."""
        path = "messages/batches" if self.wire == "anthropic" else "batches"
        if request == f"POST /v1/{path}":
            self.server.on_request = lambda request: None
            os.kill(self.zygote.pid, signal.SIGKILL)

    def play(self, url: str, wait_s: float | None = None, by: int = 0, at: int = 0) -> int:
        """Give the command once; it is killed after some time, or at an instant."""
        words = ["run", ROWS, "-m", f"{url}#m", "--batch", "--wire", self.wire]
        words += ["--max-retries", "1"]
        log = str(self.folder / "log")
        sitting = Sitting(
            words=words, folder=str(self.folder), log=log, missing=N_ROWS, at=at,
            signal=by if at else 0,
        )  # fmt: skip
        return self.zygote.play(sitting, wait_s=wait_s, by=by)

    @property
    def run(self) -> Run:
        """The one run."""
        (found,) = (self.folder / "runs").glob("rows-*/run.json")
        return Run(found.parent)

    def check(self, whole: tuple[object, object, object]) -> None:
        """Compare a run that ended with one that was not killed."""
        log = (self.folder / "log").read_text()
        assert facts(self.run) == whole, log
        paid = self.server.paid()
        assert len(paid) == N_ROWS - N_REFUSED and set(paid.values()) == {1}, log
        answered = Counter(each for each in self.server.submitted() if each in paid)
        assert set(answered.values()) == {1}, log
        assert not self.server.faults and "Traceback" not in log, log
        assert KEY not in (self.run.path / batch_records.BATCHES_FILE).read_text()


def kill_often(zygote: Zygote, home: Path, wire: str, n_kills: int, seed: str) -> Counter[str]:
    """Kill runs until so many kills took effect; return in which states the ledger was then."""
    rng, states = random.Random(seed), Counter[str]()
    whole = KilledRun(zygote, home / "whole", wire)
    with fake.in_thread(whole.server) as served:
        assert whole.play(served.url) == 3
    expected = facts(whole.run)
    n_runs = n_done = 0
    while n_done < n_kills:
        killed = KilledRun(zygote, home / f"run-{n_runs}", wire)
        n_runs += 1
        with fake.in_thread(killed.server) as served:
            for _ in range(4):
                by = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
                if rng.random() < 0.2:
                    killed.server.on_request = killed.kill_at_submission
                    status = killed.play(served.url)
                elif rng.random() < 0.6:
                    status = killed.play(served.url, by=by, at=rng.randint(8, 70))
                else:
                    status = killed.play(served.url, wait_s=rng.uniform(0.1, 0.9), by=by)
                if status in (0, 3):
                    break
                n_done += 1
                folders = list((killed.folder / "runs").glob("rows-*/run.json"))
                found = batch_records.list_run_batches(folders[0].parent) if folders else []
                states[found[-1].state if found else "not begun"] += 1
            killed.server.on_request = lambda request: None
            assert killed.play(served.url) in (0, 3)
            killed.check(expected)
    return states


@pytest.mark.slow
def test_a_killed_run_goes_on_with_its_batch(zygote: Zygote, tmp_path: Path) -> None:
    assert kill_often(zygote, tmp_path, "chat", 3, "few").total() >= 3


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_sixty_kills_for_each_wire(wire: str, zygote: Zygote, tmp_path: Path) -> None:
    states = kill_often(zygote, tmp_path, wire, 60, wire)
    print(f"\n{wire}: {dict(states)}")
    assert {"not begun", "prepared", "submitted", "ended"} <= states.keys()

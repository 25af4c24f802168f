"""What the tests of killed and broken runs share: suites, a server that counts, sittings."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from tests.environments.mcp.mcp_episodes import fault
from tests.runs.killed_process import Sitting
from tests.servers import fake

from toolmark.runs.floors.floor_records import FLOORS_FILE
from toolmark.runs.run_lifecycle import read_heartbeat
from toolmark.runs.run_store import Run

ROOT = Path(__file__).parents[2]
CONNECTIONS = 4
N_TASKS = 12
SUITES = ("plain", "servers", "chain")
# an interrupt that falls into a finalizer is swallowed and told by Python itself
_IN_A_FINALIZER = re.compile(
    r"Exception ignored in: .*\n(?:(?!\w).*\n|Traceback .*\n)*KeyboardInterrupt"
)


@dataclass
class Counting:
    """An endpoint that calls the first tool once, then says what came back."""

    url: str = ""
    first: Counter[str] = field(default_factory=Counter)  # first requests, by the task's text


def _reply(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the task's text where this is its first request, and the reply."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        text = last["content"]
        return "", fake.says(text if isinstance(text, str) else json.dumps(text))
    said = last["content"]
    said = said if isinstance(said, str) else "".join(part["text"] for part in said)
    tool = body["tools"][0]["function"]["name"]
    number = int("".join(filter(str.isdigit, said.partition("+")[0])))
    given = {"of": [number, 1]} if tool == "add" else {"text": str(number)}
    return said, fake.calls((tool, json.dumps(given)))


@contextmanager
def counting(wait_s: float = 0.005) -> Iterator[Counting]:
    """Serve such an endpoint in a thread."""
    found = Counting()

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        said, reply = _reply(asked.json)
        if said:
            found.first[said] += 1
        await asyncio.sleep(wait_s)
        writer.write(fake.raw(200, json.dumps(reply).encode()))
        await writer.drain()

    with fake.in_thread(behave) as server:
        found.url = server.url
        yield found


def words(suite: str, folder: Path, url: str) -> list[str]:
    """Return the command that runs a suite of N_TASKS, and write what it reads."""
    asked = ["-m", f"{url}#m", "--max-connections", str(CONNECTIONS), "--max-retries", "0"]
    if suite == "plain":
        return ["run", "tests.runs.mini:load", "-T", f"n={N_TASKS}", *asked]
    if suite == "chain":
        return ["run", "tests.runs.mini:load", "-T", f"n={N_TASKS - 2}", "-T", "chain=yes", *asked]
    call = {"name": "slow/echo", "arguments": {}}
    tasks = [
        {"id": f"000{i:02}000", "question": f"Say {i} +", "steps": [{"step": 1, "calls": [call]}]}
        for i in range(N_TASKS)
    ]
    (folder / "truths.json").write_text(json.dumps(tasks))
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"slow": fault()}}))
    parameters = ["truths=truths.json", "servers=mcp.json", "similarity=exact", "agent=loop"]
    return ["run", "m3", *(word for parameter in parameters for word in ("-T", parameter)), *asked]


class Zygote:
    """The process whose children play the sittings."""

    def __init__(self, module: str = "tests.runs.killed_process") -> None:
        paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        self.pid = 0  # of the child that plays
        environment = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            env={**environment, "PYTHONPATH": paths}, cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def play(self, sitting: Sitting, *, wait_s: float | None = None, by: int = 0) -> int:
        """Play a sitting; send it the signal `by` after a while. Return how it ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(sitting) + b"\n")
        self._process.stdin.flush()
        pid = self.pid = self._reported("pid")
        if wait_s is not None:
            time.sleep(wait_s)
            os.kill(pid, by)  # it is not reaped yet, so the number is its own
        self._reported("status")
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return self._reported("status")

    def _reported(self, name: str) -> int:
        assert self._process.stdout is not None
        return int(json.loads(self._process.stdout.readline())[name])

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def the_run(folder: Path) -> Path | None:
    """Return the one run below a folder, if it has begun. Two would be one asked again."""
    found = [path for path in (folder / "runs").glob("*") if (path / "run.json").exists()]
    assert len(found) <= 1, found
    return found[0] if found else None


def stored(folder: Path) -> set[str]:
    """Return the ids of the episodes that are complete on the disk."""
    path = the_run(folder)
    return {task for task, _ in Run(path).completed_episodes()} if path else set()


def texts(folder: Path) -> dict[str, str]:
    """Return what each task of the run says, by id."""
    path = the_run(folder)
    assert path is not None
    return {task.id: task.turns[0].messages[-1].text for task in Run(path).tasks()}


def facts(folder: Path) -> tuple[list[str], list[str], Any]:
    """Return episodes, scores and summary of the run, without times and places."""
    path = the_run(folder)
    assert path is not None
    run = Run(path)
    summary = dict(run.summary())
    # what attempts took that were broken off is told too: an uninterrupted run has none
    summary["spent"] = {k: summary["spent"][k] for k in ("n_episodes", "tokens")}
    del summary["run_dir"]
    for names in ("models", "fingerprints", "upstreams"):  # where they began and ended is chance
        summary.get("replies", {}).pop(names, None)
    played, scored = (
        sorted(json.dumps(_timeless(msgspec.to_builtins(each))) for each in records)
        for records in (run.trajectories(), run.scores())
    )
    return played, scored, _timeless(summary)


def _timeless(value: Any) -> Any:
    """Return JSON without what says how long something took."""
    if isinstance(value, dict):
        return {k: _timeless(each) for k, each in value.items() if not k.endswith("_s")}
    return [_timeless(each) for each in value] if isinstance(value, list | tuple) else value


@dataclass
class Tally:
    """What a series of sittings came to."""

    n_signals: int = 0
    n_after: int = 0  # of them after the last answer was stored
    n_sequences: int = 0
    n_asked: int = 0
    n_again: int = 0  # requests that were repeated
    most_again: int = 0  # by one sitting
    by_signal: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)  # in which the signals fell


class Series:
    """Runs of one suite that are hurt until they are whole, and compared with one that was not."""

    def __init__(self, suite: str, home: Path, zygote: Zygote, server: Counting) -> None:
        self.suite, self.home, self.zygote, self.server = suite, home, zygote, server
        self.tally = Tally()
        whole = self._folder("whole")
        assert self._seat(whole, signal=0) == 0, self._log(whole)
        self.whole = facts(whole)

    def _folder(self, name: str) -> Path:
        folder = self.home / name
        folder.mkdir()
        self.words = words(self.suite, folder, self.server.url)
        return folder

    def _log(self, folder: Path) -> str:
        return (folder / "log").read_text()

    def _seat(self, folder: Path, *, wait_s: float | None = None, by: int = 0, **hurt: Any) -> int:
        sitting = Sitting(words=self.words, folder=str(folder), log=str(folder / "log"), **hurt)
        return self.zygote.play(sitting, wait_s=wait_s, by=by)

    def seat(self, folder: Path, **hurt: Any) -> int:
        """Play a sitting, and check the law: what is stored is not asked again.

        What a sitting asked and did not store was in flight when it ended.
        """
        before, asked = stored(folder), self.server.first.copy()
        status = self._seat(folder, missing=N_TASKS - len(before), **hurt)
        if the_run(folder) is None:
            assert self.server.first == asked
            return status
        said, after = texts(folder), stored(folder)
        again = {id for id in before if self.server.first[said[id]] > asked[said[id]]}
        assert not again, f"{again} were stored, and asked again\n{self._log(folder)}"
        assert before <= after, self._log(folder)
        n_asked = (self.server.first - asked).total()
        n_lost = n_asked - len(after - before)
        assert n_lost <= CONNECTIONS, self._log(folder)
        self.tally.n_asked += n_asked
        self.tally.n_again += n_lost
        self.tally.most_again = max(self.tally.most_again, n_lost)
        assert "Traceback" not in _IN_A_FINALIZER.sub("", self._log(folder)), self._log(folder)
        return status

    def is_whole(self, folder: Path) -> bool:
        """Tell whether nothing is left to do."""
        path = the_run(folder)
        return path is not None and Run(path).is_finished and len(stored(folder)) == N_TASKS

    def check(self, folder: Path) -> None:
        """Compare a run that is whole with the one that was not interrupted.

        An interrupt while floors are played gives them up; the command that is then named plays
        them.
        """
        path = the_run(folder)
        assert path is not None
        if not (path / FLOORS_FILE).exists():
            assert "floors were not played; next: toolmark score" in self._log(folder)
            self.words = ["score", str(path), "--floors", "auto"]
            assert self._seat(folder) == 0, self._log(folder)
        assert facts(folder) == self.whole, self._log(folder)
        assert read_heartbeat(path).state == "finished"
        drafts = [draft.name for draft in path.glob(".*")]
        assert not drafts, drafts

    def signals(self, n: int, n_after: int, rng: random.Random) -> Tally:
        """Send n signals at random instants, n_after of them after the last answer."""
        tally = self.tally
        while tally.n_signals < n or tally.n_after < n_after:
            folder = self._folder(f"run-{tally.n_sequences}")
            tally.n_sequences += 1
            while not self.is_whole(folder):
                after = tally.n_after < n_after and rng.random() < 0.6
                if tally.n_signals >= n and not after:
                    assert self.seat(folder) in (0, 1), self._log(folder)
                    continue
                self._signal(folder, rng, after=after)
            self.check(folder)
        return tally

    def _signal(self, folder: Path, rng: random.Random, *, after: bool) -> None:
        sent = rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        hurt: dict[str, Any]
        if after:
            hurt = {"signal": sent, "at": rng.randint(1, 30), "after": True}
        elif rng.random() < 0.5:
            hurt = {"signal": sent, "at": rng.randint(1, 120)}
        else:
            hurt = {"wait_s": rng.uniform(0.0, 0.6), "by": sent}
        status = self.seat(folder, **hurt)
        if status in (0, 1):  # it was done before that instant
            return
        assert status in (-sent, 130), f"{status}: {self._log(folder)}"
        tally = self.tally
        tally.n_signals += 1
        tally.by_signal[sent.name] += 1
        tally.n_after += len(stored(folder)) == N_TASKS
        path = the_run(folder)
        tally.states[read_heartbeat(path).state if path else "not begun"] += 1

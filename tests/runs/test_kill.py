"""SIGKILL at any moment loses at most the episodes in flight."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
from tests.runs import mini

import toolmark as tm
from toolmark.runs.store import Run

KILLS = 50
N, REPEATS = 600, 2
CHILD = f"""
import sys
from tests.runs import mini
import toolmark as tm, toolmark.api
print("ready", flush=True)
tm.run(mini.load(n={N}), mini.Adder(wait_s=0.02), log_dir=sys.argv[1], repeats={REPEATS},
       max_connections=8)
"""


def _start(folder: Path) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def _lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*/trajectories.jsonl"))


def _facts(found: Run) -> list[bytes]:
    return sorted(msgspec.json.encode(t) for t in found.trajectories())


def test_fifty_kills_then_every_episode_exactly_once(tmp_path: Path) -> None:
    rng = random.Random(1)
    kills = 0
    grown: list[int] = []
    for _ in range(KILLS):
        with _start(tmp_path) as child:
            time.sleep(rng.uniform(0.0, 0.12))
            if child.poll() is None:
                child.send_signal(signal.SIGKILL)
                kills += 1
            child.wait()
        grown.append(_lines(tmp_path))
    with _start(tmp_path) as child:
        assert child.wait() == 0
    runs = [path for path in tmp_path.iterdir() if (path / "run.json").exists()]
    assert len(runs) == 1
    found = Run(runs[0])
    whole = tm.run(mini.load(n=N), mini.Adder(), log_dir=tmp_path / "whole", repeats=REPEATS)
    assert kills == KILLS
    assert len(set(grown)) > KILLS / 2  # the kills fell within the work, not before it
    assert _facts(found) == _facts(whole)
    assert found.summary()["score"] == whole.summary()["score"]
    print(f"\n{kills} kills; {len(_facts(found))} episodes, each once")

"""Multi-turn checks per second: toolmark against the official checker, on the same episodes.

    python benchmarks/multi_turn.py [--rounds 5]

The official code runs in a process of its own, with the process made as good as new between
entries (outside the clock). A toolmark check takes the episode as it is stored and gives the
verdicts of both readings; nothing is kept between checks but the parsed truth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolmark.suites.bfcl import data, multi_turn, turns
from toolmark.types import Task, Trajectory

OFFICIAL = Path(__file__).parents[1] / "tests/parity/official_turns.py"
BAR = 5.0


def main() -> None:
    """Measure right answers, category by category, and print checks per second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="the best of this many counts")
    rounds = parser.parse_args().rounds
    print(f"{'category':26}{'n':>5}{'official/s':>12}{'toolmark/s':>12}{'ratio':>8}")
    ratios = []
    for category in multi_turn.CATEGORIES:
        tasks = list(multi_turn.read(data.fetch(), [category])[0])
        theirs, ours = official(tasks, rounds), mine(tasks, rounds)
        n = len(tasks)
        ratios.append(theirs / ours)
        print(f"{category:26}{n:5}{n / theirs:12.0f}{n / ours:12.0f}{ratios[-1]:8.1f}")
    print(f"multi-turn check: at least {min(ratios):.1f} times the official speed; bar {BAR:g}")
    sys.exit(0 if min(ratios) >= BAR else 1)


def mine(tasks: Sequence[Task], rounds: int) -> float:
    """Return the best time in seconds to check the truths, played as structured calls."""
    played: list[tuple[Task, Trajectory]] = [
        (task, multi_turn.trajectory(task, multi_turn.right(task))) for task in tasks
    ]
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for task, trajectory in played:
            turns.score(task, trajectory)
        best = min(best, time.perf_counter() - start)
    return best


def official(tasks: Sequence[Task], rounds: int) -> float:
    """Return the official checker's best time in seconds, the calls already decoded."""
    decoded = [
        [task.category, row, [[turn] if turn else [] for turn in task.reference["truth"]]]
        for row, task in enumerate(tasks)
    ]
    jobs: list[Any] = [["time", decoded, rounds]]
    done = subprocess.run(
        [sys.executable, str(OFFICIAL), str(data.fetch())],
        input=json.dumps(jobs), capture_output=True, text=True, check=True,
    )  # fmt: skip
    [seconds] = json.loads(done.stdout)
    return float(seconds)


if __name__ == "__main__":
    main()

"""Multi-turn checks per second: toolmark against the official evaluator, on the same episodes.

    python benchmarks/multi_turn.py [--rounds 5]

Both take an episode of structured calls as it is stored and give its verdict; the clock counts
processor time. The official code runs in a process of its own, made as good as new between entries
(outside the clock). toolmark gives the verdicts of both readings; between checks it keeps what the
truth comes to, so the first round (shown apart) is slower.
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

from toolmark.core.records import Task, Trajectory
from toolmark.official_bfcl import multi_turn_scoring, multi_turn_tasks, official_data

OFFICIAL = Path(__file__).parents[1] / "tests/parity/official_turns.py"
BAR = 5.0

Played = Sequence[tuple[Task, Trajectory]]


def main() -> None:
    """Measure right answers, category by category, and print checks per second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="the best of this many counts")
    rounds = parser.parse_args().rounds
    print(f"{'category':26}{'n':>5}{'official/s':>12}{'first/s':>10}{'toolmark/s':>12}{'ratio':>8}")
    ratios = []
    for category in multi_turn_tasks.CATEGORIES:
        tasks = list(multi_turn_tasks.read_tasks(official_data.fetch_wheel(), [category])[0])
        played = [
            (task, multi_turn_tasks.make_trajectory(task, multi_turn_tasks.expected_calls(task)))
            for task in tasks
        ]
        first, n = mine(played, 1), len(tasks)
        theirs, ours = official(played, rounds), mine(played, rounds)
        ratios.append(theirs / ours)
        speeds = f"{n / theirs:12.0f}{n / first:10.0f}{n / ours:12.0f}{ratios[-1]:8.1f}"
        print(f"{category:26}{n:5}{speeds}")
    print(f"multi-turn check: at least {min(ratios):.1f} times the official speed; bar {BAR:g}")
    sys.exit(0 if min(ratios) >= BAR else 1)


def mine(played: Played, rounds: int) -> float:
    """Return the least processor time in seconds to check all episodes."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for task, trajectory in played:
            multi_turn_scoring.score_episode(task, trajectory)
        best = min(best, time.process_time() - start)
    return best


def official(played: Played, rounds: int) -> float:
    """Return the official evaluator's least processor time in seconds for the same episodes."""
    entries = [
        [task.category, row, stored(task, trajectory)]
        for row, (task, trajectory) in enumerate(played)
    ]
    done = subprocess.run(
        [sys.executable, str(OFFICIAL), str(official_data.fetch_wheel())],
        input=json.dumps([["time", entries, rounds]]),
        capture_output=True,
        text=True,
        check=True,
    )
    [seconds] = json.loads(done.stdout)
    return float(seconds)


def stored(task: Task, trajectory: Trajectory) -> list[Any]:
    """Return the episode as an official result file holds it."""
    result: list[list[Any]] = [[] for _ in task.turns]
    for step in trajectory.steps:
        calls = [{call.name: call.arguments} for call in step.reply.calls]
        result[step.turn].append(calls or step.reply.text)
    return result


if __name__ == "__main__":
    main()

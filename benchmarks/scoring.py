"""AST checks per second: toolmark against the official checker, on the same outputs, in one run.

    python benchmarks/scoring.py [--rounds 10]

The official code runs in a process of its own. A check takes the calls as read and gives verdict
and error type; nothing is kept between checks. Time is the process's own, so that a busy machine
counts less.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import toolmark as tm
from toolmark.official_bfcl import bfcl_controls, fair_rule, official_data, tool_schemas
from toolmark.scoring import call_matching
from toolmark.scoring.value_conversion import PYTHON_CONVERTER

OFFICIAL = Path(__file__).parents[1] / "tests/parity/official.py"
FAULTS = ("", "wrong_value", "wrong_type", "missing_argument", "unknown_tool")
BAR = 5.0
SITTINGS = 6


def main() -> None:
    """Measure right answers, then answers with one fault, and print checks per second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="the best of six times this many")
    rounds = parser.parse_args().rounds
    print(f"{'answers':24}{'n':>7}{'official/s':>12}{'toolmark/s':>12}{'ratio':>8}")
    ratio = 0.0
    for fault in FAULTS:
        outputs = answers(fault)
        times = measured(outputs, rounds)
        found = show(fault or "right, all", len(outputs), [*times.values()])
        if not fault:
            ratio = found
            for category, pair in times.items():
                n = sum(output[0] == category for output in outputs)
                show(f"  {category}", n, [pair])
    print(f"single AST check: {ratio:.1f} times the official speed; the bar is {BAR:g}")
    sys.exit(0 if ratio >= BAR else 1)


def show(name: str, n: int, times: list[tuple[float, float]]) -> float:
    """Print a row and return the ratio of the times, summed."""
    ours, theirs = (sum(column) for column in zip(*times, strict=True))
    print(f"{name:24}{n:7}{n / theirs:12.0f}{n / ours:12.0f}{theirs / ours:8.1f}")
    return float(theirs / ours)


def measured(outputs: list[Any], rounds: int) -> dict[str, tuple[float, float]]:
    """Return the best times in seconds of both sides, by category.

    The sides take turns, so that a busy moment of the machine does not fall on one alone.
    """
    parts: dict[str, list[Any]] = {}
    for output in outputs:
        parts.setdefault(output[0], []).append(output)
    ours = dict.fromkeys(parts, float("inf"))
    theirs = dict.fromkeys(parts, float("inf"))
    for _ in range(SITTINGS):
        for (category, part), best in zip(parts.items(), official(parts, rounds), strict=True):
            theirs[category] = min(theirs[category], best)
            ours[category] = min(ours[category], mine(part, rounds))
    return {category: (ours[category], theirs[category]) for category in parts}


def answers(fault: str) -> list[tuple[Any, int, list[Any], list[Any], list[Any]]]:
    """Return (category, row, docs, truth, calls) for every entry with a truth, in all languages."""
    rows: Counter[str] = Counter()
    made = []
    for task in tm.load("bfcl", category=("single_turn",)):
        row = rows[task.category]
        rows[task.category] += 1
        if task.data is None:
            continue
        calls = bfcl_controls.expected_calls(task)
        broken = bfcl_controls.FAULT_MAKERS[fault](task, calls) if fault else None
        if broken is not None:
            calls = [(call.name, json.loads(call.arguments)) for call in broken]
        made.append(
            (task.category, row, tool_schemas.published_docs(task), task.data["truth"], calls)
        )
    return made


def mine(outputs: list[Any], rounds: int) -> float:
    """Return the best time in seconds to check all outputs."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for category, _, docs, truth, calls in outputs:
            call_matching.check_calls(
                docs,
                calls,
                truth,
                category,
                converter=fair_rule.VALUE_KINDS.get(category, PYTHON_CONVERTER),
            )
        best = min(best, time.process_time() - start)
    return best


def official(parts: dict[str, list[Any]], rounds: int) -> list[float]:
    """Return the official checker's best time in seconds for each category's outputs."""
    jobs = [("time", [_sent(*output) for output in part], rounds) for part in parts.values()]
    done = subprocess.run(
        [sys.executable, str(OFFICIAL), str(official_data.fetch_wheel())],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(best) for best in json.loads(done.stdout)]


def _sent(category: str, row: int, docs: Any, truth: Any, calls: Any) -> tuple[str, int, str]:
    return category, row, repr([{name: given} for name, given in calls])


if __name__ == "__main__":
    main()

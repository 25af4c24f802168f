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

from toolmark.score import match
from toolmark.score.kinds import PYTHON
from toolmark.suites.bfcl import data, fair, instruments, schema, suite

OFFICIAL = Path(__file__).parents[1] / "tests/parity/official.py"
FAULTS = ("", "wrong_value", "wrong_type", "missing_argument", "unknown_tool")
LANGUAGES = {
    "Python": tuple(name for name in data.CATEGORIES if name not in data.FOREIGN),
    "Java": ("simple_java",),
    "JavaScript": ("simple_javascript",),
}
BAR = 5.0
SITTINGS = 6


def main() -> None:
    """Measure right answers, then answers with one fault, and print checks per second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="the best of six times this many")
    rounds = parser.parse_args().rounds
    print(f"{'answers':20}{'n':>7}{'official/s':>12}{'toolmark/s':>12}{'ratio':>8}")
    right = answers("")
    sets = {fault or "right, all": answers(fault) if fault else right for fault in FAULTS}
    for language, categories in LANGUAGES.items():
        sets[f"right, {language}"] = [each for each in right if each[0] in categories]
    ratios = []
    for name, outputs in sets.items():
        # turn about, so that a busy moment of the machine does not fall on one side alone
        sittings = [(mine(outputs, rounds), official(outputs, rounds)) for _ in range(SITTINGS)]
        ours, theirs = (min(times) for times in zip(*sittings, strict=True))
        n = len(outputs)
        ratios.append(theirs / ours)
        print(f"{name:20}{n:7}{n / theirs:12.0f}{n / ours:12.0f}{theirs / ours:8.1f}")
    print(f"single AST check: {ratios[0]:.1f} times the official speed; the bar is {BAR:g}")
    sys.exit(0 if ratios[0] >= BAR else 1)


def answers(fault: str) -> list[tuple[Any, int, list[Any], list[Any], list[Any]]]:
    """Return (category, row, docs, truth, calls) for every entry with a truth, in all languages."""
    rows: Counter[str] = Counter()
    made = []
    for task in suite.load():
        row = rows[task.category]
        rows[task.category] += 1
        if task.reference is None:
            continue
        calls = instruments.right(task)
        broken = instruments.FAULTS[fault](task, calls) if fault else None
        if broken is not None:
            calls = [(call.name, json.loads(call.arguments)) for call in broken]
        made.append((task.category, row, schema.docs(task), task.reference["truth"], calls))
    return made


def mine(outputs: list[Any], rounds: int) -> float:
    """Return the best time in seconds to check all outputs."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for category, _, docs, truth, calls in outputs:
            match.check(docs, calls, truth, category, kinds=fair.KINDS.get(category, PYTHON))
        best = min(best, time.process_time() - start)
    return best


def official(outputs: list[Any], rounds: int) -> float:
    """Return the official checker's best time in seconds for the same outputs."""
    sent = [
        (category, row, repr([{name: given} for name, given in calls]))
        for category, row, _, _, calls in outputs
    ]
    done = subprocess.run(
        [sys.executable, str(OFFICIAL), str(data.fetch())],
        input=json.dumps([("time", sent, rounds)]),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout)[0])


if __name__ == "__main__":
    main()

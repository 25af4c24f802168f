"""A whole leaderboard entry re-scored: toolmark against the official evaluator, on one core.

    python benchmarks/rescore.py [--bare] [--sittings 3] [--command VENV/bin/bfcl]

The results are synthetic and complete: every scored category and the 5,200 format items, of a
model that writes text, four in ten of them wrong in some way. Conversations carry the logs that
`bfcl generate` writes beside them, with the initial state after each turn; `--bare` leaves the logs
out. Each side is a fresh process on the same core, turn about. `import` reads official files, makes
a run folder and scores it; `score` scores the stored run anew. By default the official code
runs from its wheel, without what its 144 packages take to import and without file locks;
`--command` runs the installed `bfcl evaluate` as its users do (`pip install bfcl-eval soundfile` in
an environment of its own). Both sides' scores must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.parity import synthetic

from toolmark.core.records import Task
from toolmark.official_bfcl import official_data
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite
from toolmark.studio.bfcl_interchange import result_files
from toolmark.suites import suite_registry

MODEL = "gpt-4.1-2025-04-14"
BAR = 10.0
OFFICIAL = Path(__file__).parents[1] / "tests/parity/official_scores.py"
IMPORT = """
import sys
from pathlib import Path
from toolmark.cli import bfcl_import_export
from toolmark.studio.bfcl_interchange import result_files
found = result_files.find_models(Path(sys.argv[1]))[0]
bfcl_import_export.create_scored_run(found, Path(sys.argv[2]), lenient=False)
"""
SCORE = """
import sys
from toolmark import api
api.rescore(sys.argv[1])
"""


def main() -> None:
    """Measure both sides and print seconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bare", action="store_true", help="results without logs")
    parser.add_argument("--sittings", type=int, default=3, help="the best of this many")
    parser.add_argument("--command", help="the installed bfcl command, run instead of the wheel")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        suite = suite_registry.load_suite("bfcl", category=result_files.result_categories())
        synthetic.write(root, MODEL, rows(suite, bare=asked.bare))
        size = sum(path.stat().st_size for path in root.rglob("*.json"))
        print(f"{len(suite):,} rows, {size / 2**20:.1f} MB of official result files")
        best = measure(root, asked.sittings, asked.command)
        agree(root)
    theirs = best["official evaluate"]
    for what, seconds in best.items():
        print(f"{what:20}{seconds:8.2f} s{theirs / seconds:8.1f} times the official speed")
    print(f"the bar is {BAR:g}")
    sys.exit(0 if theirs / best["toolmark score"] >= BAR else 1)


def rows(suite: Suite, *, bare: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the result rows, with logs unless `bare`."""
    for task, (category, row) in zip(suite, synthetic.rows(suite, "prompt", suite), strict=True):
        if not bare and isinstance(row["result"], list):
            row["inference_log"] = log(suite, task, row["result"])
        yield category, row


def log(suite: Suite, task: Task, result: list[list[str]]) -> list[Any]:
    """Return the log of a conversation as the official harness writes it by default."""
    data = task.data or {}
    state = [
        {"role": "state_info", "class_name": name, "content": content}
        for name, content in data.get("config", {}).items()
    ]
    reported: list[Any] = [state] if state else []
    for turn, steps in zip(task.turns, result, strict=False):
        said = turn.messages
        if turn is task.turns[0]:
            said, _ = suite.tool_formats["prompt"].render_opening(said, task.tools)
        asked = [{"role": message.role, "content": message.text} for message in said]
        entry: dict[str, Any] = {"begin_of_turn_query": asked}
        for number, text in enumerate(steps):
            entry[f"step_{number}"] = [
                {"role": "assistant", "content": text},
                {"role": "handler_log", "content": "Successfully decoded model response.",
                 "model_response_decoded": [text]},
                {"role": "tool", "content": json.dumps({"result": "done"})},
            ]  # fmt: skip
        reported += [entry, *([state] if state else [])]
    return reported


def measure(root: Path, sittings: int, command: str | None) -> dict[str, float]:
    """Return the best seconds of each side."""
    fields = {
        MODEL: {
            "display_name": MODEL, "url": "", "org": "", "license": "", "input_price": 1,
            "output_price": 1, "is_fc_model": False, "underscore_to_dot": False,
        }
    }  # fmt: skip
    best: dict[str, float] = {}
    for _ in range(sittings):
        shutil.rmtree(root / "runs", ignore_errors=True)
        shutil.rmtree(root / "score", ignore_errors=True)
        official = [
            sys.executable,
            str(OFFICIAL),
            str(official_data.fetch_wheel()),
            str(root),
            json.dumps(fields),
        ]
        official = [command, "evaluate", "--model", MODEL] if command else [*official, "whole"]
        own = [sys.executable, "-c"]
        times = {
            "official evaluate": timed(official, root),
            "toolmark import": timed([*own, IMPORT, str(root / "result"), str(root / "runs")]),
        }
        (run,) = (root / "runs").glob("*/")
        times["toolmark score"] = timed([*own, SCORE, str(run)])
        best = {what: min(seconds, best.get(what, seconds)) for what, seconds in times.items()}
    return best


def timed(words: list[str], root: Path | None = None) -> float:
    """Return the seconds that a fresh process takes, on one core."""
    core = {min(os.sched_getaffinity(0))}
    start = time.perf_counter()
    done = subprocess.run(
        words,
        env=os.environ | ({"BFCL_PROJECT_ROOT": str(root), "OPENAI_API_KEY": "-"} if root else {}),
        preexec_fn=lambda: os.sched_setaffinity(0, core),
        capture_output=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(done.stderr.decode()[-2000:])
    return seconds


def agree(root: Path) -> None:
    """Stop if the two sides' scores differ in any category."""
    (path,) = (root / "runs").glob("*/")
    parts = Run(path).summary()["parts"]
    for file in sorted((root / "score").rglob("*_score.json")):
        category = file.name.removeprefix("BFCL_v4_").removesuffix("_score.json")
        with file.open() as lines:
            head = json.loads(lines.readline())
        if parts[category]["value"] != head["accuracy"]:
            sys.exit(f"{category}: {parts[category]['value']}, officially {head['accuracy']}")


if __name__ == "__main__":
    main()

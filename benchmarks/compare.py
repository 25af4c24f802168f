"""Whether stored runs are read in linear time: compare, score, report, show, columns, summary.

    python benchmarks/compare.py [--sizes 12500,25000,50000,100000] [--only compare,show]

Two made runs of each size lie on the disk: items in eight categories, an axis of four levels, one
of a level for every 50 items, one of groups of five; one episode in fifty was not run. Groups are
compared by the t-test over clusters, in `compare, repeats` with half of the items and two repeats.
Every step is timed once per size, in one process, by the processor's clock.
What is linear takes about twice as long for twice the items. The bar is on the whole ratio, from
the smallest to the largest: at most `BAR` times what it would be if time grew as items do.
"""

from __future__ import annotations

import argparse
import gc
import io
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from rich.console import Console

from toolmark import api
from toolmark.cli import console_output, stored_run_commands
from toolmark.core.failure import Failure
from toolmark.core.records import (
    Attempt,
    Label,
    Message,
    Reply,
    Step,
    Task,
    Text,
    Trajectory,
    Turn,
    Usage,
    Verdict,
)
from toolmark.reports import html_report, run_comparison
from toolmark.runs import run_finalization, run_folders
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Presentation, Scorer
from toolmark.scoring.episode import Episode
from toolmark.statistics.metric_formulas import FilteredFormula, Mean, Metric
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns, gather_columns

BAR = 1.6
TIMEOUT = Failure(stage="model", kind="timeout", message="no answer")
CATEGORIES = tuple(f"category {n}" for n in range(8))
WRONG = Verdict(
    outcome="incorrect",
    value=0.0,
    parts={"calls": 2.0},
    labels=(Label(cause="wrong_value", suite_cause="1 value", primary=True),),
)
RIGHT = Verdict(outcome="correct", value=1.0, parts={"calls": 1.0})


def judge(episode: Episode) -> Mapping[str, Verdict]:
    """Judge an answer by its only letter."""
    return {"exact": RIGHT if episode.answer == "r" else WRONG}


def metrics(table: Columns) -> list[Metric]:
    """Return the headline and a number for each category."""

    def level(name: str) -> Metric:
        return Metric(
            name,
            FilteredFormula(
                filters=(RowFilter(column="category", values=(name,)),), formula=Mean()
            ),
        )

    return [Metric("success"), *map(level, CATEGORIES)]


SCORER = Scorer(
    rules=("exact",),
    score=judge,
    metrics=metrics,
    presentation=Presentation(
        tables=lambda readings: (),
        level_names={name: lambda level, _: level for name in ("level", "own")},
    ),
)


def task(n: int) -> Task:
    """Return the task of a number."""
    said = Message(role="user", parts=(Text(f"What is {n}?"),))
    return Task(
        id=f"item-{n}",
        item=f"item-{n}",
        suite="made",
        category=CATEGORIES[n * 2654435761 % len(CATEGORIES)],
        turns=(Turn(messages=(said,)),),
        axes={"level": str(n % 4), "own": f"own-{n // 50}", "group": f"group-{n // 5}"},
    )


def make(parent: Path, n: int, repeats: int, model: str, luck: float) -> Run:
    """Make a run of n items in which a share of `luck` is right, and score it."""
    plan = Plan(suite="made", model=model, tool_format="native", repeats=repeats)
    path = run_folders.claim_folder(parent, plan)
    run_folders.write_run(path, plan, map(task, range(n)), seed=1)
    rng = Random(f"{model}{n}")
    done = RecordAppender(path / "trajectories.jsonl", buffer_bytes=2**20)
    missing = RecordAppender(path / "attempts.jsonl", buffer_bytes=2**20)
    for repeat in range(repeats):
        for number in range(n):
            id = f"item-{number}"
            if rng.random() < 0.02:
                missing.append(Attempt(task=id, repeat=repeat, failure=TIMEOUT))
                continue
            answer = "r" if rng.random() < luck else "w"
            step = Step(reply=Reply(text=answer, usage=Usage(input=50, output=1)))
            done.append(Trajectory(task=id, repeat=repeat, steps=(step,), answer=answer))
    done.close()
    missing.close()
    return Run(path)


def steps(root: Path, n: int) -> dict[str, Callable[[], object]]:
    """Make the runs of a size; return what is timed, by name."""
    a, b = (make(root / f"{n}", n, 1, name, luck) for name, luck in (("a", 0.6), ("b", 0.5)))
    for run in (a, b):
        run_finalization.rescore_run(run, SCORER)
    quiet = Console(file=io.StringIO(), width=100)

    def repeated() -> object:
        one, other = (make(root / f"{n}r", n // 2, 2, name, 0.5) for name in "ab")
        for run in (one, other):
            run_finalization.rescore_run(run, SCORER)
        start = time.process_time()
        str(run_comparison.compare_runs(one, other))
        return time.process_time() - start

    def listed() -> None:
        console_output.print_outcomes(
            quiet, a, stored_run_commands._episode_filter(a, "incorrect", ["level=1"])
        )

    def numbers() -> None:
        found = api.open_run(a.path).summary()
        console_output.print_summary(quiet, found)
        console_output.print_failures(quiet, a, {})
        console_output.print_not_run(quiet, a)

    return {
        "columns": lambda: gather_columns(a.scores(), "exact"),
        "compare": lambda: str(run_comparison.compare_runs(a, b)),
        "compare, repeats": repeated,
        "score": lambda: run_finalization.rescore_run(a, SCORER),
        "summary": numbers,
        "show, list": listed,
        "show, one": lambda: list(stored_run_commands._find_episodes(a, f"item-{n // 2}", [])),
        "report": lambda: html_report.write_report([a], root / "page.html"),
        "report, two": lambda: html_report.write_report([a, b], root / "page.html"),
    }


def main() -> None:
    """Time every step at every size and print seconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="12500,25000,50000,100000")
    parser.add_argument("--only", default="", help="steps, by commas")
    asked = parser.parse_args()
    sizes = [int(size) for size in asked.sizes.split(",")]
    found: dict[str, list[float]] = {}
    for n in sizes:
        with tempfile.TemporaryDirectory() as name:
            for step, act in steps(Path(name), n).items():
                if asked.only and step not in asked.only.split(","):
                    continue
                gc.collect()
                start = time.process_time()
                took = act()
                seconds = took if isinstance(took, float) else time.process_time() - start
                found.setdefault(step, []).append(seconds)
                print(f"  {n:,} {step}: {seconds:.2f} s", file=sys.stderr, flush=True)
    print(f"{'seconds for':18}" + "".join(f"{n:>10,}" for n in sizes) + "   to linear")
    missed = False
    for step, each in found.items():
        grown = each[-1] / each[0] / (sizes[-1] / sizes[0])
        missed |= grown > BAR
        print(f"{step:18}" + "".join(f"{seconds:10.2f}" for seconds in each) + f"{grown:12.2f}")
    print(f"the bar is {BAR:g} times linear")
    sys.exit(missed)


if __name__ == "__main__":
    main()

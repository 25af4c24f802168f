"""`toolmark demo`: real BFCL items and fresh FuncBench tasks, by agents that need no key."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvloop
from rich.console import Console
from rich.markup import escape

from toolmark import api
from toolmark.cli import console_output, exit_codes, progress_display
from toolmark.core import seeds, user_modules
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite
from toolmark.suites.suite_names import SUITES

ITEMS_PER_CATEGORY = 12
FUNCBENCH_PARAMETERS = {"core": 5, "depth": 3, "connected": 5, "disconnected": 5, "graphs": 40}
FAULTY_MODEL = "control/faulty?class=wrong_value&rate=0.2"


def run_demo(out: Console, err: Console, log_dir: Path) -> None:
    """Generate, run, score, compare and report; print what was done and what comes next."""
    out.print("[bold]1. BFCL[/]  real published items, asked of a word-matching agent\n")
    bfcl = api.load("bfcl", category=("single_turn",))
    ids = _fixed_ids(bfcl)
    lexical_run = _run_suite(err, bfcl, "baseline/lexical", log_dir, ids=ids)
    faulty_run = _run_suite(err, bfcl, FAULTY_MODEL, log_dir, ids=ids)
    console_output.print_summary(out, lexical_run.summary())
    out.print(
        "\n[bold]2. FuncBench[/]  graphs of functions made just now, asked of two agents that "
        "read only the schemas\n"
    )
    fresh = api.load("funcbench", **FUNCBENCH_PARAMETERS)
    out.print(
        f"  seed {fresh.provenance.seed}: nobody has seen these tasks before\n", highlight=False
    )
    runs = [_run_suite(err, fresh, f"baseline/{name}", log_dir) for name in ("planner", "eager")]
    for run in runs:
        console_output.print_summary(out, run.summary())
    out.print(
        "\n[bold]3. Is one better than the other?[/]  the word-matching agent against one that "
        "knows the answers and spoils every fifth\n"
    )
    out.print(
        str(api.compare(lexical_run, faulty_run)), markup=False, highlight=False, soft_wrap=True
    )
    page = api.write_report(lexical_run, faulty_run, *runs, path=log_dir / "demo.html")
    out.print(f"\n[bold]4. Report[/]  {escape(str(page.resolve()))}", highlight=False,
              soft_wrap=True)  # fmt: skip
    out.print("\n[bold]Next[/], with your own endpoint:")
    for line in next_steps():
        out.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    summaries = [run.summary() for run in (lexical_run, faulty_run, *runs)]
    exit_codes.end_command(
        not_run=console_output.not_run_reason(
            {name: sum(each[name] for each in summaries) for name in ("n_not_run", "n_planned")}
        )
    )


def next_steps() -> list[str]:
    """Return lines for a shell: commands in the order in which they work, and remarks.

    The demo needs no extra, so a suite that does has the command that installs it before its own.
    """
    # `make demo` calls the program of the checkout, which is on no search path
    toolmark = sys.argv[0] if sys.argv[0].startswith(".venv") else "toolmark"
    model = "http://localhost:8000/v1#my-model"
    return [
        f"{toolmark} doctor -m {model}",
        f"{toolmark} run bfcl -m {model} -T category=live",
        f"{toolmark} run funcbench -m openai/gpt-5 -T core=10 -T depth=5 -T connected=10",
        "# real MCP servers and pictures; the first two commands once",
        user_modules.install_command(SUITES["m3-local"].extra),
        f"{toolmark} fetch mcp-servers",
        f"{toolmark} run m3-local -m {model} -T instances=1",
        "# pictures, and pages to search; the first command once",
        user_modules.install_command(SUITES["mfcl-vision"].extra),
        f"{toolmark} run mfcl-vision -m {model} -T items=25",
    ]


def _fixed_ids(suite: Suite) -> tuple[str, ...]:
    """Return the same dozen ids of every category, whoever asks."""
    by_category: dict[str, list[str]] = {}
    for task in suite:
        by_category.setdefault(task.category, []).append(task.id)
    chosen: list[str] = []
    for category, ids in by_category.items():
        rng = seeds.make_rng(0, category, 0, "demo")
        drawn = seeds.sample_indices(rng, len(ids), min(ITEMS_PER_CATEGORY, len(ids)))
        chosen += [ids[i] for i in sorted(drawn)]
    return tuple(chosen)


def _run_suite(
    err: Console, suite: Suite, model: str, log_dir: Path, *, ids: Sequence[str] = ()
) -> Run:
    async def main() -> Run:
        with progress_display.show_progress(err, f"{suite.name} {model}") as watch:
            settings: dict[str, Any] = {"log_dir": log_dir, "ids": ids, "resume": False}
            return await api.arun(suite, model, watch=watch, command="toolmark demo", **settings)

    return uvloop.run(main())

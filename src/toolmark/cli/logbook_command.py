"""`toolmark logbook`: all runs that were begun in a folder, and whether the record is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes
from toolmark.core import number_format
from toolmark.core.errors import UsageError
from toolmark.core.records import Table
from toolmark.reports.table_format import render_text, visible_text

out = consoles.stdout_console()


def show_logbook(
    folder: Annotated[
        Path, typer.Argument(help="The folder that the runs are in.", metavar="DIR")
    ] = Path("runs"),
    as_json: options.AsJson = False,
) -> None:
    """List every run that was begun in a folder, removed ones too, and check the record.

    Exit code 1 where an entry was changed, removed or moved.
    """
    from toolmark.reports import run_names, run_series
    from toolmark.runs import run_logbook

    if not (folder / run_logbook.LOGBOOK_FILE).exists():
        raise UsageError(
            f"{folder}: no {run_logbook.LOGBOOK_FILE}; next: the folder of your runs, which is "
            "runs or what --log-dir named"
        )
    logbook = run_logbook.read_logbook(folder)
    notes = run_logbook.unlogged_runs(logbook)
    runs = [run_series.describe_member(logbook, each) for each in logbook.runs]
    if as_json:
        fields = {"faults": logbook.faults, "notes": notes, "torn": logbook.torn}
        rows = [
            {**msgspec.to_builtins(each), "suite": logged.first.suite,
             "data_label": logged.first.data_label, "agent": logged.first.agent,
             "model": logged.first.model,
             "tasks_sha256": logged.first.tasks_sha256, "plan_sha256": logged.first.plan_sha256,
             "settings_sha256": logged.first.settings_sha256, "is_withdrawn": logged.is_withdrawn}
            for each, logged in zip(runs, logbook.runs, strict=True)
        ]  # fmt: skip
        options.print_json({"path": str(logbook.path), "runs": rows, **fields})
    else:
        rows_shown = []
        for each, logged in zip(runs, logbook.runs, strict=True):
            members = run_series.list_members(logbook, logged)
            place = next(i for i, other in enumerate(members, 1) if other is logged)
            score, n_behind = run_series.missing_score_text(each.headline), each.n_run
            if each.headline is not None and each.headline.value is not None:
                score = number_format.format_estimate(each.headline)
                n_behind = each.headline.n
            state = "withdrawn" if logged.is_withdrawn else "removed" if each.is_removed else ""
            series = f"{place} of {len(members)}"
            model = run_names.player_name(logged.first.agent, logged.first.model)
            suite = run_names.label_suite(logged.first.suite, logged.first.data_label)
            plan = logged.first.plan_sha256[:8]
            rows_shown.append(
                (each.begun, each.run, suite, model, plan, series, score, n_behind, state)
            )  # fmt: skip
        head = ("begun", "run", "suite", "model", "plan", "of its kind", "score", "n", "")
        table = Table(title=f"Runs begun in {folder}", head=head, rows=tuple(rows_shown))
        lines = [render_text(table), *logbook.faults, *notes]
        if logbook.torn:
            lines.append("the last line is incomplete: its process was killed while it wrote")
        if not logbook.faults:
            n = number_format.pluralize(len(logbook.entries), "entry", "entries")
            lines.append(f"{n}, each follows the one before")
        for text in lines:
            out.print(visible_text(text), markup=False, highlight=False, soft_wrap=True)
    n_faults = number_format.pluralize(len(logbook.faults), "fault")
    exit_codes.end_command(
        failed_gate=f"{logbook.path}: {n_faults}" if logbook.faults else "",
    )

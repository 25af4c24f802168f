"""The command that proves rows and suites before money is spent."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes
from toolmark.core.errors import DataError, UsageError
from toolmark.core.number_format import pluralize
from toolmark.core.records import Task

out, err = consoles.stdout_console(), consoles.stderr_console()


def check(
    suite: Annotated[
        str,
        typer.Argument(
            help="A file of rows (.jsonl, .json, .csv, .parquet), FILE.py:NAME, or a suite.",
            metavar="FILE|SUITE",
        ),
    ],
    parameters: options.Parameters = None,
    limit: Annotated[
        int, options.option("--limit", min=1, help="On how many tasks the controls are played.")
    ] = 200,
    judge_model: options.JudgeModelName = None,
    shortcut_time: Annotated[
        float,
        options.option(
            "--shortcut-time", min=0, help="Seconds that shortcut agents are played; 0 plays none."
        ),
    ] = 10.0,
    show: Annotated[
        int,
        options.option("--show", min=0, help="Print so many rows as a model will see them."),
    ] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Prove rows or a suite before money is spent; no model is asked. Exit code 1 for a fault.

    Every row is read: its fields, tools, schemas and expected calls. Then the controls are played:
    the oracle must be right in every task, and doing nothing only where the row says so. Agents
    that know one surface feature of a request are played too, and what they score is said.
    """
    from toolmark import api
    from toolmark.authoring import row_checks, row_file_names, rows_suite
    from toolmark.cli import console_output, row_preview

    values = options.parse_parameters(suite, parameters)
    if show and not row_file_names.is_row_file(suite):
        raise UsageError("--show prints rows; next: toolmark run SUITE -m MODEL --dry-run")
    with consoles.divert_stdout():
        checks = api.check(
            suite, limit=limit, judge_model=judge_model, shortcut_time_s=shortcut_time, **values
        )
    rows: list[Task] = []
    if show:
        with suppress(DataError):  # of a file without rows, which a check names
            rows = rows_suite.open_call_tasks(suite, values).first(show)
    if as_json:
        shown = {"rows": row_checks.rows_as_asked(rows)} if show else {}
        options.print_json({"checks": checks, **shown})
    else:
        console_output.print_checks(out, checks)
        row_preview.print_rows(out, rows)
    n_failed = sum(each.status == "fail" for each in checks)
    exit_codes.end_command(failed_gate=f"{pluralize(n_failed, 'check')} failed" if n_failed else "")

"""`toolmark export rows`: a suite's tasks as a file of rows that `toolmark run` asks."""

from __future__ import annotations

import json
from pathlib import Path

from toolmark.cli import command_options as options
from toolmark.cli import consoles
from toolmark.core.errors import DataError, UsageError
from toolmark.core.number_format import format_count
from toolmark.reports.table_format import visible_text

SUITES = ("bfcl",)
"""Suites with tasks of one reply whose right calls are known."""


def export_rows(suite: str, output: Path, parameters: list[str] | None) -> None:
    """Write the tasks of a suite as rows. Nothing is written where a task cannot be a row."""
    from toolmark.official_bfcl.row_export import export_row

    if suite not in SUITES:
        raise UsageError(
            f"{suite}: its tasks are not rows of expected calls; known: {', '.join(SUITES)}"
        )
    if output.suffix != ".jsonl":
        raise UsageError(f"{output}: rows are JSON lines; next: -o {output.with_suffix('.jsonl')}")
    tasks = options.load_suite(suite, parameters, None).tasks
    lines = [json.dumps(export_row(task), ensure_ascii=False) for task in tasks]
    try:
        output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise DataError(f"{output}: cannot write: {error.strerror}") from None
    step = consoles.shell_command("check", output)
    text = f"{format_count(len(lines))} rows in {output}; next: {step}"
    consoles.stdout_console().print(
        visible_text(text), markup=False, highlight=False, soft_wrap=True
    )

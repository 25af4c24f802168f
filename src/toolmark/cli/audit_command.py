"""`toolmark audit`: published BFCL results judged again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from toolmark.cli import command_options as options
from toolmark.cli import consoles
from toolmark.core.errors import UsageError
from toolmark.reports.table_format import render_text, visible_text

if TYPE_CHECKING:
    from toolmark.studio.bfcl_audit.audit_report import AuditReport

out, err = consoles.stdout_console(), consoles.stderr_console()
DEFAULT_PAGE = Path("audit.html")
MAX_ENTRIES = 15  # that the terminal lists
_SHOW_EVERY = 10  # models, where nothing is a terminal


def audit(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A folder of published results: it has `result` and `score`."
        ),
    ],
    output: Annotated[
        Path, options.option("-o", "--output", metavar="PAGE", help="Where the page is written.")
    ] = DEFAULT_PAGE,
    as_json: options.AsJson = False,
) -> None:
    """Judge published BFCL results again: what differs today, why, and what stays of the ranks.

    Known layouts are that of 2024 and that of V3 and V4. Results are read and judged; nothing in
    them is run, and no model is asked.
    """
    from toolmark.studio.bfcl_audit import audit_page, audit_tables, folder_audit

    if not folder.is_dir():
        raise UsageError(f"{folder}: no folder")
    report: AuditReport = folder_audit.audit_folder(folder, show_progress=_show_progress)
    page = audit_page.write_audit_page(report, output)
    if as_json:
        options.print_json(msgspec.to_builtins(report))
        err.print(visible_text(str(page)), markup=False, highlight=False, soft_wrap=True)
        return
    tables = (
        audit_tables.model_table(report),
        audit_tables.reason_table(report),
        audit_tables.entry_table(report, MAX_ENTRIES),
    )
    for text in (
        *audit_tables.headline_sentences(report),
        *report.notes,
        *(f"\n{render_text(table)}" for table in tables if table.rows),
        "",
        str(page),
    ):
        out.print(visible_text(text), markup=False, highlight=False, soft_wrap=True)


def _show_progress(n_done: int, n_models: int, name: str) -> None:
    """Say on stderr which model is judged: each on a terminal, else every tenth."""
    if name and (err.is_terminal or n_done % _SHOW_EVERY == 0):
        err.print(
            f"{n_done + 1} of {n_models}: {visible_text(name)}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )

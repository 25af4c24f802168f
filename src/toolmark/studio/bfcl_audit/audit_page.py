"""The page about an audit: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from toolmark.core.errors import DataError
from toolmark.core.files import atomic_file
from toolmark.reports import table_format
from toolmark.reports.table_format import visible_text
from toolmark.studio import review_pages
from toolmark.studio.bfcl_audit import audit_tables
from toolmark.studio.bfcl_audit.audit_report import AuditReport

MAX_ROWS = 2_000  # of one table of the page


def write_audit_page(report: AuditReport, path: Path) -> Path:
    """Write the page and return its path. Raises DataError when that fails."""
    tables = [
        audit_tables.model_table(report),
        audit_tables.reason_table(report),
        audit_tables.mean_table(report),
        audit_tables.entry_table(report, MAX_ROWS),
        audit_tables.category_table(report),
        audit_tables.change_table(report, MAX_ROWS),
        *map(audit_tables.ranking_table, report.rankings),
        audit_tables.reading_table(report),
    ]
    text = review_pages.render_page(
        "audit.html.j2",
        folder=visible_text(report.folder),
        sentences=audit_tables.headline_sentences(report),
        notes=[visible_text(note) for note in report.notes],
        grids=[table_format.make_grid(table) for table in tables if table.rows],
        errata_version=report.errata_version,
    )
    try:
        with atomic_file(path) as draft:
            draft.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(f"{path}: cannot write the page: {error.strerror}") from None
    return path

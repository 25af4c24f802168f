"""Traces of applications in as proposed rows, and trajectories out as traces."""

from __future__ import annotations

import shlex
from pathlib import Path

from toolmark.authoring import text_rows
from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes
from toolmark.core.errors import DataError, UsageError
from toolmark.core.number_format import format_count, pluralize
from toolmark.reports.table_format import visible_text
from toolmark.runs.run_store import Run
from toolmark.studio.traces import span_export, trace_import
from toolmark.studio.traces.trace_faults import TraceFaults
from toolmark.studio.traces.trace_import import ImportSettings, ImportSummary

out = consoles.stdout_console()
err = consoles.stderr_console()
_MAX_LISTED_TOOLS = 20


def import_rows(
    paths: list[Path], output: Path, settings: ImportSettings, *, as_json: bool
) -> None:
    """Write proposed rows and say what came of the files; exit 3 if records are malformed."""
    if output in paths:
        raise UsageError(f"-o {output}: it is one of the files to read")
    n_reviewed = _count_reviewed(output)
    if n_reviewed:
        raise UsageError(
            f"-o {output}: it holds {pluralize(n_reviewed, 'reviewed row')}, which would be lost; "
            "next: name another file"
        )
    faults = TraceFaults()
    found = trace_import.import_traces(paths, output, settings, faults)
    for line in faults.listed_lines():
        _print_line(line, to_stderr=True)
    if as_json:
        options.print_json(found)
    else:
        for line in _summary_lines(found, output):
            _print_line(line)
    malformed = pluralize(faults.n_malformed, "record")
    exit_codes.end_command(not_run=f"{malformed} could not be read" if faults.n_malformed else "")


def _count_reviewed(path: Path) -> int:
    """Return how many rows of an existing file were reviewed."""
    if not path.is_file():
        return 0
    rows = text_rows.JsonLinesRows(str(path)).read()
    return sum(not isinstance(row, DataError) and "reviewed" in row.fields for row in rows)


def _summary_lines(found: ImportSummary, output: Path) -> list[str]:
    lines = []
    for file, forms in found.forms.items():
        known = ", ".join(f"{form}, {pluralize(n, 'record')}" for form, n in forms.items())
        lines.append(f"{file}: {known or 'nothing that is known'}")
    counts = {
        "duplicates": found.n_duplicates,
        "without a call": found.n_silent,
        "redacted": found.n_redacted,
        "not drawn": found.n_not_drawn,
    }
    shown = ", ".join(f"{format_count(n)} {name}" for name, n in counts.items() if n)
    replies = pluralize(found.n_replies, "reply", "replies")
    lines.append(f"{replies} read" + (f": {shown}" if shown else ""))
    lines += [f"left out, {format_count(n)}: {reason}" for reason, n in found.left_out.items()]
    if found.n_disputed_histories:
        n = pluralize(found.n_disputed_histories, "history", "histories")
        lines.append(f"{n} with different calls: at most one of them is right")
    tools = [f"{tool} {format_count(n)}" for tool, n in found.rows_by_tool.items()]
    if tools:
        more = len(tools) - _MAX_LISTED_TOOLS
        listed = ", ".join(tools[:_MAX_LISTED_TOOLS])
        lines.append(f"rows by tool: {listed}" + (f", and {more} more tools" if more > 0 else ""))
    lines.append(f"{output}: {pluralize(found.n_rows, 'proposed row')}")
    if found.n_rows:
        lines.append(f"next: {shlex.join(['toolmark', 'review', str(output)])}")
    return lines


def export_runs(paths: list[Path], output: Path, *, with_content: bool) -> None:
    """Write the trajectories of runs as spans, one trace per line."""
    runs = [Run(path) for path in paths]
    n_traces = span_export.write_traces(runs, output, with_content=with_content)
    n_not_run = sum(run.info.n_episodes for run in runs) - n_traces
    left_out = f", {format_count(n_not_run)} not run left out" if n_not_run else ""
    _print_line(f"{output}: {pluralize(n_traces, 'trace')}{left_out}")


def _print_line(line: str, *, to_stderr: bool = False) -> None:
    console = err if to_stderr else out
    console.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)

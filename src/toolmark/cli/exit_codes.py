"""Exit codes, and the lines on stderr that say why.

Of several the first that fits counts: interrupted, gate, not run.
"""

from __future__ import annotations

from typing import NoReturn

import typer

from toolmark.cli import consoles

GATE_FAILED = 1
"""A gate that was asked for failed: `--fail-under`, or a check of `toolmark doctor`."""
USAGE_ERROR = 2
"""The command is wrong, or a file that it names."""
NOT_RUN = 3
"""Something was not run, not made or not judged; the same command may go on with it."""
INTERRUPTED = 130
"""It was stopped from outside; `main` says so, whoever stopped it."""


def end_command(*, failed_gate: str = "", not_run: str = "", interrupted: bool = False) -> NoReturn:
    """End the command with the exit code for these reasons, 0 for none; print each on stderr."""
    console = consoles.stderr_console()
    for reason in filter(None, (failed_gate, not_run)):
        console.print(f"toolmark: {reason}", markup=False, highlight=False, soft_wrap=True)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if failed_gate:
        raise typer.Exit(GATE_FAILED)
    raise typer.Exit(NOT_RUN if not_run else 0)

"""`toolmark new`: write a package of the user's own."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from toolmark.cli import command_options as options
from toolmark.cli import consoles
from toolmark.cli.wrong_command_lines import CommandGroup
from toolmark.reports.table_format import visible_text

app = typer.Typer(
    cls=CommandGroup,
    help="Write a package of your own: a suite with rows, a test and a CI workflow.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
out = consoles.stdout_console()


class SuiteKind(StrEnum):
    """What a new suite begins with."""

    rows = "rows"
    environment = "environment"


@app.callback()
def _group() -> None:
    """Write a package of your own: a suite with rows, a test and a CI workflow."""


@app.command(
    "suite",
    epilog="Examples: `toolmark new suite home_calls`, "
    "`toolmark new suite pantry --kind environment -o packages/pantry`",
)
def new_suite(
    name: Annotated[
        str, typer.Argument(help="Of the suite and its package: letters, digits, underscores.")
    ],
    kind: Annotated[
        SuiteKind,
        options.option("--kind", help="Rows of expected calls, or an environment with tools."),
    ] = SuiteKind.rows,
    output: Annotated[
        Path | None,
        options.option("-o", "--output", metavar="DIR", help="A new folder. Default: NAME."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a package with a suite that runs: rows, code, a test, a README, a CI workflow."""
    from toolmark.studio import suite_package

    folder = output if output is not None else Path(name)
    paths = suite_package.write_suite_package(name, kind.value, folder)
    steps = _next_commands(name, folder)
    if as_json:
        options.print_json({"files": [str(path) for path in paths], "next": steps})
        return
    for line in (*map(str, paths), "next:", *(f"  {step}" for step in steps)):
        out.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)


def _next_commands(name: str, folder: Path) -> list[str]:
    """Return the commands that install, prove and run the package; they can be pasted."""
    python = Path(sys.executable or "python")
    here = Path.cwd()
    shown = str(python.relative_to(here) if python.is_relative_to(here) else python)
    return [
        shlex.join([shown, "-m", "pip", "install", "-e", f"{folder}[dev]"]),
        shlex.join([shown, "-m", "pytest", str(folder)]),
        consoles.shell_command("check", name),
        consoles.shell_command("run", name, "-m", "control/oracle"),
        consoles.shell_command("run", name, "-m", "openai/gpt-5-mini", "--limit", "3"),
    ]

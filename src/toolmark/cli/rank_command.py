"""`toolmark rank`: which ranks the data of several runs allow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from toolmark.cli import command_options as options
from toolmark.cli import consoles
from toolmark.reports.table_format import render_text, visible_text

out = consoles.stdout_console()


def rank(
    paths: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    rule: Annotated[
        str | None, options.option("--rule", help="Which one; by default the headline's.")
    ] = None,
    metric: Annotated[
        str | None,
        options.option("--metric", help="Name of a number of the suite; by default the headline."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Rank runs of one suite: confidence sets, noise, weights and rules, items that mislead.

    A set "2 to 5" says that the data do not decide between these ranks. All sets hold together
    with probability 95 %.
    """
    from toolmark import api
    from toolmark.reports import rank_report, rank_tables

    runs = [*map(api.open_run, options.leave_out_logbook(paths))]
    found = rank_report.rank_stored_runs(runs, rule, metric=metric)
    if as_json:
        options.print_json(msgspec.to_builtins(found))
        return
    for text in (*map(render_text, rank_tables.ranking_tables(found)), *found.warnings):
        out.print(f"{visible_text(text)}\n", markup=False, highlight=False, soft_wrap=True)

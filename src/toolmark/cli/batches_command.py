"""`toolmark batches`: what the batches of a run do at the provider, and how to cancel them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from toolmark.cli import command_options as options
from toolmark.cli import consoles
from toolmark.core.number_format import format_count, pluralize
from toolmark.reports.table_format import visible_text

if TYPE_CHECKING:
    from rich.console import Console

    from toolmark.runs.batches.batch_control import BatchFacts

out = consoles.stdout_console()
Cancel: TypeAlias = Annotated[
    bool, options.option("--cancel", help="Ask the provider to end those that still run.")
]


def batches(
    path: options.RunPath,
    cancel: Cancel = False,
    base_url: options.BaseUrl = None,
    header: options.Headers = None,
    as_json: options.AsJson = False,
) -> None:
    """List the batches of a run of --batch, as the provider sees them; or cancel them."""
    import asyncio

    from toolmark.runs.batches import batch_control

    found = asyncio.run(
        batch_control.read_batches(
            path, base_url=base_url, headers=options.parse_headers(header), cancel=cancel
        )
    )
    if as_json:
        options.print_json([_as_json(each) for each in found])
        return
    for each in found:
        line = f"  {each.batch_id or 'not known'}  {pluralize(each.n_items, 'request')}  "
        line += f"{each.state}, {format_count(each.n_done)} done"
        out.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)
    if not found:
        out.print("  this run has no batches", highlight=False)
    elif cancel:
        text = "  cancelled; what was answered before is fetched by the command of the run"
        out.print(text, highlight=False, soft_wrap=True)


def _as_json(facts: BatchFacts) -> dict[str, Any]:
    return facts._asdict()


def print_open_batches(console: Console, path: Path) -> None:
    """Say that batches of a run go on at the provider, and what can be done."""
    from toolmark.runs.batches import batch_control, batch_records
    from toolmark.runs.run_store import Run

    open_batches = batch_records.list_open_batches(path)
    if not open_batches:
        return
    address = batch_control.named_address(Run(path).info.plan)
    more_words = ("--base-url", address) if address else ()
    ids = ", ".join(each.batch_id or "one whose id is not known" for each in open_batches[:3])
    more = f" and {len(open_batches) - 3} more" if len(open_batches) > 3 else ""
    command = consoles.shell_command("batches", path, *more_words)
    for line in (
        f"  goes on at the provider: {ids}{more}; the same command fetches the answers",
        f"  next: {command}, with --cancel to end what still runs",
    ):
        console.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)

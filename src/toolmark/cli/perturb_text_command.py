"""`toolmark perturb text`: change texts by disfluencies and by other packages' perturbations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from toolmark.cli import command_options as options
from toolmark.cli import consoles
from toolmark.core import entry_points
from toolmark.core.errors import UsageError
from toolmark.reports.table_format import visible_text

out = consoles.stdout_console()


def text(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="A text, or a .txt file with a text per line.", metavar="[TEXT...]"),
    ] = None,
    names: Annotated[
        list[str] | None,
        options.option(
            "--with",
            metavar="NAME",
            help="A perturbation; without one they are listed. May be repeated: in this order.",
        ),
    ] = None,
    seed: Annotated[int, options.option("--seed", help="Seed of the random choices.", min=0)] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Change the wording of texts, one perturbation after the other; or list the perturbations."""
    from toolmark.perturb.text import text_perturbations

    if not names:
        if inputs:
            raise UsageError("name a perturbation: --with NAME; next: toolmark perturb text")
        _list_perturbations(as_json=as_json)
        return
    if not inputs:
        raise UsageError("no text to change; next: toolmark perturb text 'TEXT' --with NAME")
    steps = [text_perturbations.load_perturbation(name) for name in names]
    records = []
    for original in _read_texts(inputs):
        changed = original
        for step in steps:
            changed = text_perturbations.apply_perturbation(step, changed, seed)
        records.append({"text": original, "changed": changed, "with": names, "seed": seed})
        if not as_json:
            out.print(visible_text(changed), markup=False, highlight=False, soft_wrap=True)
    if as_json:
        options.print_json(records)


def _list_perturbations(*, as_json: bool) -> None:
    """Print the names; the code of other packages is not imported for it."""
    from toolmark.perturb.text import text_perturbations

    found = [
        {"name": name, "about": about, "package": "toolmark"}
        for name, about in text_perturbations.PERTURBATIONS.items()
    ]
    found += [
        {"name": each.name, "about": "", "package": each.source}
        for each in entry_points.list_entry_points(text_perturbations.GROUP)
        if each.name not in text_perturbations.PERTURBATIONS
    ]
    if as_json:
        options.print_json({"perturbations": found})
        return
    width = max(len(each["name"]) for each in found)
    for each in found:
        about = each["about"] or f"from {each['package']}"
        line = f"{each['name']:{width}}  {about}"
        out.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)


def _read_texts(inputs: Sequence[str]) -> Iterator[str]:
    for each in inputs:
        if not each.lower().endswith(".txt"):
            yield each
            continue
        try:
            lines = Path(each).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            raise UsageError(f"{each}: not UTF-8 text") from None
        yield from filter(str.strip, lines)

"""`toolmark import` and `toolmark export`: published files to run folders and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolmark import plugin
from toolmark.cli import bfcl
from toolmark.cli import options as o
from toolmark.errors import UsageError, near

KINDS = ("bfcl", "m3")

Kind = Annotated[str, typer.Argument(help="Whose files: bfcl or m3.", metavar="KIND")]
Truths = Annotated[
    Path | None, o.flag("--truths", metavar="FILE", help="m3: the reference trajectories.")
]
Images = Annotated[
    Path | None, o.flag("--images", metavar="DIR", help="m3: the tasks' pictures, if any.")
]
Similarity = Annotated[
    str | None, o.flag("--similarity", metavar="NAME", help="m3: an encoder, or exact.")
]
Last = Annotated[
    bool, o.flag("--last", help="m3: of entries with one id the last counts, as officially.")
]


def import_(
    kind: Kind,
    source: Annotated[Path, typer.Argument(metavar="RESULTS", help="Result folder, or file.")],
    truths: Truths = None,
    images: Images = None,
    similarity: Similarity = None,
    last: Last = False,
    model: bfcl.Chosen = None,
    lenient: bfcl.Lenient = False,
    log_dir: o.LogDir = Path("runs"),
    as_json: o.AsJson = False,
) -> None:
    """Read official result files into run folders and score them; nothing in them is run."""
    if _kind(kind) == "bfcl":
        _refuse(kind, truths=truths, images=images, similarity=similarity, last=last)
        bfcl.import_(kind, source, model, lenient, log_dir, as_json)
        return
    if truths is None:
        raise UsageError("import m3: say against which reference trajectories: --truths GT.json")
    plugin.attribute("toolmark.cli.m3:import_")(
        source,
        truths,
        images=images,
        similarity=similarity,
        last=last,
        model=model,
        lenient=lenient,
        log_dir=log_dir,
        as_json=as_json,
    )


def export_(
    kind: Kind,
    paths: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    output: Annotated[Path, o.flag("-o", "--output", help="Folder for the files; m3: the file.")],
    model: bfcl.Renamed = None,
) -> None:
    """Write runs as official files; for bfcl with score files and leaderboard CSVs."""
    if _kind(kind) == "bfcl":
        bfcl.export_(kind, paths, output, model)
        return
    _refuse(kind, model=model)
    if len(paths) > 1:
        raise UsageError("export m3 writes one file: give one run")
    plugin.attribute("toolmark.cli.m3:export_")(paths[0], output)


def _kind(kind: str) -> str:
    if kind not in KINDS:
        raise UsageError(f"no files of {kind!r}{near(kind, KINDS)}")
    return kind


def _refuse(kind: str, **given: object) -> None:
    for flag, value in given.items():
        if value:
            raise UsageError(f"--{flag} says nothing about files of {kind}")

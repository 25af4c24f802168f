"""`toolmark import` and `toolmark export`: published files to run folders and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolmark.cli import command_options as options
from toolmark.core import user_modules
from toolmark.core.errors import UsageError, suggest_names

KINDS = ("bfcl", "m3")

Kind = Annotated[str, typer.Argument(help="Whose files: bfcl or m3.", metavar="KIND")]
Truths = Annotated[
    Path | None, options.option("--truths", metavar="FILE", help="m3: the reference trajectories.")
]
Images = Annotated[
    Path | None, options.option("--images", metavar="DIR", help="m3: the tasks' pictures, if any.")
]
Similarity = Annotated[
    str | None, options.option("--similarity", metavar="NAME", help="m3: an encoder, or exact.")
]
Lenient = Annotated[
    bool, options.option("--lenient", help="Leave rows that are wrong out as not run.")
]
ModelChoice = Annotated[
    str | None,
    options.option("-m", "--model", metavar="NAME", help="Which model, if there are several."),
]
ExportedModelName = Annotated[
    str | None,
    options.option("-m", "--model", metavar="NAME", help="The model's name in the files."),
]
Last = Annotated[
    bool,
    options.option("--last", help="m3: of entries with one id the last counts, as officially."),
]


def import_files(
    kind: Kind,
    source: Annotated[Path, typer.Argument(metavar="RESULTS", help="Result folder, or file.")],
    truths: Truths = None,
    images: Images = None,
    similarity: Similarity = None,
    last: Last = False,
    model: ModelChoice = None,
    lenient: Lenient = False,
    log_dir: options.LogDir = Path("runs"),
    as_json: options.AsJson = False,
) -> None:
    """Read official result files into run folders and score them; nothing in them is run."""
    from toolmark.cli import bfcl_import_export

    if _check_kind(kind) == "bfcl":
        _refuse_flags(kind, truths=truths, images=images, similarity=similarity, last=last)
        bfcl_import_export.import_results(kind, source, model, lenient, log_dir, as_json)
        return
    if truths is None:
        raise UsageError("import m3: say against which reference trajectories: --truths GT.json")
    user_modules.import_attribute("toolmark.cli.m3_commands:import_predictions")(
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


def export_files(
    kind: Kind,
    paths: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    output: Annotated[
        Path, options.option("-o", "--output", help="Folder for the files; m3: the file.")
    ],
    model: ExportedModelName = None,
) -> None:
    """Write runs as official files; for bfcl with score files and leaderboard CSVs."""
    from toolmark.cli import bfcl_import_export

    if _check_kind(kind) == "bfcl":
        bfcl_import_export.export_runs(kind, paths, output, model)
        return
    _refuse_flags(kind, model=model)
    if len(paths) > 1:
        raise UsageError("export m3 writes one file: give one run")
    user_modules.import_attribute("toolmark.cli.m3_commands:export_predictions")(paths[0], output)


def _check_kind(kind: str) -> str:
    if kind not in KINDS:
        raise UsageError(f"no files of {kind!r}{suggest_names(kind, KINDS)}")
    return kind


def _refuse_flags(kind: str, **flags: object) -> None:
    for flag, value in flags.items():
        if value:
            raise UsageError(f"--{flag} says nothing about files of {kind}")

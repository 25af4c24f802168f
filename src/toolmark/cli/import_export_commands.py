"""`toolmark import` and `toolmark export`: official files to runs and back, traces to rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from toolmark.cli import command_options as options
from toolmark.core import user_modules
from toolmark.core.errors import UsageError, suggest_names

KINDS = ("bfcl", "m3", "traces")
EXPORT_KINDS = (*KINDS, "rows")

Kind = Annotated[str, typer.Argument(help="Which files: bfcl, m3 or traces.", metavar="KIND")]
ExportKind = Annotated[
    str, typer.Argument(help="Which files: bfcl, m3, traces or rows.", metavar="KIND")
]
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


Sources = Annotated[
    list[Path],
    typer.Argument(metavar="RESULTS...", help="Result folder, or file; traces: files."),
]
RowFile = Annotated[
    Path | None, options.option("-o", "--output", metavar="FILE", help="traces: the file of rows.")
]
WithSilence = Annotated[
    bool, options.option("--with-silence", help="traces: replies without a call are rows, too.")
]
PerTool = Annotated[
    int | None,
    options.option("--per-tool", metavar="N", min=1, help="traces: at most N rows with one tool."),
]
DrawSeed = Annotated[
    int, options.option("--seed", min=0, help="traces: draws the rows of --per-tool.")
]
RedactPattern = Annotated[
    list[str] | None,
    options.option(
        "--redact-pattern",
        metavar="RE2",
        help="traces: replace what it matches, in RE2's syntax. May be repeated.",
    ),
]
RedactEmails = Annotated[
    bool, options.option("--redact-emails", help="traces: replace e-mail addresses.")
]
ToolFile = Annotated[
    Path | None,
    options.option(
        "--tools", metavar="FILE", help="traces: a JSON list of tools, where none are recorded."
    ),
]
Content = Annotated[
    bool,
    options.option(
        "--content/--no-content", help="traces: with messages, arguments and results, or without."
    ),
]


def import_files(
    kind: Kind,
    sources: Sources,
    truths: Truths = None,
    images: Images = None,
    similarity: Similarity = None,
    last: Last = False,
    model: ModelChoice = None,
    lenient: Lenient = False,
    output: RowFile = None,
    with_silence: WithSilence = False,
    per_tool: PerTool = None,
    seed: DrawSeed = 0,
    redact_pattern: RedactPattern = None,
    redact_emails: RedactEmails = False,
    tools: ToolFile = None,
    log_dir: options.LogDir = Path("runs"),
    as_json: options.AsJson = False,
) -> None:
    """Read official results into run folders, or traces into rows; nothing in them is run."""
    of_m3 = {"truths": truths, "images": images, "similarity": similarity, "last": last}
    of_results = {"model": model, "lenient": lenient}
    of_traces = {
        "with_silence": with_silence,
        "per_tool": per_tool,
        "redact_pattern": redact_pattern,
        "redact_emails": redact_emails,
    }
    if _check_kind(kind) == "traces":
        _refuse_flags(kind, {**of_m3, **of_results})
        _import_traces(sources, output, tools, {**of_traces, "seed": seed}, as_json=as_json)
        return
    _refuse_flags(kind, {"output": output, "tools": tools, **of_traces})
    if len(sources) > 1:
        raise UsageError(f"import {kind} reads one folder or file: give one")
    _import_results(kind, sources[0], of_m3, **of_results, log_dir=log_dir, as_json=as_json)


def _import_results(kind: str, source: Path, of_m3: dict[str, Any], **settings: Any) -> None:
    if kind == "bfcl":
        from toolmark.cli import bfcl_import_export

        _refuse_flags(kind, of_m3)
        bfcl_import_export.import_results(kind, source, **settings)
        return
    if of_m3["truths"] is None:
        raise UsageError("import m3: say against which reference trajectories: --truths GT.json")
    user_modules.import_attribute("toolmark.cli.m3_commands:import_predictions")(
        source, **of_m3, **settings
    )


def _import_traces(
    sources: list[Path],
    output: Path | None,
    tools: Path | None,
    flags: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    from toolmark.cli import trace_commands
    from toolmark.studio.traces import trace_import

    if output is None:
        raise UsageError("import traces: say where the rows go: -o rows.jsonl")
    settings = trace_import.ImportSettings(
        with_silence=flags["with_silence"],
        per_tool=flags["per_tool"],
        seed=flags["seed"],
        redact_patterns=tuple(flags["redact_pattern"] or ()),
        redact_emails=flags["redact_emails"],
        tools=trace_import.read_tool_file(tools) if tools is not None else None,
    )
    trace_commands.import_rows(sources, output, settings, as_json=as_json)


def export_files(
    kind: ExportKind,
    paths: Annotated[
        list[Path], typer.Argument(help="Run folders; rows: a suite.", metavar="RUN...|SUITE")
    ],
    output: Annotated[
        Path,
        options.option("-o", "--output", help="Folder for the files; m3, traces, rows: the file."),
    ],
    model: ExportedModelName = None,
    content: Content = True,
    parameters: options.Parameters = None,
) -> None:
    """Write runs as official files or OpenTelemetry spans, or the tasks of a suite as rows."""
    if _check_kind(kind, EXPORT_KINDS) == "rows":
        from toolmark.cli import row_export

        _refuse_flags(kind, {"model": model, "no-content": not content})
        if len(paths) > 1:
            raise UsageError("export rows writes the tasks of one suite: give one")
        row_export.export_rows(str(paths[0]), output, parameters)
        return
    _refuse_flags(kind, {"T": parameters})
    if kind == "traces":
        from toolmark.cli import trace_commands

        _refuse_flags(kind, {"model": model})
        trace_commands.export_runs(paths, output, with_content=content)
        return
    _refuse_flags(kind, {"no-content": not content})
    if kind == "bfcl":
        from toolmark.cli import bfcl_import_export

        bfcl_import_export.export_runs(kind, paths, output, model)
        return
    _refuse_flags(kind, {"model": model})
    if len(paths) > 1:
        raise UsageError("export m3 writes one file: give one run")
    user_modules.import_attribute("toolmark.cli.m3_commands:export_predictions")(paths[0], output)


def _check_kind(kind: str, known: tuple[str, ...] = KINDS) -> str:
    if kind not in known:
        raise UsageError(f"no files of {kind!r}{suggest_names(kind, known)}")
    return kind


def _refuse_flags(kind: str, flags: Mapping[str, object]) -> None:
    for name, value in flags.items():
        if value:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} says nothing about files of {kind}")

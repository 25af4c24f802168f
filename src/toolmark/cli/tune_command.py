"""`toolmark tune`: make items harder until most of a panel of models fails them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes, rate_options
from toolmark.core import secrets
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.number_format import format_count, pluralize
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.reports.table_format import render_text, visible_text

if TYPE_CHECKING:
    from toolmark.core.model import Model
    from toolmark.runs.suite import Suite
    from toolmark.studio.vision_tuning.tuning_folder import TuningFolder
    from toolmark.studio.vision_tuning.tuning_records import TuningRequest

out = consoles.stdout_console()
err = consoles.stderr_console()
TUNABLE_SUITES = ("mfcl-vision",)
BASE_VARIATION = "variations=base"
MAX_REFUSED_SHOWN = 5  # pictures that are named

Models = Annotated[
    list[str] | None,
    options.option(
        "-m", "--model", metavar="MODEL", help="Of the panel; repeat it. " + options.MODEL_HELP
    ),
]
Output = Annotated[
    Path | None, options.option("-o", "--output", metavar="DIR", help="New, or to be continued.")
]
DraftFolder = Annotated[
    Path | None,
    options.option(
        "--draft", metavar="FOLDER", help="Only write a draft of items.jsonl for its pictures."
    ),
]
Edits = Annotated[
    str | None,
    options.option(
        "--edits", metavar="EDITS", help="Of unhint,context,crop,hops, in the order to try."
    ),
]
Attempts = Annotated[int, options.option("--attempts", help="A model fails if so many do.", min=1)]
Rounds = Annotated[int, options.option("--rounds", help="Edits of an item at most.", min=0)]


def tune(
    suite: Annotated[str, typer.Argument(help="mfcl-vision.", metavar="SUITE")],
    model: Models = None,
    output: Output = None,
    draft: DraftFolder = None,
    edits: Edits = None,
    attempts: Attempts = 2,
    rounds: Rounds = 4,
    parameters: options.Parameters = None,
    tool_format: options.ToolFormatName = None,
    limit: options.Limit = None,
    ids: options.Ids = None,
    sample: options.Sample = None,
    seed: options.Seed = None,
    base_url: options.BaseUrl = None,
    header: options.Headers = None,
    max_connections: options.RequestsPerModel = DEFAULT_CONNECTIONS,
    requests_per_minute: rate_options.RequestsPerMinute = None,
    tokens_per_minute: rate_options.TokensPerMinute = None,
    max_retries: options.Retries = DEFAULT_RETRIES,
    timeout: options.Timeout = TIMEOUT_S,
    cache: options.CacheDir = None,
    as_json: options.AsJson = False,
) -> None:
    """Edit items until most of a panel fails them; what a person then finds solvable is accepted.

    Without -m it goes on with the folder as it was begun.
    """
    import uvloop

    from toolmark.core.media import MediaStore

    if suite not in TUNABLE_SUITES:
        raise UsageError(f"no tuning of {suite!r}{suggest_names(suite, TUNABLE_SUITES)}")
    if draft is not None:
        _write_draft(draft)
        return
    if output is None:
        raise UsageError("where to? name a folder: -o DIR")
    if model:
        loaded, request = _new_request(
            output, suite, tuple(model), parameters, seed, tool_format,
            {"limit": limit, "ids": options.split_list(ids), "sample": sample, "repeats": attempts,
             "base_url": options.stored_base_url(model, base_url) and base_url},
            edits, rounds,
        )  # fmt: skip
    else:
        if (
            parameters
            or ids
            or limit
            or sample
            or edits
            or tool_format
            or base_url
            or seed is not None
        ):
            raise UsageError("name the panel (-m), or go on with a folder by -o alone")
        loaded, request = _stored_request(output, suite)
        base_url = request.plan.base_url or None
    settings = options.connection_settings(
        request.models, base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache,
        requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute,
    ) | {"media": MediaStore(output / "media")}  # fmt: skip
    stopped = uvloop.run(_tune_items(output, loaded, request, settings))
    _publish_result(output, loaded, stopped, as_json=as_json)


# --- what is asked for ------------------------------------------------------------------


def _new_request(
    output: Path,
    name: str,
    models: tuple[str, ...],
    assignments: list[str] | None,
    seed: int | None,
    tool_format_name: str | None,
    chosen: dict[str, Any],
    edits: str | None,
    rounds: int,
) -> tuple[Suite, TuningRequest]:
    """Return the suite and what is asked for; the seed is that of the folder, if it is there."""
    from toolmark.runs import run_preparation
    from toolmark.runs.run_plan import Plan
    from toolmark.studio.vision_tuning import tuning_folder, tuning_records

    if any(
        assignment.partition("=")[0].strip() == "variations" for assignment in assignments or ()
    ):
        raise UsageError("variations: tuned is the picture as it is; leave the parameter out")
    for model in models:  # the folder is gone on with by what it holds
        secrets.check_no_key("-m", model)
    secrets.check_no_key("--base-url", chosen["base_url"])
    duplicate = next((name for name in models if models.count(name) > 1), None)
    if duplicate is not None:
        raise UsageError(f"-m {duplicate} is given twice; a model has one voice")
    loaded = options.load_suite(name, [*(assignments or ()), BASE_VARIATION], seed)
    tool_format = run_preparation.tool_format_of(loaded, tool_format_name)
    plan = Plan(
        suite=loaded.name, model=", ".join(models), tool_format=tool_format,
        parameters=dict(loaded.parameters), sampling=loaded.defaults.sampling, **chosen,
    )  # fmt: skip
    run_preparation.check_runnable(loaded, plan)
    folder_seed = (
        tuning_folder.TuningFolder(output).request.seed
        if tuning_folder.is_tuning_folder(output)
        else loaded.provenance.seed
    )
    request = tuning_records.TuningRequest(
        plan=plan, models=models, edits=_parse_edits(edits), rounds=rounds, seed=folder_seed,
        hashes=dict(loaded.provenance.hashes),
    )  # fmt: skip
    return _reseed_suite(loaded, folder_seed), request


def _stored_request(output: Path, name: str) -> tuple[Suite, TuningRequest]:
    """Return the suite and the request of a folder. Raises UsageError for what has changed."""
    from toolmark.studio.vision_tuning import tuning_folder

    if not tuning_folder.is_tuning_folder(output):
        raise UsageError(f"{output}: nothing begun there; name the panel: -m MODEL -m MODEL ...")
    tuning = tuning_folder.TuningFolder(output)
    if tuning.request.plan.suite != name:
        raise UsageError(f"{output}: a tuning of {tuning.request.plan.suite!r}, not of {name!r}")
    return tuning.load_suite(), tuning.request


def _reseed_suite(loaded: Suite, seed: int) -> Suite:
    from toolmark.suites import suite_registry

    if loaded.provenance.seed == seed:
        return loaded
    return suite_registry.load_suite(loaded.name, **{**loaded.parameters, "seed": seed})


def _parse_edits(text_of_edits: str | None) -> tuple[str, ...]:
    from toolmark.studio.vision_tuning.item_edits import HARDER_EDITS

    if text_of_edits is None:
        return HARDER_EDITS
    chosen = tuple(dict.fromkeys(options.split_list(text_of_edits)))
    for word in chosen:
        if word not in HARDER_EDITS:
            raise UsageError(f"--edits: no edit {word!r}{suggest_names(word, HARDER_EDITS)}")
    return chosen


# --- the work ---------------------------------------------------------------------------


async def _tune_items(
    output: Path, loaded: Suite, request: TuningRequest, settings: Mapping[str, Any]
) -> str:
    """Tune, and return why a model could no longer be asked, "" if all could."""
    from toolmark.cli import progress_display
    from toolmark.studio.vision_tuning import author_edits, tuning_folder, tuning_loop
    from toolmark.suites.mfcl_vision import generation_parameters

    source = generation_parameters.source_folder(loaded.parameters["source"])
    own_items = (
        author_edits.read_author_edits(source, {task.item for task in loaded.tasks})
        if source
        else {}
    )
    async with AsyncExitStack() as stack:
        panel: dict[str, Model] = {}
        if not tuning_folder.is_tuning_folder(output):  # a name that is none makes no folder
            panel = await _open_panel(stack, loaded, request.models, settings)
        tuning = tuning_folder.open_or_create(output, request)
        writer = stack.enter_context(tuning.open_writer())
        watch = stack.enter_context(
            progress_display.show_progress(
                err, f"tune with {pluralize(len(request.models), 'model')}"
            )
        )
        tuning_loop.make_items(tuning, writer, loaded, watch)
        editor = tuning_loop.ItemEditor(tuning, writer, loaded, own_items, tuning_loop.redraw_item)
        editor.edit_items()
        if not tuning_loop.has_open_items(tuning):
            return ""
        panel = panel or await _open_panel(stack, loaded, request.models, settings)
        state = await tuning_loop.run_tuning(
            tuning,
            writer,
            loaded,
            panel,
            editor,
            n_concurrent=settings["max_connections"],
            watch=watch,
        )
        return state.stop_reason


async def _open_panel(
    stack: AsyncExitStack, loaded: Suite, names: tuple[str, ...], settings: Mapping[str, Any]
) -> dict[str, Model]:
    """Return the models by name, closed with the stack."""
    from toolmark.suites.model_registry import make_model

    found = {}
    for name in names:
        model = make_model(name, suite=loaded, **settings)
        stack.push_async_callback(model.close)
        found[name] = model
    return found


# --- what is said -----------------------------------------------------------------------


def _write_draft(folder: Path) -> None:
    from toolmark.studio.vision_tuning import item_drafts

    drafted = item_drafts.draft_items(folder)
    lines = [
        (
            f"{drafted.path}  {pluralize(drafted.n_added, 'row')} added, "
            f"{format_count(drafted.n_existing)} there before"
        )
    ]
    refused = list(drafted.rejected.values())
    lines += [f"  left out: {why}" for why in refused[:MAX_REFUSED_SHOWN]]
    if len(refused) > MAX_REFUSED_SHOWN:
        lines.append(f"  left out: {len(refused) - MAX_REFUSED_SHOWN} more")
    lines.append(
        "  next: fill in question, answer, domain and query_type of each row, boxes of "
        f"the clue where you can; then toolmark tune {TUNABLE_SUITES[0]} -T source={folder} "
        "-T search=... -m MODEL -o DIR"
    )
    _print_lines(lines)
    is_empty = not drafted.n_added and not drafted.n_existing
    exit_codes.end_command(not_run=f"{folder}: no picture became a row" if is_empty else "")


def _publish_result(output: Path, loaded: Suite, stopped: str, *, as_json: bool) -> None:
    from toolmark.studio.vision_tuning import tuned_set_export, tuning_folder

    tuning = tuning_folder.TuningFolder(output)
    set_path = tuned_set_export.publish_set(tuning, loaded)
    counts = tuning.count_statuses()
    if as_json:
        found = {
            "items": counts,
            "set": str(set_path or ""),
            "dir": str(output),
            "stopped": stopped,
        }
        options.print_json(found)
    else:
        tables = [render_text(table) for table in tuned_set_export.summary_tables(tuning)]
        out.print("\n\n".join(tables), markup=False, highlight=False, soft_wrap=True)
        _print_lines(_result_lines(tuning, set_path, stopped))
    shortfalls = {"not run": counts["open"], "without a picture": counts["broken"]}
    unfinished = [f"{pluralize(n, 'item')} {what}" for what, n in shortfalls.items() if n]
    exit_codes.end_command(not_run=", ".join(unfinished))


def _result_lines(tuning: TuningFolder, set_path: Path | None, stopped: str) -> list[str]:
    counts = tuning.count_statuses()
    resume_command = consoles.shell_command("tune", tuning.request.plan.suite, "-o", tuning.path)
    lines = []
    if broken := [
        item.latest_version.failure for item in tuning.items.values() if item.latest_version.failure
    ]:
        lines += [f"  no picture: {why}" for why in broken[:MAX_REFUSED_SHOWN]]
    if counts["open"]:
        failed = [t.failure for item in tuning.items.values() for t in item.trials if t.failure]
        why = stopped or (failed[-1].summary if failed else "it was ended")
        lines += [f"  not run: {why[:500]}", f"  next: {resume_command}"]
    if set_path is not None:
        lines.append(
            f"{set_path}  {pluralize(counts['accepted'], 'item')}; -T source={set_path} asks them"
        )
    elif (tuning.path / "set").exists():
        lines.append(f"  {tuning.path / 'set'} is of an earlier state: nothing is accepted now")
    if counts["waiting"]:
        lines += [
            f"  next: {consoles.shell_command('review', tuning.path)}",
            f"  then: {resume_command}",
        ]
    return lines


def _print_lines(lines: list[str]) -> None:
    for line in lines:
        out.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)

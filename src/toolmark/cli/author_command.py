"""`toolmark author`: have models make reference trajectories for the tasks of a suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes, rate_options
from toolmark.cli.judge_command import ShowPictures
from toolmark.core import secrets
from toolmark.core.errors import UsageError
from toolmark.core.number_format import format_count, pluralize
from toolmark.core.version import TOOLMARK_VERSION
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.reports.table_format import visible_text

if TYPE_CHECKING:
    from toolmark.core.records import Task
    from toolmark.runs.run_plan import Plan
    from toolmark.runs.suite import Suite
    from toolmark.studio.m3_authoring import AuthoringCounts

out = consoles.stdout_console()
err = consoles.stderr_console()

Judge = Annotated[
    str,
    options.option(
        "-j",
        "--judge-model",
        metavar="MODEL",
        help="Model that accepts, rejects and condenses the items.",
    ),
]
Output = Annotated[
    Path, options.option("-o", "--output", metavar="DIR", help="New, or to be continued.")
]
Rounds = Annotated[int, options.option("--rounds", help="Attempts at a task at most.", min=1)]


def author(
    suite: options.SuiteName,
    model: options.ModelName,
    judge: Judge,
    output: Output,
    rounds: Rounds = 3,
    pictures: ShowPictures = False,
    parameters: options.Parameters = None,
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
    sandbox: options.SandboxMode = options.Sandbox.required,
    as_json: options.AsJson = False,
) -> None:
    """Have a model do the tasks and a judge decide; what it accepts becomes references."""
    import uvloop

    from toolmark.core.media import MediaStore
    from toolmark.environments.mcp import sandbox as mcp_sandbox
    from toolmark.runs.run_plan import Plan
    from toolmark.runs.task_selection import environment_hashes

    loaded = options.load_suite(suite, _with_exact_similarity(suite, parameters), seed)
    chosen = options.split_list(ids)
    settings = options.connection_settings(
        (model, judge), base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache,
        requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute,
    ) | {"media": MediaStore(output / "media")}  # fmt: skip
    with mcp_sandbox.use_setting(sandbox.value), mcp_sandbox.hide_paths(output):
        plan = Plan(
            suite=loaded.name,
            # what is stored is condensed: it is not a run of the model alone
            model=f"{secrets.mask_model_spec(model)} with {secrets.mask_model_spec(judge)}",
            tool_format=next(iter(loaded.tool_formats)),
            parameters=dict(loaded.parameters),
            base_url=options.stored_base_url((model, judge), base_url),
            sampling=loaded.defaults.sampling,
            limit=limit,
            ids=chosen,
            sample=sample,
            environment_hashes=environment_hashes(loaded),
        )
        counts = uvloop.run(
            _make_references(output, plan, loaded, (model, judge), rounds, pictures, settings)
        )
    _print_result(output, counts, as_json=as_json)


def _with_exact_similarity(suite: str, parameters: list[str] | None) -> list[str]:
    """Return the suite parameters; nothing is compared here, so no encoder is needed by default."""
    from toolmark.suites import suite_registry

    assignments = list(parameters or ())
    names = {assignment.partition("=")[0].strip() for assignment in assignments}
    if "similarity" not in names and any(
        k.name == "similarity" for k in suite_registry.list_parameters(suite)
    ):
        assignments.append("similarity=exact")
    return assignments


def _prepare_folder(path: Path, plan: Plan, suite: Suite) -> None:
    """Make the folder, or see that the one there is of the same request. Raises UsageError."""
    from toolmark.runs import run_folders
    from toolmark.runs.run_store import Run

    if (path / "run.json").exists():
        # by hash: what was read back holds lists where the request has tuples
        if Run(path).info.plan.hash != plan.hash:
            raise UsageError(f"{path}: made by another request; choose another folder")
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise UsageError(f"{path}: not empty, and no author's folder; choose another")
    except OSError as error:
        raise UsageError(f"{path}: cannot write there: {error.strerror}") from None
    run_folders.write_run(
        path,
        plan,
        _independent_tasks(suite, plan),
        media=suite.provenance.media,
        seed=suite.provenance.seed,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        hashes=dict(suite.provenance.hashes),
        versions={"toolmark": TOOLMARK_VERSION},
    )


def _independent_tasks(suite: Suite, plan: Plan) -> Iterator[Task]:
    from toolmark.runs.task_selection import select_tasks

    for task in select_tasks(suite, plan, suite.provenance.seed):
        if task.needs or task.kind == "setup":
            raise UsageError(f"{suite.name}: its tasks need each other; references are made apart")
        yield task


async def _make_references(
    path: Path,
    plan: Plan,
    suite: Suite,
    names: tuple[str, str],
    rounds: int,
    pictures: bool,
    settings: Mapping[str, Any],
) -> AuthoringCounts:
    from toolmark.cli import progress_display
    from toolmark.runs import run_preparation
    from toolmark.runs.run_store import RunWriter
    from toolmark.studio import m3_authoring
    from toolmark.suites import judge_models

    async with AsyncExitStack() as stack:
        model, judge = [await judge_models.open_model(stack, name, settings) for name in names]
        run_preparation.check_runnable(suite, plan)
        _prepare_folder(path, plan, suite)
        writer = stack.enter_context(RunWriter(path))
        watch = stack.enter_context(progress_display.show_progress(err, f"author {names[0]}"))
        return await m3_authoring.author_references(
            writer,
            suite,
            model,
            judge,
            rounds=rounds,
            shows_pictures=pictures,
            n_concurrent=settings["max_connections"],
            watch=watch,
        )


def _print_result(path: Path, counts: AuthoringCounts, *, as_json: bool) -> None:
    from toolmark.studio.m3_authoring import TRUTHS_FILE

    truths = str(path / TRUTHS_FILE) if counts.accepted else ""
    if as_json:
        found = msgspec.to_builtins(counts) | {"truths": truths, "run_dir": str(path)}
        options.print_json(found)
    else:
        _print_counts(path, counts, truths)
    exit_codes.end_command(not_run=_not_made_reason(counts))


def _print_counts(path: Path, counts: AuthoringCounts, truths: str) -> None:
    from toolmark.runs.run_store import Run

    lines = [
        f"{pluralize(counts.accepted, 'task')} accepted "
        f"({format_count(counts.by_rule)} condensed by rule), "
        f"{format_count(counts.rejected)} turned down, {format_count(counts.not_run)} not run"
    ]
    if counts.not_run:
        failures = [attempt.failure for attempt in Run(path).attempts()]
        lines += [f"  not run: {failure.summary[:500]}" for failure in failures[-1:]]
        lines.append("  next: give the same command again to run what is missing")
    if truths:
        lines.append(f"  {truths}")
        step = consoles.shell_command("review", path)
        lines.append(f"  next: models made these, so look at each of them: {step}")
    for line in lines:
        out.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)


def _not_made_reason(counts: AuthoringCounts) -> str:
    """Say that tasks were not run, or that no reference was made; "" for neither."""
    if counts.not_run:
        return f"{pluralize(counts.not_run, 'task')} not run"
    return "" if counts.accepted else "no reference was made: every task was turned down"

"""The public functions; `arun` is asynchronous, `run` is its synchronous form."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, Unpack

import uvloop

from toolmark.core.errors import Rejected, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model, ReplyFunction
from toolmark.core.records import Sampling
from toolmark.environments.mcp import sandbox as mcp_sandbox
from toolmark.models import endpoint_probes
from toolmark.models.audio_encoding import AudioFormat
from toolmark.runs import (
    code_hashes,
    run_creation,
    run_finalization,
    run_folders,
    run_preparation,
    run_request,
    run_settings,
    runner,
)
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import (
    DEFAULT_LOG_DIR,
    Connection,
    FlatSettings,
    Selection,
    Storage,
)
from toolmark.runs.run_store import Run, RunWriter
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites import exported_sets, run_scorers, suite_registry
from toolmark.suites.model_registry import make_model

if TYPE_CHECKING:
    from toolmark.reports.comparison_report import Comparison


_P = ParamSpec("_P")
_R = TypeVar("_R")


def load(name: str, **parameters: Any) -> Suite:
    """Return a suite with these parameters: an iterable of Tasks with a length.

    Raises UsageError naming the nearest valid name for an unknown suite or suite parameter.
    """
    return suite_registry.load_suite(name, **parameters)


async def arun(
    suite: Suite,
    model: str | ReplyFunction | type[Model],
    *,
    tool_format: str | None = None,
    selection: Selection | None = None,
    sampling: Sampling | None = None,
    connection: Connection | None = None,
    storage: Storage | None = None,
    time_limit_s: float | None = None,
    sandbox: str = "required",
    watch: runner.ProgressWatcher | None = None,
    stop: asyncio.Event | None = None,
    **settings: Unpack[FlatSettings],
) -> Run:
    """Run a suite on a model and return the run.

    Settings come in groups (`tm.Selection`, `tm.Sampling`, `tm.Connection`, `tm.Storage`), or as
    keywords with the names of their fields: `tm.run(suite, model, limit=10, temperature=0.0)`. A
    keyword replaces the field of its group; `extra_body` is the field `extra` of Sampling.

    Settings left at None have the suite's own values, else the endpoint's. The newest run of the
    same request is continued if episodes, scores or its summary are missing, unless `resume` is
    False. What is stored is never asked again. An episode that takes longer than `time_limit_s`
    seconds is not run; another limit may be set when the run is continued.

    A model object is an `async (Request) -> Reply`, or a class that makes one. The class gets the
    `media` of the run if it takes them. The model is paced, retried and cached like an endpoint.
    Its run is continued if the model can be distinguished from others: by a `.name`, or as a
    function at the top of a file; and if the file was not edited.

    MCP servers that toolmark starts run in a sandbox. Where there is none the run is refused,
    unless `sandbox` is "off", which every report shows.

    Raises UsageError for a request that is not possible, Rejected when the endpoint refuses it
    (what was done is stored), DataError for damaged files.
    """
    chosen = run_settings.collect_settings(selection, sampling, connection, storage, settings)
    limit_s = run_settings.check_time_limit(time_limit_s)
    # what earlier runs and exported sets hold is no business of a server under test
    hidden_paths = filter(None, (DEFAULT_LOG_DIR, chosen.storage.log_dir, chosen.selection.tasks))
    with mcp_sandbox.use_setting(sandbox), mcp_sandbox.hide_paths(*hidden_paths):
        return await _run(
            exported_sets.adopt_exported_set(_check_suite(suite), chosen.selection.tasks),
            model,
            tool_format,
            chosen,
            _Supervision(limit_s, watch, stop),
        )


class _Supervision(NamedTuple):
    """What limits, shows and stops a run."""

    time_limit_s: float | None
    watch: runner.ProgressWatcher | None
    stop: asyncio.Event | None


async def _run(
    suite: Suite,
    model: str | ReplyFunction | type[Model],
    tool_format: str | None,
    settings: run_settings.RunSettings,
    supervision: _Supervision,
) -> Run:
    plan, can_resume = run_request.make_plan(
        suite,
        model,
        run_preparation.tool_format_of(suite, tool_format),
        settings.selection,
        settings.sampling,
        settings.connection,
    )
    choice = _choose_run(suite, plan, settings.storage, can_resume=can_resume)
    has_missing_episodes = (
        choice.run is None or len(choice.run.completed_episodes()) < choice.run.info.n_episodes
    )
    if has_missing_episodes:
        run_preparation.check_runnable(suite, plan)
    is_new = choice.run is None
    log_dir = Path(settings.storage.log_dir)
    path = run_folders.claim_folder(log_dir, plan) if choice.run is None else choice.run.path
    watch = _announce_start(supervision.watch, choice.notes)
    supervision = supervision._replace(watch=watch)
    player = None
    if has_missing_episodes:
        make = partial(_make_model, model, settings.connection)
        command = settings.storage.command
        player = await _prepare_model_and_run(
            path, plan, suite, make, is_new=is_new, watch=watch, command=command
        )
    try:
        with _handle_refusal(path, is_new=is_new), RunWriter(path) as writer:
            if choice.accepts_edits:
                writer.accept_edits(plan)
            if has_missing_episodes and not is_new:
                run_creation.remake_broken_tasks(
                    writer, suite, plan, partial(run_preparation.finish_tasks, suite, watch=watch)
                )
            n = settings.connection.max_connections
            await _execute_run(writer, suite, player, n, supervision)
    finally:
        if player is not None:
            await player.close()
    return Run(path)


def _choose_run(
    suite: Suite, plan: Plan, storage: Storage, *, can_resume: bool
) -> run_folders.RunChoice:
    """Return the stored run that is continued, if there is one."""
    if not (storage.resume and can_resume):
        return run_folders.RunChoice(None)
    return run_folders.choose_run(
        Path(storage.log_dir),
        plan,
        partial(run_creation.reason_for_new_run, suite=suite, plan=plan),
        accept_edits=storage.continue_,
        shared_modules=code_hashes.modules_shared_with_scorer(suite),
    )


def _make_model(
    model: str | ReplyFunction | type[Model],
    connection: Connection,
    *,
    suite: Suite,
    media: MediaStore,
    audio: AudioFormat,
) -> Model | Control:
    return make_model(
        model,
        suite=suite,
        media=media,
        audio=audio,
        base_url=connection.base_url,
        cache=None if connection.cache is None else Path(connection.cache),
        headers=connection.headers,
        timeout_s=connection.timeout_s,
        max_connections=connection.max_connections,
        max_retries=connection.max_retries,
    )


def _announce_start(
    watch: runner.ProgressWatcher | None, lines: tuple[str, ...]
) -> runner.ProgressWatcher | None:
    """Return a watcher that is also given the reason why a run is continued or a new one begins."""
    if watch is None or not lines:
        return watch

    def watch_with_lines(progress: runner.Progress) -> None:
        progress.start_notes = lines
        watch(progress)

    return watch_with_lines


async def _prepare_model_and_run(
    path: Path,
    plan: Plan,
    suite: Suite,
    make: Callable[..., Model],
    *,
    is_new: bool,
    watch: runner.ProgressWatcher | None,
    command: str,
) -> Model:
    """Make the model and fill the folder of a new run; on failure the new folder is removed."""
    media = MediaStore(path / "media")
    player: Model | None = None
    try:
        player = make(suite=suite, media=media, audio=plan.audio_format)
        if isinstance(player, Control):  # wrong options of a control show here
            player.bind(next(iter(suite)), 0)
        if is_new and suite.maker.makes_sound:
            await endpoint_probes.check_audio_input(player, media, send_probe=bool(plan.base_url))
        if is_new:
            tasks = run_preparation.finish_tasks(suite, plan, watch)
            run_creation.create_run(path, plan, suite, tasks, command)
        return player
    except BaseException:
        if player is not None:
            await player.close()
        if is_new and path.exists():
            run_folders.discard_folder(path)
        raise


async def _execute_run(
    writer: RunWriter,
    suite: Suite,
    player: Model | None,
    max_connections: int,
    supervision: _Supervision,
) -> None:
    """Run the missing episodes with `player`, finish the run, and record its notes."""
    plan = writer.run.info.plan
    if not plan.tasks and suite.provenance.notes:
        writer.update_info(notes={"data": suite.provenance.notes})
    await runner.execute_run(
        writer,
        suite,
        player,
        suite.tool_formats[plan.tool_format],
        max_connections=max_connections,
        **supervision._asdict(),
    )
    if player is not None:
        writer.update_info(
            refused_settings=player.refused_settings, unsent_settings=player.unsent_settings
        )


@contextmanager
def _handle_refusal(path: Path, *, is_new: bool) -> Iterator[None]:
    """Add the run folder to a refusal; withdraw a new run whose request turns out to be wrong."""
    try:
        yield
    except Rejected as error:
        error.run_dir = str(path)
        raise
    except UsageError:
        if is_new:
            run_folders.withdraw_run(path)
        raise


def _with_signature_of(
    function: Callable[_P, Coroutine[Any, Any, _R]],
) -> Callable[[Callable[..., _R]], Callable[_P, _R]]:
    """Give a function the signature of an async one, for readers, notebooks and type checkers."""

    def copy_signature(wrapper: Callable[..., _R]) -> Callable[_P, _R]:
        wrapper.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return wrapper

    return copy_signature


def _show_keywords(function: Callable[..., Any]) -> None:
    """Let the signature of a function name the keywords of all groups, for notebooks."""
    signature = inspect.signature(function)
    explicit = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, kind, default in run_settings.list_keywords()
    ]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*explicit, *keywords]
    )


_show_keywords(arun)


@_with_signature_of(arun)
def run(*args: Any, **settings: Any) -> Run:
    """Run a suite as `arun` does, with the same parameters, from code that is not async."""
    if asyncio._get_running_loop() is not None:
        raise UsageError("a loop is running already (a notebook?): use `await tm.arun(...)`")
    return uvloop.run(arun(*args, **settings))


def open_run(path: str | Path) -> Run:
    """Open a run folder."""
    return Run(Path(path))


def rescore(run: Run | str | Path, scorer: Scorer | None = None) -> Run:
    """Score a stored run again without asking the model; returns the run.

    A run of your own suite needs its `scorer`, unless the code of the run is unchanged since the
    run recorded it; then the scorer is imported. Raises UsageError if the code has changed, and for
    a scorer of another suite; the old scores are not changed.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    run_finalization.rescore_run(opened, run_scorers.scorer_for_run(opened, scorer))
    return opened


def compare(a: Run, b: Run, *, rule: str | None = None, differing: bool = False) -> Comparison:
    """Compare two runs item by item: paired difference with interval and exact test.

    The headline grading rule is compared unless `rule` names another. Where tasks have the same id
    but different content nothing is tested, unless `differing` is True. Only the two folders are
    needed.
    """
    from toolmark.reports import run_comparison

    return run_comparison.compare_runs(a, b, rule, allow_differing=differing)


def write_report(*runs: Run, path: str | Path | None = None) -> Path:
    """Write one self-contained HTML page over the runs, by default into the first run's folder.

    Only their folders are needed. A run without scores is shown as far as it is stored.
    """
    from toolmark.reports import html_report

    if not runs:
        raise UsageError("no run to report on")
    target = Path(path) if path is not None else runs[0].path / "report.html"
    return html_report.write_report(runs, target)


def _check_suite(value: object) -> Suite:
    if not isinstance(value, Suite):
        raise UsageError(f"expected a Suite, got {value!r}; next: tm.load(NAME)")
    return value

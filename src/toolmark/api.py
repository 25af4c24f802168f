"""The public functions; `arun` is asynchronous, `run` is its synchronous form."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import uvloop
from msgspec import structs

from toolmark.core.errors import Rejected, UsageError, join_reasons, suggest_names
from toolmark.core.files import is_inside
from toolmark.core.media import MediaStore
from toolmark.core.records import Control, Model, Task
from toolmark.environments.mcp import sandbox as boxes
from toolmark.models import endpoint_probes
from toolmark.models.audio_encoding import AudioFormat
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.runs import (
    code_hashes,
    run_creation,
    run_finalization,
    run_folders,
    run_request,
    runner,
)
from toolmark.runs.run_lifecycle import finishing_command
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run, RunWriter
from toolmark.runs.suite import Scorer, Suite
from toolmark.runs.task_selection import select_tasks
from toolmark.suites import exported_sets, suite_registry
from toolmark.suites.model_registry import make_model

if TYPE_CHECKING:
    from toolmark.reports.run_comparison import Comparison


DEFAULT_LOG_DIR = "runs"
_P = ParamSpec("_P")
_R = TypeVar("_R")


def load(name: str, **parameters: Any) -> Suite:
    """Return a suite with these parameters: an iterable of Tasks with a length.

    Raises UsageError naming the nearest valid name for an unknown suite or suite parameter.
    """
    return suite_registry.load_suite(name, **parameters)


def _apply_sandbox_setting(
    function: Callable[_P, Coroutine[Any, Any, _R]],
) -> Callable[_P, Coroutine[Any, Any, _R]]:
    """Return a function that applies its `sandbox` setting and hides its results from sandboxes."""

    @functools.wraps(function)
    async def sandboxed(*args: _P.args, **settings: _P.kwargs) -> _R:
        candidates = [DEFAULT_LOG_DIR, settings.get("log_dir"), settings.get("tasks")]
        hidden_paths = [
            place for place in candidates if isinstance(place, str | Path) and str(place)
        ]
        with (
            boxes.use_setting(settings.get("sandbox", "required")),
            boxes.hide_paths(*hidden_paths),
        ):
            return await function(*args, **settings)

    return sandboxed


@_apply_sandbox_setting
async def arun(
    suite: Suite,
    model: str | Model | Control | type[Model],
    *,
    dialect: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int | None = None,
    reasoning_effort: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    base_url: str | None = None,
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    repeats: int = 1,
    limit: int | None = None,
    ids: str | Sequence[str] = (),
    sample: int | None = None,
    tasks: str | Path = "",
    log_dir: str | Path = DEFAULT_LOG_DIR,
    cache: str | Path | None = None,
    max_connections: int = DEFAULT_CONNECTIONS,
    max_retries: int = DEFAULT_RETRIES,
    timeout_s: float = TIMEOUT_S,
    time_limit_s: float | None = None,
    audio_format: AudioFormat = "wav",
    resume: bool = True,
    continue_: bool = False,
    sandbox: str = "required",
    command: str = "",
    watch: runner.ProgressWatcher | None = None,
    stop: asyncio.Event | None = None,
) -> Run:
    """Run a suite on a model and return the run.

    Settings left at None have the suite's own values, else the endpoint's. The newest run of the
    same request is continued if episodes, scores or its summary are missing, unless `resume` is
    False. With `continue_` it is also continued after edits of your code. What is stored is never
    asked again. `sample` draws that many tasks spread over the categories. `tasks` takes the tasks
    from a JSONL file, or from a folder that `make` wrote. `audio_format` is the form in which an
    endpoint gets sound: wav, or mp3, which is smaller. An episode that takes longer than
    `time_limit_s` seconds is not run; another limit may be set when the run is continued.

    A model object is an `async (Request) -> Reply`, or a class that makes one. The class gets the
    `media` of the run if it takes them. The model is paced, retried and cached like an endpoint.
    Its run is continued if the model can be distinguished from others: by a `.name`, or as a
    function at the top of a file; and if the file was not edited.

    MCP servers that toolmark starts run in a sandbox. Where there is none the run is refused,
    unless `sandbox` is "off", which every report shows.

    Raises UsageError for a request that is not possible, Rejected when the endpoint refuses it
    (what was done is stored), DataError for damaged files.
    """
    suite = exported_sets.adopt_exported_set(_check_suite(suite), tasks)
    sampling = run_request.check_sampling_request(
        extra_body,
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        reasoning_effort=reasoning_effort,
    )
    plan, can_resume = run_request.make_plan(
        suite,
        model,
        dialect=tool_format_of(suite, dialect),
        base_url=base_url,
        sampling=sampling,
        repeats=repeats,
        limit=limit,
        ids=ids,
        sample=sample,
        tasks=tasks,
        audio=audio_format,
    )
    connection = run_request.connection_settings(
        headers, timeout_s=timeout_s, max_connections=max_connections, max_retries=max_retries
    )
    limit_s = run_request.check_time_limit(time_limit_s)
    cache_folder = None if cache is None else run_request.check_path("cache", cache)
    runs_folder = run_request.check_path("log_dir", log_dir)
    choice = run_folders.RunChoice(None)
    if continue_ and not resume:
        raise UsageError("a new run cannot be one that goes on: leave out one of the two")
    if resume and can_resume:
        find_difference = partial(run_creation.reason_for_new_run, suite=suite, plan=plan)
        shared = code_hashes.modules_shared_with_scorer(suite)
        choice = run_folders.choose_run(
            runs_folder, plan, find_difference, accept_edits=continue_, shared_modules=shared
        )
    has_missing_episodes = (
        choice.run is None or len(choice.run.completed_episodes()) < choice.run.info.n_episodes
    )
    if has_missing_episodes:
        check_runnable(suite, plan)
    is_new = choice.run is None
    path = run_folders.claim_folder(runs_folder, plan) if choice.run is None else choice.run.path
    watch = _announce_start(watch, choice.lines)
    make = partial(
        make_model, model, base_url=base_url, cache=cache_folder, **structs.asdict(connection)
    )
    player = None
    if has_missing_episodes:
        player = await _prepare_model_and_run(
            path, plan, suite, make, is_new=is_new, watch=watch, command=command
        )
    try:
        with _handle_refusal(path, is_new=is_new), RunWriter(path) as folder:
            if choice.accepted:
                folder.accept_edits(plan)
            if has_missing_episodes and not is_new:
                run_creation.remake_broken_tasks(
                    folder, suite, plan, partial(finish_tasks, suite, watch=watch)
                )
            await _execute_run(folder, suite, player, max_connections, limit_s, watch, stop)
    finally:
        if player is not None:
            await _close_model(player)
    return Run(path)


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
    make: Callable[..., Model | Control],
    *,
    is_new: bool,
    watch: runner.ProgressWatcher | None,
    command: str,
) -> Model | Control:
    """Make the model and fill the folder of a new run; on failure the new folder is removed."""
    media = MediaStore(path / "media")
    player: Model | Control | None = None
    try:
        player = make(suite=suite, media=media, audio=plan.audio)
        if isinstance(player, Control):  # wrong options of a control show here
            player.bind(next(iter(suite)), 0)
        if is_new and suite.hears:
            await endpoint_probes.check_audio_input(player, media, send_probe=bool(plan.base_url))
        if is_new:
            run_creation.create_run(path, plan, suite, finish_tasks(suite, plan, watch), command)
        return player
    except BaseException:
        if player is not None:
            await _close_model(player)
        if is_new and path.exists():
            run_folders.discard_folder(path)
        raise


async def _execute_run(
    folder: RunWriter,
    suite: Suite,
    player: Model | Control | None,
    max_connections: int,
    time_limit_s: float | None,
    watch: runner.ProgressWatcher | None,
    stop: asyncio.Event | None,
) -> None:
    """Run the missing episodes with `player`, finish the run, and record its notes."""
    plan = folder.run.info.plan
    if not plan.tasks and suite.notes:
        folder.update_info(notes={"data": suite.notes})
    await runner.execute_run(
        folder,
        suite,
        player,
        suite.dialects[plan.dialect],
        max_connections=max_connections,
        time_limit_s=time_limit_s,
        watch=watch,
        stop=stop,
    )
    folder.update_info(dropped=getattr(player, "dropped", ()))


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
    run_finalization.rescore_run(opened, scorer_for_run(opened, scorer))
    return opened


def compare(a: Run, b: Run, *, rule: str | None = None, differing: bool = False) -> Comparison:
    """Compare two runs item by item: paired difference with interval and exact test.

    The headline grading rule is compared unless `rule` names another. Where tasks have the same id
    but different content nothing is tested, unless `differing` is True. Only the two folders are
    needed.
    """
    from toolmark.reports import run_comparison as comparing

    return comparing.compare_runs(a, b, rule, allow_differing=differing)


def write_report(*runs: Run, path: str | Path | None = None) -> Path:
    """Write one self-contained HTML page over the runs, by default into the first run's folder.

    Only their folders are needed. A run without scores is shown as far as it is stored.
    """
    from toolmark.reports import html_report

    if not runs:
        raise UsageError("no run to report on")
    target = Path(path) if path is not None else runs[0].path / "report.html"
    return html_report.write_report(runs, target)


def scorer_for_run(run: Run, scorer: Scorer | None = None) -> Scorer:
    """Return the scorer of a run, or `scorer`; raises UsageError for a scorer of another suite."""
    name = run.info.plan.suite
    if scorer is None:
        return import_recorded_scorer(run) if run.info.plan.spec else builtin_scorer(name)
    if run.info.plan.spec:
        return scorer
    if name in suite_registry.SUITES and {*scorer.readings} != {
        *(builtin := suite_registry.load_scorer(name)).readings
    }:
        raise UsageError(
            f"{run.path} is of {name}, which is judged in {', '.join(builtin.readings)}; the "
            f"scorer given judges in {', '.join(scorer.readings)}: leave it out"
        )
    return scorer


def import_recorded_scorer(run: Run) -> Scorer:
    """Import the scorer of the suite that a run names, if its code is as the run recorded it.

    Every user file that the import would run must have the hash in the run's record. The run folder
    alone must not decide what is imported: a module inside the folder itself, or in a library, is
    not accepted. Raises UsageError with the command that names the suite.
    """
    spec = run.info.plan.spec
    recorded_hashes = run.info.plan.modules | run.scorer().files
    problem = ""
    try:
        found = code_hashes.spec_hashes(spec)
        changed = [name for name, sha256 in found.items() if recorded_hashes.get(name) != sha256]
        source_file = code_hashes.spec_file(spec)
        if not found or source_file is None:
            problem = f"{spec} is no code of which the run records a hash"
        elif is_inside(run.path, source_file):
            problem = f"{source_file} lies in the run folder"
        elif changed:
            problem = f"{', '.join(changed)} differs from what the run was made with"
    except UsageError as error:
        problem = str(error)
    if problem:
        command = finishing_command(run.path, spec)
        raise UsageError(f"{run.path}: {problem}, so nothing was imported; next: {command}")
    return suite_registry.load_scorer(spec)


def builtin_scorer(name: str) -> Scorer:
    """Return a built-in suite's scorer; a name in a run folder may not import any other code."""
    if name not in suite_registry.SUITES:
        raise UsageError(
            f"{name!r} is not a built-in suite, and the run does not name its code; next: toolmark "
            "score RUN --suite FILE.py:NAME, or tm.rescore(run, scorer)"
        )
    return suite_registry.load_scorer(name)


def finish_tasks(
    suite: Suite, plan: Plan, watch: runner.ProgressWatcher | None = None
) -> Iterator[Task]:
    """Yield the tasks of the plan as they are asked; tasks from a file are finished already.

    The watcher is notified of each task that had to be made.
    """
    chosen = select_tasks(suite, plan, suite.seed)
    tasks = chosen if plan.tasks else suite.make(chosen)
    if watch is None or tasks is chosen:
        yield from tasks
        return
    n = sum(1 for _ in select_tasks(suite, plan, suite.seed))
    effort = suite.effort(select_tasks(suite, plan, suite.seed))
    progress = runner.Progress(n_planned=0, n_to_make=n, effort=effort)
    watch(progress)
    for task in tasks:
        progress.n_made += 1
        watch(progress)
        yield task


def check_runnable(suite: Suite, plan: Plan) -> None:
    """Raise UsageError, before any request, if no task of the plan can be run."""
    if suite.sandboxed:
        boxes.require_sandbox()
    missing = suite.missing(select_tasks(suite, plan, suite.seed))
    if missing and all(suite.missing([task]) for task in select_tasks(suite, plan, suite.seed)):
        reasons = {name: reason.partition("\n")[0] for name, reason in missing.items()}
        raise UsageError(f"no task can be run: {join_reasons(reasons)}")


def tool_format_of(suite: Suite, name: str | None) -> str:
    """Return the name of the tool format, the suite's own for None; raises UsageError."""
    if name is None:
        return next(iter(suite.dialects))
    if name not in suite.dialects:
        raise UsageError(
            f"suite {suite.name!r} has no dialect {name!r}{suggest_names(name, suite.dialects)}"
        )
    return name


def _check_suite(value: object) -> Suite:
    if not isinstance(value, Suite):
        raise UsageError(f"expected a Suite, got {value!r}; next: tm.load(NAME)")
    return value


async def _close_model(model: Model | Control) -> None:
    close = getattr(model, "close", None)
    if close is not None:
        await close()

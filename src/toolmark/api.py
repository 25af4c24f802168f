"""The public functions; `arun` is asynchronous, `run` is its synchronous form."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, Unpack

import msgspec
import uvloop
from msgspec import structs

from toolmark.agents.agent import Agent
from toolmark.agents.agent_session import AgentFunction, name_model_of
from toolmark.core.errors import Rejected, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model, ReplyFunction
from toolmark.core.records import Check, Sampling, Score, Task
from toolmark.environments.mcp import sandbox as mcp_sandbox
from toolmark.models import model_resolver, run_spending
from toolmark.models import user_model as user_objects
from toolmark.runs import (
    code_hashes,
    endpoint_limits,
    run_creation,
    run_finalization,
    run_folders,
    run_logbook,
    run_preparation,
    run_request,
    run_settings,
    runner,
    sound_checks,
    sound_record,
    user_models,
)
from toolmark.runs.batches import batch_records, batch_runs
from toolmark.runs.costs import run_prices
from toolmark.runs.floors.floor_playing import FloorComputation
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
from toolmark.runs.variations import task_variations
from toolmark.runs.variations.task_variations import TaskVariations
from toolmark.suites import (
    exported_sets,
    judge_models,
    run_floors,
    run_models,
    run_scorers,
    suite_registry,
)
from toolmark.suites.judge_models import JudgeModel

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
    suite: Suite | str,
    model: str | ReplyFunction | type[Model] | None = None,
    *,
    user_model: str | ReplyFunction | type[Model] | None = None,
    judge_model: JudgeModel | None = None,
    tool_format: str | None = None,
    agent: str | Agent | AgentFunction | None = None,
    selection: Selection | None = None,
    sampling: Sampling | None = None,
    connection: Connection | None = None,
    storage: Storage | None = None,
    time_limit_s: float | None = None,
    sandbox: str = "required",
    floors: str = "auto",
    watch: runner.ProgressWatcher | None = None,
    stop: asyncio.Event | None = None,
    **settings: Unpack[FlatSettings],
) -> Run:
    """Run a suite, or the one of a name, on a model and return the run.

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

    `user_model` speaks for the simulated user of a suite that has one: a model as for `model`, or
    "scripted". It is asked with the same limits as the model, at its own address. Another one makes
    another run. A control talks to the scripted user unless `user_model` is given.
    A suite whose scorer asks a judge (`tm.judge`) needs a `judge_model`, unless it names one. The
    judge is asked when the episodes are played, with the same timeout, retries and cache.
    `tool_format` and `agent` may be names of other installed packages. `agent` may also be an
    `async def agent(session)` (`tm.AgentSession`) or a subclass of `Agent`, or its `FILE.py:NAME`:
    it then plays the episodes. A run of such a function needs a model only where it asks one.

    MCP servers that toolmark starts run in a sandbox. Where there is none the run is refused,
    unless `sandbox` is "off", which every report shows.

    `floors` says which of the suite's floors, agents without a key, are played on the same tasks:
    "auto" for those that start no process, "all", or "off". A control is measured against none.

    Raises UsageError for a request that is not possible, Rejected when the endpoint refuses it
    (what was done is stored), DataError for damaged files.
    """
    chosen = run_settings.collect_settings(selection, sampling, connection, storage, settings)
    if not (agent is None or isinstance(agent, str) or user_objects.is_module_level(agent)):
        # a function that is made anew in every process cannot be distinguished from another one
        chosen = chosen._replace(storage=structs.replace(chosen.storage, resume=False))
    limit_s = run_settings.check_time_limit(time_limit_s)
    floor_choice = run_floors.check_choice(floors)
    # what earlier runs and exported sets hold does not concern a server under test
    hidden_paths = filter(None, (DEFAULT_LOG_DIR, chosen.storage.log_dir, chosen.selection.tasks))
    with (
        mcp_sandbox.use_setting(sandbox),
        mcp_sandbox.hide_paths(*hidden_paths),
        model_resolver.forbid_asking(chosen.connection.replay_only),
        run_spending.open_spending_scope() as spending,
        run_folders.discard_empty_parent(Path(chosen.storage.log_dir)),
    ):
        adopted = exported_sets.adopt_exported_set(_check_suite(suite), chosen.selection.tasks)
        if model is None:
            model = name_model_of(agent)
        complete = run_preparation.add_installed_parts(adopted, tool_format, agent)
        asked = run_preparation.adapt_to_model(complete, model, tool_format, chosen.connection)
        varied = task_variations.vary_suite(asked, chosen.selection.vary)
        return await _run(
            varied,
            model,
            user_model,
            tool_format,
            chosen,
            _Supervision(limit_s, watch, stop),
            spending,
            run_floors.plan_floors(varied, adopted.defaults.agent, model, floor_choice),
            () if judge_model is None else (judge_model,),
        )


class _Supervision(NamedTuple):
    """What limits, shows and stops a run."""

    time_limit_s: float | None
    watch: runner.ProgressWatcher | None
    stop: asyncio.Event | None


async def _run(
    suite: Suite,
    model: str | ReplyFunction | type[Model],
    user_model: str | ReplyFunction | type[Model] | None,
    tool_format: str | None,
    settings: run_settings.RunSettings,
    supervision: _Supervision,
    spending: run_spending.RunSpending,
    floors: FloorComputation | None,
    named_judges: Sequence[JudgeModel],
) -> Run:
    user_model = user_models.choose_user_model(suite, model, user_model)
    judges = judge_models.choose_judges(suite, named_judges)
    plan, can_resume = run_request.make_plan(
        suite,
        model,
        run_preparation.tool_format_of(suite, tool_format),
        settings.selection,
        settings.sampling,
        settings.connection,
        user_model,
    )
    batch_runs.check_batch_run(suite, plan, settings.connection, supervision.time_limit_s)
    choice = _choose_run(suite, plan, settings.storage, can_resume=can_resume)
    has_missing_episodes = (
        choice.run is None or len(choice.run.completed_episodes()) < choice.run.info.n_episodes
    )
    asks = has_missing_episodes or bool(judges)
    money = run_prices.plan_money(
        suite, model, user_model, judges, plan, settings, choice.run, asks
    )
    spending.limit, spending.endpoints = money.limit, money.endpoints
    spending.model_price = money.prices.get("model")
    speaker = None
    if has_missing_episodes:
        run_preparation.check_runnable(suite, plan)
        speaker = run_models.make_user_model(suite, user_model, settings.connection)
    is_new = choice.run is None
    log_dir = Path(settings.storage.log_dir)
    path = run_folders.claim_folder(log_dir, plan) if choice.run is None else choice.run.path
    connection_notes = run_request.connection_notes(suite, model, settings.connection)
    watch = _announce_start(supervision.watch, (*choice.notes, *connection_notes, *money.notes))
    supervision = supervision._replace(watch=watch)
    player, sound = None, None
    try:
        if has_missing_episodes:
            player, sound = await _prepare_model_and_run(
                path, plan, suite, model, settings, is_new=is_new, watch=watch
            )
        with _handle_refusal(path, is_new=is_new), RunWriter(path, is_new=is_new) as writer:
            if choice.accepts_edits:
                writer.accept_edits(plan)
            if connection_notes:
                writer.update_info(notes={"connection": connection_notes})
            if is_new and isinstance(suite.maker.vary, TaskVariations):
                writer.update_info(notes={"variations": suite.maker.vary.describe_counts()})
            if has_missing_episodes and not is_new:
                run_creation.remake_broken_tasks(
                    writer, suite, plan, partial(run_preparation.finish_tasks, suite, watch=watch)
                )
            writer.update_info(
                prices=money.prices, notes={"prices": money.notes} if money.notes else None
            )
            suite = _bind_agent(suite, MediaStore(path / "media"))
            if player is not None:
                run_logbook.enter_run(writer.run, is_new=is_new)
                supervision = await _settle_sound(
                    writer, player, suite, settings.connection, sound, supervision
                )
            n = batch_runs.count_slots(plan, settings.connection)
            if settings.connection.batch:
                shown = batch_runs.watch_activity(supervision.watch, player)
                supervision = supervision._replace(watch=shown)
            async with judge_models.open_run_judges(
                path, suite.scorer.judging, judges, settings.connection, watch
            ) as judge:
                try:
                    await _execute_run(
                        writer, suite, player, speaker, n, supervision, judge, floors, spending
                    )
                finally:
                    writer.update_info(unrecorded=spending.take_unrecorded())
    finally:
        for made in filter(None, (player, speaker)):
            await made.close()
    return Run(path)


def _bind_agent(suite: Suite, media: MediaStore) -> Suite:
    """Return the suite with an agent that can read the pictures and recordings of this run."""
    bound = suite.defaults.agent.bind_media(media)
    return replace(suite, defaults=replace(suite.defaults, agent=bound))


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


def _announce_start(
    watch: runner.ProgressWatcher | None, lines: tuple[str, ...]
) -> runner.ProgressWatcher | None:
    """Return a watcher that is also given the reason why a run is continued or a new one begins."""
    if watch is None or not lines:
        return watch

    def watch_with_lines(progress: runner.Progress) -> None:
        if lines[0] not in progress.start_notes:
            progress.start_notes = (*progress.start_notes, *lines)
        watch(progress)

    return watch_with_lines


async def _prepare_model_and_run(
    path: Path,
    plan: Plan,
    suite: Suite,
    model: str | ReplyFunction | type[Model],
    settings: run_settings.RunSettings,
    *,
    is_new: bool,
    watch: runner.ProgressWatcher | None,
) -> tuple[Model, sound_record.SoundRecord | None]:
    """Make the model and fill the folder of a new run; on failure the new folder is removed.

    Of a suite that makes sound it is asked first whether the model takes any: that is returned too.
    """
    media = MediaStore(path / "media")
    player: Model | None = None
    sound: sound_record.SoundRecord | None = None
    try:
        connection = settings.connection
        player = run_models.make_run_model(
            model, connection, suite=suite, media=media, audio=connection.audio_format,
            batches=batch_records.StoredLedger(path) if connection.batch else None,
        )  # fmt: skip
        run_preparation.check_player(suite, player)
        if isinstance(player, Control):  # wrong options of a control show here
            player.bind(next(iter(suite)), 0)
        if is_new and suite.maker.makes_sound:
            hint = suite_registry.text_suite_hint(suite.name)
            sound = await sound_checks.check_sound_input(
                player, media, suite, plan, connection, hint=hint
            )
        if is_new:
            tasks = run_preparation.finish_tasks(suite, plan, watch)
            tasks = endpoint_limits.check_tasks(tasks, suite, plan, model, connection)
            run_creation.create_run(
                path, plan, suite, tasks, settings.storage.command, settings.selection
            )
        return player, sound
    except BaseException:
        if player is not None:
            await player.close()
        if is_new and path.exists():
            run_folders.discard_folder(path)
        raise


async def _settle_sound(
    writer: RunWriter,
    player: Model,
    suite: Suite,
    connection: Connection,
    found: sound_record.SoundRecord | None,
    supervision: _Supervision,
) -> _Supervision:
    """Ask what a run with sound must know of the model; what was found is shown at the start."""
    hint = suite_registry.text_suite_hint(suite.name)
    record = await sound_checks.settle_sound(writer, player, suite, connection, found, hint=hint)
    if record is None:
        return supervision
    lines = sound_record.start_lines(record)
    return supervision._replace(watch=_announce_start(supervision.watch, lines))


async def _execute_run(
    writer: RunWriter,
    suite: Suite,
    player: Model | None,
    speaker: Model | None,
    max_connections: int,
    supervision: _Supervision,
    judge: Callable[[Run], Awaitable[object]] | None,
    floors: FloorComputation | None,
    spending: run_spending.RunSpending,
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
        user_model=speaker,
        max_connections=max_connections,
        **supervision._asdict(),
        judge=judge,
        floors=floors,
        spending=spending,
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
            opened = Run(path)
            run_folders.withdraw_run(path)
            if not path.exists():
                run_logbook.enter_withdrawal(opened)
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


def check(
    suite: Suite | str,
    *,
    limit: int = 200,
    judge_model: JudgeModel | None = None,
    shortcut_time_s: float = 10.0,
    **parameters: Any,
) -> list[Check]:
    """Prove a suite before money is spent; no model is asked.

    Every row of a file is read. Then the controls are played on the first `limit` tasks: the oracle
    must be right, an empty reply only where the rows say so, and twice the same must come out.
    Agents that know one surface feature of a request are played too: what they score is a weakness.

    Args:
        suite: A suite, or the name of one: a file of rows, `FILE.py:NAME`, or a built-in suite.
        limit: On how many tasks the controls are played.
        judge_model: The judge of a suite that needs one, such as a Python function.
        shortcut_time_s: For how many seconds shortcut agents are played, 0 for none.
        parameters: Suite parameters, for a suite that is named.
    """
    from toolmark.authoring import (
        row_checks,
        row_file_names,
        rows_suite,
        shortcut_checks,
        shortcut_play,
        suite_checks,
        tool_lint,
    )

    checks: list[Check] = []
    of_rows = isinstance(suite, str) and row_file_names.is_row_file(suite)
    if isinstance(suite, str) and of_rows:
        checks = row_checks.check_rows(rows_suite.open_call_tasks(suite, parameters))
        if any(each.status == "fail" for each in checks):
            return checks
    loaded = load(suite, **parameters) if isinstance(suite, str) else _check_suite(suite)
    if not checks:
        tools = shortcut_checks.offered_tools(loaded, islice(loaded, limit))
        checks = [*tool_lint.lint_tools(tools)]
    with TemporaryDirectory(prefix="toolmark-check-") as folder:

        def play(control: str, tasks: Sequence[Task] | None) -> Run:
            return run(
                loaded if tasks is None else replace(loaded, tasks=tasks),
                control,
                log_dir=folder,
                limit=limit,
                resume=False,
                judge_model=judge_model,
                floors="off",
            )

        def play_shortcut(played: Run, agent: str, time_s: float) -> Sequence[Score]:
            return uvloop.run(run_floors.play_shortcut(played, loaded, agent, time_s))

        found = suite_checks.check_suite(
            loaded,
            play,
            shortcut_play.ShortcutTrial(
                run_floors.list_shortcuts(loaded), play_shortcut, shortcut_time_s
            ),
            limit=limit,
            has_judge=judge_model is not None,
        )
        # of a file of rows the most frequent answer was counted over all rows
        counted = {shortcut_checks.FREQUENT_ANSWER} if of_rows else set()
        return checks + [each for each in found if each.name not in counted]


def open_run(path: str | Path) -> Run:
    """Open a run folder."""
    return Run(Path(path))


def rescore(
    run: Run | str | Path, scorer: Scorer | Suite | None = None, *, floors: str = "off"
) -> Run:
    """Score a stored run again without asking the model; returns the run.

    A run of your own suite needs its `scorer`, or the suite, unless the code of the run is
    unchanged since the run recorded it; then it is imported. `floors` plays the floors that the run
    lacks, as in `arun`; for that a suite is needed, a Scorer is not enough.

    Raises UsageError if the code has changed, and for a scorer of another suite; the old scores are
    not changed.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    choice = run_floors.check_choice(floors)
    if choice != "off":
        if isinstance(scorer, Scorer):
            raise UsageError("floors are played in the suite: give the Suite, not its Scorer")
        suite = run_scorers.suite_for_run(opened, scorer)
        scorer = run_scorers.scorer_for_run(opened, suite.scorer)
        with run_finalization.lock_for_scoring(opened):
            uvloop.run(run_floors.add_floors(opened, replace(suite, scorer=scorer), choice))
    given = scorer.scorer if isinstance(scorer, Suite) else scorer
    run_finalization.rescore_run(opened, run_scorers.scorer_for_run(opened, given))
    return opened


def rejudge(
    run: Run | str | Path,
    *judges_named: JudgeModel,
    scorer: Scorer | None = None,
    connection: Connection | None = None,
) -> Run:
    """Ask other judges about the episodes of a stored run and score it again; returns the run.

    What a judge has answered is not asked again. The scorer is found as by `rescore`.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    found = run_scorers.scorer_for_run(opened, scorer)
    plan = judge_models.check_judging(opened, found)
    connection = connection or Connection()
    settings = run_settings.model_settings(connection)
    settings |= {"base_url": connection.base_url, "headers": connection.headers}
    judges = judge_models.name_judges(judges_named, settings["base_url"])
    uvloop.run(judge_models.rejudge_run(opened, found, plan, judges, settings))
    return opened


def compare(a: Run, b: Run, *, rule: str | None = None, differing: bool = False) -> Comparison:
    """Compare two runs item by item: paired difference with interval and test.

    The headline grading rule is compared unless `rule` names another. Where tasks have the same id
    but different content nothing is tested, unless `differing` is True. Only the two folders are
    needed. Where the logbook next to a run has further scored runs of its series, a warning says
    that the p-value is that of one look.
    """
    from toolmark.reports import run_comparison, run_series

    found = run_comparison.compare_runs(a, b, rule, allow_differing=differing)
    looks = run_series.selection_warnings(a, b) if found.paired.p is not None else []
    return msgspec.structs.replace(found, warnings=(*found.warnings, *looks))


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
    """Return a suite; one that is named is loaded with the defaults of its parameters."""
    found = load(value) if isinstance(value, str) else value
    if not isinstance(found, Suite):
        raise UsageError(f"expected a Suite or the name of one, got {value!r}")
    return found

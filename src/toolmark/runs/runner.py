"""The runner: bounded episodes, three outcomes, everything stored as it happens.

An episode either completes (a Trajectory) or is not run (an Attempt, never scored). At most
`max_connections` episodes are in flight, and only those are in memory.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from toolmark.core.environment import EnvironmentFactory, check_factory
from toolmark.core.errors import DataError, Rejected
from toolmark.core.failure import Failure
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.number_format import format_count
from toolmark.core.records import Attempt, Estimate, Score, Task, ToolFormat, Trajectory
from toolmark.environments import provider_circuit_breaker
from toolmark.models.connection_defaults import DEFAULT_CONNECTIONS
from toolmark.models.run_spending import RunSpending
from toolmark.runs import code_hashes, run_scoring
from toolmark.runs.circuit_breaker import CircuitBreaker
from toolmark.runs.episode_execution import (
    EpisodeProgress,
    EpisodeSetting,
    counts_for_breaker,
    play_episode,
)
from toolmark.runs.episode_records import EpisodeKey
from toolmark.runs.floors.floor_playing import FloorComputation, FloorsInProgress
from toolmark.runs.live_headline import LiveHeadline
from toolmark.runs.run_finalization import finalize_run, keep_valid_scores
from toolmark.runs.run_lifecycle import HEARTBEAT_INTERVAL_S
from toolmark.runs.run_store import Run, RunWriter
from toolmark.runs.scorer_id import ScorerId
from toolmark.runs.setup_states import SetupNotRun, SetupStates
from toolmark.runs.suite import Suite
from toolmark.runs.termination_signals import interrupt_immediately

PROGRESS_INTERVAL_S = 1.0  # also the interval between two flushes to the disk


@dataclass(slots=True)
class Progress:
    """What a watcher gets: before the first question, then after every episode and every second.

    - `n_planned`: all episodes asked for. `n_done_before` of them were complete before this process
      began, `n_run` and `n_not_run` are its own.
    - `n_made`: tasks finished by this process, after `n_made_before`, out of `n_to_make`, while a
      suite makes its tasks and nothing is planned yet.
    - `work_description`: says what making the tasks takes.
    - `headline`: the headline of the scores so far, as the summary would have it; it may lack the
      last few scores, and all where nobody watches.
    - `missing_parts`: what parts of the environment factory lack, by name. Tasks that need them are
      not run.
    - `wait_reasons`: why requests that wait to be repeated wait now.
    - `activity`: what the model does now that takes long, for people.
    - `start_notes`: say why a run continues, or why a new one begins.
    """

    n_planned: int
    n_made: int = 0
    n_made_before: int = 0
    n_to_make: int = 0
    work_description: str = ""
    n_done_before: int = 0
    n_run: int = 0
    n_not_run: int = 0
    headline: Estimate = field(default_factory=lambda: Estimate(name=""))
    missing_parts: Mapping[str, str] = field(default_factory=dict)
    wait_reasons: Collection[str] = ()
    activity: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    started_s: float = field(default_factory=time.monotonic)
    stop_reason: str = ""
    start_notes: Sequence[str] = ()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started_s


ProgressWatcher = Callable[[Progress], None]


async def execute_run(
    writer: RunWriter,
    suite: Suite,
    model: Model | None,
    tool_format: ToolFormat,
    *,
    user_model: Model | None = None,
    max_connections: int = DEFAULT_CONNECTIONS,
    time_limit_s: float | None = None,
    watch: ProgressWatcher | None = None,
    stop: asyncio.Event | None = None,
    judge: Callable[[Run], Awaitable[object]] | None = None,
    floors: FloorComputation | None = None,
    spending: RunSpending | None = None,
) -> Progress:
    """Run every missing episode of the folder, finish the run, and return its progress.

    What is stored is not asked again and retains the scores of the same scorer. Where nothing is
    missing no `model` is needed. `user_model` speaks for the suite's simulated user. `time_limit_s`
    bounds each episode. `stop` ends the run early and cleanly. `judge` is called with the run when
    its episodes are played, before they are scored, unless the run was stopped. `floors` computes
    what agents without a key score, if it may while the model is asked. `spending` counts what no
    episode records; it is stored in `run.json`. Raises Rejected when the endpoint refuses the
    requests, after what was done is scored.
    """
    run = writer.run
    completed = run.completed_episodes()
    scorer_id = code_hashes.scorer_id(suite.scorer)
    progress = Progress(n_planned=run.info.n_episodes, n_done_before=len(completed))
    writer.state_writer.write_state("running", len(completed))
    context = _RunContext(writer, suite, model, tool_format, scorer_id, progress, watch)
    context.time_limit_s, context.user_model = time_limit_s, user_model
    context.spending = spending
    context.load_stored(completed)
    playing = FloorsInProgress(floors, run, time_limit_s)
    if len(completed) < run.info.n_episodes:
        with playing.start_early():
            await _run_missing_episodes(context, completed, max_connections, stop)
    context.notify_watcher(is_last=True)
    is_stopped = (
        (stop is not None and stop.is_set())
        or context.breaker.rejection is not None
        or context.breaker.is_cost_limit
    )
    if judge is not None and not is_stopped:
        writer.episodes.flush()
        await judge(run)
    await playing.finish_computation(stop, is_wanted=not is_stopped)
    context.store_spending()
    with interrupt_immediately():
        finalize_run(
            run,
            writer.episodes,
            suite.scorer,
            writer.state_writer,
            scorer_id=scorer_id,
            completed=context.completed,
        )
    if (refusal := context.breaker.rejection) is not None:
        refused = Rejected(
            refusal.message, refusal.status, kind=refusal.kind, subject=refusal.subject
        )
        refused.request_id = refusal.request_id
        raise refused
    return progress


async def _run_missing_episodes(
    context: _RunContext,
    completed: Collection[EpisodeKey],
    max_connections: int,
    stop: asyncio.Event | None,
) -> None:
    """Play the missing episodes, and record what the environment factory lacks for them."""
    run, progress = context.writer.run, context.progress
    context.pending = run.missing_episodes(completed)
    context.environment_waits = provider_circuit_breaker.watch_waits()
    n_workers = context.breaker.n_concurrent = min(max_connections, progress.n_planned)
    progress.missing_parts = dict(
        context.suite.environment.missing_parts(task for task, _ in run.missing_episodes(completed))
    )
    context.writer.update_info(missing_parts=progress.missing_parts)
    await _run_in_environment(context, n_workers, stop)


async def _run_in_environment(
    context: _RunContext, n_workers: int, stop: asyncio.Event | None
) -> None:
    """Open the environment factory, run the workers, and record in `run.json` what became known."""
    writer = context.writer
    async with context.suite.environment.open(
        MediaStore(writer.path / "media")
    ) as environment_factory:
        check_factory(environment_factory)
        context.notify_watcher()
        try:
            await _run_workers(context, environment_factory, n_workers, stop)
        finally:
            writer.update_info(
                served_models=context.served_models,
                notes=environment_factory.incident_notes(),
                server_versions=environment_factory.part_descriptions(),
                wall_s=context.progress.elapsed_s,
            )


class _RunContext:
    """What the workers of one run share."""

    def __init__(
        self,
        writer: RunWriter,
        suite: Suite,
        model: Model | None,
        tool_format: ToolFormat,
        scorer_id: ScorerId,
        progress: Progress,
        watch: ProgressWatcher | None,
    ) -> None:
        self.writer = writer
        self.suite = suite
        self.model = model
        self.tool_format = tool_format
        self.scorer_id = scorer_id
        self.progress = progress
        self.watch = watch
        self.headline = LiveHeadline(suite.scorer)
        self.pending: Iterator[tuple[Task, int]] = iter(())
        self.breaker = CircuitBreaker(has_succeeded=progress.n_done_before > 0)
        self.completed: set[EpisodeKey] = set()
        self.served_models: set[str] = set()
        self.setup_states = SetupStates(())
        self.environment_waits: Mapping[object, str] = {}
        self.stop_reason = ""
        self.time_limit_s: float | None = None
        self.user_model: Model | None = None
        self.spending: RunSpending | None = None

    def store_spending(self) -> None:
        """Write into `run.json` what was spent since the last time and no episode records."""
        if self.spending is not None:
            self.writer.update_info(unrecorded=self.spending.take_unrecorded())

    def load_stored(self, completed: Collection[EpisodeKey]) -> None:
        """Count what is stored: valid scores are used again, other episodes are scored."""
        run = self.writer.run
        self.completed.update(completed)
        scored = keep_valid_scores(run, self.writer.episodes, self.scorer_id, completed)
        for score in run.stored_scores() if scored else ():
            self.add_score(score)
        if run.info.n_setup:
            self.setup_states = SetupStates(run.missing_episodes(completed))
        unscored = {*completed} - scored
        for trajectory in run.episodes.records_of("trajectories", unscored, Trajectory):
            self.score_episode(run.task(trajectory.task), trajectory)

    def score_episode(self, task: Task, trajectory: Trajectory) -> None:
        """Score an episode and count it. A set-up task's state goes to those who need it."""
        if task.kind == "setup":
            self.setup_states.put((task.id, trajectory.repeat), trajectory.state)
            return
        score = run_scoring.score_episode(
            self.suite.scorer, task, trajectory, price=self.writer.run.info.prices.get("model")
        )
        if not self.scorer_id.judges_whole_run:
            self.writer.episodes.append(score)
        self.add_score(score)

    def add_score(self, score: Score) -> None:
        """Count the value of an episode in the headline, where somebody watches."""
        if score.failure is None and self.watch is not None:
            self.headline.add(score)

    def store_completed(self, task: Task, trajectory: Trajectory) -> None:
        """Store a completed episode and score it."""
        self.writer.episodes.append(trajectory)
        self.completed.add((trajectory.task, trajectory.repeat))
        self.breaker.record_success()
        self.served_models.update(
            reply.model for step in trajectory.steps for reply in step.model_replies
        )
        self.progress.n_run += 1
        self.progress.input_tokens += trajectory.usage.input
        self.progress.output_tokens += trajectory.usage.output
        self.score_episode(task, trajectory)
        self.notify_watcher()

    def store_not_run(self, episode: EpisodeProgress) -> None:
        """Store an episode that was not run."""
        task, failure = episode.task, episode.failure
        assert failure is not None
        if counts_for_breaker(failure):
            self.breaker.record_failure(failure)
        self.writer.episodes.append(
            Attempt(
                task=task.id,
                repeat=episode.repeat,
                failure=failure,
                steps=tuple(episode.steps),
                unused=episode.find_unused_replies(),
            )
        )
        if task.kind == "setup":
            self.setup_states.record_failure((task.id, episode.repeat))
        self.progress.n_not_run += 1
        self.notify_watcher()

    def wait_reasons(self) -> list[str]:
        """Return why requests and searches wait now."""
        models = (each for each in (self.model, self.user_model) if each is not None)
        return wait_reasons(models, self.environment_waits)

    def note_user_stop(self) -> None:
        """Record that the user stopped the run, and the most common reason of waiting."""
        self.progress.stop_reason = "stopped by the user"
        for reason, n in Counter(self.wait_reasons()).most_common(1):
            self.stop_reason = f"stopped by the user while {format_count(n)} waited: {reason}"

    def notify_watcher(self, *, is_last: bool = False) -> None:
        """Call the watcher with the progress."""
        if self.watch is not None:
            self.progress.headline = self.headline.measure(now=is_last)
            self.progress.wait_reasons = self.wait_reasons()
            self.watch(self.progress)


async def _run_workers(
    context: _RunContext,
    environment_factory: EnvironmentFactory,
    n_workers: int,
    stop: asyncio.Event | None,
) -> None:
    sampling = context.writer.run.info.plan.sampling
    assert context.model is not None  # there are missing episodes
    setting = EpisodeSetting(
        context.suite,
        environment_factory,
        context.model,
        context.tool_format,
        sampling,
        context.time_limit_s,
        context.user_model,
    )
    workers = [asyncio.create_task(_run_worker(context, setting)) for _ in range(max(1, n_workers))]
    heartbeat = asyncio.create_task(_emit_heartbeats(context))
    stop_requested = asyncio.create_task(stop.wait()) if stop is not None else None
    # one future for all: with many workers, a wait for each of them would take long at the end
    all_done = asyncio.gather(*workers)
    try:
        awaited: set[asyncio.Future[Any]] = {all_done}
        if stop_requested is not None:
            awaited.add(stop_requested)
        done, _ = await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        if stop_requested in done:
            context.note_user_stop()
        else:
            all_done.result()  # a full disk ends the run
    finally:
        for running in [
            *workers,
            heartbeat,
            *([stop_requested] if stop_requested is not None else []),
        ]:
            running.cancel()
        await asyncio.gather(*workers, all_done, heartbeat, return_exceptions=True)


async def _emit_heartbeats(context: _RunContext) -> None:
    """Call the watcher, flush what was written to the disk, and write heartbeats.

    If the disk fails here, the next write ends the run.
    """
    writer, progress = context.writer, context.progress
    last_beat_s = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_INTERVAL_S)
        context.notify_watcher()
        with suppress(DataError):
            await asyncio.to_thread(writer.episodes.sync)
        if time.monotonic() - last_beat_s >= HEARTBEAT_INTERVAL_S:
            last_beat_s = time.monotonic()
            writer.state_writer.write_heartbeat(progress.n_done_before + progress.n_run)
            context.store_spending()


async def notify_periodically(notify: Callable[[], None]) -> None:
    """Call `notify` every second, also while no episode ends."""
    while True:
        await asyncio.sleep(PROGRESS_INTERVAL_S)
        notify()


def wait_reasons(models: Iterable[Model], environment_waits: Mapping[object, str]) -> list[str]:
    """Return why requests to the models, and requests of environments, wait now."""
    return [
        *(reason for model in models for reason in model.wait_reasons),
        *environment_waits.values(),
    ]


async def _run_worker(context: _RunContext, setting: EpisodeSetting) -> None:
    for task, repeat in context.pending:
        if context.breaker.trip_reason:
            context.progress.stop_reason = context.breaker.trip_reason
            context.store_not_run(EpisodeProgress(task, repeat, failure=_breaker_failure(context)))
            continue
        await _run_episode(context, setting, task, repeat)


async def _run_episode(
    context: _RunContext, setting: EpisodeSetting, task: Task, repeat: int
) -> None:
    episode = EpisodeProgress(task, repeat)
    try:
        needed_states = await context.setup_states.take_states(task, repeat) if task.needs else {}
        if await play_episode(
            episode, setting, partial(context.store_completed, task), needed_states
        ):
            return
    except asyncio.CancelledError:
        # report what it waited for, and what its replies cost; otherwise it was merely not reached
        if context.stop_reason or (context.progress.stop_reason and episode.replies):
            reason = context.stop_reason or context.progress.stop_reason
            episode.failure = _stopped_failure(reason)
            context.store_not_run(episode)
        raise
    except SetupNotRun as error:
        episode.failure = Failure(stage="run", kind="needs", message=str(error))
    context.store_not_run(episode)


def _breaker_failure(context: _RunContext) -> Failure:
    breaker = context.breaker
    if breaker.is_cost_limit:
        return Failure(stage="run", kind="budget", message=breaker.trip_reason)
    return _stopped_failure(breaker.trip_reason)


def _stopped_failure(reason: str) -> Failure:
    return Failure(stage="run", kind="stopped", message=reason)

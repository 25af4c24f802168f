"""Plays a floor in this process: the tasks of a run, an agent without a key, nothing stored."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from toolmark.agents.scripted_user import ScriptedUser
from toolmark.core.errors import DataError, StageContext, ToolmarkError, failure_of
from toolmark.core.failure import NOT_REACHED, Failure
from toolmark.core.media import MediaOverlay, MediaStore
from toolmark.core.model import Model
from toolmark.core.number_format import format_duration
from toolmark.core.records import Attempt, Judgement, Score, Task, ToolFormat, Trajectory
from toolmark.runs import run_scoring
from toolmark.runs.episode_execution import EpisodeProgress, EpisodeSetting, play_episode
from toolmark.runs.floors.floor_records import compact_scores
from toolmark.runs.run_store import Run, absent_score
from toolmark.runs.setup_states import SetupNotRun, SetupStates
from toolmark.runs.suite import Suite

N_WORKERS = 4  # environments of processes wait; all others take one after another anyway
EPISODE_LIMIT_S = 60.0
MOST_OF_THE_TIME = 0.25  # of the process while a model is asked, for all workers together
REST = N_WORKERS / MOST_OF_THE_TIME - 1
SHARE_OF_RUN, MIN_FOREGROUND_S = 0.25, 30.0  # how long a finished run may wait for its floors
STEP = "next: toolmark score RUN --floors auto"


class FloorPace:
    """How much time floors may take.

    While the model under test is asked, each worker of a floor rests after an episode for `REST`
    times as long as that took. Once nobody is asked, none rests, and the floor ends `foreground_s`
    later. An episode that takes `episode_limit_s` ends it as well: no agent without a model thinks,
    so the environment hangs.
    """

    def __init__(self, episode_limit_s: float = EPISODE_LIMIT_S) -> None:
        self.episode_limit_s = episode_limit_s
        self._is_foreground = asyncio.Event()
        self._ends_at_s = float("inf")

    def enter_foreground(self, foreground_s: float) -> None:
        """Stop resting: nobody is asked any more."""
        self._is_foreground.set()
        self._ends_at_s = time.monotonic() + foreground_s

    @property
    def is_over(self) -> bool:
        """Whether a finished run has waited long enough."""
        return time.monotonic() >= self._ends_at_s

    async def rest_after(self, played_s: float) -> None:
        """Let others work."""
        await asyncio.sleep(0)
        with suppress(TimeoutError):
            async with asyncio.timeout(REST * played_s):
                await self._is_foreground.wait()


class FloorComputation(NamedTuple):
    """What computes the floors of a run.

    `may_run_early`: it may start while the model under test is asked. `is_limited`: a finished run
    does not wait for them for longer than a part of its own time.
    """

    compute: Callable[[Run, FloorPace], Coroutine[Any, Any, None]]
    may_run_early: bool = False
    is_limited: bool = True


class FloorsInProgress:
    """The floors of a run that is being made: begun early where they may, and finished after it."""

    def __init__(
        self, computation: FloorComputation | None, run: Run, time_limit_s: float | None = None
    ) -> None:
        self._computation = computation
        self._run = run
        self._pace = FloorPace(min(time_limit_s or EPISODE_LIMIT_S, EPISODE_LIMIT_S))
        self._task: asyncio.Task[None] | None = None
        self._began_s = time.monotonic()

    @contextmanager
    def start_early(self) -> Iterator[None]:
        """Begin now, if the floors may be computed while the model is asked."""
        if self._computation is not None and self._computation.may_run_early:
            self._task = asyncio.create_task(self._computation.compute(self._run, self._pace))
        try:
            yield
        except BaseException:
            if self._task is not None:
                self._task.cancel()
            raise

    async def finish_computation(self, stop: asyncio.Event | None, *, is_wanted: bool) -> None:
        """Wait for the floors; drop them where they are not wanted, or once `stop` is set."""
        if self._computation is None:
            return
        played_s = time.monotonic() - self._began_s
        limit_s = max(MIN_FOREGROUND_S, SHARE_OF_RUN * played_s)
        self._pace.enter_foreground(limit_s if self._computation.is_limited else float("inf"))
        task = self._task
        if task is None and is_wanted:
            task = asyncio.create_task(self._computation.compute(self._run, self._pace))
        if task is None:
            return
        stopped = asyncio.create_task((stop or asyncio.Event()).wait())
        try:
            if is_wanted:
                await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_done = task.done()
            for waiting in (task, stopped):
                waiting.cancel()
            await asyncio.gather(task, stopped, return_exceptions=True)
        if is_done:
            task.result()


class PlayedFloor(Run):
    """A run with the trajectories of a floor in the place of its own, for `Scorer.prepare`."""

    def __init__(self, run: Run, trajectories: Sequence[Trajectory]) -> None:
        super().__init__(run.path)
        self._trajectories = trajectories

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the episodes of the floor."""
        return iter(self._trajectories)

    def attempts(self) -> Iterator[Attempt]:
        """Yield nothing: only complete episodes are here."""
        return iter(())

    def judgements(self) -> Iterator[Judgement]:
        """Yield nothing: judges are not asked about floors."""
        return iter(())


class _Game:
    """The episodes of one floor: what is played, and what came out."""

    def __init__(self, run: Run, suite: Suite) -> None:
        self.run = run
        self.suite = suite
        # no number of a floor rests on variations
        self.tasks = tuple(task for task in run.tasks() if task.variation is None)
        self.pending = iter(self.tasks)
        self.states = SetupStates((task, 0) for task in self.tasks)
        self.scores: dict[str, Score] = {}
        self.trajectories: list[Trajectory] = []
        self.failures: dict[str, Failure] = {}
        self.end_reason = ""

    def store_episode(self, task: Task, trajectory: Trajectory) -> None:
        """Take a finished episode; it is scored at once unless all are scored together."""
        if task.kind == "setup":
            self.states.put((task.id, 0), trajectory.state)
        elif self.suite.scorer.prepare is not None:
            self.trajectories.append(trajectory)
        else:
            self.scores[task.id] = run_scoring.score_episode(self.suite.scorer, task, trajectory)

    def record_failure(self, task: Task, failure: Failure | None) -> None:
        """Take an episode that was not run."""
        if task.kind == "setup":
            self.states.record_failure((task.id, 0))
        self.failures[task.id] = failure or NOT_REACHED

    async def score_together(self) -> None:
        """Score the episodes that a scorer judges together, in a thread: the loop goes on.

        Where the floor is given up the thread ends after the episode that it scores.
        """
        if self.suite.scorer.prepare is None:
            return
        is_given_up = threading.Event()
        try:
            await asyncio.to_thread(self._score_prepared, is_given_up)
        finally:
            is_given_up.set()

    def _score_prepared(self, is_given_up: threading.Event) -> None:
        scorer = self.suite.scorer
        assert scorer.prepare is not None
        played = PlayedFloor(self.run, self.trajectories)
        with StageContext("scorer"):
            prepared = replace(scorer, score=scorer.prepare(played))
        tasks = {task.id: task for task in self.tasks}
        for trajectory in self.trajectories:
            if is_given_up.is_set():
                return
            task = tasks[trajectory.task]
            self.scores[task.id] = run_scoring.score_episode(prepared, task, trajectory)

    def list_scores(self) -> list[Score]:
        """Return a score of every task, in their order."""
        return [
            self.scores.get(task.id) or absent_score(task, 0, self.failures.get(task.id))
            for task in self.tasks
            if task.kind == "scored"
        ]


async def play_floor(
    run: Run, suite: Suite, model: Model, tool_format: ToolFormat, pace: FloorPace
) -> tuple[Score, ...]:
    """Return the score of every task of a stored run if `model` had answered it.

    The environments are opened anew. They read the run's media, and add theirs to a folder that is
    removed afterwards. No model is asked; what an environment sends because of a call is its own.
    Raises ToolmarkError for a model that cannot play this suite, for a floor that takes too long,
    and for code of the suite that fails: the run is paid for, and does not depend on its floors.
    """
    try:
        return await _play_all(run, suite, model, tool_format, pace)
    except ToolmarkError:
        raise
    except Exception as error:
        raise DataError(failure_of(error, "environment").summary) from error


async def _play_all(
    run: Run, suite: Suite, model: Model, tool_format: ToolFormat, pace: FloorPace
) -> tuple[Score, ...]:
    with TemporaryDirectory(prefix="toolmark-floor-") as folder:
        game = _Game(run, suite)
        media = MediaOverlay(Path(folder), MediaStore(run.path / "media"))
        async with suite.environment.open(media) as factory:
            user = suite.environment.user
            setting = EpisodeSetting(
                suite,
                factory,
                model,
                tool_format,
                run.info.plan.sampling,
                pace.episode_limit_s,
                None if user is None else ScriptedUser(user),
            )
            await asyncio.gather(*(_play_tasks(game, setting, pace) for _ in range(N_WORKERS)))
        if game.end_reason:
            raise ToolmarkError(game.end_reason)
        await game.score_together()
        return compact_scores(game.list_scores())


async def _play_tasks(game: _Game, setting: EpisodeSetting, pace: FloorPace) -> None:
    for task in game.pending:
        if pace.is_over:
            game.end_reason = f"it takes long next to the run; {STEP}"
        if game.end_reason:
            return
        began_s = time.perf_counter()
        episode = EpisodeProgress(task, 0)
        try:
            states = await game.states.take_states(task, 0) if task.needs else {}
        except SetupNotRun as error:
            game.record_failure(task, Failure(stage="run", kind="needs", message=str(error)))
            continue
        if not await play_episode(episode, setting, partial(game.store_episode, task), states):
            game.record_failure(task, episode.failure)
            if episode.failure is not None and episode.failure.kind == "time_limit":
                limit = format_duration(pace.episode_limit_s)
                game.end_reason = f"an episode took longer than {limit}: its environment hangs"
        await pace.rest_after(time.perf_counter() - began_s)

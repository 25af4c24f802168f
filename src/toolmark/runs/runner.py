"""The runner: bounded episodes, three outcomes, everything kept as it happens.

An episode either completes (a Trajectory) or is not run (an Attempt, never scored). At most
`max_connections` episodes are in flight, and only those are in memory.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.errors import (
    EndpointError,
    Rejected,
    Timeout,
    ToolmarkError,
    WorldError,
    traced,
)
from toolmark.media import Media
from toolmark.models.policy import CONNECTIONS
from toolmark.runs import scoring
from toolmark.runs.door import Door
from toolmark.runs.jsonl import Lines
from toolmark.runs.limit import Limit, Overdue
from toolmark.runs.store import Folder
from toolmark.runs.suite import Agent, Pacing, Suite
from toolmark.types import (
    Attempt,
    Dialect,
    Instrument,
    Known,
    Model,
    Noted,
    Reply,
    Request,
    Sampling,
    Site,
    Step,
    Task,
    Trajectory,
)
from toolmark.worlds import patience

PULSE_S = 1.0


@dataclass(slots=True)
class Progress:
    """What a watcher sees: first before any question, then after every episode and every second.

    `value` and `squares` sum the headline reading's values; `missing` is what parts of the site
    lack, by name: the tasks that need them will not be run. `waits` are the reasons of requests
    that wait to be asked again just now. `n_made` counts the tasks finished so far, out of
    `n_to_make`, by a suite that makes them first, while nothing is planned yet; `effort` says what
    that takes.
    """

    n_planned: int
    n_made: int = 0
    n_to_make: int = 0
    effort: str = ""
    n_done_before: int = 0
    n_run: int = 0
    n_not_run: int = 0
    n_scored: int = 0
    value: float = 0.0
    squares: float = 0.0
    missing: Mapping[str, str] = field(default_factory=dict)
    waits: Collection[str] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    started: float = field(default_factory=time.monotonic)
    stopped: str = ""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started


Watcher = Callable[[Progress], None]


async def execute(
    folder: Folder,
    suite: Suite,
    model: Model | Instrument,
    dialect: Dialect,
    *,
    max_connections: int = CONNECTIONS,
    time_limit_s: float | None = None,
    watch: Watcher | None = None,
    stop: asyncio.Event | None = None,
) -> Progress:
    """Run every missing episode of the folder; then score, and return how it went.

    `time_limit_s` bounds each episode; `stop` ends it all early and cleanly. Raises Rejected when
    the endpoint refuses the requests, after what was done is scored.
    """
    run = folder.run
    done = run.done()
    progress = Progress(n_planned=run.info.n_episodes, n_done_before=len(done))
    lines = _afresh(run.path / "scores.jsonl")
    crew = _Crew(folder, suite, model, dialect, lines, progress, watch)
    crew.todo = scoring.missing(run, done)
    crew.waits = patience.watch()
    crew.time_limit_s = time_limit_s
    n_workers = crew.door.at_once = min(max_connections, progress.n_planned)
    progress.missing = dict(suite.missing(task for task, _ in scoring.missing(run, done)))
    folder.note(missing=progress.missing)
    try:
        for trajectory in run.trajectories():
            crew.count(run.task(trajectory.task), trajectory)
        await _sit(crew, n_workers, stop)
        scoring.fill(run, lines)
    finally:
        lines.close()
    if suite.scorer.gather is None:
        scoring.summarise(run, suite.scorer)
    else:
        scoring.anew(run, suite.scorer)
    if crew.door.rejected is not None:
        raise crew.door.rejected
    return progress


async def _sit(crew: _Crew, n_workers: int, stop: asyncio.Event | None) -> None:
    """Open the site, work there, and note in `run.json` what became known and how long it took."""
    folder = crew.folder
    async with crew.suite.site(Media(folder.path / "media")) as site:
        crew.tell()
        try:
            await _work(crew, site, n_workers, stop)
        finally:
            folder.note(
                served=crew.served,
                notes=site.notes() if isinstance(site, Noted) else None,
                servers=site.known() if isinstance(site, Known) else None,
                wall_s=crew.progress.elapsed_s,
            )


def _afresh(path: Path) -> Lines:
    path.unlink(missing_ok=True)
    return Lines(path, hold_bytes=scoring.HELD_BYTES)


class _Unmet(Exception):
    """A task that this one needs was not run."""


class _Crew:
    """What the workers of one run share."""

    def __init__(
        self,
        folder: Folder,
        suite: Suite,
        model: Model | Instrument,
        dialect: Dialect,
        scores: Lines,
        progress: Progress,
        watch: Watcher | None,
    ) -> None:
        self.folder = folder
        self.suite = suite
        self.model = model
        self.dialect = dialect
        self.scores = scores
        self.progress = progress
        self.watch = watch
        self.todo: Iterator[tuple[Task, int]] = iter(())
        self.door = Door(passed=progress.n_done_before > 0)
        self.served: set[str] = set()
        self.states: dict[tuple[str, int], asyncio.Future[Any]] = {}
        self.waits: Mapping[object, str] = {}
        self.halted = ""
        self.time_limit_s: float | None = None

    def count(self, task: Task, trajectory: Trajectory) -> None:
        """Judge an episode and count it in; a set-up task's state is kept for those who need it."""
        if task.kind == "setup":
            self.state(task.id, trajectory.repeat).set_result(trajectory.state)
            return
        score = scoring.judge(self.suite.scorer, task, trajectory)
        self.scores.append(score)
        if score.not_run:
            return
        value = score.readings[self.suite.scorer.readings[0]].value
        self.progress.n_scored += 1
        self.progress.value += value
        self.progress.squares += value * value

    def state(self, id: str, repeat: int) -> asyncio.Future[Any]:
        """Return the future final state of a set-up episode; cancelled if it was not run."""
        return self.states.setdefault((id, repeat), asyncio.get_running_loop().create_future())

    async def needed(self, task: Task, repeat: int) -> dict[str, Any]:
        """Wait for what the task needs. Raises _Unmet if that was not run."""
        found: dict[str, Any] = {}
        for id in task.needs:
            future = self.state(id, repeat)
            await asyncio.wait([future])
            if future.cancelled():
                raise _Unmet(f"it needs {id}, which was not run")
            found[id] = future.result()
        return found

    def keep(self, task: Task, trajectory: Trajectory) -> None:
        """Store a completed episode and score it."""
        self.folder.trajectories.append(trajectory)
        self.door.passed()
        self.served.update(step.reply.model for step in trajectory.steps)
        self.progress.n_run += 1
        self.progress.input_tokens += trajectory.usage.input
        self.progress.output_tokens += trajectory.usage.output
        self.count(task, trajectory)
        self.tell()

    def lose(self, episode: Episode) -> None:
        """Note an episode that was not run."""
        task = episode.task
        if episode.error is not None:
            self.door.failed(episode.reason, episode.error)
        self.folder.attempts.append(
            Attempt(
                task=task.id, repeat=episode.repeat, stage=episode.stage, reason=episode.reason,
                steps=tuple(episode.steps),
            )
        )  # fmt: skip
        if task.kind == "setup":
            self.state(task.id, episode.repeat).cancel()
        self.progress.n_not_run += 1
        self.tell()

    def waiting(self) -> list[str]:
        """Return why requests and searches wait just now."""
        return waiting([self.model], self.waits)

    def halt(self) -> None:
        """Note that the user stopped it, and what was waited for just then."""
        self.progress.stopped = "stopped by the user"
        for reason, n in Counter(self.waiting()).most_common(1):
            self.halted = f"stopped by the user while {n} waited: {reason}"

    def tell(self) -> None:
        """Let the watcher know."""
        self.progress.waits = self.waiting()
        if self.watch is not None:
            self.watch(self.progress)


async def _work(crew: _Crew, site: Site, n_workers: int, stop: asyncio.Event | None) -> None:
    workers = [asyncio.create_task(_worker(crew, site)) for _ in range(max(1, n_workers))]
    beat = asyncio.create_task(pulse(crew.tell))
    halt = asyncio.create_task(stop.wait()) if stop is not None else None
    try:
        waiting: set[asyncio.Task[object]] = {*workers} if halt is None else {*workers, halt}
        while any(not worker.done() for worker in workers):
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if halt in done:
                crew.halt()
                break
            for finished in done:
                finished.result()  # a disk that takes no more ends the run
            waiting -= done
    finally:
        for running in [*workers, beat, *([halt] if halt is not None else [])]:
            running.cancel()
        await asyncio.gather(*workers, beat, return_exceptions=True)


async def pulse(tell: Callable[[], None]) -> None:
    """Let the watcher know that time passes, also while no episode ends."""
    while True:
        await asyncio.sleep(PULSE_S)
        tell()


def waiting(models: Iterable[object], waits: Mapping[object, str]) -> list[str]:
    """Return why requests to the models, and what worlds ask for, wait just now."""
    return [*(why for each in models for why in getattr(each, "waits", ())), *waits.values()]


async def _worker(crew: _Crew, site: Site) -> None:
    for task, repeat in crew.todo:
        if crew.door.shut:
            crew.progress.stopped = crew.door.shut
            crew.lose(Episode(task, repeat, "stopped", crew.door.shut))
            continue
        await _episode(crew, site, task, repeat)


async def _episode(crew: _Crew, site: Site, task: Task, repeat: int) -> None:
    episode = Episode(task, repeat)
    sampling = crew.folder.run.info.plan.sampling
    cast = Cast(crew.suite, site, crew.model, crew.dialect, sampling, crew.time_limit_s)
    try:
        needed = await crew.needed(task, repeat) if task.needs else {}
        if await play(episode, cast, partial(crew.keep, task), needed):
            return
    except asyncio.CancelledError:
        if crew.halted:  # what it waited for is worth telling; else it was merely not reached
            episode.reason = crew.halted
            crew.lose(episode)
        raise
    except _Unmet as unmet:
        episode.stage, episode.reason = "needs", str(unmet)
    crew.lose(episode)


@dataclass(slots=True)
class Episode:
    """An episode under way: how far it came and, where it is not run, why.

    `error` is what the endpoint failed with.
    """

    task: Task
    repeat: int
    stage: str = "world"
    reason: str = ""
    error: EndpointError | None = None
    steps: list[Step] = field(default_factory=list)


class Cast(NamedTuple):
    """Who plays, where, and how long at most; `dialect` is for tasks that fix none."""

    suite: Suite
    site: Site
    model: Model | Instrument
    dialect: Dialect
    sampling: Sampling
    time_limit_s: float | None = None


async def play(
    episode: Episode,
    cast: Cast,
    keep: Callable[[Trajectory], None],
    needed: Mapping[str, Any] | None = None,
) -> bool:
    """Play an episode and hand it to `keep`; False where it is not run, which it then tells.

    Raises ToolmarkError for what is not this episode's affair: usage, a disk that takes no more.
    """
    task = episode.task
    limit = Limit(cast.time_limit_s)
    try:
        dialect = cast.suite.dialects[task.dialect] if task.dialect else cast.dialect
        model = cast.model
        if hasattr(model, "bind"):  # an Instrument; checking a protocol costs more
            model = bound(model.bind(task, episode.repeat), dialect, cast.suite.agent)
        asked = limit.watched(model)
        async with limit, cast.site.world(task, needed or {}) as world:
            episode.stage = "model"
            trajectory = await cast.suite.agent(
                task, asked, dialect, world, cast.sampling, episode.repeat, steps=episode.steps
            )
        episode.stage = "store"
        keep(trajectory)
        return True
    except Overdue as late:  # the breaker counts it where the endpoint was waited for
        episode.stage, episode.reason = late.stage, str(late)
        episode.error = Timeout(episode.reason) if late.stage == "model" else None
    except EndpointError as error:
        told = "" if isinstance(error, Rejected) else f"{type(error).__name__}: "
        episode.stage, episode.reason, episode.error = "model", f"{told}{error}", error
    except WorldError as error:  # one tool's affair: the breaker watches the endpoint only
        episode.stage, episode.reason = "world", f"{type(error).__name__}: {error}"
    except ToolmarkError:
        raise
    except Exception as error:  # a fault of ours, or of a suite, must not end a long run
        episode.reason = f"{traced(error)}\n{traceback.format_exc()}"
    return False


def bound(player: Model, dialect: Dialect, agent: Agent) -> Model:
    """Return an instrument's player as the agent asks it; its calls are in the dialect's words."""
    if isinstance(agent, Pacing):
        return agent.paced(player)

    async def spoken(request: Request, /) -> Reply:
        reply = await player(request)
        return dialect.write(reply.calls) if reply.calls else reply

    return player if dialect.name == "native" else spoken

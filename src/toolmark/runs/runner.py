"""The runner: bounded episodes, three outcomes, everything kept as it happens.

An episode either completes (a Trajectory) or is not run (an Attempt, never scored). At most
`max_connections` episodes are in flight, and only those are in memory.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from toolmark.errors import DataError, Rejected
from toolmark.failure import Failure
from toolmark.media import Media
from toolmark.models.policy import CONNECTIONS
from toolmark.runs import identity, scoring
from toolmark.runs.door import Door
from toolmark.runs.ending import interruptible
from toolmark.runs.episodes import Key
from toolmark.runs.finishing import finish, keep_scores
from toolmark.runs.identity import ScorerId
from toolmark.runs.lifecycle import BEAT_S
from toolmark.runs.play import Cast, Episode, counts_for_breaker, play
from toolmark.runs.setups import SetupStates, Unmet
from toolmark.runs.store import Folder
from toolmark.runs.suite import Suite
from toolmark.types import (
    Attempt,
    Dialect,
    Instrument,
    Known,
    Model,
    Noted,
    Score,
    Site,
    Task,
    Trajectory,
)
from toolmark.worlds import patience

PULSE_S = 1.0  # also between two times that what was written is pushed to the disk


@dataclass(slots=True)
class Progress:
    """What a watcher sees: first before any question, then after every episode and every second.

    `value` and `squares` sum the headline reading's values; `missing` is what parts of the site
    lack, by name: the tasks that need them will not be run. `waits` are the reasons of requests
    that wait to be asked again just now. `n_made` counts the tasks finished so far, out of
    `n_to_make`, by a suite that makes them first, while nothing is planned yet; `effort` says what
    that takes. `begun` says why a run goes on, or why a new one begins.
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
    begun: Sequence[str] = ()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started


Watcher = Callable[[Progress], None]


async def execute(
    folder: Folder,
    suite: Suite,
    model: Model | Instrument | None,
    dialect: Dialect,
    *,
    max_connections: int = CONNECTIONS,
    time_limit_s: float | None = None,
    watch: Watcher | None = None,
    stop: asyncio.Event | None = None,
) -> Progress:
    """Run every missing episode of the folder, finish the run, and return how it went.

    What is stored is not asked again, and keeps the scores of the same scorer; where nothing is
    missing no `model` is needed. `time_limit_s` bounds each episode; `stop` ends it all early and
    cleanly. Raises Rejected when the endpoint refuses the requests, after what was done is scored.
    """
    run = folder.run
    done = run.done()
    judged = identity.scorer_id(suite.scorer)
    progress = Progress(n_planned=run.info.n_episodes, n_done_before=len(done))
    folder.heart.enter("running", len(done))
    crew = _Crew(folder, suite, model, dialect, judged, progress, watch)
    crew.time_limit_s = time_limit_s
    crew.resume(done)
    if len(done) < run.info.n_episodes:
        await _ask(crew, done, max_connections, stop)
    crew.tell()
    with interruptible():
        finish(run, folder.episodes, suite.scorer, folder.heart, judged=judged)
    if (refusal := crew.door.rejected) is not None:
        raise Rejected(refusal.message, refusal.status, kind=refusal.kind, subject=refusal.subject)
    return progress


async def _ask(
    crew: _Crew, done: Collection[Key], max_connections: int, stop: asyncio.Event | None
) -> None:
    """Play what is missing, and note what the site lacks for it."""
    run, progress = crew.folder.run, crew.progress
    crew.todo = run.missing(done)
    crew.waits = patience.watch()
    n_workers = crew.door.at_once = min(max_connections, progress.n_planned)
    progress.missing = dict(crew.suite.missing(task for task, _ in run.missing(done)))
    crew.folder.note(missing=progress.missing)
    await _sit(crew, n_workers, stop)


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


class _Crew:
    """What the workers of one run share."""

    def __init__(
        self,
        folder: Folder,
        suite: Suite,
        model: Model | Instrument | None,
        dialect: Dialect,
        judged: ScorerId,
        progress: Progress,
        watch: Watcher | None,
    ) -> None:
        self.folder = folder
        self.suite = suite
        self.model = model
        self.dialect = dialect
        self.judged = judged
        self.progress = progress
        self.watch = watch
        self.todo: Iterator[tuple[Task, int]] = iter(())
        self.door = Door(passed=progress.n_done_before > 0)
        self.served: set[str] = set()
        self.setups = SetupStates(())
        self.waits: Mapping[object, str] = {}
        self.halted = ""
        self.time_limit_s: float | None = None

    def resume(self, done: Collection[Key]) -> None:
        """Count in what is stored: what has a score keeps it, what has none is judged."""
        run = self.folder.run
        kept = keep_scores(run, self.folder.episodes, self.judged, done)
        for score in run.stored_scores() if kept else ():
            self.add(score)
        if run.info.n_setup:
            self.setups = SetupStates(run.missing(done))
        wanted = {*done} - kept
        for trajectory in run.episodes.those("trajectories", wanted, Trajectory):
            self.count(run.task(trajectory.task), trajectory)

    def count(self, task: Task, trajectory: Trajectory) -> None:
        """Judge an episode and count it in; a set-up task's state goes to those who need it."""
        if task.kind == "setup":
            self.setups.give((task.id, trajectory.repeat), trajectory.state)
            return
        score = scoring.judge(self.suite.scorer, task, trajectory)
        if not self.judged.whole:
            self.folder.episodes.append(score)
        self.add(score)

    def add(self, score: Score) -> None:
        """Count in what an episode is worth in the headline reading."""
        if score.failure is not None:
            return
        value = score.readings[self.suite.scorer.readings[0]].value
        self.progress.n_scored += 1
        self.progress.value += value
        self.progress.squares += value * value

    def keep(self, task: Task, trajectory: Trajectory) -> None:
        """Store a completed episode and score it."""
        self.folder.episodes.append(trajectory)
        self.door.passed()
        self.served.update(step.reply.model for step in trajectory.steps)
        self.progress.n_run += 1
        self.progress.input_tokens += trajectory.usage.input
        self.progress.output_tokens += trajectory.usage.output
        self.count(task, trajectory)
        self.tell()

    def lose(self, episode: Episode) -> None:
        """Note an episode that was not run."""
        task, failure = episode.task, episode.failure
        assert failure is not None
        if counts_for_breaker(failure):
            self.door.failed(failure)
        self.folder.episodes.append(
            Attempt(
                task=task.id, repeat=episode.repeat, failure=failure, steps=tuple(episode.steps)
            )
        )
        if task.kind == "setup":
            self.setups.fail((task.id, episode.repeat))
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
        if self.watch is not None:
            self.progress.waits = self.waiting()
            self.watch(self.progress)


async def _work(crew: _Crew, site: Site, n_workers: int, stop: asyncio.Event | None) -> None:
    sampling = crew.folder.run.info.plan.sampling
    assert crew.model is not None  # there is something to ask
    cast = Cast(crew.suite, site, crew.model, crew.dialect, sampling, crew.time_limit_s)
    workers = [asyncio.create_task(_worker(crew, cast)) for _ in range(max(1, n_workers))]
    beat = asyncio.create_task(_live(crew))
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


async def _live(crew: _Crew) -> None:
    """Let the watcher know that time passes, push what was written to the disk, show signs of life.

    A disk that fails there ends the run at the next thing that is written.
    """
    folder, progress = crew.folder, crew.progress
    beaten = time.monotonic()
    while True:
        await asyncio.sleep(PULSE_S)
        crew.tell()
        with suppress(DataError):
            await asyncio.to_thread(folder.episodes.sync)
        if time.monotonic() - beaten >= BEAT_S:
            beaten = time.monotonic()
            folder.heart.beat(progress.n_done_before + progress.n_run)


async def pulse(tell: Callable[[], None]) -> None:
    """Let the watcher know that time passes, also while no episode ends."""
    while True:
        await asyncio.sleep(PULSE_S)
        tell()


def waiting(models: Iterable[object], waits: Mapping[object, str]) -> list[str]:
    """Return why requests to the models, and what worlds ask for, wait just now."""
    return [*(why for each in models for why in getattr(each, "waits", ())), *waits.values()]


async def _worker(crew: _Crew, cast: Cast) -> None:
    for task, repeat in crew.todo:
        if crew.door.shut:
            crew.progress.stopped = crew.door.shut
            crew.lose(Episode(task, repeat, failure=_stopped(crew.door.shut)))
            continue
        await _episode(crew, cast, task, repeat)


async def _episode(crew: _Crew, cast: Cast, task: Task, repeat: int) -> None:
    episode = Episode(task, repeat)
    try:
        needed = await crew.setups.take(task, repeat) if task.needs else {}
        if await play(episode, cast, partial(crew.keep, task), needed):
            return
    except asyncio.CancelledError:
        if crew.halted:  # what it waited for is worth telling; else it was merely not reached
            episode.failure = _stopped(crew.halted)
            crew.lose(episode)
        raise
    except Unmet as unmet:
        episode.failure = Failure(stage="run", kind="needs", message=str(unmet))
    crew.lose(episode)


def _stopped(why: str) -> Failure:
    return Failure(stage="run", kind="stopped", message=why)

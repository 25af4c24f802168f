"""The runner: bounded episodes, three outcomes, everything kept as it happens.

An episode either completes (a Trajectory) or is not run (an Attempt, never scored). At most
`max_connections` episodes are in flight, and only those are in memory.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolmark.agents.paced import Paced
from toolmark.dialects.staged import STAGED
from toolmark.errors import EndpointError, Rejected, ToolmarkError, WorldError
from toolmark.media import Media
from toolmark.runs import scoring
from toolmark.runs.jsonl import Lines
from toolmark.runs.store import Folder
from toolmark.runs.suite import Suite
from toolmark.types import (
    Attempt,
    Dialect,
    Instrument,
    Known,
    Model,
    Noted,
    Reply,
    Request,
    Site,
    Step,
    Task,
    Trajectory,
)
from toolmark.worlds import patience

BREAKER = 20  # failures in a row, with no success between, after which the rest is not run
PULSE_S = 1.0
REFUSALS = 5  # other refusals, with no success ever, after which the run stops


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
    max_connections: int = 16,
    watch: Watcher | None = None,
    stop: asyncio.Event | None = None,
) -> Progress:
    """Run every missing episode of the folder; then score, and return how it went.

    `stop` ends it early and cleanly. Raises Rejected when the endpoint refuses the requests,
    after what was done is scored.
    """
    run = folder.run
    done = run.done()
    progress = Progress(n_planned=run.info.n_episodes, n_done_before=len(done))
    lines = _afresh(run.path / "scores.jsonl")
    crew = _Crew(folder, suite, model, dialect, lines, progress, watch)
    crew.todo = scoring.missing(run, done)
    crew.waits = patience.watch()
    progress.missing = dict(suite.missing(task for task, _ in scoring.missing(run, done)))
    folder.note(missing=progress.missing)
    try:
        for trajectory in run.trajectories():
            crew.count(run.task(trajectory.task), trajectory)
        async with suite.site(Media(run.path / "media")) as site:
            crew.tell()
            try:
                await _work(crew, site, min(max_connections, progress.n_planned), stop)
            finally:
                folder.note(
                    notes=site.notes() if isinstance(site, Noted) else None,
                    servers=site.known() if isinstance(site, Known) else None,
                )
        scoring.fill(run, lines)
    finally:
        lines.close()
    folder.note(served=crew.served)
    if suite.scorer.gather is None:
        scoring.summarise(run, suite.scorer)
    else:
        scoring.anew(run, suite.scorer)
    if crew.rejected is not None:
        raise crew.rejected
    return progress


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
        self.model = model if not isinstance(model, Instrument) else None
        self.instrument = model if isinstance(model, Instrument) else None
        self.dialect = dialect
        self.scores = scores
        self.progress = progress
        self.watch = watch
        self.todo: Iterator[tuple[Task, int]] = iter(())
        self.failures = 0
        self.refusals = 0
        self.last = ""
        self.rejected: Rejected | None = None
        self.served: set[str] = set()
        self.states: dict[tuple[str, int], asyncio.Future[Any]] = {}
        self.waits: Mapping[object, str] = {}
        self.halted = ""

    def player(self, dialect: Dialect, task: Task, repeat: int) -> Model:
        """Return the model for an episode: the same for all, or an instrument bound to it."""
        if self.instrument is not None:
            return bound(self.instrument, dialect, task, repeat)
        assert self.model is not None
        return self.model

    def closed(self) -> str:
        """Return why no further episode may start, "" if it may."""
        if self.rejected is not None:
            return f"the requests are refused: {self.rejected}"
        if self.failures >= BREAKER:
            return f"{BREAKER} failures in a row, the last one: {self.last}"
        return ""

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

    def refused(self, error: Rejected) -> None:
        """Decide whether a refusal is one item's affair or everyone's."""
        self.failures += 1
        self.refusals += 1
        self.last = str(error)
        never = not (self.progress.n_run or self.progress.n_done_before)
        if error.final or (never and self.refusals >= REFUSALS):
            self.rejected = error

    def keep(self, task: Task, trajectory: Trajectory) -> None:
        """Store a completed episode and score it."""
        self.folder.trajectories.append(trajectory)
        self.failures = 0
        self.served.update(step.reply.model for step in trajectory.steps)
        self.progress.n_run += 1
        self.progress.input_tokens += trajectory.usage.input
        self.progress.output_tokens += trajectory.usage.output
        self.count(task, trajectory)
        self.tell()

    def lose(self, task: Task, repeat: int, stage: str, reason: str, steps: list[Step]) -> None:
        """Note an episode that was not run."""
        self.folder.attempts.append(
            Attempt(task=task.id, repeat=repeat, stage=stage, reason=reason, steps=tuple(steps))
        )
        if task.kind == "setup":
            self.state(task.id, repeat).cancel()
        self.progress.n_not_run += 1
        self.tell()

    def waiting(self) -> list[str]:
        """Return why requests and searches wait just now."""
        return [*getattr(self.model, "waits", ()), *self.waits.values()]

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
    pulse = asyncio.create_task(_pulse(crew))
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
        for running in [*workers, pulse, *([halt] if halt is not None else [])]:
            running.cancel()
        await asyncio.gather(*workers, pulse, return_exceptions=True)


async def _pulse(crew: _Crew) -> None:
    """Let the watcher know that time passes, also while no episode ends."""
    while True:
        await asyncio.sleep(PULSE_S)
        crew.tell()


async def _worker(crew: _Crew, site: Site) -> None:
    for task, repeat in crew.todo:
        reason = crew.closed()
        if reason:
            crew.progress.stopped = reason
            crew.lose(task, repeat, "stopped", reason, [])
            continue
        await _episode(crew, site, task, repeat)


async def _episode(crew: _Crew, site: Site, task: Task, repeat: int) -> None:
    steps: list[Step] = []
    stage = "world"
    try:
        dialect = crew.suite.dialects[task.dialect] if task.dialect else crew.dialect
        model = crew.player(dialect, task, repeat)
        needed = await crew.needed(task, repeat) if task.needs else {}
        async with site.world(task, needed) as world:
            stage = "model"
            trajectory = await crew.suite.agent(
                task, model, dialect, world, crew.folder.run.info.plan.sampling, repeat,
                steps=steps,
            )  # fmt: skip
        stage = "store"
        crew.keep(task, trajectory)
    except asyncio.CancelledError:
        if crew.halted:  # what it waited for is worth telling; else it was merely not reached
            crew.lose(task, repeat, stage, crew.halted, steps)
        raise
    except Rejected as error:
        crew.refused(error)
        crew.lose(task, repeat, "model", str(error), steps)
    except EndpointError as error:
        crew.failures += 1
        crew.last = f"{type(error).__name__}: {error}"
        crew.lose(task, repeat, "model", crew.last, steps)
    except WorldError as error:  # one tool's affair: the breaker watches the endpoint only
        crew.lose(task, repeat, "world", f"{type(error).__name__}: {error}", steps)
    except _Unmet as unmet:
        crew.lose(task, repeat, "needs", str(unmet), steps)
    except ToolmarkError:  # usage, or a disk that takes no more: not this episode's affair
        raise
    except Exception as error:  # a fault of ours, or of a suite, must not end a long run
        reason = f"{scoring.blame(error)}\n{traceback.format_exc()}"
        crew.lose(task, repeat, stage, reason, steps)


def bound(instrument: Instrument, dialect: Dialect, task: Task, repeat: int) -> Model:
    """Return the instrument's player; its calls are put into the dialect's words."""
    player = instrument.bind(task, repeat)
    if dialect.name == STAGED.name:
        return Paced(player)

    async def spoken(request: Request, /) -> Reply:
        reply = await player(request)
        return dialect.write(reply.calls) if reply.calls else reply

    return player if dialect.name == "native" else spoken

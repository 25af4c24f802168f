"""What a suite is to the runner: tasks, a site, a scorer; nothing is looked up by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from toolmark.agents.loop import loop
from toolmark.media import Media
from toolmark.stats.columns import Columns
from toolmark.types import (
    Attempt,
    Audio,
    Chart,
    Dialect,
    Drawing,
    Estimate,
    Model,
    Sampling,
    Site,
    Step,
    Table,
    Task,
    Trajectory,
    Verdict,
    World,
)


class Agent(Protocol):
    """Drives a model through one episode: `agents.loop`, or an `agents.executor.Executor`."""

    async def __call__(
        self,
        task: Task,
        model: Model,
        dialect: Dialect,
        world: World,
        sampling: Sampling,
        repeat: int = 0,
        *,
        steps: list[Step] | None = None,
    ) -> Trajectory:
        """Play the episode; `steps` is filled as it goes."""
        ...


if TYPE_CHECKING:
    from toolmark.runs.store import Run

Opening: TypeAlias = Callable[[Media], AbstractAsyncContextManager[Site]]
Missing: TypeAlias = Callable[[Iterable[Task]], Mapping[str, str]]
Scoring: TypeAlias = Callable[[Task, Trajectory], Mapping[str, Verdict]]
Missed: TypeAlias = Callable[[Task, Attempt], Mapping[str, Verdict]]
Making: TypeAlias = Callable[[Iterable[Task]], Iterable[Task]]


class Tasks(Protocol):
    """Tasks that can be gone through more than once and counted without making them."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def __iter__(self) -> Iterator[Task]:
        """Go through them, always in the same order."""
        ...


@dataclass(frozen=True, slots=True)
class Metric:
    """Columns of scores to one number with its interval.

    `name` is what files hold; readers are shown `told` instead where there is one, and `unit`, what
    its n counts.
    """

    name: str
    measure: Callable[[Columns], Estimate]
    told: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Scorer:
    """How a suite judges. A stored run is scored and reported with this alone.

    `readings`: the first is the headline. `score` is pure: (task, trajectory) to a Verdict per
    reading. `metrics`: the first is the headline, the others are its parts. `tables` takes the
    columns of each reading; `views` draws one episode for the report, and names recordings that it
    has beside its messages; `across` takes the columns of several runs of the suite, by reading and
    then by the run's name, and returns what only shows when they stand beside each other. `gather`
    is for judging that needs evidence from elsewhere, an encoder or judge models: called with the
    finished run, it returns the `score` to use for all of it; `score` itself then only serves the
    progress. `evidence` are tables on what was gathered: who judged, and how far they agree.
    `missed` gives the verdicts of readings in which an episode counts although it was not run: a
    file of others that lacks a prediction.
    """

    readings: tuple[str, ...]
    score: Scoring
    metrics: Callable[[Columns], Sequence[Metric]]
    tables: Callable[[Mapping[str, Columns]], Sequence[Table | Chart]]
    views: Callable[[Task, Trajectory], Sequence[Table | Drawing | Audio]] = (
        lambda task, trajectory: ()
    )
    gather: Callable[[Run], Scoring] | None = None
    across: Callable[[Mapping[str, Mapping[str, Columns]]], Sequence[Table | Chart]] = (
        lambda readings: ()
    )
    evidence: Callable[[Run], Sequence[Table]] = lambda run: ()
    missed: Missed = lambda task, attempt: {}


@dataclass(frozen=True, slots=True)
class Suite:
    """Tasks with a length, plus their site, scorer, dialects and test instruments.

    `agent` plays the episodes. `site` opens the surroundings of one run; pictures and sounds that
    tools make go into the store that it is given. `media` holds those that the tasks refer to: a
    run keeps copies.
    `dialects`: those it can be asked in, the first is the default. `instruments`: makers of the
    test models that see the task, called with (task, repeat, options). `hashes`: what was read,
    and under `servers` and `cassette` what answers: a run goes on only where these are the same;
    `notes`: what its user should know about that. `missing` says, before anything is asked, what
    each part of the site that these tasks need lacks to run, by the part's name; the first line
    of it is the lack and what to do, a second may tell whom it concerns. `make` finishes the
    chosen tasks, in their order: sound or pictures that cost too much to make for the others.
    `hears`: models are asked by sound; one that takes none is refused before anything is made.
    """

    name: str
    tasks: Tasks
    scorer: Scorer
    site: Opening
    dialects: Mapping[str, Dialect]
    knobs: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    sampling: Sampling = field(default_factory=Sampling)
    instruments: Mapping[str, Callable[[Task, int, Mapping[str, str]], Model]] = field(
        default_factory=dict
    )
    hashes: Mapping[str, str] = field(default_factory=dict)
    media: Media | None = None
    agent: Agent = loop
    notes: tuple[str, ...] = ()
    missing: Missing = lambda tasks: {}
    make: Making = lambda tasks: tasks
    hears: bool = False

    def __iter__(self) -> Iterator[Task]:
        """Go through the tasks."""
        return iter(self.tasks)

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.tasks)

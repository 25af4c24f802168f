"""What a suite is to the runner: tasks, a site, a scorer; nothing is looked up by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from toolmark.agents.loop import loop
from toolmark.media import Media
from toolmark.stats.columns import Columns
from toolmark.stats.formulas import Metric
from toolmark.types import (
    Attempt,
    Audio,
    Chart,
    Dialect,
    Drawing,
    Model,
    Part,
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


@runtime_checkable
class Pacing(Protocol):
    """An agent that asks in a manner of its own, which players of the plain loop do not know."""

    def paced(self, player: Model, /) -> Model:
        """Return a player of the plain loop, a test instrument, as one that this agent can ask."""
        ...


if TYPE_CHECKING:
    from toolmark.runs.store import Run

Opening: TypeAlias = Callable[[Media], AbstractAsyncContextManager[Site]]
Missing: TypeAlias = Callable[[Iterable[Task]], Mapping[str, str]]
Scoring: TypeAlias = Callable[[Task, Trajectory], Mapping[str, Verdict]]
Missed: TypeAlias = Callable[[Task, Attempt], Mapping[str, Verdict]]
Naming: TypeAlias = Callable[[str, Columns], str]
Making: TypeAlias = Callable[[Iterable[Task]], Iterable[Task]]


class Tasks(Protocol):
    """Tasks that can be gone through more than once and counted without making them."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def __iter__(self) -> Iterator[Task]:
        """Go through them, always in the same order."""
        ...


class Ran(NamedTuple):
    """A run among others: its suite and model, its name among them, its columns by reading.

    `asked` are the settings that tell it from others of its model and suite; `created` is when it
    was, in a form that sorts.
    """

    suite: str
    model: str
    name: str
    readings: Mapping[str, Columns]
    asked: Mapping[str, str] = {}
    created: str = ""


@dataclass(frozen=True, slots=True)
class Scorer:
    """How a suite judges.

    It is called when a run is scored. What it shows is stored then as data (`runs.presentation`),
    and readers of the run need no more.

    `readings`: the first is the headline. `score` is pure: (task, trajectory) to a Verdict per
    reading. `metrics`: the first is the headline, the others are its parts. `tables` takes the
    columns of each reading; `views` draws one episode for the report, and names recordings that it
    has besides those in its messages. `across` names what only shows when several runs of the suite
    stand side by side, "" for nothing; it is one of toolmark's own (`suites.OVERVIEWS`). `gather`
    is for judging that needs evidence from elsewhere, an encoder or judge models: called with the
    finished run, it returns the `score` to use for all of it; `score` itself then only serves the
    progress. `evidence` are tables on what was gathered: who judged, and how far they agree.
    `missed` gives the verdicts of readings in which an episode counts although it was not run: a
    file of others that lacks a prediction. By the levels of `axes` two runs are compared too, each
    under the name that is made of the level and the answers. `natives` are readers' words for
    its own classes of failure, which files hold as codes. `profile` names what shows over runs of
    several suites that have it in common (`suites.PROFILES`). `caution` says what a reader must
    know before any number, "" where there is nothing.
    `reads` are files that judging reads: scores made with other content count as another scorer's.
    """

    readings: tuple[str, ...]
    score: Scoring
    metrics: Callable[[Columns], Sequence[Metric]]
    tables: Callable[[Mapping[str, Columns]], Sequence[Table | Chart]]
    views: Callable[[Task, Trajectory], Sequence[Table | Drawing | Audio]] | None = None
    gather: Callable[[Run], Scoring] | None = None
    across: str = ""
    evidence: Callable[[Run], Sequence[Table]] = lambda run: ()
    missed: Missed = lambda task, attempt: {}
    axes: Mapping[str, Naming] = field(default_factory=dict)
    natives: Mapping[str, str] = field(default_factory=dict)
    profile: str = ""
    caution: Callable[[Columns], str] = lambda columns: ""
    reads: tuple[Path, ...] = ()


def _said(task: Task) -> Iterator[str]:
    return (m.text for turn in task.turns for m in turn.messages if m.role == "user" and m.text)


@dataclass(frozen=True, slots=True)
class Publisher:
    """What a made set of a suite holds beside its tasks, and what its data card says of it.

    `sources`: what the tasks come from, with its licence, a line each; `dropped`: what was left
    out, by id, and why; `limits`: what it is no measure of. `packages`: those that the bytes hang
    on. `said`: what users say in a task, as text. `more` is called with the folder in which the
    tasks lie; it writes further files beside them, told of in `files` by their first name, and
    returns tables for the card. The same tasks make the same bytes.
    """

    sources: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    said: Callable[[Task], Iterable[str]] = _said
    more: Callable[[Path], Sequence[Table]] = lambda folder: ()


def as_they_are(tasks: Iterable[Task]) -> Iterable[Task]:
    """Return tasks that need no making."""
    return tasks


@dataclass(frozen=True, slots=True)
class Suite:
    """Tasks with a length, plus their site, scorer, dialects and test instruments.

    `agent` plays the episodes. `site` opens the surroundings of one run; pictures and sounds that
    tools make go into the store that it is given. `media` holds those that the tasks refer to: a
    run keeps copies.
    `dialects`: those it can be asked in, the first is the default. `instruments`: makers of the
    test models that see the task, called with (task, repeat, options). `hashes`: what was read,
    under `servers`, `cassette` and `corpus` what answers, under `items` and `pages` those of one's
    own: a run goes on only where these are the same;
    `notes`: what its user should know about that. `missing` says, before anything is asked, what
    each part of the site that these tasks need lacks to run, by the part's name; the first line
    of it is the lack and what to do, a second may tell whom it concerns. `make` finishes the
    chosen tasks, in their order: sound or pictures that cost too much to make for the others.
    `hears`: models are asked by sound; one that takes none is refused before anything is made.
    `refers` are the media of a task beside those in its messages; a run and a made set keep copies.
    `publisher` tells what else a made set holds. `draft` finishes one task as far as that costs
    next to nothing, system prompt and all; `effort` says in words what `make` has to make of
    these tasks. `broken` says why a finished task could not be made, "" if it was: it is made
    again when its run goes on.

    A set that was made asks its own tasks, with the knobs that they were made with. `given` are the
    knobs that the user named, which must not contradict those; `asking` names the knobs that say
    how tasks are asked, whatever they were made with, and `standing` the hashes of what answers
    and scores now. `reopen` returns the site for tasks that were made with these
    knobs, and lie in this folder. `spec` is the `module:attribute` that a user's suite was loaded
    from, "" where it was made otherwise. `sandboxed`: episodes call processes that toolmark starts,
    in its sandbox.
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
    notes: Sequence[str] = ()
    missing: Missing = lambda tasks: {}
    make: Making = as_they_are
    hears: bool = False
    refers: Callable[[Task], Iterable[Part]] = lambda task: ()
    publisher: Publisher = field(default_factory=Publisher)
    draft: Callable[[Task], Task] = lambda task: task
    effort: Callable[[Iterable[Task]], str] = lambda tasks: ""
    broken: Callable[[Task], str] | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    asking: tuple[str, ...] = ()
    standing: tuple[str, ...] = ("scorer", "servers", "cassette", "corpus")
    reopen: Callable[[Mapping[str, Any], Path], Opening] | None = None
    spec: str = ""
    sandboxed: bool = False

    def __iter__(self) -> Iterator[Task]:
        """Go through the tasks."""
        return iter(self.tasks)

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.tasks)

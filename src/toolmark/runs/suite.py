"""What a suite is to the runner: tasks, an environment factory and a scorer.

The runner does not look up anything by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from toolmark.agents.agent import Agent
from toolmark.agents.tool_loop import TOOL_LOOP
from toolmark.core.environment import EnvironmentFactory
from toolmark.core.media import MediaStore
from toolmark.core.model import ReplyFunction
from toolmark.core.records import (
    Attempt,
    Audio,
    Chart,
    Drawing,
    Part,
    Sampling,
    Table,
    Task,
    TaskSequence,
    ToolFormat,
    Trajectory,
    Verdict,
)
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns

if TYPE_CHECKING:
    from toolmark.runs.run_store import Run

EnvironmentOpener: TypeAlias = Callable[
    [MediaStore], AbstractAsyncContextManager[EnvironmentFactory]
]
MissingPartsCheck: TypeAlias = Callable[[Iterable[Task]], Mapping[str, str]]
ScoreFunction: TypeAlias = Callable[[Task, Trajectory], Mapping[str, Verdict]]
AbsentScoreFunction: TypeAlias = Callable[[Task, Attempt], Mapping[str, Verdict]]
LevelNamer: TypeAlias = Callable[[str, Columns], str]
TaskPreparation: TypeAlias = Callable[[Iterable[Task]], Iterable[Task]]


class ComparedRun(NamedTuple):
    """A run among others: its suite, its model, its name, its columns by grading rule.

    `distinguishing_settings` are the settings that distinguish it from other runs of its model and
    suite. `created` is the time when it was made, in a form that can be sorted.
    """

    suite: str
    model: str
    name: str
    columns_by_rule: Mapping[str, Columns]
    distinguishing_settings: Mapping[str, str] = {}
    created: str = ""


@dataclass(frozen=True, slots=True)
class Scorer:
    """How a suite judges.

    It is called when a run is scored. What it shows is then stored as data
    (`runs.stored_presentation`), and readers of the run need nothing else.

    - `readings`: names of the grading rules. The first is the headline.
    - `score`: a pure function of (task, trajectory) that returns a Verdict for each grading rule.
    - `metrics`: the first is the headline, the others are its parts.
    - `tables`: takes the columns of each grading rule.
    - `views`: draws one episode for the report, and names its recordings that are not in its
      messages.
    - `across`: names what is shown only when several runs of the suite are compared, "" for
      nothing. It is a name in `suite_registry.OVERVIEWS`.
    - `gather`: for judging that needs external evidence, such as an encoder or judge models. It is
      called with the finished run and returns the `score` function for all of the run. `score`
      itself then only serves the progress display.
    - `evidence`: tables on what was gathered: who judged, and how far the judges agree.
    - `missed`: the verdicts of grading rules in which an episode counts although it was not run,
      for example where a file of other people's answers lacks a prediction.
    - `axes`: two runs are also compared by the levels of these axes. Each level has a name that is
      made from the level and the answers.
    - `natives`: readable words for the suite's own classes of failure, which files store as codes.
    - `profile`: names what is shown over runs of several suites that share it
      (`suite_registry.PROFILES`).
    - `caution`: what a reader must know before any number, "" where there is nothing.
    - `reads`: files that judging reads. Scores made with other content of these files count as the
      scores of another scorer.
    """

    readings: tuple[str, ...]
    score: ScoreFunction
    metrics: Callable[[Columns], Sequence[Metric]]
    tables: Callable[[Mapping[str, Columns]], Sequence[Table | Chart]]
    views: Callable[[Task, Trajectory], Sequence[Table | Drawing | Audio]] | None = None
    gather: Callable[[Run], ScoreFunction] | None = None
    across: str = ""
    evidence: Callable[[Run], Sequence[Table]] = lambda run: ()
    missed: AbsentScoreFunction = lambda task, attempt: {}
    axes: Mapping[str, LevelNamer] = field(default_factory=dict)
    natives: Mapping[str, str] = field(default_factory=dict)
    profile: str = ""
    caution: Callable[[Columns], str] = lambda columns: ""
    reads: tuple[Path, ...] = ()


def _user_texts(task: Task) -> Iterator[str]:
    return (m.text for turn in task.turns for m in turn.messages if m.role == "user" and m.text)


@dataclass(frozen=True, slots=True)
class DatasetPublisher:
    """What an exported set of a suite contains besides its tasks, and what its data card says.

    - `sources`: what the tasks are made from, with the licence, one line each.
    - `omitted`: what was left out, by id, and why.
    - `limits`: what the set does not measure.
    - `packages`: the packages that the bytes depend on.
    - `files`: descriptions of the further files, by their first name.
    - `user_texts`: what users say in a task, as text.
    - `write_extra_files`: called with the folder of the tasks. It writes further files there and
      returns tables for the card. The same tasks give the same bytes.
    """

    sources: tuple[str, ...] = ()
    omitted: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    user_texts: Callable[[Task], Iterable[str]] = _user_texts
    write_extra_files: Callable[[Path], Sequence[Table]] = lambda folder: ()


def prepare_nothing(tasks: Iterable[Task]) -> Iterable[Task]:
    """Return the tasks unchanged."""
    return tasks


@dataclass(frozen=True, slots=True)
class Suite:
    """Tasks with a length, plus their environment factory, scorer, tool formats and controls.

    - `site`: opens the environment factory of one run. It gets the store for pictures and sounds
      that tools make.
    - `dialects`: the tool formats that the suite can be asked in. The first is the default.
    - `instruments`: makers of the controls, models that see the task, called with
      (task, repeat, options).
    - `hashes`: what was read. `servers`, `cassette` and `corpus` are what answers; `items` and
      `pages` are the user's own. A run continues only where these hashes are equal.
    - `media`: the media that the tasks refer to. A run stores copies.
    - `agent`: plays the episodes.
    - `notes`: what the user should know about what was read.
    - `missing`: called before anything is asked. It returns what each part of the environment
      factory that these tasks need lacks to run, by the part's name. The first line says what is
      missing and what to do; a second line may say whom it concerns.
    - `make`: finishes the chosen tasks, in their order: sound or pictures that cost too much to
      make for the other tasks.
    - `hears`: models are asked by sound. A model that takes no sound is refused before anything is
      made.
    - `refers`: the media of a task that are not in its messages. A run and an exported set store
      copies.
    - `publisher`: what else an exported set contains.
    - `draft`: finishes one task, with its system prompt, as far as that costs almost nothing.
    - `effort`: says in words what `make` has to make of these tasks.
    - `broken`: says why a finished task could not be made, "" if it was made. A broken task is made
      again when its run continues.

    An exported set asks its own tasks, with the suite parameters that they were made with:

    - `given`: the suite parameters that the user named, which must not contradict those.
    - `asking`: names the suite parameters that say how tasks are asked, whatever they were made
      with.
    - `standing`: names the hashes of what answers and scores now.
    - `reopen`: returns the opener of the environment factory for tasks that were made with these
      suite parameters and are in this folder.
    - `spec`: the `module:attribute` that a user's suite was loaded from, "" for any other suite.
    - `sandboxed`: episodes call processes that toolmark starts in its sandbox.
    """

    name: str
    tasks: TaskSequence
    scorer: Scorer
    site: EnvironmentOpener
    dialects: Mapping[str, ToolFormat]
    knobs: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    sampling: Sampling = field(default_factory=Sampling)
    instruments: Mapping[str, Callable[[Task, int, Mapping[str, str]], ReplyFunction]] = field(
        default_factory=dict
    )
    hashes: Mapping[str, str] = field(default_factory=dict)
    media: MediaStore | None = None
    agent: Agent = TOOL_LOOP
    notes: Sequence[str] = ()
    missing: MissingPartsCheck = lambda tasks: {}
    make: TaskPreparation = prepare_nothing
    hears: bool = False
    refers: Callable[[Task], Iterable[Part]] = lambda task: ()
    publisher: DatasetPublisher = field(default_factory=DatasetPublisher)
    draft: Callable[[Task], Task] = lambda task: task
    effort: Callable[[Iterable[Task]], str] = lambda tasks: ""
    broken: Callable[[Task], str] | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    asking: tuple[str, ...] = ()
    standing: tuple[str, ...] = ("scorer", "servers", "cassette", "corpus")
    reopen: Callable[[Mapping[str, Any], Path], EnvironmentOpener] | None = None
    spec: str = ""
    sandboxed: bool = False

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks."""
        return iter(self.tasks)

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.tasks)

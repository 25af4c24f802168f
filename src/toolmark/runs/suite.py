"""What a suite is to the runner: tasks, environments, a scorer, and parts that have defaults.

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
from toolmark.core.model import Model
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
ControlMaker: TypeAlias = Callable[[Task, int, Mapping[str, str]], Model]


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
class Presentation:
    """What a suite shows of its scores.

    It is asked when a run is scored. What it shows is then stored as data
    (`runs.stored_presentation`), and readers of the run need nothing else.

    - `tables`: takes the columns of each grading rule.
    - `views`: draws one episode for the report, and names its recordings that are not in its
      messages.
    - `evidence`: tables on what was gathered for judging: who judged, and how far judges agree.
    - `level_names`: two runs are also compared by the levels of these axes. Each level has a name
      that is made from the level and the answers.
    - `failure_names`: readable words for the suite's own classes of failure, which files store as
      codes.
    - `caution`: what a reader must know before any number, "" where there is nothing.
    - `overview`: names what is shown only when several runs of the suite are compared, "" for
      nothing. It is a name in `suite_registry.OVERVIEWS`.
    - `profile`: names what is shown over runs of several suites that share it
      (`suite_registry.PROFILES`).
    """

    tables: Callable[[Mapping[str, Columns]], Sequence[Table | Chart]] = lambda columns: ()
    views: Callable[[Task, Trajectory], Sequence[Table | Drawing | Audio]] | None = None
    evidence: Callable[[Run], Sequence[Table]] = lambda run: ()
    level_names: Mapping[str, LevelNamer] = field(default_factory=dict)
    failure_names: Mapping[str, str] = field(default_factory=dict)
    caution: Callable[[Columns], str] = lambda columns: ""
    overview: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Scorer:
    """How a suite judges.

    - `rules`: names of the grading rules. The first is the headline.
    - `score`: a pure function of (task, trajectory) that returns a Verdict for each grading rule.
    - `metrics`: the first is the headline, the others are its parts.
    - `presentation`: what is shown of the scores.
    - `prepare`: for judging that needs external evidence, such as an encoder or judge models. It is
      called with the finished run and returns the `score` function for all of the run. `score`
      itself then only serves the progress display.
    - `score_absent`: the verdicts of grading rules in which an episode counts although it was not
      run, for example where a file of other people's answers lacks a prediction.
    - `files`: files that judging reads. Scores made with other content of these files count as the
      scores of another scorer.
    """

    rules: tuple[str, ...]
    score: ScoreFunction
    metrics: Callable[[Columns], Sequence[Metric]]
    presentation: Presentation = field(default_factory=Presentation)
    prepare: Callable[[Run], ScoreFunction] | None = None
    score_absent: AbsentScoreFunction = lambda task, attempt: {}
    files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class EnvironmentSource:
    """Where the environments of a run come from.

    - `open`: opens the environment factory of one run. It gets the store for pictures and sounds
      that tools make.
    - `missing_parts`: called before anything is asked. It returns what each part of the factory
      that these tasks need lacks to run, by the part's name. The first line says what is missing
      and what to do; a second line may say whom it concerns.
    - `starts_processes`: episodes call processes that toolmark starts in its sandbox.
    - `for_exported_set`: returns the source for tasks that were made with these suite parameters
      and are in this folder; None where this source serves them.
    """

    open: EnvironmentOpener
    missing_parts: MissingPartsCheck = lambda tasks: {}
    starts_processes: bool = False
    for_exported_set: Callable[[Mapping[str, Any], Path], EnvironmentSource] | None = None


def prepare_nothing(tasks: Iterable[Task]) -> Iterable[Task]:
    """Return the tasks unchanged."""
    return tasks


@dataclass(frozen=True, slots=True)
class TaskMaker:
    """How tasks are finished: sound or pictures that cost too much to make for tasks not asked.

    - `make`: finishes the chosen tasks, in their order.
    - `draft`: finishes one task, with its system prompt, as far as that costs almost nothing.
    - `describe_work`: says in words what `make` has to make of these tasks.
    - `failure`: says why a finished task could not be made, "" if it was made. Such a task is made
      again when its run continues.
    - `makes_sound`: models are asked by sound. A model that takes no sound is refused before
      anything is made.
    """

    make: TaskPreparation = prepare_nothing
    draft: Callable[[Task], Task] = lambda task: task
    describe_work: Callable[[Iterable[Task]], str] = lambda tasks: ""
    failure: Callable[[Task], str] | None = None
    makes_sound: bool = False


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a suite sets where the user sets nothing.

    - `sampling`: how replies are sampled.
    - `agent`: plays the episodes.
    """

    sampling: Sampling = field(default_factory=Sampling)
    agent: Agent = TOOL_LOOP


def _user_texts(task: Task) -> Iterator[str]:
    return (m.text for turn in task.turns for m in turn.messages if m.role == "user" and m.text)


@dataclass(frozen=True, slots=True)
class SetExport:
    """What an exported set of a suite contains besides its tasks, and what its data card says.

    - `sources`: what the tasks are made from, with the licence, one line each.
    - `omitted`: what was left out, by id, and why.
    - `limits`: what the set does not measure.
    - `packages`: the packages that the bytes depend on.
    - `files`: descriptions of the further files, by their first name.
    - `user_texts`: what users say in a task, as text.
    - `write_extra_files`: called with the folder of the tasks. It writes further files there and
      returns tables for the card. The same tasks give the same bytes.

    An exported set asks its own tasks, with the suite parameters that they were made with, except:

    - `asking_parameters`: names the suite parameters that say how tasks are asked, whatever they
      were made with.
    - `current_hashes`: names the hashes of what answers now.
    """

    sources: tuple[str, ...] = ()
    omitted: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    user_texts: Callable[[Task], Iterable[str]] = _user_texts
    write_extra_files: Callable[[Path], Sequence[Table]] = lambda folder: ()
    asking_parameters: tuple[str, ...] = ()
    current_hashes: tuple[str, ...] = ("servers", "cassette", "corpus")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the tasks of a suite come from.

    - `seed`: of everything that is drawn.
    - `hashes`: what was read. `servers`, `cassette` and `corpus` are what answers; `items` and
      `pages` are the user's own. A run continues only where these hashes are equal.
    - `notes`: what the user should know about what was read.
    - `media`: the media that the tasks refer to. A run stores copies.
    - `referenced_media`: the media of a task that are not in its messages. A run and an exported
      set store copies.
    - `export`: what an exported set says and contains.
    - `spec`: the `module:attribute` that a user's suite was loaded from, "" for any other suite.
    - `named_parameters`: the suite parameters that the user named. They must not contradict those
      of an exported set.
    """

    seed: int = 0
    hashes: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    media: MediaStore | None = None
    referenced_media: Callable[[Task], Iterable[Part]] = lambda task: ()
    export: SetExport = field(default_factory=SetExport)
    spec: str = ""
    named_parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suite:
    """Tasks with a length, plus their environments, scorer, tool formats and controls.

    - `parameters`: what the suite was asked with, as its run records it.
    - `tool_formats`: how tools can be shown and calls be read. The first is the default.
    - `controls`: makers of models that see the task, called with (task, repeat, options).
    """

    name: str
    tasks: TaskSequence
    environment: EnvironmentSource
    scorer: Scorer
    tool_formats: Mapping[str, ToolFormat]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    controls: Mapping[str, ControlMaker] = field(default_factory=dict)
    maker: TaskMaker = field(default_factory=TaskMaker)
    defaults: Defaults = field(default_factory=Defaults)
    provenance: Provenance = field(default_factory=Provenance)

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks."""
        return iter(self.tasks)

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.tasks)

"""What a suite is to the runner: tasks, environments, a scorer, and parts that have defaults.

The runner does not look up anything by name.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from toolmark.agents import user_audit
from toolmark.agents.agent import Agent
from toolmark.agents.simulated_user import UserDescription, check_description
from toolmark.agents.tool_loop import TOOL_LOOP
from toolmark.core.environment import Environment, EnvironmentFactory, method_tools
from toolmark.core.errors import UsageError
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
    Verdict,
)
from toolmark.environments.class_environments import ClassEnvironmentOpener
from toolmark.environments.no_op_environment import NoOpEnvironment
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.formats.prompt_format import PromptFormat
from toolmark.formats.syntax_format import syntax_formats
from toolmark.runs.judging_plan import JudgingPlan
from toolmark.runs.measured_scoring import JoinedTables, MeasuredMetrics, MeasuredScoring
from toolmark.scoring.episode import Episode
from toolmark.scoring.episode_scorer import RULE, EpisodeMetric, EpisodeScorer, JudgingFunction
from toolmark.scoring.score_rows import RowPresenter, RowTables
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns

if TYPE_CHECKING:
    from toolmark.runs.run_store import Run

EnvironmentOpener: TypeAlias = Callable[
    [MediaStore], AbstractAsyncContextManager[EnvironmentFactory]
]
MissingPartsCheck: TypeAlias = Callable[[Iterable[Task]], Mapping[str, str]]
ScoreFunction: TypeAlias = Callable[[Episode], Mapping[str, Verdict]]
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
    - `caution`: takes the columns of the headline and the run. It returns what a reader must know
      before any number, "" where there is nothing.
    - `overview`: names what is shown only when several runs of the suite are compared, "" for
      nothing. It is a name in `suite_registry.OVERVIEWS`.
    - `profile`: names what is shown over runs of several suites that share it
      (`suite_registry.PROFILES`).
    """

    tables: Callable[[Mapping[str, Columns]], Sequence[Table | Chart]] = lambda columns: ()
    views: Callable[[Episode], Sequence[Table | Drawing | Audio]] | None = None
    evidence: Callable[[Run], Sequence[Table]] = lambda run: ()
    level_names: Mapping[str, LevelNamer] = field(default_factory=dict)
    failure_names: Mapping[str, str] = field(default_factory=dict)
    caution: Callable[[Columns, Run], str] = lambda columns, run: ""
    overview: str = ""
    profile: str = ""


def group_nothing(task: Task) -> str:
    """Return no group."""
    return ""


@dataclass(frozen=True, slots=True)
class Scorer:
    """How a suite judges.

    - `rules`: names of the grading rules. The first is the headline.
    - `score`: a pure function of an Episode that returns a Verdict for each grading rule.
    - `metrics`: the first is the headline, the others are its parts.
    - `presentation`: what is shown of the scores.
    - `prepare`: for judging that needs external evidence, such as an encoder or judge models. It is
      called with the finished run and returns the `score` function for all of the run. `score`
      itself then only serves the progress display.
    - `score_absent`: the verdicts of grading rules in which an episode counts although it was not
      run, for example where a file of other people's answers lacks a prediction.
    - `judging`: what judge models are asked about the episodes, None where no judge is asked.
      `prepare` then reads what they answered.
    - `group`: names what the answers to a task depend on with those to other tasks: a scenario, a
      set of tools. Intervals and tests count groups. It is "" for a task that depends on no other,
      and is not called for a task with the axis `group`.
    - `files`: files that judging reads. Scores made with other content of these files count as the
      scores of another scorer.
    """

    rules: tuple[str, ...]
    score: ScoreFunction
    metrics: Callable[[Columns], Sequence[Metric]]
    presentation: Presentation = field(default_factory=Presentation)
    prepare: Callable[[Run], ScoreFunction] | None = None
    score_absent: AbsentScoreFunction = lambda task, attempt: {}
    judging: JudgingPlan | None = None
    group: Callable[[Task], str] = group_nothing
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
    - `open_idle`: opens environments that offer no tool and start no process, for an agent that
      calls nothing. What it gets to see is scored as with processes. None where there are none.
    - `for_exported_set`: returns the source for tasks that were made with these suite parameters
      and are in this folder; None where this source serves them.
    - `user`: the simulated user that each episode has (`simulated_user`).
    - `answers_replies`: its environments have users of their own, who may answer a reply.
    - `asked_model`: the model that these users ask, "" for none. Its tokens are in their rulings.
    """

    open: EnvironmentOpener
    missing_parts: MissingPartsCheck = lambda tasks: {}
    starts_processes: bool = False
    open_idle: EnvironmentOpener | None = None
    for_exported_set: Callable[[Mapping[str, Any], Path], EnvironmentSource] | None = None
    user: UserDescription | None = None
    answers_replies: bool = False
    asked_model: str = ""


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
    - `make_twin`: takes a task and a seed. It returns the task with new values in the question and
      in what is expected, or why it has no such twin. None where the suite makes no twins.
    - `unvaried`: the kinds of variations that do not apply to this suite, each with the reason.
    - `vary`: yields the finished tasks with their variations; a run that asks for some sets it.
    """

    make: TaskPreparation = prepare_nothing
    draft: Callable[[Task], Task] = lambda task: task
    describe_work: Callable[[Iterable[Task]], str] = lambda tasks: ""
    failure: Callable[[Task], str] | None = None
    makes_sound: bool = False
    make_twin: Callable[[Task, int], Task | str] | None = None
    unvaried: Mapping[str, str] = field(default_factory=dict)
    vary: TaskPreparation = prepare_nothing


class AskedModel(NamedTuple):
    """The model of a run as a suite may know it, and the tool format in which it is asked.

    `wire` is the protocol of its endpoint, `url` the address, `name` what it is called there. All
    are "" for a model in this process.
    """

    tool_format: str
    wire: str = ""
    url: str = ""
    name: str = ""


NO_REPLY_FLOOR: Mapping[str, str] = {"control/null": "replies nothing"}
GENERAL_FLOORS: Mapping[str, str] = {
    **NO_REPLY_FLOOR,
    "control/always-call": "calls the first tool",
}
"""The floors of a suite that declares none: agents without a key, each with what it does."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a suite sets where the user sets nothing.

    - `sampling`: how replies are sampled.
    - `agent`: plays the episodes.
    - `agent_name`: what the user called the agent, "" for the suite's own.
    - `unsampled_categories`: a sample leaves these categories out, unless the suite has no other.
    - `adapt_to_model`: returns the suite as it asks one model. It may raise UsageError.
    - `floors`: the agents that a run is measured against, `control/NAME` or `baseline/NAME`, each
      with what it does in words. They are played on the tasks of every run and need no key.
    - `shortcuts`: further agents, as `floors`, that know one surface feature of these tasks, such
      as the length of an option. `toolmark check` plays them with those that play every suite.
    """

    sampling: Sampling = field(default_factory=Sampling)
    agent: Agent = TOOL_LOOP
    agent_name: str = ""
    unsampled_categories: tuple[str, ...] = ()
    adapt_to_model: Callable[[Suite, AskedModel], Suite] | None = None
    floors: Mapping[str, str] = field(default_factory=lambda: GENERAL_FLOORS)
    shortcuts: Mapping[str, str] = field(default_factory=dict)


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
    - `data_label`: what every headline says of tasks that are no published data, such as
      "MultiNet-style, synthetic"; "" for nothing.
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
    data_label: str = ""


@dataclass(frozen=True, slots=True, init=False)
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
    parameters: Mapping[str, Any]
    controls: Mapping[str, ControlMaker]
    maker: TaskMaker
    defaults: Defaults
    provenance: Provenance

    def __init__(
        self,
        *,
        tasks: TaskSequence,
        scorer: Scorer | JudgingFunction,
        environment: EnvironmentSource | Callable[..., Environment] | None = None,
        user: UserDescription | None = None,
        metrics: Sequence[EpisodeMetric] = (),
        tables: Sequence[RowPresenter] = (),
        name: str = "",
        tool_formats: Mapping[str, ToolFormat] | None = None,
        parameters: Mapping[str, Any] | None = None,
        controls: Mapping[str, ControlMaker] | None = None,
        maker: TaskMaker | None = None,
        defaults: Defaults | None = None,
        provenance: Provenance | None = None,
    ) -> None:
        """Make a suite; what is left out has defaults.

        Args:
            tasks: A list, or what reads tasks one at a time, such as `read_tasks`.
            scorer: A function of an Episode that returns True or False, a number from 0 to 1, or a
                Verdict; or a Scorer.
            environment: A subclass of Environment; one instance is made for each episode, with the
                task. Without one, calls have no effect.
            user: Whom the model talks to (`simulated_user`). Without one, an episode ends with a
                reply without calls.
            metrics: Further numbers of each episode (`mean`, `share`).
            tables: Functions of the scored rows, which return tables and charts.
            name: The name of the suite; `suite` gives it that of the decorated function.
            tool_formats: How tools can be shown and calls be read.
            parameters: What the suite was asked with; `suite` fills it in.
            controls: Makers of models that see the task.
            maker: How tasks are finished.
            defaults: Settings where the user sets nothing.
            provenance: Where the tasks come from.
        """
        set_field = partial(object.__setattr__, self)
        set_field("name", name)
        _check_tasks(tasks)
        set_field("tasks", tasks)
        source = _environment_source(environment)
        judging = _complete_scorer(scorer, metrics, tables)
        if user is not None:
            source, judging = _add_user(source, user, defaults), _audit_user(judging, user)
        set_field("environment", source)
        set_field("scorer", judging)
        set_field("tool_formats", default_tool_formats() if tool_formats is None else tool_formats)
        set_field("parameters", {} if parameters is None else parameters)
        set_field("controls", {} if controls is None else controls)
        set_field("maker", maker or TaskMaker())
        set_field("defaults", defaults or Defaults())
        set_field("provenance", provenance or Provenance())

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks."""
        return iter(self.tasks)

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.tasks)


@cache
def default_tool_formats() -> Mapping[str, ToolFormat]:
    """Return the tool formats that any suite can be asked in; the first is the default."""
    return {"native": NATIVE_FORMAT, "prompt": PromptFormat(), **syntax_formats()}


def accepts_any_tool_format(suite: Suite) -> bool:
    """Return whether a suite may be asked in formats that it does not list.

    It may where the default ones are among its own.
    """
    kinds = {name: type(each) for name, each in suite.tool_formats.items()}
    return all(kinds.get(name) is type(each) for name, each in default_tool_formats().items())


def _check_tasks(tasks: object) -> None:
    """Raise UsageError for the name of a file, for rows, and for what is read only once."""
    step = "next: give tm.read_tasks(...), which takes the name of a file and a list of rows"
    if isinstance(tasks, str | os.PathLike):
        raise UsageError(f"tasks: expected tasks, got the name {os.fspath(tasks)!r:.80}; {step}")
    if isinstance(tasks, list | tuple):
        for at, each in enumerate(tasks):
            if not isinstance(each, Task):
                raise UsageError(f"tasks[{at}]: expected a Task, got {type(each).__name__}; {step}")
    if not isinstance(tasks, Sized) or not isinstance(tasks, Iterable):
        kind = type(tasks).__name__
        raise UsageError(f"tasks: expected a list of Tasks, got {kind}, without a length; {step}")


def _environment_source(
    environment: EnvironmentSource | Callable[..., Environment] | None,
) -> EnvironmentSource:
    environment = NoOpEnvironment if environment is None else environment
    if isinstance(environment, EnvironmentSource):
        return environment
    kind: object = environment
    if inspect.isclass(kind) and issubclass(kind, Environment):
        method_tools(kind)  # a tool that cannot be described is refused here
    elif inspect.isclass(kind) or not callable(kind):
        name = getattr(kind, "__qualname__", type(kind).__name__)
        raise UsageError(f"environment: {name} must inherit toolmark.Environment")
    return EnvironmentSource(ClassEnvironmentOpener(environment))


def _complete_scorer(
    scorer: Scorer | JudgingFunction,
    metrics: Sequence[EpisodeMetric],
    tables: Sequence[RowPresenter],
) -> Scorer:
    """Return a scorer with the metrics and tables of a suite's author."""
    if isinstance(scorer, Scorer):
        return _add_to_scorer(scorer, metrics, tables) if metrics or tables else scorer
    score = EpisodeScorer(scorer, metrics)
    presentation = Presentation(tables=RowTables(tables)) if tables else Presentation()
    return Scorer((RULE,), score, score.list_metrics, presentation)


def _add_user(
    source: EnvironmentSource, user: UserDescription, defaults: Defaults | None
) -> EnvironmentSource:
    """Return the environments of a suite with its user. Raises UsageError where nobody hears it."""
    check_description(user)
    if defaults is not None and not defaults.agent.has_user:
        kind = type(defaults.agent).__name__
        raise UsageError(f"user: the agent of this suite, {kind}, does not talk to a user")
    return replace(source, user=user)


def _audit_user(scorer: Scorer, user: UserDescription) -> Scorer:
    """Return a scorer that also says what faults the user had."""
    shown = scorer.presentation
    return replace(
        scorer,
        score=user_audit.AuditedScore(scorer.score, user),
        metrics=user_audit.AuditedMetrics(scorer.metrics),
        presentation=replace(
            shown,
            tables=user_audit.AuditedTables(shown.tables),
            views=user_audit.AuditedViews(shown.views, user),
        ),
        prepare=None
        if scorer.prepare is None
        else user_audit.AuditedPreparation(scorer.prepare, user),
    )


def _add_to_scorer(
    scorer: Scorer, metrics: Sequence[EpisodeMetric], tables: Sequence[RowPresenter]
) -> Scorer:
    """Return a scorer with further metrics and tables."""
    prepare = scorer.prepare
    shown = JoinedTables(scorer.presentation.tables, RowTables(tables))
    return replace(
        scorer,
        score=MeasuredScoring(scorer.score, metrics),
        metrics=MeasuredMetrics(scorer.metrics, metrics),
        presentation=replace(scorer.presentation, tables=shown),
        prepare=partial(_prepare_measured, prepare, metrics) if prepare is not None else None,
    )


def _prepare_measured(
    prepare: Callable[[Run], ScoreFunction], metrics: Sequence[EpisodeMetric], run: Run
) -> ScoreFunction:
    return MeasuredScoring(prepare(run), metrics)

"""Judgements of a run: judge models are asked about its episodes, and every answer is stored.

`judgements.jsonl` has one line per answer. `judging.json` names the judges on the panel of each
kind. A judge that gave no value is not run: this is never a zero, and the judge is asked again when
the same command is given again.
"""

from __future__ import annotations

from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass, field

from msgspec.structs import replace

from toolmark.agents.tool_loop import gather_all
from toolmark.core.errors import DataError, UsageError, failure_of
from toolmark.core.failure import Failure
from toolmark.core.model import Model
from toolmark.core.records import Judgement, Record, Task, Trajectory
from toolmark.runs.circuit_breaker import CircuitBreaker
from toolmark.runs.judging_plan import JudgeFunction
from toolmark.runs.record_files import RecordAppender, read_document, write_document
from toolmark.runs.run_store import Run
from toolmark.runs.runner import Progress, ProgressWatcher

JUDGEMENTS_FILE = "judgements.jsonl"
PANELS_FILE = "judging.json"


class Panel(Record, frozen=True, kw_only=True):
    """The judges that are asked for one kind of judgement, and the form of the question.

    `rubric` and `shown` say what people who label episodes must know: the points of the rubric, and
    the fields that the judge sees.
    """

    judges: tuple[str, ...]
    form: str
    rubric: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


def read_panels(run: Run) -> dict[str, Panel]:
    """Return the panel of each kind that was asked for. Raises DataError for a damaged file."""
    path = run.path / PANELS_FILE
    try:
        return read_document(path, dict[str, Panel])
    except FileNotFoundError:
        return {}


def panel_judgements(run: Run) -> dict[tuple[str, int, str], dict[str, Judgement]]:
    """Return the panels' judgements by (task, repeat, kind) and judge: the last of each.

    Judges that are no longer on a panel, and answers to another form, do not count. Raises
    DataError with file and line for a value outside [0, 1].
    """
    panel_by_kind = read_panels(run)
    found: dict[tuple[str, int, str], dict[str, Judgement]] = {}
    for number, judgement in enumerate(run.judgements(), 1):
        if judgement.value is not None and not 0.0 <= judgement.value <= 1.0:
            raise DataError(
                f"{run.path / JUDGEMENTS_FILE}, line {number}: value must lie within [0, 1], got "
                f"{judgement.value:g}; correct the line, or remove it and give toolmark judge again"
            )
        panel = panel_by_kind.get(judgement.kind)
        if panel is not None and judgement.form == panel.form and judgement.judge in panel.judges:
            found.setdefault((judgement.task, judgement.repeat, judgement.kind), {})[
                judgement.judge
            ] = judgement
    return found


def scored_episodes(run: Run) -> list[tuple[str, int]]:
    """Return the completed episodes that are scored, sorted."""
    scored = {task.id for task in run.tasks() if task.kind == "scored"}
    return sorted(key for key in run.completed_episodes() if key[0] in scored)


async def collect_judgements(
    run: Run,
    judges: Mapping[str, Model],
    forms: Mapping[str, str],
    ask: JudgeFunction,
    *,
    rubric: tuple[str, ...] = (),
    shown: tuple[str, ...] = (),
    n_concurrent: int = 16,
    watch: ProgressWatcher | None = None,
) -> Progress:
    """Ask every judge what it has not answered yet, in a folder that the caller has locked.

    `forms` are the kinds asked for, each with its form; the judges become the panel of each, with
    `rubric` and `shown`. Every
    judge works at its own pace, with at most `n_concurrent` requests in flight. A judge whose
    circuit breaker tripped gets a line with the reason for everything that it was not asked.
    """
    panel_by_kind = {
        kind: Panel(judges=tuple(judges), form=form, rubric=rubric, shown=shown)
        for kind, form in forms.items()
    }
    write_document(run.path / PANELS_FILE, read_panels(run) | panel_by_kind)
    answered = {
        (*key, judge)
        for key, by_judge in panel_judgements(run).items()
        if key[2] in forms
        for judge, judgement in by_judge.items()
        if judgement.value is not None
    }
    episode_keys = set(scored_episodes(run))
    progress = Progress(
        n_planned=len(episode_keys) * len(judges) * len(forms), n_done_before=len(answered)
    )
    lines = RecordAppender(run.path / JUDGEMENTS_FILE)
    try:
        workers = []
        for name, model in judges.items():
            questions = _open_questions(run, episode_keys, forms, name, answered)
            judge_worker = _JudgeWorker(name, model, forms, ask, questions, lines, progress, watch)
            workers += [judge_worker.answer_all() for _ in range(n_concurrent)]
        await gather_all(workers)
    finally:
        lines.close()
    return progress


def _open_questions(
    run: Run,
    episode_keys: Collection[tuple[str, int]],
    kinds: Iterable[str],
    judge: str,
    answered: Collection[tuple[str, int, str, str]],
) -> Iterator[tuple[str, Task, Trajectory]]:
    """Yield what a judge has not answered; only one episode is in memory."""
    for trajectory in run.trajectories():
        if (trajectory.task, trajectory.repeat) not in episode_keys:
            continue
        open_kinds = [
            kind
            for kind in kinds
            if (trajectory.task, trajectory.repeat, kind, judge) not in answered
        ]
        if open_kinds:
            task = run.task(trajectory.task)
            yield from ((kind, task, trajectory) for kind in open_kinds)


@dataclass(slots=True)
class _JudgeWorker:
    """One judge at work: its questions, its circuit breaker, the file that all judges share."""

    name: str
    model: Model
    forms: Mapping[str, str]
    ask: JudgeFunction
    questions: Iterator[tuple[str, Task, Trajectory]]
    lines: RecordAppender
    progress: Progress
    watch: ProgressWatcher | None
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)

    async def answer_all(self) -> None:
        """Ask question after question until none is left."""
        for kind, task, trajectory in self.questions:
            if self.breaker.trip_reason:
                stopped = Failure(stage="judge", kind="stopped", message=self.breaker.trip_reason)
                judgement = _failed_judgement(kind, trajectory, stopped)
            else:
                judgement = await self._ask_judge(kind, task, trajectory)
            self._store(replace(judgement, judge=self.name, form=self.forms[kind]))

    async def _ask_judge(self, kind: str, task: Task, trajectory: Trajectory) -> Judgement:
        try:
            judgement = await self.ask(self.model, kind, task, trajectory)
        except (
            UsageError,
            DataError,
        ):
            # the request is wrong, or a file: more requests would fail too
            raise
        except Exception as error:  # a fault of a user's judge must not end a run
            failure = failure_of(error, "judge")
            self.breaker.record_failure(failure)
            return _failed_judgement(kind, trajectory, failure)
        if judgement.value is None:
            self.breaker.record_failure(judgement.failure or Failure(stage="judge", kind="judge"))
        else:
            self.breaker.record_success()
        return judgement

    def _store(self, judgement: Judgement) -> None:
        self.lines.append(judgement)
        self.progress.n_run += judgement.value is not None
        self.progress.n_not_run += judgement.value is None
        self.progress.input_tokens += judgement.usage.input
        self.progress.output_tokens += judgement.usage.output
        if self.watch is not None:
            self.watch(self.progress)


def _failed_judgement(kind: str, trajectory: Trajectory, failure: Failure) -> Judgement:
    return Judgement(
        task=trajectory.task, repeat=trajectory.repeat, kind=kind, judge="", failure=failure
    )

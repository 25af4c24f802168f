"""Judgements of a run: judge models asked about its episodes, every answer kept as it comes.

`judgements.jsonl` holds a line per answer, `judging.json` who sits on the panel of each kind. A
judge that gave no value is not run: it is never a zero, and it is asked again when the same
command is given again.
"""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from toolmark.agents.loop import together
from toolmark.errors import DataError, EndpointError, failure_of
from toolmark.failure import Failure
from toolmark.runs.door import Door
from toolmark.runs.jsonl import Lines, document, write
from toolmark.runs.runner import Progress, Watcher
from toolmark.runs.store import Run
from toolmark.types import Judgement, Model, Record, Task, Trajectory

LINES = "judgements.jsonl"
PANELS = "judging.json"

Ask: TypeAlias = Callable[[Model, str, Task, Trajectory], Awaitable[Judgement]]
"""Ask a judge for one kind of judgement; who it was is filled in. Raises EndpointError."""


class Panel(Record, frozen=True, kw_only=True):
    """Who is asked for one kind of judgement, and in which form."""

    judges: tuple[str, ...]
    form: str


def panels(run: Run) -> dict[str, Panel]:
    """Return the panel of each kind that was asked for. Raises DataError for a damaged file."""
    path = run.path / PANELS
    try:
        return document(path, dict[str, Panel])
    except FileNotFoundError:
        return {}


def counted(run: Run) -> dict[tuple[str, int, str], dict[str, Judgement]]:
    """Return what the panels said, by (task, repeat, kind) and judge: the last word of each.

    Who is no longer on a panel, and what was asked in another form, does not count. Raises
    DataError with file and line for a value that is none.
    """
    known = panels(run)
    found: dict[tuple[str, int, str], dict[str, Judgement]] = {}
    for number, said in enumerate(run.judgements(), 1):
        if said.value is not None and not 0.0 <= said.value <= 1.0:
            raise DataError(
                f"{run.path / LINES}, line {number}: value must lie within [0, 1], got "
                f"{said.value:g}; mend the line, or remove it and give toolmark judge again"
            )
        panel = known.get(said.kind)
        if panel is not None and said.form == panel.form and said.judge in panel.judges:
            found.setdefault((said.task, said.repeat, said.kind), {})[said.judge] = said
    return found


def episodes(run: Run) -> list[tuple[str, int]]:
    """Return the completed episodes that are scored, in order."""
    scored = {task.id for task in run.tasks() if task.kind == "scored"}
    return sorted(key for key in run.done() if key[0] in scored)


async def collect(
    run: Run,
    judges: Mapping[str, Model],
    forms: Mapping[str, str],
    ask: Ask,
    *,
    at_once: int = 16,
    watch: Watcher | None = None,
) -> Progress:
    """Ask every judge what it has not answered yet, in a folder that the caller has locked.

    `forms` are the kinds asked for, each with its form; the judges become the panel of each. Every
    judge works at its own pace, at most `at_once` requests of it are out. One that is shut out
    gets a line with the reason for everything that it was not asked.
    """
    known = {kind: Panel(judges=tuple(judges), form=form) for kind, form in forms.items()}
    write(run.path / PANELS, panels(run) | known)
    answered = {
        (*key, judge)
        for key, said in counted(run).items()
        if key[2] in forms
        for judge, each in said.items()
        if each.value is not None
    }
    wanted = set(episodes(run))
    progress = Progress(
        n_planned=len(wanted) * len(judges) * len(forms), n_done_before=len(answered)
    )
    lines = Lines(run.path / LINES)
    try:
        workers = []
        for name, model in judges.items():
            todo = _todo(run, wanted, forms, name, answered)
            desk = _Desk(name, model, forms, ask, todo, lines, progress, watch)
            workers += [desk.work() for _ in range(at_once)]
        await together(workers)
    finally:
        lines.close()
    return progress


def _todo(
    run: Run,
    wanted: Collection[tuple[str, int]],
    kinds: Iterable[str],
    judge: str,
    answered: Collection[tuple[str, int, str, str]],
) -> Iterator[tuple[str, Task, Trajectory]]:
    """Go through what a judge has not answered; only one episode is in memory."""
    for trajectory in run.trajectories():
        if (trajectory.task, trajectory.repeat) not in wanted:
            continue
        left = [
            kind
            for kind in kinds
            if (trajectory.task, trajectory.repeat, kind, judge) not in answered
        ]
        if left:
            task = run.task(trajectory.task)
            yield from ((kind, task, trajectory) for kind in left)


@dataclass(slots=True)
class _Desk:
    """One judge at work: its questions, its door, the file that all judges share."""

    name: str
    model: Model
    forms: Mapping[str, str]
    ask: Ask
    todo: Iterator[tuple[str, Task, Trajectory]]
    lines: Lines
    progress: Progress
    watch: Watcher | None
    door: Door = field(default_factory=Door)

    async def work(self) -> None:
        """Take question after question until none is left."""
        for kind, task, trajectory in self.todo:
            if self.door.shut:
                stopped = Failure(stage="judge", kind="stopped", message=self.door.shut)
                said = _unsaid(kind, trajectory, stopped)
            else:
                said = await self._asked(kind, task, trajectory)
            self._keep(replace(said, judge=self.name, form=self.forms[kind]))

    async def _asked(self, kind: str, task: Task, trajectory: Trajectory) -> Judgement:
        try:
            said = await self.ask(self.model, kind, task, trajectory)
        except EndpointError as error:
            failure = failure_of(error, "judge")
            self.door.failed(failure)
            return _unsaid(kind, trajectory, failure)
        if said.value is None:
            self.door.failed(said.failure or Failure(stage="judge", kind="judge"))
        else:
            self.door.passed()
        return said

    def _keep(self, said: Judgement) -> None:
        self.lines.append(said)
        self.progress.n_run += said.value is not None
        self.progress.n_not_run += said.value is None
        self.progress.input_tokens += said.usage.input
        self.progress.output_tokens += said.usage.output
        if self.watch is not None:
            self.watch(self.progress)


def _unsaid(kind: str, trajectory: Trajectory, failure: Failure) -> Judgement:
    return Judgement(
        task=trajectory.task, repeat=trajectory.repeat, kind=kind, judge="", failure=failure
    )

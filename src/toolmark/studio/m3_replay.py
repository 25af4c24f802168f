"""Executes trajectories again: the outcome of each call now, and whether it equals the old one.

Each trajectory starts in a clean workspace. Its steps run in order, the calls of one step run at
the same time. Where the published evaluation gives stored results to a language model, this module
calls servers, or a recording of them (arXiv 2511.17729, section 5.4).
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.environment import Environment, EnvironmentFactory
from toolmark.core.errors import DataError, ToolEnvironmentError, UsageError, suggest_names
from toolmark.core.media import MediaStore
from toolmark.core.number_format import format_count
from toolmark.core.records import (
    Audio,
    Call,
    Image,
    Record,
    Result,
    Step,
    Table,
    Task,
    Text,
    Tool,
    Trajectory,
)
from toolmark.core.task_data import read_task_data
from toolmark.environments import cassette
from toolmark.runs.run_store import Run
from toolmark.runs.suite import EnvironmentOpener
from toolmark.studio import m3_prediction_layout
from toolmark.suites.m3 import call_outcomes, prediction_files, published_tasks
from toolmark.suites.m3.call_outcomes import Outcome
from toolmark.suites.m3.m3_scoring import parse_arguments
from toolmark.suites.m3.m3_task_data import M3TaskData
from toolmark.suites.m3.parameters import EXACT_SIMILARITY

Agreement: TypeAlias = Literal["equal", "different", "no record", "not replayed"]
AGREEMENTS: tuple[Agreement, ...] = ("equal", "different", "no record", "not replayed")
_COMPARISON_NOTE = "Results are equal where a model would have seen the same text and pictures."
_EARLIER_FAILED = "an earlier call could not be replayed"


class ReplayedCall(Record, frozen=True, kw_only=True):
    """One call executed again: its outcome now, the recorded one if known, their agreement.

    `step` and `position` count from 1. `reason` says why the call could not be replayed; such a
    call has no outcome and no result.
    """

    task: str
    repeat: int
    step: int
    position: int
    name: str
    arguments: str
    agreement: Agreement
    outcome: Outcome | Literal[""] = ""
    recorded_outcome: Outcome | Literal[""] = ""
    result: Result | None = None
    reason: str = ""


class RecordedCall(NamedTuple):
    """A call of a trajectory with its recorded result and outcome; None and "" without a record."""

    call: Call
    result: Result | None
    recorded_outcome: Outcome | Literal[""]


class RecordedTrajectory(NamedTuple):
    """A trajectory to be executed again; the task's data name the servers it needs."""

    task: Task
    repeat: int
    steps: tuple[tuple[RecordedCall, ...], ...]


class RecordedEpisode(NamedTuple):
    """A task and its trajectory; `imported` ones are from a file by others and record little."""

    task: Task
    trajectory: Trajectory
    imported: bool


# --- what to execute --------------------------------------------------------------------


def run_episodes(run: Run, ids: Collection[str] = ()) -> Iterator[RecordedEpisode]:
    """Yield the completed episodes of a run, only those of task or item `ids` if any are given."""
    imported = "imported" in run.info.plan.parameters
    if ids:
        _check_ids(ids, {name for task in run.tasks() for name in (task.id, task.item)})
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if not ids or {task.id, task.item}.intersection(ids):
            yield RecordedEpisode(task, trajectory, imported)


def file_episodes(
    path: Path, images: Path | None, media: MediaStore, ids: Collection[str] = ()
) -> Iterator[RecordedEpisode]:
    """Yield the episodes in a file of references or predictions, the last entry for each id.

    Pictures of tasks are added to the store; without a folder they are searched next to the file.
    Raises DataError that lists every entry of the wrong shape, UsageError for an unknown id.
    """
    rows = prediction_files.read_predictions(path, last=True)
    if rows.problems:
        lines = "\n".join(f"  {problem}" for problem in rows.problems)
        n = format_count(len(rows.problems))
        raise DataError(f"{path}: {n} entries are not trajectories:\n{lines}")
    _check_ids(ids, rows.rows_by_id)
    folder = images or path.parent
    for id, row in rows.rows_by_id.items():
        if ids and id not in ids:
            continue
        image, question = (row.entry.get(key, "") for key in ("image", "question"))
        task_entry = published_tasks.TaskEntry(id=id, question=question, image=image)
        task = published_tasks.make_task(
            task_entry, task_entry.question, folder, media, similarity=EXACT_SIMILARITY
        )
        yield RecordedEpisode(
            task, m3_prediction_layout.entry_to_trajectory(task, row.entry, media), imported=True
        )


def _check_ids(ids: Collection[str], known: Collection[str]) -> None:
    for id in ids:
        if id not in known:
            raise UsageError(f"no trajectory of {id!r}{suggest_names(id, known)}")


def prepare_replay(
    task: Task, trajectory: Trajectory, imported: bool, configured: Collection[str]
) -> RecordedTrajectory:
    """Return the executed calls of an episode, and the task with the servers that they need.

    A server is needed where a call names it and it is known: configured, in the reference, offered
    in the episode, or named by a call without a recorded outcome `unknown_tool`. Calls of other
    servers fail as they did before.
    """
    offered = trajectory.tools or task.tools
    steps = tuple(
        tuple(_recorded_calls(step, offered, imported)) for step in trajectory.steps if step.results
    )
    reached_servers = {
        cassette.server_name(recorded_call.call.name)
        for step in steps
        for recorded_call in step
        if recorded_call.recorded_outcome != "unknown_tool"
    }
    data = read_task_data(task, M3TaskData)
    known = {*configured, *(data.servers or ()), *reached_servers}
    known.update(cassette.server_name(tool.name) for tool in offered)
    called_servers = (
        cassette.server_name(recorded_call.call.name) for step in steps for recorded_call in step
    )
    servers = tuple(dict.fromkeys(name for name in called_servers if name in known))
    replayed = msgspec.to_builtins(replace(data, steps=None, servers=servers))
    return RecordedTrajectory(replace(task, data=replayed), trajectory.repeat, steps)


def _recorded_calls(
    step: Step, offered: tuple[Tool, ...], imported: bool
) -> Iterator[RecordedCall]:
    """Yield the executed calls of a step; an imported file may have them without results."""
    outcomes = call_outcomes.step_outcomes(step, offered)
    for call, result, recorded_outcome in zip(step.calls, step.results, outcomes, strict=False):
        sent_call = _sent_call(call) if imported else call
        if imported and result == Result():
            yield RecordedCall(sent_call, None, "")
        else:
            yield RecordedCall(sent_call, result, recorded_outcome)


def _sent_call(call: Call) -> Call:
    """Return the call as the reference executor sends it: a JSON string becomes its content."""
    value = parse_arguments(call.arguments)
    return (
        replace(call, arguments=json_codec.escape_surrogates(value))
        if isinstance(value, str)
        else call
    )


# --- executing --------------------------------------------------------------------------


async def replay_all(
    recorded_episodes: Iterable[RecordedTrajectory],
    open_environments: EnvironmentOpener,
    media: MediaStore,
    n_parallel: int,
    record: Callable[[ReplayedCall], None],
) -> None:
    """Execute trajectories, `n_parallel` at a time; `record` receives their calls in order."""
    running: deque[asyncio.Task[list[ReplayedCall]]] = deque()
    async with open_environments(media) as environments:
        try:
            for each in recorded_episodes:
                running.append(asyncio.create_task(replay_trajectory(each, environments)))
                if len(running) == n_parallel:
                    _record_rows(await running[0], record)
                    running.popleft()
            while running:
                _record_rows(await running[0], record)
                running.popleft()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)


def _record_rows(rows: list[ReplayedCall], record: Callable[[ReplayedCall], None]) -> None:
    for row in rows:
        record(row)


async def replay_trajectory(
    recorded: RecordedTrajectory, environments: EnvironmentFactory
) -> list[ReplayedCall]:
    """Execute one trajectory in a fresh environment.

    After a step with a call that cannot be executed, no further step runs.
    """
    results: list[list[Result | str]] = []
    tools: dict[str, Tool] = {}
    if reason := published_tasks.unplayable_reason(recorded.task):
        return _replayed_rows(recorded, results, reason, ())
    reason = _EARLIER_FAILED
    try:
        async with environments.open_environment(recorded.task, {}) as environment:
            for step in recorded.steps:
                tools |= {tool.name: tool for tool in await environment.tools()}
                results.append(await _execute_step(environment, step))
                if any(isinstance(result, str) for result in results[-1]):
                    break
    except (ToolEnvironmentError, DataError) as error:
        reason = str(error)
    return _replayed_rows(recorded, results, reason, tuple(tools.values()))


def _replayed_rows(
    recorded: RecordedTrajectory,
    results: list[list[Result | str]],
    reason: str,
    offered: tuple[Tool, ...],
) -> list[ReplayedCall]:
    return [
        _replayed_row(
            recorded, (at, place), recorded_call, _result_at(results, at, place) or reason, offered
        )
        for at, step in enumerate(recorded.steps)
        for place, recorded_call in enumerate(step)
    ]


async def _execute_step(
    environment: Environment, step: tuple[RecordedCall, ...]
) -> list[Result | str]:
    """Execute the calls of a step at the same time, up to the environment's limit."""
    limit = asyncio.Semaphore(environment.max_parallel_calls)

    async def one(call: Call) -> Result | str:
        async with limit:
            try:
                return await environment.call(call)
            except (ToolEnvironmentError, DataError) as error:
                return str(error)

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(recorded_call.call)) for recorded_call in step]
    return [task.result() for task in running]


def _result_at(results: list[list[Result | str]], at: int, place: int) -> Result | str:
    return results[at][place] if at < len(results) else ""


def _replayed_row(
    recorded: RecordedTrajectory,
    position: tuple[int, int],
    recorded_call: RecordedCall,
    result: Result | str,
    offered: tuple[Tool, ...],
) -> ReplayedCall:
    row = ReplayedCall(
        task=recorded.task.id,
        repeat=recorded.repeat,
        step=position[0] + 1,
        position=position[1] + 1,
        name=recorded_call.call.name,
        arguments=recorded_call.call.arguments,
        agreement="not replayed",
        recorded_outcome=recorded_call.recorded_outcome,
    )
    if isinstance(result, str):
        return replace(row, reason=json_codec.escape_surrogates(result))
    agreement: Agreement = "no record"
    if recorded_call.result is not None:
        agreement = (
            "equal"
            if visible_result(result) == visible_result(recorded_call.result)
            else "different"
        )
    found = call_outcomes.classify_call(recorded_call.call, offered, result)
    return replace(row, agreement=agreement, outcome=found, result=result)


def visible_result(result: Result) -> tuple[Any, ...]:
    """Return what a model sees of a result: text, pictures, sounds, else the structured value."""
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    media = tuple(part.sha256 for part in result.parts if isinstance(part, Image | Audio))
    return text, media, None if result.parts else result.structured


# --- results ----------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """Counts of replayed calls: by tool, by outcome now and then, and by reason for no replay."""

    tools: dict[str, Counter[str]] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    recorded_outcomes: Counter[str] = field(default_factory=Counter)
    agreements: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    episodes: set[tuple[str, int]] = field(default_factory=set)
    unreplayed_episodes: set[tuple[str, int]] = field(default_factory=set)

    def add(self, row: ReplayedCall) -> None:
        """Count one call."""
        episode = (row.task, row.repeat)
        self.episodes.add(episode)
        self.agreements[row.agreement] += 1
        self.tools.setdefault(row.name, Counter()).update(
            [row.agreement, *filter(None, [row.outcome])]
        )
        self.outcomes.update(filter(None, [row.outcome]))
        self.recorded_outcomes.update(filter(None, [row.recorded_outcome]))
        if row.reason:
            self.unreplayed_episodes.add(episode)
            self.reasons[row.reason] += 1

    def summary(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "n_trajectories": len(self.episodes),
            "n_lost": len(self.unreplayed_episodes),
            "n_calls": self.agreements.total(),
            "results": {name: self.agreements[name] for name in AGREEMENTS},
            "outcomes": {
                name: self.outcomes[name]
                for name in call_outcomes.OUTCOME_DESCRIPTIONS
                if self.outcomes[name]
            },
            "recorded": {
                name: self.recorded_outcomes[name]
                for name in call_outcomes.OUTCOME_DESCRIPTIONS
                if self.recorded_outcomes[name]
            },
            "tools": {name: dict(self.tools[name]) for name in sorted(self.tools)},
            "reasons": dict(self.reasons.most_common()),
        }

    def tables(self) -> tuple[Table, Table]:
        """Return the calls by server and tool, and their outcomes now and as recorded."""
        names = [name for name in call_outcomes.OUTCOME_DESCRIPTIONS if self.outcomes[name]]
        kinds = [name for name in AGREEMENTS if self.agreements[name]]
        rows: list[tuple[str | int, ...]] = []
        for tool, found in sorted(self.tools.items()):
            n = sum(found[name] for name in AGREEMENTS)
            cells = [found[name] for name in (*names, *kinds)]
            rows.append((cassette.server_name(tool), tool.rpartition("/")[2], n, *cells))
        by_tool = Table(
            title="Calls executed again, by server and tool",
            head=("server", "tool", "calls", *names, *kinds),
            rows=tuple(rows),
            note=_COMPARISON_NOTE
            if self.agreements["equal"] or self.agreements["different"]
            else "",
        )
        known = [
            name
            for name in call_outcomes.OUTCOME_DESCRIPTIONS
            if self.outcomes[name] or self.recorded_outcomes[name]
        ]
        by_outcome = Table(
            title="What became of calls",
            head=("outcome", "now", "recorded"),
            rows=tuple(
                (
                    call_outcomes.OUTCOME_DESCRIPTIONS[name],
                    self.outcomes[name],
                    self.recorded_outcomes[name],
                )
                for name in known
            ),
        )
        return by_tool, by_outcome

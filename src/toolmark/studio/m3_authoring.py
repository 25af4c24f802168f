"""References made by models: one plays, one judges, and accepted trajectories are condensed.

The loop is that of arXiv 2511.17729, section 3.3; the prompts are our own. Every decision is a line
of `author.jsonl`. The folder is a run of the condensed trajectories, so that people can review it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from toolmark.agents.tool_loop import gather_all
from toolmark.core import json_codec
from toolmark.core.environment import EnvironmentFactory
from toolmark.core.errors import EndpointError, ToolEnvironmentError, failure_of
from toolmark.core.failure import Failure
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import (
    Attempt,
    Record,
    Reply,
    Step,
    Task,
    Text,
    ToolFormat,
    Trajectory,
    Usage,
)
from toolmark.core.task_data import read_task_data
from toolmark.core.token_counts import sum_usage
from toolmark.runs.circuit_breaker import CircuitBreaker
from toolmark.runs.record_files import RecordAppender, read_records
from toolmark.runs.run_store import Run, RunWriter
from toolmark.runs.runner import Progress, ProgressWatcher
from toolmark.runs.suite import Suite
from toolmark.studio import m3_condensing, m3_prediction_layout, m3_reference_judging
from toolmark.suites.m3 import prediction_files
from toolmark.suites.m3.m3_task_data import M3TaskData

DECISIONS_FILE = "author.jsonl"
TRUTHS_FILE = "truths.json"
REFERENCE_KEYS = ("id", "image", "type", "question", "steps", "final_reply")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_QUOTED_CHARS = 200  # characters of a quoted judge reply

_HINT_TEMPLATE = """

An earlier attempt at this was turned down: {reason}
Begin anew: everything is as it was at first, and nothing of that attempt is left."""

_NO_CALL_REASON = "no call succeeded: a reference needs at least one; use the tools"
_NO_REPLY_REASON = (
    "there was no final reply; find what is needed within the limit of steps, then answer"
)


class Decision(Record, frozen=True, kw_only=True):
    """The result of one attempt at a task.

    `stage` is the last stage reached: play, judge, condense or done. `reason` is why the attempt
    was rejected, `failure` why it was not run. `text` is the judge's reply and `usage` the judge's
    tokens. `steps` is the reference of an accepted attempt. `condensed_by` says who condensed it:
    the model, or the rule where `proposal_fault` says why the model's proposal was invalid.
    """

    task: str
    round: int
    outcome: Literal["accepted", "rejected", "not_run"]
    stage: Literal["play", "judge", "condense", "done"]
    reason: str = ""
    failure: Failure | None = None
    text: str = ""
    trajectory: Trajectory | None = None
    steps: tuple[Any, ...] = ()
    condensed_by: Literal["", "model", "rule"] = ""
    proposal_fault: str = ""
    usage: Usage = Usage()


class AuthoringCounts(Record, frozen=True, kw_only=True):
    """The tasks in an authoring folder by outcome, and how many the rule condensed."""

    accepted: int
    rejected: int
    not_run: int
    by_rule: int


def read_decisions(path: Path) -> dict[str, list[Decision]]:
    """Return the decisions of a folder by task, in order."""
    found: dict[str, list[Decision]] = {}
    for each in read_records(path / DECISIONS_FILE, Decision, missing_ok=True):
        found.setdefault(each.task, []).append(each)
    return found


def without_reference(task: Task) -> Task:
    """Return a task for play: without reference steps, any server may be needed."""
    data = read_task_data(task, M3TaskData)
    if data.steps:
        return task
    return replace(task, data=msgspec.to_builtins(replace(data, steps=None, servers=None)))


async def author_references(
    writer: RunWriter,
    suite: Suite,
    model: Model,
    judge_model: Model,
    *,
    rounds: int = 3,
    shows_pictures: bool = False,
    n_concurrent: int = 16,
    watch: ProgressWatcher | None = None,
) -> AuthoringCounts:
    """Play, judge and condense every task of the folder that has no reference yet.

    A task that was rejected `rounds` times is given up. A task that was not run is tried again by
    the next call. `truths.json` is always written at the end, also after an error.
    """
    tool_format = suite.tool_formats[writer.run.info.plan.tool_format]
    decisions = read_decisions(writer.path)
    lines = RecordAppender(writer.path / DECISIONS_FILE)
    try:
        for task_decisions in decisions.values():
            _append_missing_trajectory(writer, task_decisions[-1])
        async with suite.environment.open(MediaStore(writer.path / "media")) as environments:
            authoring = _AuthoringWork(
                writer,
                suite,
                tool_format,
                environments,
                model,
                judge_model,
                lines,
                rounds,
                shows_pictures,
            )
            authoring.past_decisions, authoring.watch = decisions, watch
            open_tasks = authoring.open_tasks()
            await gather_all([authoring.work_on_tasks(open_tasks) for _ in range(n_concurrent)])
    finally:
        lines.close()
        write_truths(writer.run)
    return count_tasks(writer.run, rounds)


def count_tasks(run: Run, rounds: int) -> AuthoringCounts:
    """Count the tasks of a folder by outcome."""
    decisions = read_decisions(run.path)
    accepted = [each[-1] for each in decisions.values() if each[-1].outcome == "accepted"]
    rejected = sum(
        each[-1].outcome != "accepted" and _n_rejected(each) >= rounds
        for each in decisions.values()
    )
    return AuthoringCounts(
        accepted=len(accepted),
        rejected=rejected,
        not_run=run.info.n_tasks - len(accepted) - rejected,
        by_rule=sum(each.condensed_by == "rule" for each in accepted),
    )


def _n_rejected(decisions: Sequence[Decision]) -> int:
    return sum(each.outcome == "rejected" for each in decisions)


def _append_missing_trajectory(writer: RunWriter, last: Decision) -> None:
    """Add a trajectory that an interruption lost: its decision is written to disk first."""
    if last.outcome == "accepted" and (last.task, 0) not in writer.run.completed_episodes():
        writer.episodes.append(_condensed_trajectory(last))


@dataclass(slots=True)
class _AuthoringWork:
    """The state that the workers share."""

    writer: RunWriter
    suite: Suite
    tool_format: ToolFormat
    environment_factory: EnvironmentFactory
    model: Model
    judge: Model
    lines: RecordAppender
    rounds: int
    shows_pictures: bool
    past_decisions: dict[str, list[Decision]] = field(default_factory=dict)
    watch: ProgressWatcher | None = None
    model_breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    judge_breaker: CircuitBreaker = field(default_factory=CircuitBreaker)
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        counts = count_tasks(self.writer.run, self.rounds)
        self.progress = Progress(
            n_planned=self.writer.run.info.n_tasks,
            n_done_before=counts.accepted + counts.rejected,
        )

    def open_tasks(self) -> Iterator[Task]:
        """Yield the tasks that are neither accepted nor given up."""
        for task in self.writer.run.tasks():
            task_decisions = self.past_decisions.get(task.id, [])
            accepted = bool(task_decisions) and task_decisions[-1].outcome == "accepted"
            if not accepted and _n_rejected(task_decisions) < self.rounds:
                yield task

    async def work_on_tasks(self, open_tasks: Iterator[Task]) -> None:
        """Work on tasks until none is left; record them as stopped if a circuit breaker trips."""
        for task in open_tasks:
            stop_reason = self.model_breaker.trip_reason or self.judge_breaker.trip_reason
            if stop_reason:
                self._record_failure(
                    task, Failure(stage="run", kind="stopped", message=stop_reason)
                )
                continue
            await self._author_task(task)

    async def _author_task(self, task: Task) -> None:
        """Try a task until it is accepted, given up, or cannot be run."""
        task_decisions = self.past_decisions.get(task.id, [])
        n = _n_rejected(task_decisions)
        reason = next((d.reason for d in reversed(task_decisions) if d.outcome == "rejected"), "")
        # an attempt that was played but not judged is not played again
        unjudged = (
            task_decisions[-1].trajectory
            if task_decisions and task_decisions[-1].outcome == "not_run"
            else None
        )
        while n < self.rounds:
            decision = await self._try_round(task, n, reason, unjudged)
            self.lines.append(decision)
            unjudged, reason = None, decision.reason
            if decision.outcome == "not_run":
                self._record_failure(task, decision.failure or Failure(stage="run", kind="bug"))
                return
            if decision.outcome == "accepted":
                self.writer.episodes.append(_condensed_trajectory(decision))
                self._report_progress(accepted=True)
                return
            n += 1
        message = f"turned down {n} times, the last time: {reason}"
        self._record_failure(task, Failure(stage="judge", kind="judge", message=message))

    async def _try_round(
        self, task: Task, number: int, reason: str, trajectory: Trajectory | None
    ) -> Decision:
        """Play and judge once; condense an accepted attempt."""
        part = Decision(task=task.id, round=number, outcome="not_run", stage="play")
        if self.suite.maker.failure and (why := self.suite.maker.failure(without_reference(task))):
            failure_before = Failure(stage="preparation", kind="preparation", message=why)
            return replace(part, failure=failure_before)
        try:
            if trajectory is None:
                trajectory = await self._play_task(task, number, reason)
            part = replace(part, stage="judge", trajectory=trajectory)
            if not m3_condensing.successful_calls(trajectory):
                return replace(part, outcome="rejected", reason=_NO_CALL_REASON)
            if not trajectory.answer.strip():
                return replace(part, outcome="rejected", reason=_NO_REPLY_REASON)
            judged = await m3_reference_judging.decide_acceptance(
                self.judge, task, trajectory, shows_pictures=self.shows_pictures
            )
            part = replace(part, text=judged.text, usage=judged.usage)
            if judged.accept is None:
                no_decision = Failure(
                    stage="judge", kind="judge", message=self._no_decision_message(judged)
                )
                self.judge_breaker.record_failure(no_decision)
                return replace(part, failure=no_decision)
            part = replace(part, reason=judged.reason)
            self.judge_breaker.record_success()
            if not judged.accept:
                return replace(part, outcome="rejected")
            part = replace(part, stage="condense")
            found = await m3_reference_judging.propose_condensed(self.judge, task, trajectory)
        except EndpointError as error:
            playing = part.stage == "play"
            failure = failure_of(error, "model" if playing else "judge")
            (self.model_breaker if playing else self.judge_breaker).record_failure(failure)
            return replace(part, failure=failure)
        except ToolEnvironmentError as error:
            return replace(part, failure=failure_of(error, "environment"))
        return replace(
            part,
            outcome="accepted",
            stage="done",
            steps=tuple(
                json_codec.to_plain_json(m3_reference_judging.published_steps(found.stages))
            ),
            condensed_by=found.condensed_by,
            proposal_fault=found.proposal_fault,
            usage=sum_usage((part.usage, found.usage)),
        )

    def _no_decision_message(self, decision: m3_reference_judging.JudgeDecision) -> str:
        """Return a message with the judge that gave no decision, and its reply."""
        name = self.judge.name or type(self.judge).__name__
        quoted = (
            f"it said {decision.text[:_MAX_QUOTED_CHARS]!r}"
            if decision.text.strip()
            else "it said nothing"
        )
        return json_codec.escape_surrogates(
            f"the judge {name} gave no decision: {decision.reason}; {quoted}"
        )

    async def _play_task(self, task: Task, number: int, reason: str) -> Trajectory:
        asked_task = without_reference(_with_hint(task, reason))
        steps: list[Step] = []
        sampling = self.writer.run.info.plan.sampling
        async with self.environment_factory.open_environment(asked_task, {}) as environment:
            found = await self.suite.defaults.agent(
                asked_task, self.model, self.tool_format, environment, sampling, number, steps=steps
            )
        self.model_breaker.record_success()
        self.progress.input_tokens += found.usage.input
        self.progress.output_tokens += found.usage.output
        return found

    def _record_failure(self, task: Task, failure: Failure) -> None:
        self.writer.episodes.append(Attempt(task=task.id, repeat=0, failure=failure))
        self._report_progress(accepted=False)

    def _report_progress(self, *, accepted: bool) -> None:
        self.progress.n_run += accepted
        self.progress.n_not_run += not accepted
        if self.watch is not None:
            self.watch(self.progress)


def _with_hint(task: Task, reason: str) -> Task:
    """Return the task with the reason of the last rejection added to the question."""
    if not reason:
        return task
    first, *turns = task.turns
    *messages, question = first.messages
    hint = Text(_HINT_TEMPLATE.format(reason=reason))
    hinted = replace(question, parts=(*question.parts, hint))
    return replace(task, turns=(replace(first, messages=(*messages, hinted)), *turns))


# --- stored results ---------------------------------------------------------------------


def _condensed_trajectory(decision: Decision) -> Trajectory:
    """Return the trajectory of an accepted reference: its calls with the results of each."""
    played = decision.trajectory
    assert played is not None
    remaining = m3_condensing.successful_calls(played)
    steps = []
    for stage in decision.steps:
        taken = []
        for call in stage["calls"]:
            key = m3_condensing.call_identity(call["name"], call["arguments"])
            event = next(event for event in remaining if event.identity == key)
            remaining.remove(event)
            taken.append(event)
        steps.append(
            Step(
                reply=Reply(),
                calls=tuple(event.call for event in taken),
                results=tuple(event.result for event in taken),
            )
        )
    last = Step(reply=Reply(text=played.answer))
    return Trajectory(
        task=decision.task,
        tool_format=played.tool_format,
        steps=(*steps, last),
        answer=played.answer,
        state=played.state,
        tools=played.tools,
    )


def write_truths(run: Run) -> Path | None:
    """Write `truths.json`, the accepted references in the published layout; None without any.

    An old file is replaced only by a complete one. Raises UsageError.
    """
    media = MediaStore(run.path / "media")
    entries: dict[str, dict[str, Any]] = {}
    for trajectory in run.trajectories():
        entries[trajectory.task] = _reference_entry(run.task(trajectory.task), trajectory, media)
    if not entries:
        return None
    ranked = [entries[task.id] for task in run.tasks() if task.id in entries]
    # a lone surrogate is not valid Unicode: readers of the layout would reject it
    clean_text = _SURROGATE.sub("\ufffd", json.dumps(ranked, ensure_ascii=False))
    path = run.path / TRUTHS_FILE
    prediction_files.write_entries(path, json.loads(clean_text))
    return path


def _reference_entry(task: Task, trajectory: Trajectory, media: MediaStore) -> dict[str, Any]:
    """Return a reference: a prediction without call results and dialogue."""
    found = m3_prediction_layout.trajectory_to_entry(task, trajectory, media)
    found["steps"] = [
        {
            "step": stage["step"],
            "calls": [{key: call[key] for key in ("name", "arguments")} for call in stage["calls"]],
        }
        for stage in found["steps"]
    ]
    return {key: found[key] for key in REFERENCE_KEYS if key in found}

"""References made by models: one plays, one judges, and what is accepted is condensed.

The loop is that of arXiv 2511.17729, section 3.3; the words are our own. Every decision is a line
of `author.jsonl`. The folder is a run of the condensed trajectories, so that people can review it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from toolmark import codec
from toolmark.agents.loop import together
from toolmark.errors import EndpointError, WorldError, failure_of
from toolmark.failure import Failure
from toolmark.media import Media
from toolmark.runs.door import Door
from toolmark.runs.jsonl import Lines, records
from toolmark.runs.runner import Progress, Watcher
from toolmark.runs.store import Folder, Run
from toolmark.runs.suite import Suite
from toolmark.suites.m3 import condense, interchange, judge, layout, referee
from toolmark.types import (
    Attempt,
    Dialect,
    Model,
    Record,
    Reply,
    Site,
    Step,
    Task,
    Text,
    Trajectory,
    Usage,
)

LINES = "author.jsonl"
TRUTHS = "truths.json"
KEYS = ("id", "image", "type", "question", "steps", "final_reply")
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTED = 200  # characters of what a judge said

_HINT = """

An earlier attempt at this was turned down: {reason}
Begin anew: everything is as it was at first, and nothing of that attempt is left."""

_IDLE = "no call succeeded: a reference needs at least one; use the tools"
_MUTE = "there was no final reply; find what is needed within the limit of steps, then answer"


class Decision(Record, frozen=True, kw_only=True):
    """What became of one attempt at a task.

    `stage` is how far it got: play, judge, condense or done. `reason` is why it was
    turned down, `failure` why it was not run. `text` is the judge's reply and
    `usage` the judge's tokens. `steps` is the reference of an accepted one, `by` who condensed it:
    the model, or the rule where `unfit` says why the model's proposal could not be taken.
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
    by: Literal["", "model", "rule"] = ""
    unfit: str = ""
    usage: Usage = Usage()


class Counts(Record, frozen=True, kw_only=True):
    """What an author's folder holds: tasks by outcome, and how many the rule condensed."""

    accepted: int
    rejected: int
    not_run: int
    by_rule: int


def decisions(path: Path) -> dict[str, list[Decision]]:
    """Return the decisions of a folder by task, in order."""
    found: dict[str, list[Decision]] = {}
    for each in records(path / LINES, Decision, missing_ok=True):
        found.setdefault(each.task, []).append(each)
    return found


def opened(task: Task) -> Task:
    """Return a task as it is played: without a reference, every server may be needed."""
    reference = task.reference
    if isinstance(reference, Mapping) and not reference.get("steps"):
        left = {key: value for key, value in reference.items() if key not in ("servers", "steps")}
        return replace(task, reference=left)
    return task


async def make(
    folder: Folder,
    suite: Suite,
    model: Model,
    judge_model: Model,
    *,
    rounds: int = 3,
    see: bool = False,
    at_once: int = 16,
    watch: Watcher | None = None,
) -> Counts:
    """Play, judge and condense every task of the folder that has no reference yet.

    A task that was turned down `rounds` times is given up; one that was not run is taken up again
    by the next call. `truths.json` is written in the end, whatever ends it.
    """
    dialect = suite.dialects[folder.run.info.plan.dialect]
    past = decisions(folder.path)
    lines = Lines(folder.path / LINES)
    try:
        for decided in past.values():
            _mend(folder, decided[-1])
        async with suite.site(Media(folder.path / "media")) as site:
            work = _Work(folder, suite, dialect, site, model, judge_model, lines, rounds, see)
            work.past, work.watch = past, watch
            todo = work.todo()
            await together([work.work(todo) for _ in range(at_once)])
    finally:
        lines.close()
        publish(folder.run)
    return counts(folder.run, rounds)


def counts(run: Run, rounds: int) -> Counts:
    """Count the tasks of a folder by what became of them."""
    past = decisions(run.path)
    accepted = [each[-1] for each in past.values() if each[-1].outcome == "accepted"]
    rejected = sum(
        each[-1].outcome != "accepted" and _n_rejected(each) >= rounds for each in past.values()
    )
    return Counts(
        accepted=len(accepted),
        rejected=rejected,
        not_run=run.info.n_tasks - len(accepted) - rejected,
        by_rule=sum(each.by == "rule" for each in accepted),
    )


def _n_rejected(decided: Sequence[Decision]) -> int:
    return sum(each.outcome == "rejected" for each in decided)


def _mend(folder: Folder, last: Decision) -> None:
    """Add what a kill kept from being added: the decision is on the disk before its trajectory."""
    if last.outcome == "accepted" and (last.task, 0) not in folder.run.done():
        folder.episodes.append(_condensed(last))


@dataclass(slots=True)
class _Work:
    """What the workers share."""

    folder: Folder
    suite: Suite
    dialect: Dialect
    site: Site
    model: Model
    judge: Model
    lines: Lines
    rounds: int
    see: bool
    past: dict[str, list[Decision]] = field(default_factory=dict)
    watch: Watcher | None = None
    playing: Door = field(default_factory=Door)
    judging: Door = field(default_factory=Door)
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.progress = Progress(n_planned=self.folder.run.info.n_tasks)

    def todo(self) -> Iterator[Task]:
        """Go through the tasks that are neither accepted nor given up."""
        for task in self.folder.run.tasks():
            decided = self.past.get(task.id, [])
            accepted = bool(decided) and decided[-1].outcome == "accepted"
            if accepted or _n_rejected(decided) >= self.rounds:
                self.progress.n_done_before += 1
            else:
                yield task

    async def work(self, todo: Iterator[Task]) -> None:
        """Take task after task until none is left, or no model can be asked."""
        for task in todo:
            shut = self.playing.shut or self.judging.shut
            if shut:
                self._lose(task, Failure(stage="run", kind="stopped", message=shut))
                continue
            await self._task(task)

    async def _task(self, task: Task) -> None:
        """Try a task until it is accepted, given up, or cannot be run."""
        decided = self.past.get(task.id, [])
        n = _n_rejected(decided)
        reason = next((d.reason for d in reversed(decided) if d.outcome == "rejected"), "")
        # what was played but not judged is not played again
        kept = decided[-1].trajectory if decided and decided[-1].outcome == "not_run" else None
        while n < self.rounds:
            decision = await self._round(task, n, reason, kept)
            self.lines.append(decision)
            kept, reason = None, decision.reason
            if decision.outcome == "not_run":
                self._lose(task, decision.failure or Failure(stage="run", kind="bug"))
                return
            if decision.outcome == "accepted":
                self.folder.episodes.append(_condensed(decision))
                self._tell(accepted=True)
                return
            n += 1
        told = f"turned down {n} times, the last time: {reason}"
        self._lose(task, Failure(stage="judge", kind="judge", message=told))

    async def _round(
        self, task: Task, number: int, reason: str, trajectory: Trajectory | None
    ) -> Decision:
        """Play and judge once; what is accepted is condensed."""
        part = Decision(task=task.id, round=number, outcome="not_run", stage="play")
        if self.suite.broken and (why := self.suite.broken(opened(task))):
            lacking = Failure(stage="preparation", kind="preparation", message=why)
            return replace(part, failure=lacking)
        try:
            if trajectory is None:
                trajectory = await self._play(task, number, reason)
            part = replace(part, stage="judge", trajectory=trajectory)
            if not condense.events(trajectory):
                return replace(part, outcome="rejected", reason=_IDLE)
            if not trajectory.answer.strip():
                return replace(part, outcome="rejected", reason=_MUTE)
            said = await referee.decide(self.judge, task, trajectory, see=self.see)
            part = replace(part, text=said.text, usage=said.usage)
            if said.accept is None:
                mute = Failure(stage="judge", kind="judge", message=self._mute(said))
                self.judging.failed(mute)
                return replace(part, failure=mute)
            part = replace(part, reason=said.reason)
            self.judging.passed()
            if not said.accept:
                return replace(part, outcome="rejected")
            part = replace(part, stage="condense")
            found = await referee.shorten(self.judge, task, trajectory)
        except EndpointError as error:
            playing = part.stage == "play"
            failure = failure_of(error, "model" if playing else "judge")
            (self.playing if playing else self.judging).failed(failure)
            return replace(part, failure=failure)
        except WorldError as error:
            return replace(part, failure=failure_of(error, "environment"))
        return replace(
            part,
            outcome="accepted",
            stage="done",
            steps=tuple(codec.plain(referee.listed(found.stages))),
            by=found.by,
            unfit=found.unfit,
            usage=judge.total([Reply(usage=part.usage), Reply(usage=found.usage)]),
        )

    def _mute(self, said: referee.Said) -> str:
        """Say which judge gave no decision, and what it said instead."""
        name = getattr(self.judge, "name", "") or type(self.judge).__name__
        told = f"it said {said.text[:_QUOTED]!r}" if said.text.strip() else "it said nothing"
        return codec.escape(f"the judge {name} gave no decision: {said.reason}; {told}")

    async def _play(self, task: Task, number: int, reason: str) -> Trajectory:
        asked = opened(_hinted(task, reason))
        steps: list[Step] = []
        sampling = self.folder.run.info.plan.sampling
        async with self.site.world(asked, {}) as world:
            found = await self.suite.agent(
                asked, self.model, self.dialect, world, sampling, number, steps=steps
            )
        self.playing.passed()
        self.progress.input_tokens += found.usage.input
        self.progress.output_tokens += found.usage.output
        return found

    def _lose(self, task: Task, failure: Failure) -> None:
        self.folder.episodes.append(Attempt(task=task.id, repeat=0, failure=failure))
        self._tell(accepted=False)

    def _tell(self, *, accepted: bool) -> None:
        self.progress.n_run += accepted
        self.progress.n_not_run += not accepted
        if self.watch is not None:
            self.watch(self.progress)


def _hinted(task: Task, reason: str) -> Task:
    """Return the task with what was wrong with the last attempt, as part of the question."""
    if not reason:
        return task
    first, *turns = task.turns
    *messages, asked = first.messages
    hint = Text(_HINT.format(reason=reason))
    told = replace(asked, parts=(*asked.parts, hint))
    return replace(task, turns=(replace(first, messages=(*messages, told)), *turns))


# --- what is kept -----------------------------------------------------------------------


def _condensed(decision: Decision) -> Trajectory:
    """Return an accepted trajectory as its reference has it: the same calls, what each returned."""
    played = decision.trajectory
    assert played is not None
    left = condense.events(played)
    steps = []
    for stage in decision.steps:
        taken = []
        for call in stage["calls"]:
            key = condense.key(call["name"], call["arguments"])
            event = next(event for event in left if event.key == key)
            left.remove(event)
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
        dialect=played.dialect,
        steps=(*steps, last),
        answer=played.answer,
        state=played.state,
        tools=played.tools,
    )


def publish(run: Run) -> Path | None:
    """Write `truths.json`, the accepted references in the published layout; None without any.

    An old file is replaced by a whole one. Raises UsageError.
    """
    media = Media(run.path / "media")
    entries: dict[str, dict[str, Any]] = {}
    for made in run.trajectories():
        entries[made.task] = _entry(run.task(made.task), made, media)
    if not entries:
        return None
    ranked = [entries[task.id] for task in run.tasks() if task.id in entries]
    # half a pair of surrogates is no Unicode: no reader of the layout would take it
    whole = _SURROGATE.sub("\ufffd", json.dumps(ranked, ensure_ascii=False))
    path = run.path / TRUTHS
    interchange.write(path, json.loads(whole))
    return path


def _entry(task: Task, made: Trajectory, media: Media) -> dict[str, Any]:
    """Return a reference: a prediction without what its calls returned and what was said."""
    found = layout.entry(task, made, media)
    found["steps"] = [
        {
            "step": stage["step"],
            "calls": [{key: call[key] for key in ("name", "arguments")} for call in stage["calls"]],
        }
        for stage in found["steps"]
    ]
    return {key: found[key] for key in KEYS if key in found}

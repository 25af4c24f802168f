"""Trajectories executed again: what comes of their calls now, and whether it is what came then.

Each trajectory starts from a clean workspace. Its steps follow each other, the calls of one step
run at the same time. Where the published evaluation has a language model read stored results,
servers, or a recording of them, are asked (arXiv 2511.17729, section 5.4).
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from toolmark import codec
from toolmark.agents.loop import at_once
from toolmark.errors import DataError, UsageError, WorldError, near
from toolmark.media import Media
from toolmark.runs.store import Run
from toolmark.runs.suite import Opening
from toolmark.suites.m3 import data, interchange, layout, outcome
from toolmark.suites.m3.outcome import Outcome
from toolmark.suites.m3.score import EXACT, given
from toolmark.types import (
    Audio,
    Call,
    Image,
    Record,
    Result,
    Site,
    Step,
    Table,
    Task,
    Text,
    Tool,
    Trajectory,
    World,
)
from toolmark.worlds import cassette

Same: TypeAlias = Literal["equal", "different", "no record", "not replayed"]
SAME: tuple[Same, ...] = ("equal", "different", "no record", "not replayed")
_COMPARED = "Results are equal where a model would have seen the same text and pictures."
_EARLIER = "an earlier call could not be replayed"


class Again(Record, frozen=True, kw_only=True):
    """One call executed again: `outcome` now and `was`, as far as known, and whether results agree.

    `step` and `place` count from 1. `reason` says why the call could not be replayed; such a call
    has no outcome and no result.
    """

    task: str
    repeat: int
    step: int
    place: int
    name: str
    arguments: str
    same: Same
    outcome: Outcome | Literal[""] = ""
    was: Outcome | Literal[""] = ""
    result: Result | None = None
    reason: str = ""


class Done(NamedTuple):
    """A call of a trajectory, and what came of it; no record, no result."""

    call: Call
    result: Result | None
    was: Outcome | Literal[""]


class Past(NamedTuple):
    """A trajectory to be executed again; the task's reference names the servers it needs."""

    task: Task
    repeat: int
    steps: tuple[tuple[Done, ...], ...]


class Episode(NamedTuple):
    """What was asked and what happened; `imported`: by a file of others, so little is recorded."""

    task: Task
    made: Trajectory
    imported: bool


# --- what to execute --------------------------------------------------------------------


def of_run(run: Run, ids: Collection[str] = ()) -> Iterator[Episode]:
    """Go through the completed episodes of a run, of these task or item ids if any are given."""
    imported = "imported" in run.info.plan.knobs
    if ids:
        _check(ids, {name for task in run.tasks() for name in (task.id, task.item)})
    for made in run.trajectories():
        task = run.task(made.task)
        if not ids or {task.id, task.item}.intersection(ids):
            yield Episode(task, made, imported)


def of_file(
    path: Path, images: Path | None, media: Media, ids: Collection[str] = ()
) -> Iterator[Episode]:
    """Go through a file of truths or predictions; of entries with one id the last one counts.

    Pictures of tasks, which are looked for beside the file where no folder is given, go into the
    store. Raises DataError listing every entry that has the wrong shape.
    """
    rows = interchange.read(path, last=True)
    if rows.problems:
        lines = "\n".join(f"  {problem}" for problem in rows.problems)
        raise DataError(f"{path}: {len(rows.problems)} entries are not trajectories:\n{lines}")
    _check(ids, rows.found)
    folder = images or path.parent
    for id, row in rows.found.items():
        if ids and id not in ids:
            continue
        image, question = (row.entry.get(key, "") for key in ("image", "question"))
        asked = data.Entry(id=id, question=question, image=image)
        task = data.task(asked, asked.question, folder, media, similarity=EXACT)
        yield Episode(task, layout.trajectory(task, row.entry, media), imported=True)


def _check(ids: Collection[str], known: Collection[str]) -> None:
    for id in ids:
        if id not in known:
            raise UsageError(f"no trajectory of {id!r}{near(id, known)[:400]}")


def past(task: Task, made: Trajectory, imported: bool, configured: Collection[str]) -> Past:
    """Return the executed calls of an episode, and the task with the servers that they need.

    A server is needed where a call names it and it is known: configured, part of the reference, on
    offer then, or named by a call of which no record says that there is no such tool. Calls of
    others fail as they did.
    """
    offered = made.tools or task.tools
    steps = tuple(tuple(_done(step, offered, imported)) for step in made.steps if step.results)
    reached = {
        cassette.server(done.call.name)
        for step in steps
        for done in step
        if done.was != "unknown_tool"
    }
    reference = {key: value for key, value in task.reference.items() if key != "steps"}
    known = {*configured, *reference.get("servers", ()), *reached}
    known.update(cassette.server(tool.name) for tool in offered)
    named = (cassette.server(done.call.name) for step in steps for done in step)
    reference["servers"] = tuple(dict.fromkeys(name for name in named if name in known))
    return Past(replace(task, reference=reference), made.repeat, steps)


def _done(step: Step, offered: tuple[Tool, ...], imported: bool) -> Iterator[Done]:
    """Go through the executed calls of a step; a file of others may hold them without results."""
    outcomes = outcome.of(step, offered)
    for call, result, was in zip(step.calls, step.results, outcomes, strict=False):
        sent = _sent(call) if imported else call
        if imported and result == Result():
            yield Done(sent, None, "")
        else:
            yield Done(sent, result, was)


def _sent(call: Call) -> Call:
    """Return the call as the reference executor sends it: a string of JSON is that JSON."""
    held = given(call.arguments)
    return replace(call, arguments=codec.escape(held)) if isinstance(held, str) else call


# --- executing --------------------------------------------------------------------------


async def play(
    pasts: Iterable[Past], opener: Opening, media: Media, width: int, keep: Callable[[Again], None]
) -> None:
    """Execute trajectories, `width` of them at a time; `keep` gets their calls in order."""
    running: deque[asyncio.Task[list[Again]]] = deque()
    async with opener(media) as site:
        try:
            for each in pasts:
                running.append(asyncio.create_task(again(each, site)))
                if len(running) == width:
                    _kept(await running[0], keep)
                    running.popleft()
            while running:
                _kept(await running[0], keep)
                running.popleft()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)


def _kept(rows: list[Again], keep: Callable[[Again], None]) -> None:
    for row in rows:
        keep(row)


async def again(each: Past, site: Site) -> list[Again]:
    """Execute one trajectory in a fresh world; after a call that cannot be, no step follows."""
    results: list[list[Result | str]] = []
    tools: dict[str, Tool] = {}
    if lost := data.broken(each.task):
        return _rows(each, results, lost, ())
    lost = _EARLIER
    try:
        async with site.world(each.task, {}) as world:
            for step in each.steps:
                tools |= {tool.name: tool for tool in await world.tools()}
                results.append(await _executed(world, step))
                if any(isinstance(result, str) for result in results[-1]):
                    break
    except (WorldError, DataError) as error:
        lost = str(error)
    return _rows(each, results, lost, tuple(tools.values()))


def _rows(
    each: Past, results: list[list[Result | str]], lost: str, offered: tuple[Tool, ...]
) -> list[Again]:
    return [
        _row(each, (at, place), done, _at(results, at, place) or lost, offered)
        for at, step in enumerate(each.steps)
        for place, done in enumerate(step)
    ]


async def _executed(world: World, step: tuple[Done, ...]) -> list[Result | str]:
    """Execute the calls of a step at the same time, as far as the world allows."""
    room = asyncio.Semaphore(at_once(world))

    async def one(call: Call) -> Result | str:
        async with room:
            try:
                return await world.call(call)
            except (WorldError, DataError) as error:
                return str(error)

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(done.call)) for done in step]
    return [task.result() for task in running]


def _at(results: list[list[Result | str]], at: int, place: int) -> Result | str:
    return results[at][place] if at < len(results) else ""


def _row(
    each: Past, where: tuple[int, int], done: Done, got: Result | str, offered: tuple[Tool, ...]
) -> Again:
    row = Again(
        task=each.task.id,
        repeat=each.repeat,
        step=where[0] + 1,
        place=where[1] + 1,
        name=done.call.name,
        arguments=done.call.arguments,
        same="not replayed",
        was=done.was,
    )
    if isinstance(got, str):
        return replace(row, reason=codec.escape(got))
    same: Same = "no record"
    if done.result is not None:
        same = "equal" if seen(got) == seen(done.result) else "different"
    found = outcome.classify(done.call, offered, got)
    return replace(row, same=same, outcome=found, result=got)


def seen(result: Result) -> tuple[Any, ...]:
    """Return what a model sees of a result: text, pictures and sounds, else what is structured."""
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    media = tuple(part.sha256 for part in result.parts if isinstance(part, Image | Audio))
    return text, media, None if result.parts else result.structured


# --- what came of it --------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """Counts of replayed calls: by tool, by outcome now and then, and why any could not be."""

    tools: dict[str, Counter[str]] = field(default_factory=dict)
    now: Counter[str] = field(default_factory=Counter)
    then: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    episodes: set[tuple[str, int]] = field(default_factory=set)
    lost: set[tuple[str, int]] = field(default_factory=set)

    def add(self, row: Again) -> None:
        """Count one call."""
        episode = (row.task, row.repeat)
        self.episodes.add(episode)
        self.same[row.same] += 1
        self.tools.setdefault(row.name, Counter()).update([row.same, *filter(None, [row.outcome])])
        self.now.update(filter(None, [row.outcome]))
        self.then.update(filter(None, [row.was]))
        if row.reason:
            self.lost.add(episode)
            self.reasons[row.reason] += 1

    def summary(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "n_trajectories": len(self.episodes),
            "n_lost": len(self.lost),
            "n_calls": self.same.total(),
            "results": {name: self.same[name] for name in SAME},
            "outcomes": {name: self.now[name] for name in outcome.OUTCOMES if self.now[name]},
            "recorded": {name: self.then[name] for name in outcome.OUTCOMES if self.then[name]},
            "tools": {name: dict(self.tools[name]) for name in sorted(self.tools)},
            "reasons": dict(self.reasons.most_common()),
        }

    def tables(self) -> tuple[Table, Table]:
        """Return the calls by server and tool, and their outcomes now beside those recorded."""
        names = [name for name in outcome.OUTCOMES if self.now[name]]
        kinds = [name for name in SAME if self.same[name]]
        rows: list[tuple[str | int, ...]] = []
        for tool, found in sorted(self.tools.items()):
            n = sum(found[name] for name in SAME)
            cells = [found[name] for name in (*names, *kinds)]
            rows.append((cassette.server(tool), tool.rpartition("/")[2], n, *cells))
        by_tool = Table(
            title="Calls executed again, by server and tool",
            head=("server", "tool", "calls", *names, *kinds),
            rows=tuple(rows),
            note=_COMPARED if self.same["equal"] or self.same["different"] else "",
        )
        known = [name for name in outcome.OUTCOMES if self.now[name] or self.then[name]]
        by_outcome = Table(
            title="What became of calls",
            head=("outcome", "now", "recorded"),
            rows=tuple((outcome.OUTCOMES[name], self.now[name], self.then[name]) for name in known),
        )
        return by_tool, by_outcome

"""The loop: the panel plays what stands, what it solves is edited, until most of it fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from toolmark import codec, seeds, suites
from toolmark.agents.loop import together
from toolmark.errors import UsageError, WorldError
from toolmark.runs import runner
from toolmark.runs.door import Door
from toolmark.runs.plan import Plan, select
from toolmark.runs.play import Cast, Episode, counts_for_breaker, play
from toolmark.runs.runner import Progress, Watcher
from toolmark.runs.suite import Suite
from toolmark.suites.mfcl.vision import knobs
from toolmark.suites.mfcl.vision.item import BASE, Hop
from toolmark.suites.mfcl.vision.knobs import MAX_HOPS
from toolmark.suites.mfcl.vision.score import truth_of
from toolmark.suites.mfcl.vision.site import Web, failed
from toolmark.suites.mfcl.vision.tune import edits, outcome, own
from toolmark.suites.mfcl.vision.tune.edits import HINT, HOPS, OWN, UNHINT, Edited
from toolmark.suites.mfcl.vision.tune.folder import Item, Tuning, Writer
from toolmark.suites.mfcl.vision.tune.own import Own
from toolmark.suites.mfcl.vision.tune.records import Leaf, Trial, Version
from toolmark.types import Call, Instrument, Model, Result, Task, Trajectory
from toolmark.worlds import patience
from toolmark.worlds.search import FETCH

Panel: TypeAlias = Mapping[str, Model | Instrument]
_LEAF = 20_000  # characters of a page that who marks is shown


def fill(tuning: Tuning, writer: Writer, suite: Suite, watch: Watcher | None = None) -> None:
    """Make the items that are not there yet, with their pictures. Raises UsageError for none."""
    chosen = [t for t in _chosen(suite, tuning.request.plan) if t.item not in tuning.items]
    progress = Progress(n_planned=0, n_to_make=len(chosen), effort=suite.effort(chosen))
    for task in suite.make(iter(chosen)):
        writer.add(_version(tuning, suite, task, 0))
        progress.n_made += 1
        if watch is not None:
            watch(progress)


def _chosen(suite: Suite, plan: Plan) -> Iterator[Task]:
    tasks = select(suite, plan, suite.seed)
    return (task for task in tasks if task.axes["variation"] == BASE)


def _version(tuning: Tuning, suite: Suite, task: Task, number: int, edit: str = "",
             told: str = "") -> Version:  # fmt: skip
    """Return a version of a task that was just made; its picture is kept here too."""
    why = failed(task)
    if not why and suite.media is not None:
        tuning.media.take(suite.media, [edits.shown(task)])
    return Version(
        item=task.item, number=number, task=task, edit=edit, told=told, broken=why
    )  # fmt: skip


# --- editing ----------------------------------------------------------------------------


@dataclass(slots=True)
class Editor:
    """Makes the next versions; `owned` are the edits that the author wrote, by item.

    `further` draws an item anew with so many hops. `_stuck` are versions that allow no edit.
    """

    tuning: Tuning
    writer: Writer
    suite: Suite
    owned: Mapping[str, Sequence[Own]] = field(default_factory=dict)
    further: Callable[[Suite, str, int], Task | None] = lambda suite, item, hops: None
    _stuck: set[tuple[str, int]] = field(default_factory=set)

    def edit(self) -> int:
        """Edit what the panel solves, and what a person found unclear; return how many were."""
        n = 0
        for item in self.tuning.items.values():
            found = self._next(item)
            if found is not None:
                edit, made = found
                number = item.last.number + 1
                version = _version(self.tuning, self.suite, made.task, number, edit, made.told)
                self.writer.add(version)
                n += 1
        return n

    def _next(self, item: Item) -> tuple[str, Edited] | None:
        """Return the edit to make, and the item after it; None where there is none."""
        if (item.id, item.last.number) in self._stuck:
            return None
        match item.status(self.tuning.request):
            case "easy" if _n_edits(item) < self.tuning.request.rounds:
                return self._harder(item)
            case "unclear":
                return self._clearer(item)
            case _:
                return None

    def _harder(self, item: Item) -> tuple[str, Edited] | None:
        """Return the first edit that is left for the item, None where there is none."""
        since = _since(item)
        if (made := self._owned(item)) is not None:
            return OWN, made
        for name in self.tuning.request.edits:
            if (name in since and name != HOPS) or (name == UNHINT and HINT in since):
                continue
            made = self._further(item) if name == HOPS else self._made(name, item)
            if made is not None:
                return name, made
        self._stuck.add((item.id, item.last.number))
        return None

    def _clearer(self, item: Item) -> tuple[str, Edited] | None:
        if (made := self._owned(item)) is not None:
            return OWN, made
        made = self._made(HINT, item)
        return None if made is None else (HINT, made)

    def _owned(self, item: Item) -> Edited | None:
        """Return the next edit that the author wrote for the item, None where none is left."""
        n = sum(version.edit == OWN for version in item.versions)
        left = self.owned.get(item.id, ())[n:]
        if not left:
            return None
        try:
            return edits.written(item.last.task, left[0])
        except ValueError as error:
            raise UsageError(f"{own.FILE}: item {item.id}: {error}; mend its row") from None

    def _made(self, name: str, item: Item) -> Edited | None:
        rng = seeds.of(self.tuning.request.seed, item.id, item.last.number, f"tune {name}")
        try:
            return edits.apply(name, item.last.task, rng, self.tuning.media)
        except ValueError:
            return None

    def _further(self, item: Item) -> Edited | None:
        """Draw another item of the cell with one page more on the way."""
        n = len(truth_of(item.last.task).hops)
        task = self.further(self.suite, item.id, n + 1) if 0 < n < MAX_HOPS else None
        return Edited(task, f"another question: {n + 1} pages instead of {n}") if task else None


def _n_edits(item: Item) -> int:
    return sum(bool(v.edit) and v.edit != HINT for v in item.versions)


def _since(item: Item) -> set[str]:
    """Return the edits since the item became another question."""
    found: set[str] = set()
    for version in item.versions:
        found = set() if version.edit == HOPS else found | {version.edit}
    return found


def further(suite: Suite, item: str, hops: int) -> Task | None:
    """Make an item of a generated suite anew with so many hops; None where it cannot be made."""
    if knobs.folder(suite.knobs["source"]) is not None:
        return None
    more = suites.load(suite.name, **{**suite.knobs, "hops": (str(hops),), "seed": suite.seed})
    drafts = (task for task in more.tasks if task.item == item)
    made = next(iter(more.make(drafts)), None)
    return None if made is None or failed(made) else made


# --- playing ----------------------------------------------------------------------------


@dataclass(slots=True)
class Round:
    """One round of play: the versions that stand, asked of every model that has not said yet."""

    tuning: Tuning
    writer: Writer
    suite: Suite
    web: Web
    panel: Panel
    progress: Progress
    tell: Callable[[], None]
    doors: dict[str, Door] = field(default_factory=dict)

    async def play(self, at_once: int) -> None:
        """Ask until every model has said, or can be asked no longer."""
        todo = {name: list(self._todo(name)) for name in self.panel}
        self.progress.n_planned += sum(map(len, todo.values()))
        whole = (item for item in self.tuning.items.values() if not item.last.broken)
        workers = [self._reading(whole) for _ in range(at_once)]
        for name, items in todo.items():
            queue = iter(items)
            workers += [self._work(name, queue) for _ in range(min(at_once, len(items)))]
        await together(workers)

    def _todo(self, name: str) -> Iterator[Item]:
        for item in self.tuning.items.values():
            if not item.last.broken and item.fails(self.tuning.request)[name] is None:
                yield item

    async def _work(self, name: str, items: Iterator[Item]) -> None:
        door = self.doors.setdefault(name, Door())
        for item in items:
            ran = not door.shut and await self._asked(name, item, door)
            self.progress.n_run += ran
            self.progress.n_not_run += not ran
            self.tell()

    async def _asked(self, name: str, item: Item, door: Door) -> bool:
        """Let a model try until it solves the version or has failed often enough."""
        done = {t.attempt for t in item.of(name, item.last.number) if t.outcome != "not_run"}
        for attempt in range(self.tuning.request.plan.repeats):
            if attempt in done:
                continue
            trial = await self._tried(name, item.last, attempt, door)
            self.writer.add(trial)
            self.progress.input_tokens += trial.usage.input
            self.progress.output_tokens += trial.usage.output
            if trial.outcome in ("not_run", "solved"):
                return trial.outcome == "solved"
        return True

    async def _tried(self, name: str, version: Version, attempt: int, door: Door) -> Trial:
        trial = Trial(
            item=version.item, version=version.number, model=name, attempt=attempt,
            outcome="not_run",
        )  # fmt: skip
        plan = self.tuning.request.plan
        dialect = self.suite.dialects[plan.dialect]
        cast = Cast(self.suite, self.web, self.panel[name], dialect, plan.sampling)
        episode = Episode(version.task, attempt)
        judged: list[Trial] = []
        if await play(episode, cast, lambda made: judged.append(_judged(trial, episode, made))):
            door.passed()
            return judged[0]
        if episode.failure is not None and counts_for_breaker(episode.failure):
            door.failed(episode.failure)
        return replace(trial, failure=episode.failure)

    # --- pages, for who marks ---------------------------------------------------------------

    async def _reading(self, items: Iterable[Item]) -> None:
        """Keep the pages that can be had: simulated outages are for who is tested."""
        for item in items:
            version = item.last
            there = [leaf.hop for leaf in item.leaves if leaf.version == version.number]
            try:
                world = await self.web.calm(version.task)
                for hop in truth_of(version.task).hops:
                    if hop not in there and (text := _text(await world.call(_fetching(hop)))):
                        self.writer.add(
                            Leaf(item=version.item, version=version.number, hop=hop, text=text)
                        )
            except WorldError:  # who marks goes without
                continue


def _judged(trial: Trial, episode: Episode, made: Trajectory) -> Trial:
    came = outcome.outcome(episode.task, made)
    mode, evidence = (came.label.native, came.label.evidence) if came.label else ("", "")
    return replace(
        trial, outcome=came.outcome, answer=came.answer, mode=mode, evidence=evidence,
        usage=made.usage, trajectory=made,
    )  # fmt: skip


def _fetching(hop: Hop) -> Call:
    arguments = json.dumps({"url": hop.href, "mode": "truncate"})
    return Call(name=FETCH, arguments=arguments, id="page")


def _text(found: Result) -> str:
    """Return a page as a reader wants it, "" for what is no page."""
    try:
        held = codec.loads(codec.restore(found.text))
    except codec.BadJson:
        return ""
    text = held.get("content") if isinstance(held, dict) else None
    return codec.escape(text[:_LEAF]) if isinstance(text, str) else ""


def waiting(tuning: Tuning) -> bool:
    """Tell whether a model has yet to be asked."""
    return any(
        not item.last.broken and None in item.fails(tuning.request).values()
        for item in tuning.items.values()
    )


async def tune(
    tuning: Tuning,
    writer: Writer,
    suite: Suite,
    panel: Panel,
    editor: Editor,
    *,
    at_once: int = 16,
    watch: Watcher | None = None,
) -> Progress:
    """Play and edit in turn until nothing is left to do; what was not run waits for the next call.

    The items must be there (`fill`). Raises UsageError where the search engine lacks something.
    Why a model could no longer be asked stands in `stopped`.
    """
    progress = Progress(n_planned=0)
    doors: dict[str, Door] = {}
    waits = patience.watch()

    def tell() -> None:
        progress.waits = runner.waiting(panel.values(), waits)
        if watch is not None:
            watch(progress)

    async with suite.site(tuning.media) as site:
        assert isinstance(site, Web)
        beat = asyncio.create_task(runner.pulse(tell))
        try:
            while True:
                turn = Round(tuning, writer, suite, site, panel, progress, tell, doors)
                await turn.play(at_once)
                if not editor.edit():
                    break
        finally:
            beat.cancel()
            await asyncio.gather(beat, return_exceptions=True)
    shut = {name: door.shut for name, door in doors.items() if door.shut}
    progress.stopped = "; ".join(f"{name}: {why}" for name, why in shut.items())
    return progress

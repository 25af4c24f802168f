"""Any site, recorded once and replayed without it.

Each episode is a take of its task. Replaying follows the takes whose answers so far are those that
were given, so that an answer never comes from two worlds. Where the model asks something else the
recording ends: an error, or in mode `auto` the live world, brought to where the episode is.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec.structs import replace

from toolmark.errors import UsageError, WorldError
from toolmark.media import Media
from toolmark.types import Call, Known, Message, Noted, Result, Site, Task, Tool, World
from toolmark.worlds import cassette as tapes
from toolmark.worlds import taped
from toolmark.worlds.cassette import Cassette, Head, Open, Take
from toolmark.worlds.holder import Holder
from toolmark.worlds.taped import PLACE, Tape, Taped

Mode: TypeAlias = Literal["record", "replay", "auto"]
T = TypeVar("T")
_SHOWN = 300
_COMPARED = 500


class Recorded:
    """A site that keeps what another one answers, or answers in its place.

    `record` opens the live world and adds a take per episode. `replay` needs no site; a question
    that no take answers is a WorldError. `auto` goes live there, and records. `media` is the store
    that the run's messages refer to, by default the cassette's own. The answers of a `stateful`
    server count only if all it was asked before was the same, in the same order; a final state
    only if these servers (all, where none is named) were asked no more and no less. `instance`
    returns what of a task its world rests on, as plain values: takes of the same id with another
    one are not its own (None: they are). `head` is written before what is recorded.
    """

    def __init__(
        self,
        site: Site | None,
        cassette: Cassette,
        *,
        mode: Mode = "replay",
        media: Media | None = None,
        stateful: Collection[str] = (),
        instance: Callable[[Task], Any] | None = taped.held,
        head: Head | None = None,
    ) -> None:
        if site is None and mode != "replay":
            raise UsageError(f"mode {mode!r} needs a site to record; without one use 'replay'")
        self.site = site
        self.cassette = cassette
        self.mode = mode
        self.media = media or cassette.media
        self.stateful = frozenset(stateful)
        self.instance = instance
        self.head = head
        self._opened: Counter[str] = Counter()

    def notes(self) -> Mapping[str, Sequence[str]]:
        """Return what has happened to the parts of the live site."""
        return self.site.notes() if self.site and isinstance(self.site, Noted) else {}

    def known(self) -> Mapping[str, Sequence[str]]:
        """Return what the parts of the live site say they are."""
        return self.site.known() if self.site and isinstance(self.site, Known) else {}

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[World]:
        """Give an episode its world: a live one that is recorded, or a recording."""
        takes = [] if self.mode == "record" else self._takes(task, needed)
        if self.site is not None and not takes and self.mode != "replay":
            async with self.site.world(task, needed) as live:
                taping = self.taping(task, needed, live, taped.home(live))
                try:
                    yield taping
                finally:
                    taping.tape.take.running = False
            return
        if not takes:
            raise WorldError(self._absent(task, needed))
        with tempfile.TemporaryDirectory(prefix="toolmark-") as room:
            played = Played(self, task, needed, takes, Path(room))
            try:
                yield played
            finally:
                await played.leave()

    def taping(
        self, task: Task, needed: Mapping[str, Any], live: World, seen: Path | None
    ) -> Taped:
        """Begin a take of the live world; `seen` is the workspace that the model knows."""
        if self.head is not None:
            self.cassette.head(self.head)
        tape = Tape(self.cassette, self.media, task.id)
        return Taped(
            tape, live, seen, needed=taped.digest(dict(needed)), instance=self._instance(task)
        )

    def _instance(self, task: Task) -> str:
        return "" if self.instance is None else taped.digest(self.instance(task))

    def _takes(self, task: Task, needed: Mapping[str, Any]) -> list[Take]:
        """Return the takes to follow, the k-th one first for the k-th episode of the task.

        Those that broke off come last.
        """
        digest, instance = taped.digest(dict(needed)), self._instance(task)
        takes = [
            take
            for take in self.cassette.takes(task.id)
            if take.opened is not None
            and not take.running
            and take.opened.needed == digest
            and (self.instance is None or take.opened.instance == instance)
        ]
        whole = [take for take in takes if take.states]
        first = self._opened[task.id] % max(1, len(whole))
        self._opened[task.id] += 1
        return whole[first:] + whole[:first] + [take for take in takes if not take.states]

    def _absent(self, task: Task, needed: Mapping[str, Any]) -> str:
        """Say why there is no take to follow."""
        path, instance = self.cassette.path, self._instance(task)
        opened = [take.opened for take in self.cassette.takes(task.id) if take.opened is not None]
        held = ", ".join(map(str, self.cassette.heads))
        if opened and self.instance is not None and instance not in {o.instance for o in opened}:
            told = f" (it holds {held})" if held else ""
            return (
                f"{path}: task {task.id} was recorded for another instance; "
                f"give --seed and knobs of the recording{told}, or record it again"
            )
        after = " after these states of the tasks it needs" if needed else ""
        told = f"; it holds {held}" if held else ""
        return f"{path} holds no recording of task {task.id}{after}{told}"


# --- replaying --------------------------------------------------------------------------


class Played:
    """A recorded world; the live one comes in its place where `auto` finds nothing recorded."""

    def __init__(
        self, own: Recorded, task: Task, needed: Mapping[str, Any], takes: list[Take], room: Path
    ) -> None:
        self.own = own
        self.task = task
        self.needed = needed
        self.opened = takes[0].opened or Open()
        self.left = [take for take in takes if _alike(take.opened, self.opened)]
        self.at_once = self.opened.at_once
        self.workspace = room if self.opened.workspace else None
        self._told = taped.paths(self.workspace, PLACE)
        self._back = {PLACE: str(room)} if self.workspace else {}
        self._times: Counter[str] = Counter()
        self._asked_of: Counter[str] = Counter()
        self._past: list[tuple[Call, Result]] = []
        self._offered: list[tuple[int, tuple[Tool, ...]]] = []
        self._first: tuple[tuple[Message, ...], tuple[Message, ...]] | None = None
        self._live: Taped | None = None
        self._holder: Holder | None = None
        self._turn = asyncio.Lock()

    @property
    def changed(self) -> bool:
        """Whether the tools may have changed since they were last asked for."""
        if self._live is not None:
            return self._live.changed
        now = self.left[0].tools(len(self._past)) if self._offered else None
        return now is not None and now != self._offered[-1][1]

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools that were on offer."""
        if self._live is None:
            n = len(self._past)
            found = self._follow(lambda take: _one(take.tools(n)))
            if found is not None:
                self._offered.append((n, found[0]))
                return taped.swap(found[0], self._back, tuple[Tool, ...])
        return await (await self._onward("the list of tools")).tools()

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        """Return the messages as they were said."""
        if self._live is None:
            if not self.opened.opener:
                return messages
            asked = tapes.key("", self.own.cassette.hidden(taped.question(messages, self._told)))
            found = self._follow(lambda take: _one(take.openings.get(asked)))
            if found is not None:
                said = tuple(self._shown(message) for message in found[0])
                self._first = (messages, found[0])
                return taped.swap(said, self._back, tuple[Message, ...])
        return await (await self._onward("these opening messages")).opening(messages)

    async def call(self, call: Call, /) -> Result:
        """Return the recorded answer."""
        async with self._turn:  # one that goes live must not be overtaken
            if self._live is None:
                result = self._answer(call)
                if result is not None:
                    self._past.append((call, result))
                    return taped.swap(self._shown(result), self._back, Result)
            live = await self._onward("", call)
        return await live.call(call)

    async def final_state(self) -> Any:
        """Return the recorded state."""
        if self._live is None:
            found = self._follow(self._state)
            if found is not None:
                return tapes.swapped(found[0], self._back)
        return await (await self._onward("the final state after these calls")).final_state()

    async def leave(self) -> None:
        """Let the live world go, if there is one."""
        if self._live is not None:
            self._live.tape.take.running = False
        if self._holder is not None:
            await self._holder.leave()

    def _answer(self, call: Call) -> Result | None:
        asked = self._asked(call)
        server = tapes.server(call.name)
        at, nth = self._asked_of[server], self._times[asked]

        def answer(take: Take) -> tuple[Result] | None:
            if server in self.own.stateful and take.place(server, at) != asked:
                return None
            answers = take.answers(asked)
            return (answers[nth],) if nth < len(answers) else None

        found = self._follow(answer)
        if found is None:
            return None
        self._times[asked] += 1
        self._asked_of[server] += 1
        return found[0]

    def _state(self, take: Take) -> tuple[Any] | None:
        """Return the final state, if no call that could have changed it is missing."""
        if not take.states:
            return None
        made, now = take.asked(), self._asked_of
        changing = self.own.stateful or {*made, *now}
        same = all(made.get(name, 0) == now[name] for name in changing)
        return (take.states[-1],) if same or take.states[-1] is None else None

    def _asked(self, call: Call) -> str:
        given = tapes.swapped(tapes.arguments(call), self._told)
        return tapes.key(call.name, self.own.cassette.hidden(given))

    def _follow(self, find: Callable[[Take], tuple[T] | None]) -> tuple[T] | None:
        """Return what the first take says that answers, and leave those that say otherwise."""
        said = [(take, find(take)) for take in self.left]
        found = next((answer for _, answer in said if answer is not None), None)
        if found is not None:
            self.left = [take for take, answer in said if answer == found]
        return found

    def _shown(self, said: T) -> T:
        return taped.copied(said, self.own.cassette.media, self.own.media, self.task.id)

    async def _onward(self, what: str, call: Call | None = None) -> Taped:
        """Return the live world, at the same point. Raises WorldError where there must be none."""
        if self._live is not None:
            return self._live
        if self.own.mode != "auto" or self.own.site is None:
            raise WorldError(self._missing(what, call))
        self._holder = Holder()
        live = await self._holder.enter(self.own.site, self.task, self.needed)
        self._live = await self._caught_up(live)
        return self._live

    async def _caught_up(self, live: World) -> Taped:
        """Do in the live world what was done so far; the new take holds what the model saw."""
        world = self.own.taping(self.task, self.needed, live, self.workspace)
        tape = world.tape
        await self._offer(tape, live, 0)
        if self._first is not None:
            await getattr(live, "opening")(self._first[0])  # noqa: B009 - not of every World
            tape.keep("opening", self._first[1], asked=taped.question(self._first[0], self._told))
        for n, (call, result) in enumerate(self._past):
            await live.call(taped.moved(call, world.to))
            asked = tapes.swapped(tapes.arguments(call), self._told)
            tape.keep("call", result, call.name, asked, n)
            await self._offer(tape, live, n + 1)
        return world

    async def _offer(self, tape: Tape, live: World, n: int) -> None:
        """List the tools where they were listed, so that the live world knows what it has told."""
        tape.n = n
        for at, tools in self._offered:
            if at == n:
                await live.tools()
                tape.tools(tools)

    def _missing(self, what: str, call: Call | None) -> str:
        head = f"{self.own.cassette.path}: task {self.task.id}: no recorded answer to "
        if call is None:
            return f"{head}{what}; record it again"
        asked = self._asked(call)
        times = f" when asked {self._times[asked] + 1} times" if self._times[asked] else ""
        takes = self.own.cassette.takes(self.task.id)
        known = {question[:_SHOWN]: None for take in takes for question in take.questions()}
        near = get_close_matches(asked[:_SHOWN], list(known)[:_COMPARED], n=1, cutoff=0.0)
        return f"{head}{asked[:_SHOWN]}{times}; nearest recorded: {near[0] if near else 'none'}"


def _alike(one: Open | None, other: Open) -> bool:
    return one is not None and replace(one, instance="") == replace(other, instance="")


def _one(value: T | None) -> tuple[T] | None:
    return None if value is None else (value,)

"""The recording side: a live world whose answers are kept, and what moves between two worlds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from toolmark import codec
from toolmark.errors import DataError, WorldError
from toolmark.media import Media
from toolmark.types import Call, Message, Result, Task, Tool, World
from toolmark.worlds import cassette as tapes
from toolmark.worlds.cassette import Cassette, Kind, Line, Open

T = TypeVar("T")
PLACE = "${workspace}"


class Tape:
    """One take as it is written."""

    def __init__(self, cassette: Cassette, media: Media, task: str) -> None:
        self.cassette = cassette
        self.media = media
        self.task = task
        self.take = cassette.begin(task)
        self.n = 0
        self.last: tuple[Tool, ...] | None = None

    def keep(
        self, kind: Kind, result: Any, tool: str = "", asked: tapes.Arguments = "", n: int = 0
    ) -> None:
        """Write one answer."""
        plain = msgspec.to_builtins(result)
        line = Line(tool, asked, plain, kind=kind, task=self.task, take=self.take.number, n=n)
        self.cassette.keep(line)

    def tools(self, tools: tuple[Tool, ...]) -> None:
        """Write what is on offer, where it has changed."""
        if tools != self.last:
            self.last = tools
            self.keep("tools", tools, n=self.n)


class Taped:
    """A live world whose answers are kept. `seen` is the workspace that the model knows."""

    def __init__(
        self, tape: Tape, live: World, seen: Path | None, *, needed: str = "", instance: str = ""
    ) -> None:
        self.tape = tape
        self.live = live
        self.workspace = seen
        self.at_once = int(getattr(live, "at_once", 1))
        actual = home(live)
        self._told = paths(seen, PLACE)  # as the model says it -> as it is kept
        self._got = paths(actual, PLACE)  # as the world says it -> as it is kept
        self.to = {} if seen == actual else paths(seen, str(actual))
        self._from = {} if seen == actual else paths(actual, str(seen))
        has = Open(self.at_once, hasattr(live, "opening"), actual is not None, needed, instance)
        tape.keep("open", has)

    @property
    def changed(self) -> bool:
        """Whether the tools may have changed since they were last asked for."""
        return bool(getattr(self.live, "changed", False))

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools on offer now."""
        tools = await self.live.tools()
        self.tape.tools(swap(tools, self._got, tuple[Tool, ...]))
        return swap(tools, self._from, tuple[Tool, ...])

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        """Return the messages as the live world says them."""
        if not hasattr(self.live, "opening"):
            return messages
        said: tuple[Message, ...] = await self.live.opening(messages)
        kept = tuple(self._kept(message) for message in said)
        asked = question(messages, self._told)
        self.tape.keep("opening", swap(kept, self._got, tuple[Message, ...]), asked=asked)
        return swap(said, self._from, tuple[Message, ...])

    async def call(self, call: Call, /) -> Result:
        """Have the live world execute the call."""
        n = self.tape.n
        self.tape.n += 1
        asked = tapes.swapped(tapes.arguments(call), self._told)
        result = await self.live.call(moved(call, self.to))
        kept = swap(self._kept(result), self._got, Result)
        self.tape.keep("call", kept, call.name, asked, n)
        return swap(result, self._from, Result)

    async def final_state(self) -> Any:
        """Return the live world's state."""
        state = msgspec.to_builtins(await self.live.final_state())
        self.tape.keep("state", tapes.swapped(state, self._got))
        return tapes.swapped(state, self._from)

    def _kept(self, said: T) -> T:
        return copied(said, self.tape.media, self.tape.cassette.media, self.tape.task)


def held(task: Task) -> Any:
    """Return what a world may rest on: all that a task holds but its name and its place."""
    return msgspec.to_builtins((task.turns, task.tools, task.reference))


def digest(value: Any) -> str:
    """Return what equal plain values, such as starting states, have in common; of none, no text."""
    if not value:
        return ""
    text = json.dumps(codec.plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def home(live: World) -> Path | None:
    """Return the world's workspace, if it has one."""
    found = getattr(live, "workspace", None)
    return Path(found) if found is not None else None


def paths(folder: Path | None, new: str) -> dict[str, str]:
    """Return the spellings of a folder's path, the longest first, each with what replaces it."""
    if folder is None:
        return {}
    spelled = {str(folder), str(folder.resolve())}
    return dict.fromkeys(sorted(spelled, key=len, reverse=True), new)


def swap(value: T, forms: Mapping[str, str], kind: type[T]) -> T:
    """Return a record with some texts in place of others."""
    if not forms:
        return value
    return msgspec.convert(tapes.swapped(msgspec.to_builtins(value), forms), kind)


def question(messages: tuple[Message, ...], forms: Mapping[str, str]) -> dict[str, Any]:
    """Return opening messages as the arguments of a question."""
    return {"messages": tapes.swapped(msgspec.to_builtins(messages), forms)}


def moved(call: Call, forms: Mapping[str, str]) -> Call:
    """Return the call with the paths that the live world knows."""
    if not forms:
        return call
    given = tapes.arguments(call)
    moved = tapes.swapped(given, forms)
    if moved == given:
        return call
    text = moved if isinstance(moved, str) else codec.escape(json.dumps(moved, ensure_ascii=False))
    return replace(call, arguments=text)


def copied(said: T, old: Media, new: Media, task: str) -> T:
    """Put the media that a result or a message refers to into another store.

    Raises WorldError where they are missing or damaged: that is this task's affair.
    """
    if isinstance(said, Result | Message):
        try:
            new.take(old, said.parts)
        except DataError as error:
            raise WorldError(f"task {task}: {error}") from None
    return said

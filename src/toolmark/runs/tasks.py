"""The file of a run's or a made set's tasks: written once, then read through or by place."""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from toolmark import canary, codec
from toolmark.errors import DataError
from toolmark.files import atomic_file, opened
from toolmark.media import Media
from toolmark.runs.damage import lost
from toolmark.runs.jsonl import BLOCK_BYTES, records, sync
from toolmark.types import Part, Record, Task, Tool, Turn

Refers: TypeAlias = Callable[[Task], Iterable[Part]]
HELD_TOOLS = 64


def through(path: Path) -> Iterator[Task]:
    """Go through the tasks of a file. Equal tools of successive tasks are one object.

    Raises DataError with file and line, also for a file without any task.
    """
    tools = _Tools()
    number = 0
    for number, bare in enumerate(records(path, _Bare, whole=True), 1):
        try:
            yield tools.task(bare)
        except msgspec.DecodeError as error:
            raise DataError(f"{path}, line {number}: {error}; {lost(path)}") from None
    if not number:  # nobody runs no task
        raise DataError(f"{path}: empty; {lost(path, line=False)}")


class Tasks:
    """The tasks of a file by id, each read from its place when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Read the file once, for places and `sha256`. Raises DataError naming a broken line."""
        self.path = path
        self._places: dict[str, int] = {}
        self._tools = _Tools()
        digest = hashlib.sha256()
        place = 0
        if not os.path.lexists(path):
            raise DataError(f"{path}: missing; {lost(path, line=False)}")
        with opened(path, BLOCK_BYTES) as file:
            for record, line in zip(records(path, _Id, whole=True), file, strict=False):
                self._places[record.id] = place
                place += len(line)
                digest.update(line)
        self.sha256 = digest.hexdigest()
        self._file = path.open("rb")
        weakref.finalize(self, self._file.close)

    def __getitem__(self, id: str) -> Task:
        """Return a task. Raises DataError where there is none of that id."""
        if id not in self._places:
            raise DataError(f"{self.path}: no task {id!r}")
        self._file.seek(self._places[id])
        try:
            return self._tools.task(codec.decode(self._file.readline(), _Bare))
        except msgspec.DecodeError as error:
            raise DataError(f"{self.path}, task {id!r}: {error}; {lost(self.path)}") from None


class _Tools:
    """Tasks from their lines; equal tools of tasks near each other are one object."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Tool, ...]] = {}

    def task(self, bare: Any) -> Task:
        raw = bytes(bare.tools)  # decoding the tools is most of the work: once will do
        if raw not in self._known:
            if len(self._known) == HELD_TOOLS:
                del self._known[next(iter(self._known))]
            self._known[raw] = codec.decode(raw, tuple[Tool, ...]) if raw else ()
        fields = dict(zip(_FIELDS, _values(bare), strict=True))
        fields["tools"] = self._known[raw]
        return Task(**fields)


_FIELDS = Task.__struct_fields__
_values = attrgetter(*_FIELDS)
# a Task whose tools are left as they are written
_Bare: Any = msgspec.defstruct(
    "_Bare",
    [
        (field.name, msgspec.Raw, msgspec.field(default=msgspec.Raw()))
        if field.name == "tools"
        else (field.name, field.type)
        if field.required
        else (field.name, field.type, msgspec.field(default=field.default))
        if field.default is not msgspec.NODEFAULT
        else (field.name, field.type, msgspec.field(default_factory=field.default_factory))
        for field in msgspec.structs.fields(Task)
    ],
    kw_only=True,
)


class _Id(Record, frozen=True, kw_only=True):
    id: str


class Written(NamedTuple):
    """A task file: how many tasks, how many of them only set others up, its sha256."""

    n: int
    n_setup: int
    sha256: str


def write_tasks(
    path: Path, tasks: Iterable[Task], media: Media | None = None, refers: Refers | None = None
) -> Written:
    """Write tasks one by one, with their canaries; beside them, in `media/`, what they refer to.

    `refers` returns what a task refers to beside its messages. Raises DataError for two equal ids,
    a task that stands before one that it needs, and media that the store does not hold.
    """
    own = Media(path.with_name("media"))
    digest = hashlib.sha256()
    seen: set[str] = set()
    setups: set[str] = set()
    with atomic_file(path) as draft, draft.open("wb", buffering=BLOCK_BYTES) as file:
        for task in tasks:
            if task.id in seen:
                raise DataError(f"two tasks have the id {task.id!r}")
            if not setups.issuperset(task.needs):
                raise DataError(f"task {task.id!r} needs {task.needs}, not all set up before it")
            seen.add(task.id)
            if media is not None:
                own.take(media, (part for turn in task.turns for part in _parts(turn)))
                own.take(media, refers(task) if refers else ())
            if task.kind == "setup":
                setups.add(task.id)
            line = task_line(task)
            digest.update(line)
            file.write(line)
        file.flush()
        sync(file.fileno())
    return Written(len(seen), len(setups), digest.hexdigest())


def task_line(task: Task) -> bytes:
    """Return a task as its line in a file of tasks: equal tasks make equal lines."""
    return canary.stamped(task, codec.encode(task)) + b"\n"


def _parts(turn: Turn) -> Iterator[Part]:
    return (part for message in turn.messages for part in message.parts)

"""The task file of a run or an exported set: written once, then read in order or by id."""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from toolmark.core import canary, json_codec
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError
from toolmark.core.files import atomic_file, open_regular_file
from toolmark.core.media import MediaStore
from toolmark.core.records import Part, Record, Task, Tool, Turn
from toolmark.runs.damaged_files import damage_advice
from toolmark.runs.record_files import BLOCK_BYTES, read_records, sync_descriptor

MediaReferences: TypeAlias = Callable[[Task], Iterable[Part]]
MAX_CACHED_TOOLS = 64


def read_tasks(path: Path) -> Iterator[Task]:
    """Yield the tasks of a file. Equal tools of successive tasks are one object.

    Raises DataError with file and line, also for a file without any task.
    """
    tools = _TaskDecoder()
    number = 0
    for number, raw_task in enumerate(read_records(path, _RawTask, strict=True), 1):
        try:
            yield tools.decode(raw_task)
        except msgspec.DecodeError as error:
            raise DataError(
                f"{path}, line {number}: {describe_decode_error(error)}; {damage_advice(path)}"
            ) from None
    if not number:  # a run without tasks is refused, so an empty file is damage
        raise DataError(f"{path}: empty; {damage_advice(path, line=False)}")


class TaskLookup:
    """The tasks of a file by id, each read from its location when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Read the file once, for locations and `sha256`. Raises DataError naming a broken line."""
        self.path = path
        self._offsets: dict[str, int] = {}
        self._tools = _TaskDecoder()
        digest = hashlib.sha256()
        offset = 0
        if not os.path.lexists(path):
            raise DataError(f"{path}: missing; {damage_advice(path, line=False)}")
        with open_regular_file(path, BLOCK_BYTES) as file:
            for record, line in zip(read_records(path, _TaskId, strict=True), file, strict=False):
                self._offsets[record.id] = offset
                offset += len(line)
                digest.update(line)
        self.sha256 = digest.hexdigest()
        self._file = path.open("rb")
        weakref.finalize(self, self._file.close)

    def __getitem__(self, id: str) -> Task:
        """Return a task. Raises DataError where there is none of that id."""
        if id not in self._offsets:
            raise DataError(f"{self.path}: no task {id!r}")
        self._file.seek(self._offsets[id])
        try:
            return self._tools.decode(json_codec.decode_record(self._file.readline(), _RawTask))
        except msgspec.DecodeError as error:
            reason = describe_decode_error(error)
            raise DataError(
                f"{self.path}, task {id!r}: {reason}; {damage_advice(self.path)}"
            ) from None


class _TaskDecoder:
    """Decodes tasks from their lines; equal tools of nearby tasks are one object."""

    def __init__(self) -> None:
        self._decoded: dict[bytes, tuple[Tool, ...]] = {}
        self._last: tuple[bytes, tuple[Tool, ...]] = (b"", ())

    def decode(self, raw_task: Any) -> Task:
        fields = dict(zip(_FIELDS, _field_values(raw_task), strict=True))
        fields["tools"] = self._decode_tools(bytes(raw_task.tools))
        return Task(**fields)

    def _decode_tools(self, raw: bytes) -> tuple[Tool, ...]:
        """Return the tools: decoding them is most of the work, so it is done once."""
        if raw != self._last[0]:  # comparing long bytes is faster than looking them up
            self._last = raw, self._look_up_tools(raw)
        return self._last[1]

    def _look_up_tools(self, raw: bytes) -> tuple[Tool, ...]:
        if raw not in self._decoded:
            if len(self._decoded) == MAX_CACHED_TOOLS:
                del self._decoded[next(iter(self._decoded))]
            self._decoded[raw] = json_codec.decode_record(raw, tuple[Tool, ...]) if raw else ()
        return self._decoded[raw]


class TaskEncoder:
    """Writes tasks as their lines. Tools that successive tasks share are encoded once."""

    def __init__(self) -> None:
        self._tools: tuple[Tool, ...] = ()
        self._raw: Any = _NO_TOOLS

    def encode_line(self, task: Task) -> bytes:
        """Return a task as its line in a task file: equal tasks give equal lines."""
        return canary.add_canary(task, self._encode_task(task)) + b"\n"

    def _encode_task(self, task: Task) -> bytes:
        if task.tools is not self._tools:
            self._tools, self._raw = task.tools, _encode_tools(task.tools)
        if self._raw is None:
            return json_codec.encode_record(task)
        fields = dict(zip(_FIELDS, _field_values(task), strict=True))
        fields["tools"] = self._raw
        try:
            line = msgspec.json.encode(_RawTask(**fields))
        except (UnicodeEncodeError, OverflowError):
            return json_codec.encode_record(task)
        return json_codec.encode_record(task) if b"null" in line else line


def _encode_tools(tools: tuple[Tool, ...]) -> Any:
    """Return the tools as raw JSON; None where a task with them needs the slower writer."""
    if not tools:
        return _NO_TOOLS
    try:
        encoded = msgspec.json.encode(tools)
    except (UnicodeEncodeError, OverflowError):
        return None
    return None if b"null" in encoded else msgspec.Raw(encoded)


_NO_TOOLS: Any = msgspec.Raw()  # the default itself, which is not written
_FIELDS = Task.__struct_fields__
_field_values = attrgetter(*_FIELDS)
# a Task whose tools are not decoded
_RawTask: Any = msgspec.defstruct(
    "_Bare",
    [
        (field.name, msgspec.Raw, msgspec.field(default=_NO_TOOLS))
        if field.name == "tools"
        else (field.name, field.type)
        if field.required
        else (field.name, field.type, msgspec.field(default=field.default))
        if field.default is not msgspec.NODEFAULT
        else (field.name, field.type, msgspec.field(default_factory=field.default_factory))
        for field in msgspec.structs.fields(Task)
    ],
    kw_only=True,
    omit_defaults=True,
)


class _TaskId(Record, frozen=True, kw_only=True):
    id: str


class TaskFileInfo(NamedTuple):
    """A task file: the number of tasks, how many of them only set others up, its sha256."""

    n_tasks: int
    n_setup_tasks: int
    sha256: str


def write_tasks(
    path: Path,
    tasks: Iterable[Task],
    media: MediaStore | None = None,
    refers: MediaReferences | None = None,
) -> TaskFileInfo:
    """Write tasks one by one, with their canaries, and copy the media they refer to into `media/`.

    `refers` returns what a task refers to besides its messages. Raises DataError for two equal ids,
    a task that comes before one that it needs, and media that the store does not contain.
    """
    own_media = MediaStore(path.with_name("media"))
    digest = hashlib.sha256()
    seen: set[str] = set()
    setups: set[str] = set()
    encoder = TaskEncoder()
    with atomic_file(path) as draft, draft.open("wb", buffering=BLOCK_BYTES) as file:
        for task in tasks:
            if task.id in seen:
                raise DataError(f"two tasks have the id {task.id!r}")
            if not setups.issuperset(task.needs):
                raise DataError(f"task {task.id!r} needs {task.needs}, not all set up before it")
            seen.add(task.id)
            if media is not None:
                own_media.copy_from(
                    media, (part for turn in task.turns for part in _message_parts(turn))
                )
                own_media.copy_from(media, refers(task) if refers else ())
            if task.kind == "setup":
                setups.add(task.id)
            line = encoder.encode_line(task)
            digest.update(line)
            file.write(line)
        file.flush()
        sync_descriptor(file.fileno())
    return TaskFileInfo(len(seen), len(setups), digest.hexdigest())


def _message_parts(turn: Turn) -> Iterator[Part]:
    return (part for message in turn.messages for part in message.parts)

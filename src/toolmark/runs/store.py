"""The run folder: what was asked, what happened, what it was worth.

`run.json`, `tasks.jsonl` and `trajectories.jsonl` are the truth; `attempts.jsonl` says why
episodes were not run; `scores.jsonl`, `summary.json` and `report.html` are derived and may be
deleted. Completed episodes are appended with one write each, so a killed run loses only those
in flight; a torn last line is dropped when the run is opened for writing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

import msgspec

from toolmark import codec
from toolmark.errors import DataError, UsageError
from toolmark.media import Media
from toolmark.runs.jsonl import BLOCK_BYTES, Lines, locked, records, write
from toolmark.runs.plan import Plan
from toolmark.types import (
    Attempt,
    Judgement,
    Part,
    Record,
    Score,
    Task,
    Tool,
    Trajectory,
    Turn,
)

Refers: TypeAlias = Callable[[Task], Iterable[Part]]
FORMAT = 1
HELD_TOOLS = 64


class RunInfo(Record, frozen=True, kw_only=True):
    """What `run.json` holds: `n_setup` of the `n_tasks` are not scored but needed by others.

    `created` is UTC; `served` are the models' names by the server, `dropped` the settings that it
    refused and that were left out. Of each part of the site, by name: `missing` is what it lacked
    when the run was last begun or continued, `notes` what happened to it, `servers` what it said
    it is, a line for each that was met: name, version, hash of its tools. `caution` is what readers
    of its scores must know first.
    """

    format: int
    plan: Plan
    seed: int
    n_tasks: int
    n_setup: int = 0
    command: str = ""
    created: str = ""
    tasks_sha256: str = ""
    hashes: dict[str, str] = {}
    versions: dict[str, str] = {}
    served: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    missing: dict[str, str] = {}
    notes: dict[str, tuple[str, ...]] = {}
    servers: dict[str, tuple[str, ...]] = {}
    caution: str = ""

    @property
    def n_planned(self) -> int:
        """Scored episodes asked for: tasks times repeats."""
        return (self.n_tasks - self.n_setup) * self.plan.repeats

    @property
    def n_episodes(self) -> int:
        """All episodes, those that set others up included."""
        return self.n_tasks * self.plan.repeats


class Key(Record, frozen=True, kw_only=True):
    """The part of a trajectory's line that says which episode it is."""

    task: str
    repeat: int = 0


class Summary(dict[str, Any]):
    """The object that `--json` prints; as text, one line."""

    def __str__(self) -> str:
        """Return `success 0.38 [0.26, 0.52], n=50, not run 0`."""
        score = self["score"]
        value, low, high = (score[name] for name in ("value", "low", "high"))
        shown = "-" if value is None else f"{value:.2f} [{low:.2f}, {high:.2f}]"
        return f"{score['name']} {shown}, n={self['n_run']}, not run {self['n_not_run']}"


class Run:
    """A run folder, read only. Raises UsageError if it is none, DataError if it is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tasks: Tasks | None = None
        try:
            text = (path / "run.json").read_bytes()
        except OSError:
            raise UsageError(f"{path}: not a run folder (no readable run.json)") from None
        try:
            self.info = codec.decode(text, RunInfo)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(f"{path / 'run.json'}: not a toolmark run: {error}") from None
        if self.info.format != FORMAT:
            raise DataError(
                f"{path / 'run.json'}: format {self.info.format}; this version reads {FORMAT}"
            )

    def tasks(self) -> Iterator[Task]:
        """Go through the tasks as asked. Equal tools of successive tasks are one object."""
        tools = _Tools()
        for bare in records(self.path / "tasks.jsonl", _Bare, whole=True):
            yield tools.task(bare)

    def verify(self) -> None:
        """Raise DataError if the tasks are not those that were asked."""
        found = self._index().sha256
        if found != self.info.tasks_sha256:
            raise DataError(
                f"{self.path / 'tasks.jsonl'}: changed since the run began (sha256 {found}); "
                "put it back, or begin a new run with --fresh"
            )

    def trajectories(self) -> Iterator[Trajectory]:
        """Go through the completed episodes, in the order they ended."""
        return records(self.path / "trajectories.jsonl", Trajectory, missing_ok=True)

    def attempts(self) -> Iterator[Attempt]:
        """Go through what was not run; an episode may appear more than once."""
        return records(self.path / "attempts.jsonl", Attempt, missing_ok=True)

    def judgements(self) -> Iterator[Judgement]:
        """Go through what judges said; the last line on a question counts (`runs.judging`)."""
        return records(self.path / "judgements.jsonl", Judgement, missing_ok=True)

    def scores(self) -> Iterator[Score]:
        """Go through the scores; derived, so rescore first if they are gone."""
        return records(self.path / "scores.jsonl", Score, missing_ok=True)

    def task(self, id: str) -> Task:
        """Return one task by id, read from its place in the file."""
        return self._index()[id]

    def _index(self) -> Tasks:
        if self._tasks is None:
            self._tasks = Tasks(self.path / "tasks.jsonl")
        return self._tasks

    def done(self) -> set[tuple[str, int]]:
        """Return the (task, repeat) pairs that are complete. A pair twice is a DataError."""
        pairs: set[tuple[str, int]] = set()
        for key in records(self.path / "trajectories.jsonl", Key, missing_ok=True):
            pair = (key.task, key.repeat)
            if pair in pairs:
                raise DataError(f"{self.path / 'trajectories.jsonl'}: {pair} stands there twice")
            pairs.add(pair)
        return pairs

    def summary(self) -> Summary:
        """Return `summary.json`: counts, score with interval, parts."""
        path = self.path / "summary.json"
        try:
            return Summary(msgspec.json.decode(path.read_bytes()))
        except OSError:
            raise UsageError(f"{path}: missing; next: toolmark score {self.path}") from None
        except (msgspec.DecodeError, ValueError) as error:
            raise DataError(f"{path}: {error}") from None


class Tasks:
    """The tasks of a file by id, each read from its place when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Read the file once, for places and `sha256`. Raises DataError naming a broken line."""
        self.path = path
        self._places: dict[str, int] = {}
        self._tools = _Tools()
        digest = hashlib.sha256()
        place = 0
        with path.open("rb", buffering=BLOCK_BYTES) as file:
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
        return self._tools.task(codec.decode(self._file.readline(), _Bare))


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
        fields = {name: getattr(bare, name) for name in Task.__struct_fields__}
        return Task(**fields | {"tools": self._known[raw]})


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


class Folder:
    """A run folder open for writing; one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = locked(path)
        self._lock.__enter__()
        try:
            self.run = Run(path)
            self.run.verify()
            self.trajectories = Lines(path / "trajectories.jsonl")
            self.attempts = Lines(path / "attempts.jsonl")
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise

    def note(
        self,
        *,
        served: Iterable[str] = (),
        dropped: Iterable[str] = (),
        missing: Mapping[str, str] | None = None,
        notes: Mapping[str, Sequence[str]] | None = None,
        servers: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Add to `run.json`; what is missing takes the place of what was missing before."""
        info = self.run.info
        noted = msgspec.structs.replace(
            info,
            served=tuple(sorted({*info.served, *served} - {""})),
            dropped=tuple(sorted({*info.dropped, *dropped})),
            missing=info.missing if missing is None else dict(missing),
            notes=_joined(info.notes, notes),
            servers=_joined(info.servers, servers),
        )
        if noted != info:
            self.run.info = noted
            write(self.path / "run.json", noted)

    def replace(self, tasks: Mapping[str, Task], media: Media | None, refers: Refers) -> None:
        """Put tasks in the place of those of the same ids, of which no episode is complete."""
        held = (tasks.get(task.id, task) for task in Run(self.path).tasks())
        written = write_tasks(self.path / "tasks.jsonl", held, media, refers)
        info = msgspec.structs.replace(self.run.info, tasks_sha256=written.sha256)
        write(self.path / "run.json", info)
        self.run = Run(self.path)

    def __enter__(self) -> Folder:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the files and give up the lock."""
        try:
            self.trajectories.close()
            self.attempts.close()
        finally:
            self._lock.__exit__(None, None, None)


def _joined(
    held: Mapping[str, tuple[str, ...]], told: Mapping[str, Sequence[str]] | None
) -> dict[str, tuple[str, ...]]:
    """Return what is told of each part, added to what was told before; nothing twice."""
    found = dict(held)
    for name, lines in (told or {}).items():
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), *lines)))
    return found


def claim(parent: Path, plan: Plan) -> Path:
    """Make the folder of a new run and return it; whoever makes it has its number.

    Raises UsageError when the parent cannot be written.
    """
    stem = _stem(plan)
    n = 1 + max((number for number, _ in _numbered(parent, stem)), default=0)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        while (parent / f"{stem}-{n}").exists():
            n += 1
        path = parent / f"{stem}-{n}"
        path.mkdir()
    except FileExistsError:
        return claim(parent, plan)
    except OSError as error:
        raise UsageError(
            f"{parent}: cannot make a run folder there: {error.strerror}; "
            "choose another with --log-dir"
        ) from None
    return path


def create(
    path: Path,
    plan: Plan,
    tasks: Iterable[Task],
    *,
    media: Media | None = None,
    refers: Refers | None = None,
    **known: Any,
) -> None:
    """Fill a claimed folder: its tasks with their media, then `run.json`, which makes it a run.

    `known` are further fields of RunInfo. Raises UsageError when there is no task. Nothing is
    left of the folder when anything fails.
    """
    try:
        written = write_tasks(path / "tasks.jsonl", tasks, media, refers or _none)
        if written.n == written.n_setup:
            raise UsageError("no task is left after the selection; loosen --limit, --ids or -T")
        info = RunInfo(
            format=FORMAT,
            plan=plan,
            n_tasks=written.n,
            n_setup=written.n_setup,
            tasks_sha256=written.sha256,
            **known,
        )
        write(path / "run.json", info)
    except OSError as error:
        discard(path)
        raise DataError(f"{path}: cannot write: {error.strerror}") from None
    except BaseException:
        discard(path)
        raise


def discard(path: Path) -> None:
    """Remove a claimed folder that never became a run."""
    if (path / "run.json").exists():
        return
    shutil.rmtree(path)


def newest(parent: Path, plan: Plan) -> Run | None:
    """Return the newest run of the same plan, None if there is none."""
    found = max(_numbered(parent, _stem(plan)), default=None)
    return Run(found[1]) if found else None


def _numbered(parent: Path, stem: str) -> Iterator[tuple[int, Path]]:
    for path in parent.glob(f"{stem}-*"):
        number = path.name[len(stem) + 1 :]
        if number.isdecimal() and (path / "run.json").exists():
            yield int(number), path


def _stem(plan: Plan) -> str:
    return "-".join([*map(_slug, (plan.suite, plan.model, plan.dialect)), plan.hash])


def _slug(word: str) -> str:
    kept = re.sub("[^A-Za-z0-9._]+", "-", word)
    return kept.strip("-.")[-48:] or "x"


def _parts(turn: Turn) -> Iterator[Part]:
    return (part for message in turn.messages for part in message.parts)


class Written(NamedTuple):
    """A task file: how many tasks, how many of them only set others up, its sha256."""

    n: int
    n_setup: int
    sha256: str


def _none(task: Task) -> Iterable[Part]:
    return ()


def write_tasks(
    path: Path, tasks: Iterable[Task], media: Media | None = None, refers: Refers = _none
) -> Written:
    """Write tasks one by one, and beside them, in `media/`, what they refer to in that store.

    `refers` returns what a task refers to beside its messages. Raises DataError for two equal ids,
    a task that stands before one that it needs, and media that the store does not hold.
    """
    own = Media(path.with_name("media"))
    digest = hashlib.sha256()
    seen: set[str] = set()
    setups: set[str] = set()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("wb", buffering=BLOCK_BYTES) as file:
        for task in tasks:
            if task.id in seen:
                raise DataError(f"two tasks have the id {task.id!r}")
            if not setups.issuperset(task.needs):
                raise DataError(f"task {task.id!r} needs {task.needs}, not all set up before it")
            seen.add(task.id)
            if media is not None:
                own.take(media, (part for turn in task.turns for part in _parts(turn)))
                own.take(media, refers(task))
            if task.kind == "setup":
                setups.add(task.id)
            line = codec.encode(task) + b"\n"
            digest.update(line)
            file.write(line)
    draft.replace(path)
    return Written(len(seen), len(setups), digest.hexdigest())

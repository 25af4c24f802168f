"""The run folder: what was asked, what happened, what it was worth.

`run.json`, `tasks.jsonl` and `trajectories.jsonl` are the truth; `attempts.jsonl` says why
episodes were not run; `scores.jsonl`, `summary.json` and `report.html` are derived and may be
deleted. Completed episodes are appended with one write each, so a killed run loses only those
in flight; a torn last line is dropped when the run is opened for writing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from toolmark import codec
from toolmark.errors import DataError, UsageError
from toolmark.media import Media
from toolmark.runs.jsonl import Lines, locked, records, write
from toolmark.runs.plan import Plan
from toolmark.runs.tasks import Refers, Tasks, through, write_tasks
from toolmark.stats import figures
from toolmark.types import (
    Attempt,
    Estimate,
    Judgement,
    Record,
    Score,
    Task,
    Trajectory,
)

FORMAT = 1


class RunInfo(Record, frozen=True, kw_only=True):
    """What `run.json` holds: `n_setup` of the `n_tasks` are not scored but needed by others.

    `created` is UTC; `served` are the models' names by the server, `dropped` the settings that it
    refused and that were left out. Of each part of the site, by name: `missing` is what it lacked
    when the run was last begun or continued, `notes` what happened to it, `servers` what it said
    it is, a line for each that was met: name, version, hash of its tools. `caution` is what readers
    of its scores must know first. `wall_s` is how long all sittings took; one that was killed is
    not in it.
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
    wall_s: float = 0.0

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
        head = self["score"]
        name = head.get("told") or head["name"]
        return f"{name} {_shown(head)}, n={self['n_run']}, not run {self['n_not_run']}"


def _shown(head: Mapping[str, Any]) -> str:
    """Return a number with its interval, if it has one, or why there is none."""
    if head["value"] is None:
        return "-"
    if head.get("partial"):
        return f"- ({head['partial']})"
    if not head.get("share", True):
        known = {name: head[name] for name in Estimate.__struct_fields__ if name in head}
        return figures.plain(figures.number(Estimate(**known)))
    if head["low"] is None or head["high"] is None:
        return f"{head['value']:.2f}"
    return f"{head['value']:.2f} [{head['low']:.2f}, {head['high']:.2f}]"


_ENDLESS = ("value", "low", "high", "worst", "best")


def _read(found: dict[str, Any]) -> dict[str, Any]:
    """Give the estimates of a summary their numbers back that JSON holds as text: "inf"."""
    parts = msgspec.convert(found.get("parts", {}), dict[str, Any])
    for each in (found.get("score"), *parts.values()):
        if isinstance(each, dict):
            told = {name: each[name] for name in _ENDLESS if isinstance(each.get(name), str)}
            each |= {name: float(number) for name, number in told.items()}
    return found


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
        return through(self.path / "tasks.jsonl")

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
            return Summary(_read(msgspec.json.decode(path.read_bytes(), type=dict[str, Any])))
        except OSError:
            raise UsageError(f"{path}: missing; next: toolmark score {self.path}") from None
        except (msgspec.DecodeError, ValueError) as error:
            raise DataError(f"{path}: {error}") from None


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
        wall_s: float = 0.0,
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
            wall_s=round(info.wall_s + wall_s, 3),
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

"""The run folder: what was asked, what happened, what it was worth.

`run.json`, `tasks.jsonl` and `trajectories.jsonl` are the truth; `attempts.jsonl` says why
episodes were not run; `state.json` says who works on it (`runs.lifecycle`); `scores.jsonl`,
`scorer.json`, `presentation.json`, `views.jsonl`, `summary.json` and `report.html` are derived and
may be deleted. Completed episodes are appended with one write each, so a killed run loses only
those in flight; a torn last line is dropped when the run is opened for writing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import msgspec

from toolmark import private
from toolmark.errors import DataError, UsageError
from toolmark.failure import NOT_REACHED, Failure
from toolmark.media import Media
from toolmark.runs.damage import check_files, holds, lost
from toolmark.runs.episodes import Episodes, Key
from toolmark.runs.identity import ScorerId
from toolmark.runs.jsonl import clear_drafts, document, locked, records, sync_folder, write
from toolmark.runs.lifecycle import STATE, SUMMARY, Heart, Sign, finishing_command, read_sign
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
    Verdict,
)

FORMAT = 2
SCORER = "scorer.json"
INFO = "run.json"
FILES = (
    INFO,
    "tasks.jsonl",
    "trajectories.jsonl",
    "attempts.jsonl",
    "scores.jsonl",
    "presentation.json",
    "views.jsonl",
    STATE,
    SCORER,
    SUMMARY,
)
_WHOLE = (  # not appended to
    INFO, STATE, SUMMARY, SCORER, "scores.jsonl", "tasks.jsonl", "presentation.json", "views.jsonl",
)  # fmt: skip

NOT_SCORED = Failure(stage="scorer", kind="not_reached", message="stored, but not scored yet")
NOT_ASKED = Failure(stage="run", kind="not_reached", message="not asked yet")


class RunInfo(Record, frozen=True, kw_only=True):
    """What `run.json` holds: `n_setup` of the `n_tasks` are not scored but needed by others.

    `created` is UTC; `served` are the models' names by the server, `dropped` the settings that it
    refused and that were left out. Of each part of the site, by name: `missing` is what it lacked
    when the run was last begun or continued, `notes` what happened to it, `servers` what it said
    it is, a line for each that was met: name, version, hash of its tools. `wall_s` is how long all
    sittings took; one that was killed is not in it. `edited` are, for each time that the user let
    it go on after an edit, the hashes of the code that had asked until then.
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
    wall_s: float = 0.0
    edited: tuple[dict[str, str], ...] = ()

    @property
    def n_planned(self) -> int:
        """Scored episodes asked for: tasks times repeats."""
        return (self.n_tasks - self.n_setup) * self.plan.repeats

    @property
    def n_episodes(self) -> int:
        """All episodes, those that set others up included."""
        return self.n_tasks * self.plan.repeats


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


# of a folder that may be a stranger's, and is told to be pasted: no sign that a shell obeys
_COMMAND = re.compile(r"toolmark [\w ./:=,@#%+'\"?~\[\]-]+")
_ENDLESS = ("value", "low", "high", "worst", "best")


def _read(found: dict[str, Any]) -> dict[str, Any]:
    """Give the estimates of a summary their numbers back that JSON holds as text: "inf"."""
    parts = msgspec.convert(found.get("parts", {}), dict[str, Any])
    for each in (found.get("score"), *parts.values()):
        if isinstance(each, dict):
            told = {name: each[name] for name in _ENDLESS if isinstance(each.get(name), str)}
            each |= {name: float(number) for name, number in told.items()}
    return found


def absent_score(
    task: Task,
    repeat: int,
    failure: Failure | None,
    readings: Mapping[str, Verdict] = MappingProxyType({}),
) -> Score:
    """Return the Score of an episode that was not run, or not reached where nothing says why."""
    return Score(
        task=task.id,
        item=task.item or task.id,
        repeat=repeat,
        category=task.category,
        axes=task.axes,
        readings=dict(readings),
        failure=failure or NOT_REACHED,
    )


class _Why(Record, frozen=True, kw_only=True):
    """The part of an attempt that says why: its steps are not decoded."""

    task: str
    repeat: int = 0
    failure: Failure = NOT_REACHED


class _Written(msgspec.Struct):
    """What `run.json` holds in every format: which it is, and how the run was begun."""

    format: int
    command: str = ""


def _check_format(path: Path, written: _Written) -> None:
    """Raise DataError for a folder of another format, and say how to go on."""
    if written.format == FORMAT:
        return
    if written.format > FORMAT:
        age, next_ = "a newer", "open it with that version"
    else:
        age, next_ = "an older", f"make a new run: {_again(written.command)}"
    raise DataError(
        f"{path / 'run.json'}: written by {age} version of toolmark (format {written.format}, "
        f"this one reads {FORMAT}); {next_}"
    )


def _again(command: str) -> str:
    """Return the command that makes the run anew; what may be more than one is not repeated.

    Nor is one that is stored without its keys: it would not work.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    one = _COMMAND.fullmatch(command) or (command.isprintable() and shlex.join(words) == command)
    if words[:1] != ["toolmark"] or not one or _lacks_keys(words):
        return "the command that made it, with --fresh"
    begins = words[1:2] == ["run"] and "--fresh" not in words
    return f"{command} --fresh" if begins else command  # else the old folder is what goes on


def _lacks_keys(words: Sequence[str]) -> bool:
    return any(each in ("...", "--header=...") or private.is_masked(each) for each in words)


def _no_run(path: Path) -> UsageError | DataError:
    """Say why a folder is no run."""
    answers = path / "trajectories.jsonl"
    if holds(answers):
        return DataError(f"{path / INFO}: missing; {lost(path / INFO, line=False)}")
    if (path / "tasks.jsonl").exists():
        return UsageError(
            f"{path}: {INFO} is missing, so it never became a run: nothing was asked yet; "
            "next: delete the folder and give the command again"
        )
    return UsageError(f"{path}: not a run folder (no readable {INFO})")


class Run:
    """A run folder, read only. Raises UsageError if it is none, DataError if it is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.episodes = Episodes(path)
        self._tasks: Tasks | None = None
        try:
            _check_format(path, document(path / INFO, _Written))
            self.info = document(path / INFO, RunInfo)
        except FileNotFoundError:
            raise _no_run(path) from None

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
        return self.episodes.records("trajectories", Trajectory)

    def attempts(self) -> Iterator[Attempt]:
        """Go through what was not run; an episode may appear more than once."""
        return self.episodes.records("attempts", Attempt)

    def judgements(self) -> Iterator[Judgement]:
        """Go through what judges said; the last line on a question counts (`runs.judging`)."""
        return records(self.path / "judgements.jsonl", Judgement, missing_ok=True)

    def scores(self) -> Iterator[Score]:
        """Go through the scores; derived, so rescore first if they are gone.

        Where the run is not finished, the episodes that have no score yet come last, as not run.
        """
        if self.finished:
            n = 0
            for n, score in enumerate(self.stored_scores(), 1):  # noqa: B007 - it counts
                yield score
            if n < self.info.n_planned:
                path = self.episodes.path("scores")
                raise DataError(
                    f"{path}: holds {n:,} of {self.info.n_planned:,} scores; {lost(path)}"
                )
            return
        scored: set[Key] = set()
        for score in self.stored_scores():
            if score.failure is None or score.failure.kind == "scorer":
                scored.add((score.task, score.repeat))
                yield score
        done = self.episodes.done()
        for task, repeat, last in self.absent(scored):
            why = last.failure if last is not None else NOT_ASKED
            yield absent_score(task, repeat, NOT_SCORED if (task.id, repeat) in done else why)

    def stored_scores(self) -> Iterator[Score]:
        """Go through the scores that are written; of a run that is not finished some may lack."""
        return self.episodes.records("scores", Score)

    def absent(self, pairs: Collection[Key]) -> Iterator[tuple[Task, int, Attempt | None]]:
        """Go through the scored tasks' episodes that are not among these.

        Each with the last attempt at it, of which the steps are left out.
        """
        attempts = {(a.task, a.repeat): a for a in self.episodes.records("attempts", _Why)}
        for task, repeat in self.missing(pairs):
            if task.kind == "scored":
                why = attempts.get((task.id, repeat))
                last = Attempt(task=task.id, repeat=repeat, failure=why.failure) if why else None
                yield task, repeat, last

    def missing(self, pairs: Collection[Key]) -> Iterator[tuple[Task, int]]:
        """Go through the episodes that are not among these, all of one repeat before the next."""
        for repeat in range(self.info.plan.repeats):
            for task in self.tasks():
                if (task.id, repeat) not in pairs:
                    yield task, repeat

    def scorer(self) -> ScorerId:
        """Return who made the scores; nobody known where that was not written, or is damaged."""
        try:
            return document(self.path / SCORER, ScorerId)
        except (FileNotFoundError, DataError):
            return ScorerId()

    def sign(self) -> Sign:
        """Return the state of the run and the last sign of life of who works on it."""
        return read_sign(self.path)

    @property
    def finished(self) -> bool:
        """Whether all that is stored is scored and summarised. Episodes may be missing."""
        return (self.path / SUMMARY).is_file() and holds(self.episodes.path("scores"))

    def task(self, id: str) -> Task:
        """Return one task by id, read from its place in the file."""
        return self._index()[id]

    def _index(self) -> Tasks:
        if self._tasks is None:
            self._tasks = Tasks(self.path / "tasks.jsonl")
        return self._tasks

    def done(self) -> set[Key]:
        """Return the (task, repeat) pairs that are complete. A pair twice is a DataError."""
        return self.episodes.done()

    def summary(self) -> Summary:
        """Return `summary.json`: counts, score with interval, parts."""
        path = self.path / SUMMARY
        try:
            return Summary(_read(document(path, dict[str, Any])))
        except FileNotFoundError:
            next_ = finishing_command(self.path, self.info.plan.spec)
            raise UsageError(f"{path}: missing; next: {next_}") from None
        except ValueError as error:  # msgspec.ValidationError among them
            raise DataError(f"{path}: {error}; {lost(path, line=False)}") from None


class Folder:
    """A run folder open for writing; one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = locked(path)
        self._lock.__enter__()
        try:
            self.run = Run(path)
            self.run.verify()
            check_files(path, FILES)
            for _ in self.run.attempts():  # a damaged line must not be met after all was asked
                pass
            clear_drafts(path, _WHOLE)
            self.heart = Heart(path)
            self.episodes = Episodes(path)
            self.episodes.open_to_append()
            sync_folder(path)  # what is asked from here on has a place that outlasts a power cut
            sync_folder(path.parent)
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
            write(self.path / INFO, noted)

    def accept(self, plan: Plan) -> None:
        """Go on under a request that differs by edits of the user's code, and remember those."""
        old = self.run.info.plan
        info = msgspec.structs.replace(
            self.run.info,
            plan=msgspec.structs.replace(
                old, modules=plan.modules, model_modules=plan.model_modules
            ),
            edited=(*self.run.info.edited, {**old.modules, **old.model_modules}),
        )
        self.run.info = info
        write(self.path / INFO, info)

    def replace(self, tasks: Mapping[str, Task], media: Media | None, refers: Refers) -> None:
        """Put tasks in the place of those of the same ids, of which no episode is complete."""
        held = (tasks.get(task.id, task) for task in Run(self.path).tasks())
        written = write_tasks(self.path / "tasks.jsonl", held, media, refers)
        info = msgspec.structs.replace(self.run.info, tasks_sha256=written.sha256)
        write(self.path / INFO, info)
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
            self.episodes.close()
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

"""The logbook of a folder of runs: every run that was begun there, those since removed too.

`logbook.jsonl` is only appended to. Each entry contains the SHA-256 of the line before it, so an
edit, a removal or another order of lines shows, except at the end of the file: what follows the
last line proves it. A run is entered before its first episode is asked, and again with its score.
Entries have hashes of what was asked, and never a key: the model's address is masked as in
`run.json`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from toolmark.core import json_codec
from toolmark.core.errors import DataError, ToolmarkError
from toolmark.core.files import read_small_file
from toolmark.core.number_format import pluralize
from toolmark.core.records import Estimate, Record
from toolmark.core.version import TOOLMARK_VERSION
from toolmark.runs import record_files
from toolmark.runs.run_store import Run

LOGBOOK_FILE = "logbook.jsonl"
MAX_TORN_CHARS = 4_000  # of an incomplete line that the next entry quotes
_MAX_LINE_BYTES = 65_536  # an entry is well below
Event: TypeAlias = Literal["begun", "continued", "ended", "scored", "withdrawn"]


class LogbookEntry(Record, frozen=True, kw_only=True):
    """One line of the logbook.

    - `previous`: the SHA-256 of the line before, without its newline; "" in the first entry.
    - `event`: a run was `begun` or `continued` before a request; it `ended`, or was `scored` anew,
      with this headline; or it was `withdrawn`, since its request was wrong and nothing was asked.
    - `run`: the name of its folder. A number may be given again after a folder was removed.
    - `tasks_sha256`, `settings_sha256`: the hashes of the task set and of all settings
      (`run_plan.Plan`). `plan_sha256` is that of the plan of `toolmark plan`, "" without one.
    - `n_planned`, `n_run`: scored episodes, asked for and run.
    - `headline`: the score, at the end.
    - `data_label`: what the tasks are where they are no published data.
    - `agent`: the agent under test, "" for the suite's own.
    - `torn`: an incomplete line that stood at the end of the file, and that this line replaced.
    """

    previous: str
    event: Event
    time: str
    run: str
    suite: str
    model: str
    version: str = ""
    tasks_sha256: str = ""
    settings_sha256: str = ""
    plan_sha256: str = ""
    n_planned: int = 0
    n_run: int = 0
    headline: Estimate | None = None
    torn: str = ""
    data_label: str = ""
    agent: str = ""


@dataclass(slots=True)
class LoggedRun:
    """A run as the logbook has it: its first entry and its last score.

    `is_open`: it was begun or continued, and has not ended since.
    """

    first: LogbookEntry
    is_open: bool = True
    is_withdrawn: bool = False
    last_score: LogbookEntry | None = None

    @property
    def headline(self) -> Estimate | None:
        """The last score, None of a run that has not ended."""
        return None if self.last_score is None else self.last_score.headline


@dataclass(slots=True)
class Logbook:
    """The entries of a folder, the runs that they name, and what is wrong with the file.

    `faults` say where the chain is broken, a line each. `torn` is an incomplete last line, which a
    killed process leaves: it is no fault.
    """

    path: Path
    entries: list[LogbookEntry] = field(default_factory=list)
    runs: list[LoggedRun] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    torn: str = ""

    def find_run(self, name: str) -> LoggedRun | None:
        """Return the latest run in a folder of this name."""
        return next((each for each in reversed(self.runs) if each.first.run == name), None)


# --- reading ----------------------------------------------------------------------------


def read_logbook(folder: Path) -> Logbook:
    """Return the logbook of a folder of runs, empty where there is none.

    Lines that are no entry are faults, and the others are read. Raises DataError for what is not a
    regular file, or larger than 256 MiB.
    """
    path = folder / LOGBOOK_FILE
    try:
        data = read_small_file(path)
    except FileNotFoundError:
        return Logbook(path)
    return parse_logbook(path, data)


def parse_logbook(path: Path, data: bytes) -> Logbook:
    """Return the logbook in these bytes."""
    found = Logbook(path)
    *lines, tail = data.split(b"\n")
    if tail and _decode_entry(tail) is not None:  # only the newline is missing
        lines.append(tail)
    elif tail:
        found.torn = _quote_torn(tail)
    previous = ""
    for number, line in enumerate(lines, 1):
        entry = _decode_entry(line)
        if entry is None:
            found.faults.append(f"{path}, line {number}: not an entry")
        else:
            if entry.previous != previous:
                found.faults.append(
                    f"{path}, line {number}: does not follow the line before it: an entry was "
                    "changed, removed, added or moved"
                )
            found.entries.append(entry)
            _count_entry(found.runs, entry)
        previous = hashlib.sha256(line).hexdigest()
    return found


def _decode_entry(line: bytes) -> LogbookEntry | None:
    if len(line) > _MAX_LINE_BYTES:
        return None
    try:
        return json_codec.decode_record(line, LogbookEntry)
    except msgspec.DecodeError:
        return None


def _quote_torn(tail: bytes) -> str:
    return tail[:MAX_TORN_CHARS].decode("utf-8", "replace")


def _count_entry(runs: list[LoggedRun], entry: LogbookEntry) -> None:
    """Add an entry to the run that it is about, which is the latest one in that folder."""
    latest = next((each for each in reversed(runs) if each.first.run == entry.run), None)
    if entry.event == "begun" or latest is None:
        latest = LoggedRun(entry)
        runs.append(latest)
    latest.is_open = entry.event in ("begun", "continued")
    if entry.event == "withdrawn":
        latest.is_withdrawn = True
    elif not latest.is_open:
        latest.last_score = entry


def unlogged_runs(logbook: Logbook) -> list[str]:
    """Return what differs between the logbook and the run folders next to it, a line each.

    That is a run without an entry, and one whose entry names other tasks or settings. Runs of
    another folder that were copied here have none, nor do imported results.
    """
    lines = []
    for path in sorted(logbook.path.parent.glob("*/run.json")):
        try:
            run = Run(path.parent)
        except (ToolmarkError, OSError):
            continue
        logged = logbook.find_run(path.parent.name)
        name = path.parent.name
        if logged is None or logged.is_withdrawn:
            if run.info.command.startswith("toolmark run") or not run.info.command:
                lines.append(
                    f"{name}: no entry; it was begun elsewhere or before there was a logbook, or "
                    "its entries were removed"
                )
        elif logged.first.settings_sha256 not in _known_settings(logbook, name, run):
            lines.append(f"{name}: its entry names other settings than its run.json")
    return lines


def _known_settings(logbook: Logbook, name: str, run: Run) -> set[str]:
    """Return the settings of a run; after an accepted edit those of any of its entries."""
    if run.info.replaced_hashes:
        return {each.settings_sha256 for each in logbook.entries if each.run == name}
    return {run.info.plan.sha256}


# --- writing ----------------------------------------------------------------------------


def enter_run(run: Run, *, is_new: bool) -> None:
    """Enter a run that is about to be asked, and push the entry to the disk.

    Raises DataError where the logbook cannot be written: nothing was asked yet.
    """
    with _open_logbook(run.path.parent) as writer:
        writer.append(_make_entry(run, "begun" if is_new else "continued"), durable=True)


def enter_withdrawal(run: Run) -> None:
    """Enter that a run was removed before anything was asked, if it was entered.

    An earlier run in a folder of this name, which has ended, stays as it is.
    """
    if not (run.path.parent / LOGBOOK_FILE).exists():
        return
    with _open_logbook(run.path.parent, must_exist=True) as writer:
        logged = writer.logbook.find_run(run.path.name)
        if logged is not None and logged.is_open:
            writer.append(_make_entry(run, "withdrawn"))


def enter_score(run: Run, summary: Mapping[str, Any]) -> None:
    """Enter the headline of a run that is about to get its summary, if the run was entered.

    A run that was asked since its last score has ended; any other was scored anew, which is entered
    where the numbers differ. Raises DataError.
    """
    if not (run.path.parent / LOGBOOK_FILE).exists():
        return
    fields = {name: summary["score"].get(name) for name in ("name", "value", "low", "high", "n")}
    headline = Estimate(
        **fields,
        is_share=summary["score"].get("is_share", True),
        partial=summary["score"].get("partial", ""),
    )
    with _open_logbook(run.path.parent, must_exist=True) as writer:
        logged = writer.logbook.find_run(run.path.name)
        if logged is None or logged.is_withdrawn:
            return
        entry = msgspec.structs.replace(
            _make_entry(run, "ended" if logged.is_open else "scored"),
            n_run=summary["n_run"],
            headline=headline,
        )
        last = logged.last_score
        if last is None or logged.is_open or _score_of(last) != _score_of(entry):
            writer.append(entry)


def _score_of(entry: LogbookEntry) -> tuple[int, int, bytes]:
    return entry.n_run, entry.n_planned, json_codec.encode_record(entry.headline)


def _make_entry(run: Run, event: Event) -> LogbookEntry:
    info = run.info
    return LogbookEntry(
        previous="",
        event=event,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        run=run.path.name,
        suite=info.plan.suite,
        model=info.plan.model,
        version=TOOLMARK_VERSION,
        tasks_sha256=info.tasks_sha256,
        settings_sha256=info.plan.sha256,
        plan_sha256="" if info.plan.study is None else info.plan.study.plan_sha256,
        n_planned=info.n_planned,
        data_label=info.data_label,
        agent=info.plan.agent,
    )


@dataclass(slots=True)
class _LogbookWriter:
    """A logbook that this process alone writes now."""

    logbook: Logbook
    descriptor: int
    last_line: bytes
    size_bytes: int  # of the complete lines
    is_new: bool

    def append(self, entry: LogbookEntry, *, durable: bool = False) -> None:
        """Add an entry at the end; an incomplete last line is replaced, and quoted in it."""
        previous = hashlib.sha256(self.last_line).hexdigest() if self.last_line else ""
        chained = msgspec.structs.replace(entry, previous=previous, torn=self.logbook.torn)
        data = json_codec.encode_record(chained) + b"\n"
        if self.size_bytes and os.pread(self.descriptor, 1, self.size_bytes - 1) != b"\n":
            data = b"\n" + data  # the last line is an entry that lacks its newline
        try:
            os.ftruncate(self.descriptor, self.size_bytes)
            record_files.write_at(self.descriptor, data, self.size_bytes)
            if durable:
                record_files.sync_descriptor(self.descriptor)
        except OSError as error:
            os.ftruncate(self.descriptor, self.size_bytes)
            raise DataError(
                f"{self.logbook.path}: cannot write: {error.strerror}; nothing was asked after "
                "that; make room and give the same command again"
            ) from None
        if self.is_new:
            record_files.sync_folder(self.logbook.path.parent)


@contextmanager
def _open_logbook(folder: Path, *, must_exist: bool = False) -> Iterator[_LogbookWriter]:
    """Open and lock the logbook of a folder; another process waits. Raises DataError."""
    path = folder / LOGBOOK_FILE
    is_new = not path.exists()
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | (0 if must_exist else os.O_CREAT)
    try:
        descriptor = os.open(path, flags, 0o644)  # a pipe would wait
    except OSError as error:
        raise DataError(f"{path}: cannot open for writing: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DataError(f"{path}: not a file")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        data = read_small_file(path)
        logbook = parse_logbook(path, data)
        size_bytes = data.rfind(b"\n") + 1 if logbook.torn else len(data)
        last_line = data[:size_bytes].removesuffix(b"\n").rpartition(b"\n")[2]
        yield _LogbookWriter(logbook, descriptor, last_line, size_bytes, is_new)
    finally:
        os.close(descriptor)


def describe_faults(logbook: Logbook) -> list[str]:
    """Return what a reader must know of the file, a line each; none where all is well."""
    lines = list(logbook.faults[:3])
    if len(logbook.faults) > 3:
        lines.append(f"{logbook.path}: {pluralize(len(logbook.faults) - 3, 'further fault')}")
    return lines

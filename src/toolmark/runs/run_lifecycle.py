"""The states of a run, as data on disk: planned, running, scoring, finished.

`run.json` makes a folder a run, which is then planned. The process that works on the run writes
`state.json`: the state, which process it is, and a heartbeat every few seconds. `summary.json` is
written last and removed first, so a run is finished if, and only if, it has one. Episodes may be
missing in a finished run: its summary says how many.
"""

from __future__ import annotations

import os
import shlex
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolmark.core.errors import DataError
from toolmark.core.records import Record
from toolmark.runs.record_files import read_document, remove_file, write_document

RunState: TypeAlias = Literal["planned", "running", "scoring", "finished"]
STATE_FILE = "state.json"
SUMMARY_FILE = "summary.json"
HEARTBEAT_INTERVAL_S = 5.0  # between two heartbeats
HEARTBEAT_TIMEOUT_S = 60.0  # after this, a process on another machine counts as dead


class Heartbeat(Record, frozen=True, kw_only=True):
    """What `state.json` contains: the state, and the last heartbeat of the process on the run.

    `system` names the system and the process namespace of `pid`. `process_started` distinguishes
    the process from another one of the same number. `time` is the time of the heartbeat, in UTC.
    `n_stored` is how many episodes were complete then.
    """

    state: RunState = "planned"
    host: str = ""
    system: str = ""
    pid: int = 0
    process_started: str = ""
    time: str = ""
    n_stored: int = 0


class StateWriter:
    """Writes the states of a run in a folder that this process has locked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._heartbeat = Heartbeat(
            host=socket.gethostname(),
            system=_machine_id(),
            pid=os.getpid(),
            process_started=_process_start(os.getpid()),
        )

    def write_state(self, state: RunState, n_stored: int = 0) -> None:
        """Write the current state of the run. Raises DataError when the disk is full.

        A run that is not finished has no summary: an old summary is removed first.
        """
        if state != "finished":
            remove_file(self.folder / SUMMARY_FILE)
        self._heartbeat = replace(self._heartbeat, state=state, time=_utc_now(), n_stored=n_stored)
        write_document(self.folder / STATE_FILE, self._heartbeat, durable=False)

    def write_heartbeat(self, n_stored: int) -> None:
        """Write a heartbeat. A full disk is ignored here."""
        self._heartbeat = replace(self._heartbeat, time=_utc_now(), n_stored=n_stored)
        with suppress(DataError):
            write_document(self.folder / STATE_FILE, self._heartbeat, durable=False)


def read_heartbeat(folder: Path) -> Heartbeat:
    """Return the state of a run and its last heartbeat; an empty one where it cannot be read."""
    try:
        heartbeat = read_document(folder / STATE_FILE, Heartbeat)
    except (FileNotFoundError, DataError):
        heartbeat = Heartbeat()
    if (folder / SUMMARY_FILE).is_file():
        return replace(heartbeat, state="finished")
    return replace(heartbeat, state="scoring") if heartbeat.state == "finished" else heartbeat


def is_alive(heartbeat: Heartbeat, now: datetime | None = None) -> bool:
    """Return whether the process of this heartbeat still works on the run.

    On the same machine the process is looked up. Elsewhere its heartbeat must be at most 60 s old.
    """
    if heartbeat.state not in ("running", "scoring") or not heartbeat.pid:
        return False
    if heartbeat.system == _machine_id():
        return (
            bool(heartbeat.process_started)
            and _process_start(heartbeat.pid) == heartbeat.process_started
        )
    try:
        age = (now or datetime.now(UTC)) - datetime.fromisoformat(heartbeat.time)
    except (ValueError, TypeError):
        return False
    return age.total_seconds() < HEARTBEAT_TIMEOUT_S


def finishing_command(path: Path, suite_spec: str = "") -> str:
    """Return the command that scores and finishes what a run has stored.

    `suite_spec` is the spec of its suite. A file that does not exist here is written as one of
    FOLDER, which the user knows.
    """
    file, _, name = suite_spec.rpartition(":")
    if file.endswith(".py") and not Path(file).is_file():
        suite_spec = f"FOLDER/{Path(file).name}:{name}"
    arguments = ["toolmark", "score", str(path), *(["--suite", suite_spec] if suite_spec else [])]
    return shlex.join(arguments)


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _machine_id() -> str:
    """Return an id of this machine since its boot, and of the process namespace."""
    with suppress(OSError):
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot_id} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


def _process_start(pid: int) -> str:
    """Return when a process began, in clock ticks since boot; "" where there is no such process.

    Without /proc it returns "?" for every process that exists.
    """
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    if Path("/proc/self/stat").exists():
        return ""
    try:  # a system without /proc: check only that the process exists
        os.kill(pid, 0)
    except PermissionError:
        return "?"
    except OSError:
        return ""
    return "?"

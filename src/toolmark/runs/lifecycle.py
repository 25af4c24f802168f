"""The states of a run, as data on disk: planned, running, scoring, finished.

`run.json` makes a folder a run; it is planned then. The process that works on it writes
`state.json`: the state, who it is, and every few seconds a sign of life. `summary.json` is written
last and removed first, so a run is finished if, and only if, it has one. Episodes may be missing in
a finished run: its summary says how many.
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

from toolmark.errors import DataError
from toolmark.runs.jsonl import document, remove, write
from toolmark.types import Record

State: TypeAlias = Literal["planned", "running", "scoring", "finished"]
STATE = "state.json"
SUMMARY = "summary.json"
BEAT_S = 5.0  # between two signs of life
SILENT_S = 60.0  # after which a process on another machine counts as dead


class Sign(Record, frozen=True, kw_only=True):
    """What `state.json` holds: the state, and the last sign of life of who works on the run.

    `machine` names the system and the process space in which `pid` is a process, `born` tells it
    from another process of that number. `at` is when the sign was given, in UTC; `n_stored` how
    many episodes were complete then.
    """

    state: State = "planned"
    host: str = ""
    machine: str = ""
    pid: int = 0
    born: str = ""
    at: str = ""
    n_stored: int = 0


class Heart:
    """Writes the states of a run in a folder that this process has locked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sign = Sign(
            host=socket.gethostname(), machine=_machine(), pid=os.getpid(), born=_born(os.getpid())
        )

    def enter(self, state: State, n_stored: int = 0) -> None:
        """Write that the run is in this state now. Raises DataError when the disk takes no more.

        A run that is not finished has no summary: that of before goes first.
        """
        if state != "finished":
            remove(self.folder / SUMMARY)
        self._sign = replace(self._sign, state=state, at=_now(), n_stored=n_stored)
        write(self.folder / STATE, self._sign, durable=False)

    def beat(self, n_stored: int) -> None:
        """Give a sign of life; a disk that is full then ends nothing."""
        self._sign = replace(self._sign, at=_now(), n_stored=n_stored)
        with suppress(DataError):
            write(self.folder / STATE, self._sign, durable=False)


def read_sign(folder: Path) -> Sign:
    """Return the state of a run and its last sign of life; one that cannot be read says nothing."""
    try:
        sign = document(folder / STATE, Sign)
    except (FileNotFoundError, DataError):
        sign = Sign()
    if (folder / SUMMARY).is_file():
        return replace(sign, state="finished")
    return replace(sign, state="scoring") if sign.state == "finished" else sign


def is_alive(sign: Sign, now: datetime | None = None) -> bool:
    """Tell whether the process that gave this sign still works on the run.

    On the same machine the process is looked for; elsewhere its last sign must be of the last
    minute.
    """
    if sign.state not in ("running", "scoring") or not sign.pid:
        return False
    if sign.machine == _machine():
        return bool(sign.born) and _born(sign.pid) == sign.born
    try:
        age = (now or datetime.now(UTC)) - datetime.fromisoformat(sign.at)
    except (ValueError, TypeError):
        return False
    return age.total_seconds() < SILENT_S


def finishing_command(path: Path, spec: str = "") -> str:
    """Return the command that scores and finishes what a run has stored; `spec` is its suite's.

    A file that is not there from here is written as one of FOLDER, which the user knows.
    """
    file, _, name = spec.rpartition(":")
    if file.endswith(".py") and not Path(file).is_file():
        spec = f"FOLDER/{Path(file).name}:{name}"
    words = ["toolmark", "score", str(path), *(["--suite", spec] if spec else [])]
    return shlex.join(words)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _machine() -> str:
    """Return what names this machine since it was started, and the process space on it."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


def _born(pid: int) -> str:
    """Return when a process began, in the system's own measure; "" where there is none."""
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    if Path("/proc/self/stat").exists():
        return ""
    try:  # a system without /proc: that there is a process has to do
        os.kill(pid, 0)
    except PermissionError:
        return "?"
    except OSError:
        return ""
    return "?"

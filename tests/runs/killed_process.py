"""A process that runs the command line in forked children, each hurt at an instant of its own.

    python -m tests.runs.killed_process

It reads one JSON object per line, a `Sitting`, and answers with a line `{"pid": ...}` and, when the
child has ended, a line `{"status": 0}`. An empty line reaps the child; it is answered with its
`status`: the exit code, or the negative number of the signal. All that is imported is imported
once, so a child costs milliseconds.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

import msgspec

from toolmark.cli import app
from toolmark.core.records import Trajectory
from toolmark.runs.episode_records import EpisodeRecords
from toolmark.suites.bfcl import bfcl_suite  # noqa: F401  # imported here, not in each child
from toolmark.suites.m3 import m3_suite  # noqa: F401


class Sitting(msgspec.Struct, kw_only=True):
    """What a child does, and when it is hurt.

    `at` counts instants: before and after each write, rename, removal or push to the disk. With
    `after` they count from the instant at which the last of the `missing` episodes was stored. Then
    it gets the `signal`; or, where that is 0, the disk is full from that instant on.
    """

    words: list[str]
    folder: str
    log: str
    missing: int = 0
    at: int = 0
    after: bool = False
    signal: int = 0


class Instants:
    """Counts instants, and hurts the process at the chosen one."""

    def __init__(self, sitting: Sitting) -> None:
        self.sitting = sitting
        self.n = 0
        self.missing = sitting.missing

    def pass_(self) -> bool:
        """Count an instant; tell whether the disk is full by now."""
        if not self.sitting.at or (self.sitting.after and self.missing > 0):
            return False
        self.n += 1
        if self.sitting.signal and self.n == self.sitting.at:
            os.kill(os.getpid(), self.sitting.signal)
        return not self.sitting.signal and self.n >= self.sitting.at

    def around(self, real: Callable[..., Any], *, takes_room: bool) -> Callable[..., Any]:
        """Return a function of the system with an instant before and one after it."""

        def watched(*given: Any, **more: Any) -> Any:
            if self.pass_() and takes_room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            done = real(*given, **more)
            if self.sitting.signal:
                self.pass_()
            return done

        return watched

    def install(self) -> None:
        """Watch what writes, renames, removes and pushes to the disk."""
        for name, takes_room in (
            ("pwrite", True), ("replace", False), ("rename", False), ("unlink", False),
            ("fsync", False),
        ):  # fmt: skip
            setattr(os, name, self.around(getattr(os, name), takes_room=takes_room))
        stored = EpisodeRecords.append

        def append(episodes: EpisodeRecords, record: Any) -> Any:
            place = stored(episodes, record)
            self.missing -= isinstance(record, Trajectory)
            return place

        setattr(EpisodeRecords, "append", append)  # noqa: B010  # mypy knows no other way


def child(sitting: Sitting) -> int:
    """Run the command line; return its exit code."""
    os.chdir(sitting.folder)
    log = os.open(sitting.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["toolmark", *sitting.words]
    Instants(sitting).install()
    try:
        app.main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except KeyboardInterrupt:  # between two lines of the end itself
        return 130
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


def main() -> None:
    """Fork a child for each line."""
    app._build_command()  # once, for all children
    for line in sys.stdin.buffer:
        sitting = msgspec.json.decode(line, type=Sitting)
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            code = 130  # of a Ctrl-C that falls before the command line begins, or after it ended
            try:
                code = child(sitting)
                sys.stdout.flush()
                sys.stderr.flush()
            except KeyboardInterrupt:
                pass
            os._exit(code)
        _say({"pid": pid})
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # its number stays its own
        _say({"status": 0})
        sys.stdin.buffer.readline()
        _, status = os.waitpid(pid, 0)
        _say({"status": os.waitstatus_to_exitcode(status)})


def _say(reported: dict[str, int]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(reported) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

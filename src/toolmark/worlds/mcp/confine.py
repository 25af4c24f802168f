"""Servers that can write nowhere but in their workspace: bubblewrap around their processes.

Community servers open any path that they are handed, with the rights of whoever started them. Where
the `bwrap` command works they may read the file system but write to their workspace alone; they see
no other episode's workspace, no other process and, if asked, no network; and they end with us,
however that happens.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_SEEN = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
_BRIEF = "/dev/shm"  # in memory and gone with the process; for what libraries put into TMPDIR
_ALONE = ("--unshare-pid", "--unshare-ipc", "--die-with-parent")
_PROBE_S = 20


@cache
def command() -> str:
    """Return the command that confines, "" where there is none or the system forbids it."""
    found = shutil.which("bwrap")
    if found is None:
        return ""
    try:
        tried = subprocess.run(
            [found, *_SEEN, *_ALONE, "--unshare-net", "true"],
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found if tried.returncode == 0 else ""


def wrapped(argv: Sequence[str], workspace: Path, *, network: bool) -> tuple[str, ...]:
    """Return the command line confined to the workspace; as it is where that is not possible.

    The folder in which the workspace lies is taken to hold other workspaces, and is hidden.
    """
    if not command():
        return tuple(argv)
    here, beside = str(workspace), str(workspace.parent)
    bound = (
        "--tmpfs",
        beside,
        "--bind",
        here,
        here,
        "--tmpfs",
        _BRIEF,
        "--setenv",
        "TMPDIR",
        _BRIEF,
    )
    apart = () if network else ("--unshare-net",)
    return (command(), *_SEEN, *bound, *_ALONE, *apart, "--", *argv)

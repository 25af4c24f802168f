"""By what the kernel bounds how many processes a sandbox has, where there are no control groups.

A resource limit binds every user but root. Root's processes are bounded by the ids that the
namespace of the sandbox's processes has.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

By: TypeAlias = Literal["groups", "sandbox", "user", "ids", ""]
"""Control groups; a resource limit of the user's processes in the sandbox alone, or everywhere; the
ids of the namespace; nothing."""
_OWN_NPROC = (5, 14)  # since this kernel, processes are counted by user namespace
_OWN_IDS = (6, 14)  # since this one, a process namespace has a number of ids of its own
_ONCE_IDS = 300  # the kernel gives these out once
_TRY_S = 20


def without_groups() -> By:
    """Tell by what the kernel bounds the number here; "" where nothing does."""
    if not is_root():
        return "sandbox" if since(_OWN_NPROC) else "user"
    return "ids" if since(_OWN_IDS) and _ids_can_be_few() else ""


def since(release: tuple[int, int], text: str = "") -> bool:
    """Tell whether the kernel is of this release or newer."""
    found = re.match(r"(\d+)\.(\d+)", text or os.uname().release)
    return found is not None and (int(found[1]), int(found[2])) >= release


def is_root(ids: str = "") -> bool:
    """Tell whether we are the one user whom no resource limit binds in its number of processes.

    `ids` is the text of /proc/self/uid_map: root of a user namespace may be another user outside.
    """
    with suppress(OSError, ValueError):
        for line in (ids or Path("/proc/self/uid_map").read_text()).splitlines():
            inside, outside, n = map(int, line.split())
            if 0 <= os.geteuid() - inside < n:
                return outside + os.geteuid() - inside == 0
    return os.geteuid() == 0


def own() -> int:
    """Return how many processes and threads this user has, on the whole machine."""
    n = 0
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            n += path.stat().st_nlink and path.stat().st_uid == os.geteuid() and _threads(path)
    return n


def _threads(path: Path) -> int:
    return int((path / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[17])


def _ids_can_be_few() -> bool:
    with suppress(OSError, subprocess.SubprocessError):
        words = ["unshare", "--user", "--map-root-user", "--pid", "--fork", *_few_ids(1)]
        subprocess.run(words, capture_output=True, check=True, timeout=_TRY_S)
        return True
    return False


def bound_ids(pid: int, processes: int) -> None:
    """Let the namespace that a process is in have few ids, of processes and threads alike.

    It is done from inside of it. Raises OSError.
    """
    words = ["nsenter", f"--pid=/proc/{pid}/ns/pid", *_few_ids(processes)]
    try:
        subprocess.run(words, capture_output=True, check=True, timeout=_TRY_S)
    except subprocess.SubprocessError:
        if not Path(f"/proc/{pid}").exists():
            raise ProcessLookupError from None
        raise OSError("the number of processes in the sandbox cannot be bounded") from None


def _few_ids(processes: int) -> tuple[str, ...]:
    return "sh", "-c", f"echo {_ONCE_IDS + processes + 1} > /proc/sys/kernel/pid_max"

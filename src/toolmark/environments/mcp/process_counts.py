"""How the kernel bounds a sandbox's number of processes where there are no control groups.

A resource limit binds every user except root. Root's processes are bounded by the number of ids
that the process namespace of the sandbox has.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

ProcessBound: TypeAlias = Literal["groups", "sandbox", "user", "ids", ""]
"""How the number of processes is bounded.

"groups": control groups. "sandbox": a resource limit of the user's processes in the sandbox alone.
"user": a resource limit of all the user's processes. "ids": the ids of the process namespace. "":
not at all.
"""
_NPROC_PER_NAMESPACE_SINCE = (5, 14)  # since this kernel, processes are counted by user namespace
# since this kernel, each process namespace has its own number of ids
_IDS_PER_NAMESPACE_SINCE = (6, 14)
_RESERVED_IDS = 300  # the kernel gives these out only once
_COMMAND_TIMEOUT_S = 20


def bound_without_groups() -> ProcessBound:
    """Return how the kernel bounds the number of processes here; "" where it does not."""
    if not is_root():
        return "sandbox" if is_kernel_since(_NPROC_PER_NAMESPACE_SINCE) else "user"
    return "ids" if is_kernel_since(_IDS_PER_NAMESPACE_SINCE) and _can_bound_ids() else ""


def is_kernel_since(release: tuple[int, int], text: str = "") -> bool:
    """Return whether the kernel is of this release or newer."""
    found = re.match(r"(\d+)\.(\d+)", text or os.uname().release)
    return found is not None and (int(found[1]), int(found[2])) >= release


def is_root(ids: str = "") -> bool:
    """Return whether this is root, whose number of processes no resource limit binds.

    `ids` is the text of /proc/self/uid_map: root of a user namespace may be another user outside.
    """
    with suppress(OSError, ValueError):
        for line in (ids or Path("/proc/self/uid_map").read_text()).splitlines():
            inside, outside, n = map(int, line.split())
            if 0 <= os.geteuid() - inside < n:
                return outside + os.geteuid() - inside == 0
    return os.geteuid() == 0


def count_user_processes() -> int:
    """Return the number of processes and threads of this user on the complete machine."""
    n = 0
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            n += (
                path.stat().st_nlink and path.stat().st_uid == os.geteuid() and _count_threads(path)
            )
    return n


def _count_threads(path: Path) -> int:
    return int((path / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[17])


def _can_bound_ids() -> bool:
    with suppress(OSError, subprocess.SubprocessError):
        words = ["unshare", "--user", "--map-root-user", "--pid", "--fork", *_bound_ids_command(1)]
        subprocess.run(words, capture_output=True, check=True, timeout=_COMMAND_TIMEOUT_S)
        return True
    return False


def bound_process_ids(pid: int, processes: int) -> None:
    """Limit the ids of the namespace of a process, for processes and threads alike.

    It is done from inside the namespace. Raises OSError.
    """
    words = ["nsenter", f"--pid=/proc/{pid}/ns/pid", *_bound_ids_command(processes)]
    try:
        subprocess.run(words, capture_output=True, check=True, timeout=_COMMAND_TIMEOUT_S)
    except subprocess.SubprocessError:
        if not Path(f"/proc/{pid}").exists():
            raise ProcessLookupError from None
        raise OSError("the number of processes in the sandbox cannot be bounded") from None


def _bound_ids_command(processes: int) -> tuple[str, ...]:
    return "sh", "-c", f"echo {_RESERVED_IDS + processes + 1} > /proc/sys/kernel/pid_max"

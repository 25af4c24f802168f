"""What a sandbox uses just now: processes, memory, time, files; as the watch of `limits` reads it.

What is measured is under the control of what is measured: a file may have no name any more, memory
may be shared, a folder may be too deep to be named. Each is counted, or counts as too much.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KIB = 1024
_DELETED = " (deleted)"
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESRCH)


class Used(NamedTuple):
    """What a sandbox uses just now; `pids` are its processes, no more than were asked for."""

    pids: tuple[int, ...]
    processes: int
    memory_bytes: int
    cpu_s: float


def used(pid: int, most: int, *, memory: bool = True) -> Used:
    """Measure a process and all below it; no more of them than one over `most`.

    Threads count as processes. `memory` False leaves it out: the kernel bounds it.
    """
    pids: list[int] = []
    processes, n_bytes, shared, ticks = 0, 0, 0, 0
    todo = [pid]
    while todo and processes <= most:
        here = todo.pop()
        try:
            text = Path(f"/proc/{here}/stat").read_text("utf-8", "replace")
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # its own, and of children that have ended
        processes += int(fields[17])
        pids.append(here)
        if memory:
            held = _table(Path(f"/proc/{here}/status"))
            n_bytes += held.get("RssAnon", 0)
            shared += held.get("RssShmem", 0)
        todo += _children(here)
    return Used(tuple(pids), processes, n_bytes + shared, ticks / _TICKS_PER_S)


def apportioned(pids: Iterable[int]) -> int:
    """Return the bytes of memory of processes, of pages that several share each one's part.

    It takes the kernel long: a sum that counts such pages several times is looked at first.
    """
    n_bytes = 0
    for pid in pids:
        held = _table(Path(f"/proc/{pid}/smaps_rollup"))
        if "Pss_Anon" in held:
            n_bytes += held["Pss_Anon"] + held["Pss_Shmem"]
        else:  # of an older kernel, or not to be read
            held = _table(Path(f"/proc/{pid}/status"))
            n_bytes += held.get("RssAnon", 0) + held.get("RssShmem", 0)
    return n_bytes


def _table(path: Path) -> dict[str, int]:
    """Return the lines of a file of /proc that count in kB, in bytes."""
    found: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for line in path.read_text("utf-8", "replace").splitlines():
            name, _, rest = line.partition(":")
            if rest.endswith(" kB"):
                found[name] = int(rest[:-3]) * _KIB
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError, ValueError):
                text = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                found += map(int, text.split())
    return found


# --- files ------------------------------------------------------------------------------


def brief(pid: int, mounts: Iterable[str]) -> tuple[int, int]:
    """Return bytes and number of files in the memory that a sandbox has mounted at these paths.

    What it shares with the machine is not its own, or not yet.
    """
    n_bytes, n_files = 0, 0
    for path in mounts:
        with suppress(OSError):
            inside = f"/proc/{pid}/root{path}"
            if os.stat(inside).st_dev != os.stat(path).st_dev:
                held = os.statvfs(inside)
                n_bytes += (held.f_blocks - held.f_bfree) * held.f_frsize
                n_files += held.f_files - held.f_ffree
    return n_bytes, n_files


def free(folder: Path) -> int:
    """Return the free bytes of the file system that a folder is in, 0 where it does not say."""
    with suppress(OSError):
        held = os.statvfs(folder)
        return held.f_bfree * held.f_frsize
    return 0


def size(folder: Path, *, most_bytes: int, most_files: int) -> tuple[int, int]:
    """Return bytes and number of files below a folder, no further than one over the limits.

    A file with holes counts as long as it is. A folder that cannot be looked into, since its path
    is too long or its mode forbids it, counts as one file too many.
    """
    n_bytes, n_files = 0, 0
    for entry in _entries(folder):
        if entry is None:
            return n_bytes, most_files + 1
        n_files += 1
        with suppress(OSError):
            held = entry.stat(follow_symlinks=False)
            n_bytes += max(held.st_size, 512 * held.st_blocks)
        if n_files > most_files or n_bytes >= most_bytes:
            break
    return n_bytes, n_files


def _entries(folder: Path) -> Iterator[os.DirEntry[str] | None]:
    """Go through what is below a folder; None stands for a folder that cannot be looked into."""
    todo = [str(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
        except OSError as error:
            if error.errno not in _GONE:
                yield None


def unnamed(pids: Iterable[int], device: int) -> int:
    """Return the bytes of files of a device that have no name any more and are open or mapped."""
    found: dict[int, int] = {}
    for pid in pids:
        for inode, n_bytes in (*_open(pid, device), *_mapped(pid, device)):
            found[inode] = max(n_bytes, found.get(inode, 0))
    return sum(found.values())


def _open(pid: int, device: int) -> Iterator[tuple[int, int]]:
    with suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                held = os.stat(f"/proc/{pid}/fd/{fd}")
                if held.st_dev == device and stat.S_ISREG(held.st_mode) and not held.st_nlink:
                    yield held.st_ino, max(held.st_size, 512 * held.st_blocks)


def _mapped(pid: int, device: int) -> Iterator[tuple[int, int]]:
    with suppress(OSError, ValueError):
        name = f"{os.major(device):02x}:{os.minor(device):02x}"
        for line in Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines():
            if line.endswith(_DELETED):
                span, _, offset, where, inode, *_ = line.split()
                if where == name:
                    begin, _, end = span.partition("-")
                    yield int(inode), int(offset, 16) + int(end, 16) - int(begin, 16)


# --- removing ---------------------------------------------------------------------------


def remove(folder: Path) -> None:
    """Remove a folder with all in it, however deep it is and whatever its modes; links unfollowed.

    Folders in it are moved to its top before they are emptied, so that none is deep. Nothing may
    run in it any more. What cannot be removed stays.
    """
    if sys.platform != "linux":
        shutil.rmtree(folder, ignore_errors=True)
        return
    with suppress(OSError):
        top = _opened(str(folder), None)
        try:
            _flatten(top)
        finally:
            os.close(top)
        os.rmdir(folder)


def _flatten(top: int) -> None:
    names = (f".{secrets.token_hex(8)}-{n}" for n in count())
    todo = _emptied(top, top, names)
    while todo:
        name = todo.pop()
        with suppress(OSError):
            here = _opened(name, top)
            try:
                todo += _emptied(here, top, names)
            finally:
                os.close(here)
            os.rmdir(name, dir_fd=top)


def _emptied(here: int, top: int, names: Iterator[str]) -> list[str]:
    """Remove the files of a folder, and move its folders to the top by new names."""
    moved: list[str] = []
    with os.scandir(here) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        with suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=here)
                continue
            os.close(_opened(name, here))  # to be moved, it has to be writable
            new = next(names)
            os.rename(name, new, src_dir_fd=here, dst_dir_fd=top)
            moved.append(new)
    return moved


def _opened(name: str, within: int | None) -> int:
    """Open a folder; where its mode forbids it, it is changed. Raises OSError."""
    path = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
    try:
        if os.fstat(path).st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{path}", 0o700)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=path)
    finally:
        os.close(path)

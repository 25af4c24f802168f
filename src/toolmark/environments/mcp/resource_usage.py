"""What a sandbox uses now: processes, memory, time, files; `sandbox_limits` reads it.

The measured processes may try to hide their use: a file may be deleted but open, memory may be
shared, a folder may be too deep for its path. Each of these is counted, or counts as too much.
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
_GONE_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.ESRCH)


class ProcessUsage(NamedTuple):
    """What a sandbox uses now; `pids` are its processes, at most as many as were asked for."""

    pids: tuple[int, ...]
    processes: int
    memory_bytes: int
    cpu_s: float


def measure_processes(pid: int, max_processes: int, *, memory: bool = True) -> ProcessUsage:
    """Measure a process and all below it; stop once there are more than `max_processes`.

    Threads count as processes. `memory=False` leaves memory out, where the kernel bounds it.
    """
    pids: list[int] = []
    processes, n_bytes, shared, ticks = 0, 0, 0, 0
    todo = [pid]
    while todo and processes <= max_processes:
        current = todo.pop()
        try:
            text = Path(f"/proc/{current}/stat").read_text("utf-8", "replace")
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # its own, and of children that have ended
        processes += int(fields[17])
        pids.append(current)
        if memory:
            memory_fields = _read_kib_table(Path(f"/proc/{current}/status"))
            n_bytes += memory_fields.get("RssAnon", 0)
            shared += memory_fields.get("RssShmem", 0)
        todo += _child_pids(current)
    return ProcessUsage(tuple(pids), processes, n_bytes + shared, ticks / _TICKS_PER_S)


def proportional_memory_bytes(pids: Iterable[int]) -> int:
    """Return the bytes of memory of processes; of shared pages, each process's share.

    The kernel takes long for this: call it only when a sum that counts shared pages several times
    is over the limit.
    """
    n_bytes = 0
    for pid in pids:
        fields = _read_kib_table(Path(f"/proc/{pid}/smaps_rollup"))
        if "Pss_Anon" in fields:
            n_bytes += fields["Pss_Anon"] + fields["Pss_Shmem"]
        else:  # an older kernel, or not readable
            fields = _read_kib_table(Path(f"/proc/{pid}/status"))
            n_bytes += fields.get("RssAnon", 0) + fields.get("RssShmem", 0)
    return n_bytes


def _read_kib_table(path: Path) -> dict[str, int]:
    """Return the lines of a /proc file that are in kB, as bytes by name."""
    found: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for line in path.read_text("utf-8", "replace").splitlines():
            name, _, quantity = line.partition(":")
            if quantity.endswith(" kB"):
                found[name] = int(quantity[:-3]) * _KIB
    return found


def _child_pids(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError, ValueError):
                text = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                found += map(int, text.split())
    return found


# --- files ------------------------------------------------------------------------------


def tmpfs_usage(pid: int, mounts: Iterable[str]) -> tuple[int, int]:
    """Return bytes and number of files in the memory that a sandbox has mounted at these paths.

    A file system that it shares with the machine is not counted.
    """
    n_bytes, n_files = 0, 0
    for path in mounts:
        with suppress(OSError):
            inside = f"/proc/{pid}/root{path}"
            if os.stat(inside).st_dev != os.stat(path).st_dev:
                statistics = os.statvfs(inside)
                n_bytes += (statistics.f_blocks - statistics.f_bfree) * statistics.f_frsize
                n_files += statistics.f_files - statistics.f_ffree
    return n_bytes, n_files


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the file system of a folder, 0 where they are unknown."""
    with suppress(OSError):
        statistics = os.statvfs(folder)
        return statistics.f_bfree * statistics.f_frsize
    return 0


def folder_size(folder: Path, *, most_bytes: int, most_files: int) -> tuple[int, int]:
    """Return bytes and number of files below a folder; stop once a limit is passed.

    A file with holes counts with its length. A folder that cannot be read, since its path is too
    long or its mode forbids it, returns one file more than the limit.
    """
    n_bytes, n_files = 0, 0
    for entry in _walk_entries(folder):
        if entry is None:
            return n_bytes, most_files + 1
        n_files += 1
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            n_bytes += max(status.st_size, 512 * status.st_blocks)
        if n_files > most_files or n_bytes >= most_bytes:
            break
    return n_bytes, n_files


def _walk_entries(folder: Path) -> Iterator[os.DirEntry[str] | None]:
    """Yield the entries below a folder; None for a folder that cannot be read."""
    todo = [str(folder)]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
        except OSError as error:
            if error.errno not in _GONE_ERRORS:
                yield None


def unnamed_files_bytes(pids: Iterable[int], device: int) -> int:
    """Return the bytes of a device's deleted files that are still open or mapped."""
    found: dict[int, int] = {}
    for pid in pids:
        for inode, n_bytes in (*_open_unnamed(pid, device), *_mapped_unnamed(pid, device)):
            found[inode] = max(n_bytes, found.get(inode, 0))
    return sum(found.values())


def _open_unnamed(pid: int, device: int) -> Iterator[tuple[int, int]]:
    with suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                status = os.stat(f"/proc/{pid}/fd/{fd}")
                if status.st_dev == device and stat.S_ISREG(status.st_mode) and not status.st_nlink:
                    yield status.st_ino, max(status.st_size, 512 * status.st_blocks)


def _mapped_unnamed(pid: int, device: int) -> Iterator[tuple[int, int]]:
    with suppress(OSError, ValueError):
        name = f"{os.major(device):02x}:{os.minor(device):02x}"
        for line in Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines():
            if line.endswith(_DELETED):
                span, _, offset, device_name, inode, *_ = line.split()
                if device_name == name:
                    begin, _, end = span.partition("-")
                    yield int(inode), int(offset, 16) + int(end, 16) - int(begin, 16)


# --- removing ---------------------------------------------------------------------------


def remove_folder(folder: Path) -> None:
    """Remove a folder with all its content, whatever its depth and modes. Links are not followed.

    Folders in it are moved to its top before they are emptied, so that none is deep. No process may
    run in it any more. What cannot be removed stays.
    """
    if sys.platform != "linux":
        shutil.rmtree(folder, ignore_errors=True)
        return
    with suppress(OSError):
        top = _open_folder(str(folder), None)
        try:
            _remove_contents(top)
        finally:
            os.close(top)
        os.rmdir(folder)


def _remove_contents(top: int) -> None:
    names = (f".{secrets.token_hex(8)}-{n}" for n in count())
    todo = _empty_folder(top, top, names)
    while todo:
        name = todo.pop()
        with suppress(OSError):
            descriptor = _open_folder(name, top)
            try:
                todo += _empty_folder(descriptor, top, names)
            finally:
                os.close(descriptor)
            os.rmdir(name, dir_fd=top)


def _empty_folder(descriptor: int, top: int, names: Iterator[str]) -> list[str]:
    """Remove the files of a folder, and move its folders to the top under new names."""
    moved: list[str] = []
    with os.scandir(descriptor) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        with suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=descriptor)
                continue
            os.close(_open_folder(name, descriptor))  # a folder must be writable to be moved
            new = next(names)
            os.rename(name, new, src_dir_fd=descriptor, dst_dir_fd=top)
            moved.append(new)
    return moved


def _open_folder(name: str, within: int | None) -> int:
    """Open a folder; change its mode where that forbids it. Raises OSError."""
    path = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
    try:
        if os.fstat(path).st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{path}", 0o700)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=path)
    finally:
        os.close(path)

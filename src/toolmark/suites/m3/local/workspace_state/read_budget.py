"""The limit on all bytes read for one snapshot of a workspace."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_FILE_BYTES = 16 * 2**20
MAX_TOTAL_BYTES = 64 * 2**20
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Unreadable(Exception):
    """A file is not read; the text states the reason."""


class ReadBudget:
    """Bytes that may still be read, unpacked or stored; readers spend before they read."""

    def __init__(self, n_bytes_left: int = MAX_TOTAL_BYTES) -> None:
        self.n_bytes_left = n_bytes_left

    def spend_bytes(self, n_bytes: int) -> None:
        """Subtract this many bytes. Raises Unreadable if fewer are left."""
        if n_bytes > self.n_bytes_left:
            raise Unreadable(
                f"too large: {n_bytes} bytes more, {self.n_bytes_left} may still be read"
            )
        self.n_bytes_left -= n_bytes


def read_contents(name: str, budget: ReadBudget, *, folder_fd: int) -> bytes:
    """Return the bytes of a regular file in the open folder `folder_fd`.

    Links are not followed, and pipes are not waited for. Raises Unreadable for these and for a file
    larger than 16 MiB; OSError if the file cannot be opened.
    """
    try:
        handle = os.open(name, _OPEN_FLAGS, dir_fd=folder_fd)
    except OSError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode):
            raise Unreadable("a link, which is not followed") from None
        raise
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("not a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise Unreadable(f"{status.st_size} bytes; at most {MAX_FILE_BYTES} are read")
        budget.spend_bytes(status.st_size)
        # The file may have grown: read no more bytes than were spent.
        return file.read(status.st_size)


def folder_depth(root: str, folder: Path) -> int:
    """Return how many folders `root` lies below `folder`."""
    return len(Path(root).relative_to(folder).parts)

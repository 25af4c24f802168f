"""How much of a workspace is looked at: a bound on all reading of one snapshot together."""

from __future__ import annotations

import os
import stat
from pathlib import Path

FILE_BYTES = 16 * 2**20
ALL_BYTES = 64 * 2**20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Unreadable(Exception):
    """A file is not looked into; the text says why."""


class Purse:
    """Bytes that may still be read, unpacked or kept; each reader pays before it goes on."""

    def __init__(self, left: int = ALL_BYTES) -> None:
        self.left = left

    def pay(self, n_bytes: int) -> None:
        """Take so much out. Raises Unreadable when it is not there."""
        if n_bytes > self.left:
            raise Unreadable(f"too large: {n_bytes} bytes more, {self.left} may still be read")
        self.left -= n_bytes


def contents(name: str, purse: Purse, *, inside: int) -> bytes:
    """Return the bytes of a regular file in the open folder `inside`.

    A link is not followed and a pipe not waited for. Raises Unreadable for these, and for what
    is larger than 16 MiB; OSError where the file cannot be opened.
    """
    try:
        handle = os.open(name, _FLAGS, dir_fd=inside)
    except OSError:
        if stat.S_ISLNK(os.stat(name, dir_fd=inside, follow_symlinks=False).st_mode):
            raise Unreadable("a link, which is not followed") from None
        raise
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("not a regular file")
        if status.st_size > FILE_BYTES:
            raise Unreadable(f"{status.st_size} bytes; at most {FILE_BYTES} are read")
        purse.pay(status.st_size)
        # the file may have grown since: not a byte more than was paid for
        return file.read(status.st_size)


def depth(root: str, folder: Path) -> int:
    """Return how many folders `root` lies below `folder`."""
    return len(Path(root).relative_to(folder).parts)

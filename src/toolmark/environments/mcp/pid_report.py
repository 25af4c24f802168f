"""What bubblewrap reports of the first process of a sandbox."""

from __future__ import annotations

import asyncio
import os
import re
import select

# the number is whole once something follows it
_CHILD_PID = re.compile(rb'"child-pid":\s*(\d+)(?=\D)')


class PidReport:
    """What bubblewrap reports of its first process, read from a pipe; a part of it is not lost."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._received = b""

    async def read(self) -> int:
        """Return the process when it is reported, 0 where bubblewrap ended without that."""
        loop = asyncio.get_running_loop()
        while True:
            ready = asyncio.Event()
            loop.add_reader(self._fd, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_reader(self._fd)
            is_open = self._receive_block()
            if (pid := self._pid()) or not is_open:
                return pid

    def read_now(self) -> int:
        """Return the process if it is reported by now, else 0; does not wait."""
        while not self._pid() and select.select([self._fd], [], [], 0)[0] and self._receive_block():
            pass
        return self._pid()

    def _receive_block(self) -> bool:
        """Read what there is; return whether more may come."""
        block = os.read(self._fd, 4096)
        self._received += block
        return bool(block)

    def _pid(self) -> int:
        found = _CHILD_PID.search(self._received)
        return int(found[1]) if found else 0

"""One call of a synthesiser: arguments as a list, text through a file, bounded in time and size."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from toolmark.errors import DataError, UsageError

TIMEOUT_S = 120.0
MOST_BYTES = 128 * 2**20


class Missing(UsageError):
    """An engine or a voice is not installed; the text names the package."""


def find(command: str, package: str) -> str:
    """Return the path of a command. Raises Missing, naming the package that holds it."""
    if path := shutil.which(command):
        return path
    raise Missing(f"{command} is not installed: {package}")


def run(
    command: Sequence[str],
    folder: Path,
    text: str = "",
    *,
    timeout_s: float = TIMEOUT_S,
    well: int = 0,
) -> str:
    """Run a command on a text and return what it prints.

    The command starts in `folder`, which is its home too, with a bare environment, reads the
    text from standard input, and writes no file beyond 128 MiB. When its time is over it is
    killed with all that it started. Raises DataError if its exit status is neither 0 nor `well`.
    """
    name = Path(command[0]).name
    (folder / "stdin").write_text(f"{text}\n")
    with (folder / "stdin").open("rb") as source, _start(command, folder, source) as child:
        if sys.platform == "linux":
            with suppress(ProcessLookupError):  # it has ended already
                resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
        try:
            said, complaint = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise DataError(f"{name}: not done after {timeout_s:g} s; it was stopped") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
    if child.returncode not in (0, well):
        why = complaint.decode(errors="replace").strip()[-300:] or "it gave no reason"
        raise DataError(f"{name}: failed with exit status {child.returncode}: {why}")
    return said.decode(errors="replace")


def _start(command: Sequence[str], folder: Path, source: IO[bytes]) -> subprocess.Popen[bytes]:
    bare = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    try:
        return subprocess.Popen(
            command,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**bare, "HOME": str(folder), "TMPDIR": str(folder)},
            start_new_session=True,
        )
    except OSError as error:
        raise DataError(f"{command[0]}: cannot be started: {error.strerror}") from None


def taken(path: Path) -> bytes:
    """Return the sound file that an engine wrote. Raises DataError if there is none."""
    try:
        if path.stat().st_size < MOST_BYTES:
            return path.read_bytes()
    except OSError:
        raise DataError("the engine wrote no sound") from None
    raise DataError(f"the engine wrote more than {MOST_BYTES} bytes")

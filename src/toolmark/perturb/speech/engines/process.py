"""One call of a synthesiser: arguments as a list, text by a pipe, bounded in time and size."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO

from toolmark.errors import DataError, UsageError

TIMEOUT_S = 120.0
MOST_BYTES = 128 * 2**20
_PRINTED = 2**16
# eSpeak looks for a sound server, also when it writes a file; where that makes itself a folder it
# draws from the generator that eSpeak's breath is made of, and the clip comes out another way
_NOBODY = "unix:/dev/null"
_NONE: Mapping[str, str] = MappingProxyType({})


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
    env: Mapping[str, str] = _NONE,
) -> str:
    """Run a command on a text and return what it prints.

    The command starts in `folder`, which is its home too, with a bare environment and `env`, reads
    the text from standard input, and writes no file beyond 128 MiB; nor does it print more, of
    which 64 KiB are read. When its time is over it is killed with all that it started. Raises
    DataError if its exit status is neither 0 nor `well`.
    """
    name = Path(command[0]).name
    with TemporaryFile() as said, TemporaryFile() as complaint:
        with _start(command, folder, said, complaint, env) as child:
            if sys.platform == "linux":
                with suppress(ProcessLookupError):  # it has ended already
                    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
            try:
                child.communicate(f"{text}\n".encode(), timeout=timeout_s)
            except subprocess.TimeoutExpired:
                raise DataError(f"{name}: not done after {timeout_s:g} s; it was stopped") from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
        if child.returncode not in (0, well):
            why = _read(complaint).strip()[-300:] or "it gave no reason"
            raise DataError(f"{name}: failed with exit status {child.returncode}: {why}")
        return _read(said)


def _read(printed: IO[bytes]) -> str:
    printed.seek(0)
    return printed.read(_PRINTED).decode(errors="replace")


def _start(
    command: Sequence[str],
    folder: Path,
    said: IO[bytes],
    complaint: IO[bytes],
    env: Mapping[str, str],
) -> subprocess.Popen[bytes]:
    bare = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "PULSE_SERVER": _NOBODY}
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=complaint,
            cwd=folder,
            env={**bare, **env, "HOME": str(folder), "TMPDIR": str(folder)},
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

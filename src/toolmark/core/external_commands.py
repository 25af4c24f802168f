"""One call of a speech synthesiser: arguments as a list, text by a pipe, limited time and size."""

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

from toolmark.core.errors import DataError, UsageError
from toolmark.core.number_format import format_duration

TIMEOUT_S = 120.0
MAX_OUTPUT_BYTES = 128 * 2**20
_MAX_PRINTED_BYTES = 2**16
# eSpeak looks for a sound server, also when it writes a file; if that lookup creates a folder, it
# uses numbers of the generator of eSpeak's breath sounds, and the clip changes
_NO_SOUND_SERVER = "unix:/dev/null"
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


class NotInstalled(UsageError):
    """An engine or a voice is not installed; the text names the package."""


def find_command(command: str, package: str) -> str:
    """Return the path of a command; raises NotInstalled, naming the package that provides it."""
    if path := shutil.which(command):
        return path
    raise NotInstalled(f"{command} is not installed: {package}")


def run_command(
    command: Sequence[str],
    folder: Path,
    text: str = "",
    *,
    timeout_s: float = TIMEOUT_S,
    other_ok_status: int = 0,
    env: Mapping[str, str] = _NO_VARIABLES,
) -> str:
    """Run a command on a text and return what it prints.

    The command starts in `folder`, which is also its home, with an environment of `env` only. It
    reads the text from standard input. It can write files of at most 128 MiB and print as much, of
    which 64 KiB are read. After `timeout_s` it is killed with all processes that it started. Raises
    DataError if its exit status is neither 0 nor `other_ok_status`.
    """
    name = Path(command[0]).name
    with TemporaryFile() as printed, TemporaryFile() as error_output:
        with _start_command(command, folder, printed, error_output, env) as child:
            if sys.platform == "linux":
                with suppress(ProcessLookupError):  # already ended
                    resource.prlimit(
                        child.pid, resource.RLIMIT_FSIZE, (MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES)
                    )
            try:
                child.communicate(f"{text}\n".encode(), timeout=timeout_s)
            except subprocess.TimeoutExpired:
                limit = format_duration(timeout_s)
                raise DataError(f"{name}: not done after {limit}; it was stopped") from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
        if child.returncode not in (0, other_ok_status):
            why = _read_printed(error_output).strip()[-300:] or "it gave no reason"
            raise DataError(f"{name}: failed with exit status {child.returncode}: {why}")
        return _read_printed(printed)


def _read_printed(printed: IO[bytes]) -> str:
    printed.seek(0)
    return printed.read(_MAX_PRINTED_BYTES).decode(errors="replace")


def _start_command(
    command: Sequence[str],
    folder: Path,
    printed: IO[bytes],
    error_output: IO[bytes],
    env: Mapping[str, str],
) -> subprocess.Popen[bytes]:
    base_environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "PULSE_SERVER": _NO_SOUND_SERVER,
    }
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=printed,
            stderr=error_output,
            cwd=folder,
            env={**base_environment, **env, "HOME": str(folder), "TMPDIR": str(folder)},
            start_new_session=True,
        )
    except OSError as error:
        raise DataError(f"{command[0]}: cannot be started: {error.strerror}") from None


def read_output_file(path: Path) -> bytes:
    """Return the sound file that an engine wrote; raises DataError if there is none."""
    try:
        if path.stat().st_size < MAX_OUTPUT_BYTES:
            return path.read_bytes()
    except OSError:
        raise DataError("the engine wrote no sound") from None
    raise DataError(f"the engine wrote more than {MAX_OUTPUT_BYTES} bytes")

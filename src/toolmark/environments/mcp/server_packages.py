"""Pinned environments: each server's packages, separate from toolmark's own, in the cache folder.

pip and npm install them, so that a user's index, proxy and certificates apply. Every file is
checked against the hash in the lock. Environments cannot be moved after they are made: each is made
in its final place, under a lock, and counts only once it contains the file `made`.
"""

from __future__ import annotations

import ctypes.util
import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from toolmark.core import files, number_format
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.records import Record

_READY_FILE = "made"
_MAX_SHOWN_CHARS = 600


class PinnedEnvironment(Record, frozen=True, kw_only=True):
    """One environment: its packages, its lock, and the program that is the server.

    `packages` is what the lock was resolved from, except `omitted_packages`. `commands` and
    `libraries` are what the server needs of the system, with the Debian package of each.
    """

    name: str
    kind: Literal["python", "npm"]
    program: str
    lock: Path
    packages: tuple[str, ...] = ()
    omitted_packages: tuple[str, ...] = ()
    commands: dict[str, str] = {}
    libraries: dict[str, str] = {}


class _IndexEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    program: str
    python: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    omitted_packages: tuple[str, ...] = ()
    commands: dict[str, str] = {}
    libraries: dict[str, str] = {}


def read_pinned_environments(folder: Path | None = None) -> dict[str, PinnedEnvironment]:
    """Read the index of a folder of locks, by default toolmark's own. Raises DataError."""
    locks = _locks_folder() if folder is None else folder
    index = locks / "index.json"
    try:
        entries = msgspec.json.decode(index.read_bytes(), type=dict[str, _IndexEntry])
    except (OSError, msgspec.DecodeError) as error:
        raise DataError(f"{index}: cannot read: {describe_decode_error(error)}") from None
    return {name: _to_pinned(name, entry, locks) for name, entry in entries.items()}


def _locks_folder() -> Path:
    return Path(__file__).parent / "locks"


@functools.cache
def _own_environments() -> dict[str, PinnedEnvironment]:
    return read_pinned_environments()


def _to_pinned(name: str, entry: _IndexEntry, locks: Path) -> PinnedEnvironment:
    python = bool(entry.python)
    return PinnedEnvironment(
        name=name,
        kind="python" if python else "npm",
        program=entry.program,
        lock=locks / f"{name}.{'txt' if python else 'json'}",
        packages=entry.python or entry.npm,
        omitted_packages=entry.omitted_packages,
        commands=entry.commands if python else {"node": "nodejs", **entry.commands},
        libraries=entry.libraries,
    )


def find_pinned_environment(name: str) -> PinnedEnvironment:
    """Return one of toolmark's own environments. Raises UsageError for another name."""
    if name not in _own_environments():
        raise UsageError(
            f"no pinned environment {name!r}{suggest_names(name, _own_environments())}"
        )
    return _own_environments()[name]


def environment_folder(pinned: PinnedEnvironment) -> Path:
    """Return the folder of an environment: it depends on the lock and on the interpreter.

    Raises DataError where the lock cannot be read.
    """
    try:
        lock = pinned.lock.read_bytes()
    except OSError as error:
        raise DataError(f"{pinned.lock}: cannot read: {error.strerror}") from None
    made_for = f"{sys.implementation.cache_tag} {sysconfig.get_platform()}"
    sha256 = hashlib.sha256(lock + made_for.encode()).hexdigest()
    return files.cache_folder() / "servers" / f"{pinned.name}-{sha256[:12]}"


def missing_system_packages(pinned: PinnedEnvironment) -> str:
    """Return which system packages a server needs that are missing; empty for none."""
    absent = {word: deb for word, deb in pinned.commands.items() if shutil.which(word) is None}
    absent |= {
        f"lib{word}": deb for word, deb in pinned.libraries.items() if not _has_library(word)
    }
    if not absent:
        return ""
    return (
        f"{pinned.name}: not found on this machine: {', '.join(absent)} "
        f"(on Debian: apt-get install {' '.join(absent.values())})"
    )


@functools.cache
def _has_library(word: str) -> bool:
    return ctypes.util.find_library(word) is not None


def server_command(name: str) -> list[str]:
    """Return the argv of a server in its environment; the server's arguments follow.

    Raises DataError where the system lacks something or the environment is not made yet, and
    UsageError for an unknown name; both say what to do.
    """
    pinned = find_pinned_environment(name)
    if absent := missing_system_packages(pinned):
        raise DataError(absent)
    folder = environment_folder(pinned)
    if not _is_ready(pinned, folder):
        raise DataError(f"{name}: not installed yet; run `toolmark fetch mcp-servers`")
    if pinned.kind == "npm":
        return [str(shutil.which("node")), str(folder / "node_modules" / ".bin" / pinned.program)]
    return [str(folder / "bin" / pinned.program)]


def _is_ready(pinned: PinnedEnvironment, folder: Path) -> bool:
    # a link to an interpreter may be broken because the interpreter was removed
    return (folder / _READY_FILE).is_file() and (
        pinned.kind == "npm" or (folder / "bin/python").exists()
    )


def install_environment(pinned: PinnedEnvironment) -> Path:
    """Return an environment's folder, and make it if it does not exist. Raises DataError.

    Safe for several processes at once: one makes it, the others wait. An environment whose making
    was interrupted is made again.
    """
    folder = environment_folder(pinned)
    if _is_ready(pinned, folder):
        return folder
    try:
        with _lock_folder(folder):
            if not _is_ready(pinned, folder):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                (_install_python if pinned.kind == "python" else _install_npm)(pinned, folder)
                (folder / _READY_FILE).touch()
    except OSError as error:
        raise DataError(f"{folder}: cannot make the environment: {error}") from None
    return folder


def is_installed(pinned: PinnedEnvironment) -> bool:
    """Return whether an environment is installed."""
    return _is_ready(pinned, environment_folder(pinned))


def install_environments(
    names: Iterable[str], *, n_concurrent: int = 2, tell: Callable[[str], None] = lambda line: None
) -> dict[str, str]:
    """Make several environments; return the reasons for those that fail, by name.

    `tell` is called with one line for each, when it is installed or has failed.
    """

    def try_install(pinned: PinnedEnvironment) -> str:
        begun_s = time.monotonic()
        try:
            install_environment(pinned)
        except DataError as error:
            return str(error)
        durations_s[pinned.name] = time.monotonic() - begun_s
        return ""

    wanted = [find_pinned_environment(name) for name in names]
    durations_s: dict[str, float] = {}
    failed: dict[str, str] = {}
    with ThreadPoolExecutor(n_concurrent) as pool:
        running = {pool.submit(try_install, one): one.name for one in wanted}
        for n, done in enumerate(as_completed(running), 1):
            name = running[done]
            if why := done.result():
                failed[name] = why
            outcome = (
                "could not be installed"
                if why
                else f"installed in {number_format.format_duration(durations_s[name])}"
            )
            tell(f"{n}/{len(wanted)} {name}: {outcome}")
    return {one.name: failed[one.name] for one in wanted if one.name in failed}


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released with the file, also when the process dies
        yield


def _install_python(pinned: PinnedEnvironment, folder: Path) -> None:
    venv.create(folder, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    pip += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet"]
    # compiling modules that are never imported would take longer than installing them
    pip += ["--no-compile", "--disable-pip-version-check", "--requirement", str(pinned.lock)]
    _run_installer(pinned, pip, folder)


def _install_npm(pinned: PinnedEnvironment, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise DataError(f"{pinned.name}: npm was not found; install Node.js 20 or newer with npm")
    lock: dict[str, Any] = json.loads(pinned.lock.read_bytes())
    (folder / "package.json").write_text(json.dumps(lock["packages"][""]), "utf-8")
    shutil.copyfile(pinned.lock, folder / "package-lock.json")
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    _run_installer(pinned, [npm, "ci", *options], folder)


def _run_installer(pinned: PinnedEnvironment, argv: list[str], folder: Path) -> None:
    completed = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )
    if completed.returncode == 0:
        return
    errors = [line for line in completed.stderr.splitlines() if "ERROR" in line.upper()]
    why = "\n".join(errors)[-_MAX_SHOWN_CHARS:] or completed.stderr.strip()[-_MAX_SHOWN_CHARS:]
    tool = "npm" if pinned.kind == "npm" else "pip"
    raise DataError(f"{pinned.name}: {tool} could not install {pinned.lock.name}: {why}")

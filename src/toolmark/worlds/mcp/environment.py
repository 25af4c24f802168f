"""Pinned environments: the packages of each server, apart from toolmark's own, in the cache.

pip and npm install them, so that a user's own index, proxy and certificates apply; every file is
checked against the sum in the lock. Environments cannot be moved after they are made: each is made
in its final place, under a lock, and counts only once the file `made` stands in it.
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
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from toolmark import fetch
from toolmark.errors import DataError, UsageError, near
from toolmark.types import Record

_MADE = "made"
_SHOWN_CHARACTERS = 600


class Pin(Record, frozen=True, kw_only=True):
    """One environment: what it holds, where its lock is, and the program that is the server.

    `packages` is what the lock was resolved from, less `without`. `commands` and `libraries` are
    what the server needs of the system, with the Debian package that has it.
    """

    name: str
    kind: Literal["python", "npm"]
    program: str
    lock: Path
    packages: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    commands: dict[str, str] = {}
    libraries: dict[str, str] = {}


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    program: str
    python: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    commands: dict[str, str] = {}
    libraries: dict[str, str] = {}


def pins(folder: Path | None = None) -> dict[str, Pin]:
    """Read the index of a folder of locks; that of toolmark's own servers by default."""
    home = _locks() if folder is None else folder
    index = home / "index.json"
    try:
        entries = msgspec.json.decode(index.read_bytes(), type=dict[str, _Entry])
    except (OSError, msgspec.DecodeError) as error:
        raise DataError(f"{index}: cannot read: {error}") from None
    return {name: _pin(name, entry, home) for name, entry in entries.items()}


def _locks() -> Path:
    return Path(str(resources.files("toolmark"))) / "suites" / "m3" / "local" / "locks"


@functools.cache
def _own() -> dict[str, Pin]:
    return pins()


def _pin(name: str, entry: _Entry, home: Path) -> Pin:
    python = bool(entry.python)
    return Pin(
        name=name,
        kind="python" if python else "npm",
        program=entry.program,
        lock=home / f"{name}.{'txt' if python else 'json'}",
        packages=entry.python or entry.npm,
        without=entry.without,
        commands=entry.commands if python else {"node": "nodejs", **entry.commands},
        libraries=entry.libraries,
    )


def pin(name: str) -> Pin:
    """Return one of toolmark's own environments. Raises UsageError for another name."""
    if name not in _own():
        raise UsageError(f"no pinned environment {name!r}{near(name, _own())}")
    return _own()[name]


def place(one: Pin) -> Path:
    """Return where an environment is made: another lock or interpreter has another folder."""
    try:
        lock = one.lock.read_bytes()
    except OSError as error:
        raise DataError(f"{one.lock}: cannot read: {error.strerror}") from None
    made_for = f"{sys.implementation.cache_tag} {sysconfig.get_platform()}"
    sha256 = hashlib.sha256(lock + made_for.encode()).hexdigest()
    return fetch.cache() / "servers" / f"{one.name}-{sha256[:12]}"


def lacking(one: Pin) -> str:
    """Say what of the system a server needs and is not there; empty when nothing is."""
    absent = {word: deb for word, deb in one.commands.items() if shutil.which(word) is None}
    absent |= {f"lib{word}": deb for word, deb in one.libraries.items() if not _library(word)}
    if not absent:
        return ""
    return (
        f"{one.name}: not found on this machine: {', '.join(absent)} "
        f"(on Debian: apt-get install {' '.join(absent.values())})"
    )


@functools.cache
def _library(word: str) -> bool:
    return ctypes.util.find_library(word) is not None


def command(name: str) -> list[str]:
    """Return the argv of a server in its environment; its own arguments follow.

    Raises DataError where the system lacks something or the environment is not made yet, and
    UsageError for an unknown name; both say what to do.
    """
    one = pin(name)
    if absent := lacking(one):
        raise DataError(absent)
    folder = place(one)
    if not _ready(one, folder):
        raise DataError(f"{name}: not installed yet; run `toolmark fetch m3-servers`")
    if one.kind == "npm":
        return [str(shutil.which("node")), str(folder / "node_modules" / ".bin" / one.program)]
    return [str(folder / "bin" / one.program)]


def _ready(one: Pin, folder: Path) -> bool:
    # an interpreter that was removed since leaves a link to nowhere
    return (folder / _MADE).is_file() and (one.kind == "npm" or (folder / "bin/python").exists())


def make(one: Pin) -> Path:
    """Return an environment's folder, making it if it is not there. Raises DataError.

    Safe for several processes at once: one makes it, the others wait. What an interrupted one left
    is made anew.
    """
    folder = place(one)
    if _ready(one, folder):
        return folder
    try:
        with _alone(folder):
            if not _ready(one, folder):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                (_python if one.kind == "python" else _npm)(one, folder)
                (folder / _MADE).touch()
    except OSError as error:
        raise DataError(f"{folder}: cannot make the environment: {error}") from None
    return folder


def made(one: Pin) -> bool:
    """Tell whether an environment is there."""
    return _ready(one, place(one))


def make_all(
    names: Iterable[str], *, at_once: int = 2, tell: Callable[[str], None] = lambda line: None
) -> dict[str, str]:
    """Make several environments; return why for those that cannot be had, by name.

    `tell` is called with a line for each, as soon as it is there or given up.
    """

    def attempt(one: Pin) -> str:
        begun_s = time.monotonic()
        try:
            make(one)
        except DataError as error:
            return str(error)
        took[one.name] = time.monotonic() - begun_s
        return ""

    wanted = [pin(name) for name in names]
    took: dict[str, float] = {}
    failed: dict[str, str] = {}
    with ThreadPoolExecutor(at_once) as pool:
        running = {pool.submit(attempt, one): one.name for one in wanted}
        for n, done in enumerate(as_completed(running), 1):
            name = running[done]
            if why := done.result():
                failed[name] = why
            said = "could not be installed" if why else f"installed in {took[name]:.0f} s"
            tell(f"{n}/{len(wanted)} {name}: {said}")
    return {one.name: failed[one.name] for one in wanted if one.name in failed}


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given up with the file, also when the process dies
        yield


def _python(one: Pin, folder: Path) -> None:
    venv.create(folder, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    pip += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet"]
    # compiling all that is never imported would take longer than installing it
    pip += ["--no-compile", "--disable-pip-version-check", "--requirement", str(one.lock)]
    _run(one, pip, folder)


def _npm(one: Pin, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise DataError(f"{one.name}: npm was not found; install Node.js 20 or newer with npm")
    lock: dict[str, Any] = json.loads(one.lock.read_bytes())
    (folder / "package.json").write_text(json.dumps(lock["packages"][""]), "utf-8")
    shutil.copyfile(one.lock, folder / "package-lock.json")
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    _run(one, [npm, "ci", *options], folder)


def _run(one: Pin, argv: list[str], folder: Path) -> None:
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )
    if done.returncode == 0:
        return
    said = [line for line in done.stderr.splitlines() if "ERROR" in line.upper()]
    why = "\n".join(said)[-_SHOWN_CHARACTERS:] or done.stderr.strip()[-_SHOWN_CHARACTERS:]
    tool = "npm" if one.kind == "npm" else "pip"
    raise DataError(f"{one.name}: {tool} could not install {one.lock.name}: {why}")

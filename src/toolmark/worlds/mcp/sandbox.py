"""The sandbox of a server: bubblewrap around its processes, with a view that is a list.

A server sees the libraries of the system, the environment that it is installed in, what its entry
declares, and the workspace, which alone it can write to besides a small `/tmp` of its own. It has
no network unless its entry declares one, no capability, no terminal, and ends with us, however that
happens. Where there is no sandbox nothing starts, unless it was switched off.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from toolmark.errors import UsageError
from toolmark.worlds.mcp import limits, seccomp
from toolmark.worlds.mcp.limits import WATCH, ServerLimits, Watched

Setting: TypeAlias = Literal["required", "off"]

NAME = "sandbox"  # in the record of a run
HOME = "/tmp"
SCRIPTS = "/toolmark/bin"
SHARED_MIB, BRIEF_MIB = 64, 256  # of /dev/shm and of /tmp
_BRIEF = {"/dev/shm": SHARED_MIB * limits.MIB, HOME: BRIEF_MIB * limits.MIB}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OFF = "The sandbox was off: servers could read and change what its user can, answer keys too."
_INSTALL = (
    "MCP servers run in a sandbox, and there is none here: {why}; {step}, "
    "or pass --sandbox off where every model and server is trusted with this machine"
)
_UNBOUNDED = "nothing bounds how many processes root has (no control groups, Linux before 6.14)"
_PROBE_S = 20
_TOLD_S = 5.0  # that bubblewrap has to say which process it began
_ALONE = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--hostname", "sandbox",
)  # fmt: skip
_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/fonts",
    "/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/pki/tls",
    "/etc/pki/ca-trust", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs",
    "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/timezone",
)  # fmt: skip
_SIZED = (0, 8)  # the first release that bounds a tmpfs, and forbids further user namespaces
_CHILD = re.compile(rb'"child-pid":\s*(\d+)')
_VERSION = re.compile(r"(\d+)\.(\d+)")

_SETTING: ContextVar[Setting] = ContextVar("sandbox", default="required")
_KEYS: ContextVar[tuple[Path, ...]] = ContextVar("keys", default=())


# --- whether there is one ---------------------------------------------------------------


@contextmanager
def setting(value: object) -> Iterator[None]:
    """Let servers that are started meanwhile be sandboxed, or not: "required" or "off".

    Raises UsageError for another word.
    """
    if value not in ("required", "off"):
        raise UsageError(f"sandbox: expected required or off, got {value!r}")
    token = _SETTING.set("off" if value == "off" else "required")
    try:
        yield
    finally:
        _SETTING.reset(token)


@contextmanager
def hiding(*paths: str | Path) -> Iterator[None]:
    """Let no server that is started meanwhile see these: answer keys, folders that hold some."""
    added = tuple(Path(os.path.realpath(path)) for path in paths)
    token = _KEYS.set((*_KEYS.get(), *added))
    try:
        yield
    finally:
        _KEYS.reset(token)


def hidden() -> tuple[Path, ...]:
    """Return what no server may see."""
    return _KEYS.get()


def wanted() -> bool:
    """Tell whether servers are to be sandboxed."""
    return _SETTING.get() == "required"


def require() -> None:
    """Raise UsageError where a sandbox is wanted and there is none; the text says what to do."""
    if wanted() and (why := lacking()):
        raise UsageError(why)


def lacking() -> str:
    """Say why there is no sandbox here and what to do; empty where there is one."""
    if sys.platform != "linux":
        return _INSTALL.format(why=f"it needs Linux, this is {sys.platform}", step="run on Linux")
    return _tried()


@cache
def _tried() -> str:
    found = shutil.which("bwrap")
    if found is None:
        command = ("" if os.geteuid() == 0 else "sudo ") + "apt-get install bubblewrap"
        step = f"run `{command}` (elsewhere than on Debian and Ubuntu its package is named so too)"
        return _INSTALL.format(why="the command bwrap is not found", step=step)
    brief = Box(system(), limits=ServerLimits())
    try:
        done = subprocess.run(
            [found, *brief.options(), "--", "true"],
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
            env={"PATH": PATH},
        )
        why = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it failed"]
    except (OSError, subprocess.TimeoutExpired) as error:
        return _INSTALL.format(why=f"bwrap does not run: {error}", step="put that right")
    if done.returncode == 0:
        if limits.counted():
            return ""
        return _INSTALL.format(why=_UNBOUNDED, step="run as an ordinary user")
    step = "allow user namespaces (docs/security.md says how)"
    return _INSTALL.format(why=f"the system forbids it: {why[0]}", step=step)


@cache
def version() -> tuple[int, int]:
    """Return the release of bubblewrap, (0, 0) where it does not tell."""
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            ["bwrap", "--version"], capture_output=True, timeout=_PROBE_S, check=False
        )
        if found := _VERSION.search(done.stdout.decode(errors="replace")):
            return int(found[1]), int(found[2])
    return 0, 0


def recorded() -> dict[str, str]:
    """Return what the record of a run says of it."""
    return {NAME: described()}


def described() -> str:
    """Say what confines servers here, in a line, for the record of a run."""
    if not wanted():
        return "off"
    calls = ", a filter of system calls" if seccomp.program() else ""
    return f"bubblewrap {'.'.join(map(str, version()))}{calls}; limits: {limits.described()}"


# --- what is seen -----------------------------------------------------------------------


class Seen(NamedTuple):
    """A path in the sandbox. A link has a `target`; what is hidden is an empty folder or file."""

    path: Path
    how: Literal["read", "write", "hide", "link"]
    target: str = ""


class Box(NamedTuple):
    """How a server is shut in: what it sees, where it starts, its limits, whether it has a network.

    `scripts` are programs by name, in SCRIPTS.
    Of two entries for one path the later counts, and a path counts for all below it that have no
    entry of their own.
    """

    seen: tuple[Seen, ...]
    workspace: Path = Path("/")
    limits: ServerLimits = ServerLimits()
    network: bool = False
    cwd: str = "/"
    scripts: Mapping[str, str] = {}

    def options(self, files: Sequence[str] = ()) -> Iterator[str]:
        """Go through bubblewrap's options; `files` are some that name file descriptors."""
        yield from _ALONE
        if version() >= _SIZED:
            yield "--disable-userns"
        if not self.network:
            yield "--unshare-net"
        yield from ("--proc", "/proc", "--dev", "/dev")
        for own, size in _BRIEF.items():
            yield from _brief(own, size)
        for path, how, target in _ordered(self.seen):
            if how == "link":
                yield from ("--symlink", target, str(path))
            elif how == "hide":
                folder = path.is_dir()
                yield from (
                    ("--tmpfs", str(path)) if folder else ("--ro-bind", os.devnull, str(path))
                )
                yield from ("--remount-ro", str(path)) if folder else ()
            else:
                yield from ("--bind" if how == "write" else "--ro-bind", str(path), str(path))
        yield from files
        # root's own processes could write to these; what is mounted below them stays as it is
        yield from ("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/")
        yield from ("--chdir", self.cwd)

    def shows(self, path: str) -> bool:
        """Tell whether a path of the machine can be seen in the sandbox."""
        return self._how(path) not in ("", "hide")

    def writes(self, path: str) -> bool:
        """Tell whether a path of the machine can be written to in the sandbox."""
        return self._how(path) == "write"

    def _how(self, path: str) -> str:
        held = [each for each in self.seen if Path(path).is_relative_to(each.path)]
        return max(held, key=lambda each: len(each.path.parts)).how if held else ""


def _brief(path: str, size: int) -> tuple[str, ...]:
    if version() < _SIZED:
        return "--tmpfs", path
    return "--size", str(size), "--perms", "1777", "--tmpfs", path


def _ordered(seen: Sequence[Seen]) -> list[Seen]:
    """Return what is to be mounted: one entry for each path, what holds others first.

    What is seen anyway is left out, and so is what is hidden where nothing else shows it.
    """
    kept: dict[Path, Seen] = {}
    last = {each.path: each for each in seen}
    for each in sorted(last.values(), key=lambda each: len(each.path.parts)):
        above = next((kept[path].how for path in each.path.parents if path in kept), "hide")
        plain = each.how in ("read", "link") and above in ("read", "link")
        if not plain and not (each.how == "hide" and above == "hide"):
            kept[each.path] = each
    return list(kept.values())


def system() -> tuple[Seen, ...]:
    """Return what every program needs; links stay links."""
    found = []
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink() and path.is_dir():
            found.append(Seen(path, "link", os.readlink(path)))
        elif path.exists():
            found.append(Seen(path, "read"))
    return tuple(found)


# --- starting it ------------------------------------------------------------------------


@asynccontextmanager
async def opened(
    argv: Sequence[str],
    env: Mapping[str, str],
    box: Box,
    *,
    pass_fds: Sequence[int] = (),
    **pipes: Any,
) -> AsyncIterator[tuple[asyncio.subprocess.Process, Watched | None]]:
    """Start a process in its box and watch it; what is left of it on leaving is killed.

    Nothing runs in the box before it has its limits. Gives no Watched where bubblewrap itself
    failed: then the process is ending, and its standard error says why. Raises OSError.
    """
    with ExitStack() as ours:
        news, go = _Fd(ours), _Fd(ours)
        with ExitStack() as theirs:
            given = _given(news, go, box.scripts, theirs)
            words = [word for option, fd, rest in given for word in (*option, str(fd), *rest)]
            process = await asyncio.create_subprocess_exec(
                "bwrap", *box.options(words), "--", *argv, env=dict(env), cwd="/",
                pass_fds=[*pass_fds, *(fd for _, fd, _ in given)], start_new_session=True, **pipes,
            )  # fmt: skip
        watched: Watched | None = None
        first = _Fd(ours)
        try:
            if pid := await _child(news.fd):
                first.fd = _handle(pid)
                watched = await _limited(pid, box)
            go.close()
            yield process, watched
        finally:
            if first.fd < 0 and process.returncode is None:
                first.fd = _handle(_told(news.fd))
            _end(process, first.fd)
            if watched is not None:
                WATCH.drop(watched)


def _handle(pid: int) -> int:
    """Return a file descriptor that stands for a process, -1 where there is none any more."""
    with suppress(ProcessLookupError, ValueError):
        return os.pidfd_open(pid) if pid else -1
    return -1


def _told(fd: int) -> int:
    """Return the first process of a box that is left before it was asked for; 0 where none came."""
    said = b""
    while select.select([fd], [], [], _TOLD_S)[0] and (block := os.read(fd, 4096)):
        said += block
        if found := _CHILD.search(said):
            return int(found[1])
    return 0


def _end(process: asyncio.subprocess.Process, first: int) -> None:
    """Kill a box: its first process, of which `first` is the handle, and bubblewrap.

    The first process ends with bubblewrap only from when it is set up. One that still waited for
    its limits would go on without them.
    """
    if first >= 0:
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(first, signal.SIGKILL)
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


async def _limited(pid: int, box: Box) -> Watched | None:
    """Do `_bounded` in a thread: to join a control group may take 30 ms."""
    done = asyncio.create_task(asyncio.to_thread(_bounded, pid, box))
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait({done})
        if not done.cancelled() and done.exception() is None and (left := done.result()):
            WATCH.drop(left)
        raise


class _Fd:
    """An end of a pipe that is ours, until it is closed."""

    def __init__(self, held: ExitStack) -> None:
        self.fd = -1
        held.callback(self.close)

    def close(self) -> None:
        """Close it, once."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


Given: TypeAlias = tuple[tuple[str, ...], int, tuple[str, ...]]  # options, descriptor, the rest


def _given(news: _Fd, go: _Fd, scripts: Mapping[str, str], held: ExitStack) -> list[Given]:
    """Return options that name file descriptors; `held` closes these.

    Bubblewrap writes to one who its first process is, and waits for the end of another before it
    starts anything; from the others it reads files.
    """

    def theirs(fd: int) -> int:
        held.callback(os.close, fd)
        return fd

    news.fd, says = os.pipe()
    waits, go.fd = os.pipe()
    given: list[Given] = [(("--info-fd",), theirs(says), ()), (("--block-fd",), theirs(waits), ())]
    uid, gid = os.getuid(), os.getgid()
    files = {
        "/etc/passwd": f"user:x:{uid}:{gid}::{HOME}:/bin/sh\n",
        "/etc/group": f"user:x:{gid}:\n",
        **{f"{SCRIPTS}/{name}": text for name, text in scripts.items()},
    }
    for path, text in files.items():
        perms = ("--perms", "0555" if path.startswith(SCRIPTS) else "0444")
        given.append(((*perms, "--ro-bind-data"), theirs(_read(text.encode())), (path,)))
    if calls := seccomp.program():
        given.append((("--seccomp",), theirs(_read(calls)), ()))
    return given


def _read(data: bytes) -> int:
    """Return a file descriptor that gives these few bytes."""
    reads, writes = os.pipe()
    os.write(writes, data)
    os.close(writes)
    return reads


async def _child(fd: int) -> int:
    """Return the first process of the box as bubblewrap tells it, 0 where it failed before."""
    loop = asyncio.get_running_loop()
    said = b""
    while True:
        ready = asyncio.Event()
        loop.add_reader(fd, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(fd)
        block = os.read(fd, 4096)
        said += block
        if found := _CHILD.search(said):
            return int(found[1])
        if not block:
            return 0


def _bounded(pid: int, box: Box) -> Watched | None:
    """Set the limits of a box and begin to watch it; None where it has gone."""
    group = limits.group(box.limits)
    try:
        if group is not None:
            group.add(pid)
        limits.bound(pid, box.limits)
        watched = Watched(pid, box.workspace, box.limits, group, tuple(_BRIEF))
    except ProcessLookupError:
        if group is not None:
            group.remove()
        return None
    WATCH.add(watched)
    return watched

"""The sandbox of a server: bubblewrap around its processes, with an explicit list of visible paths.

A server sees the libraries of the system, the environment that it is installed in, what its entry
declares, and the workspace. It can write only to the workspace, to declared paths, and to a small
`/tmp` of its own. It has no network unless its entry declares one, no capability and no terminal.
It ends with this process, however that ends. Where there is no sandbox nothing starts, unless the
sandbox was switched off.
"""

from __future__ import annotations

import asyncio
import os
import re
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

from toolmark.core.errors import UsageError
from toolmark.environments.mcp import sandbox_limits, seccomp_filter
from toolmark.environments.mcp.pid_report import PidReport
from toolmark.environments.mcp.sandbox_limits import SANDBOX_WATCH, ServerLimits, WatchedSandbox

SandboxSetting: TypeAlias = Literal["required", "off"]

RECORD_KEY = "sandbox"  # its key in the record of a run
SANDBOX_HOME = "/tmp"
SCRIPTS_FOLDER = "/toolmark/bin"
SHARED_MIB, TMP_MIB = 64, 256  # sizes of /dev/shm and of /tmp
_TMPFS_BYTES = {
    "/dev/shm": SHARED_MIB * sandbox_limits.MIB,
    SANDBOX_HOME: TMP_MIB * sandbox_limits.MIB,
}
SANDBOX_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OFF_NOTE = "The sandbox was off: servers could read and change what its user can, answer keys too."
_INSTALL_MESSAGE = (
    "MCP servers run in a sandbox, and there is none here: {why}; {step}, "
    "or pass --sandbox off where you trust every model and server"
)
_UNBOUNDED_REASON = (
    "nothing bounds how many processes root has (no control groups, Linux before 6.14)"
)
_PROBE_S = 20
_PID_TIMEOUT_S = 5.0  # time for bubblewrap to report its first process
_END_TIMEOUT_S = 0.5  # time for a killed process to end
_POLL_S = 0.01
_ISOLATION_OPTIONS = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--hostname", "sandbox",
)  # fmt: skip
_SYSTEM_PATHS = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/fonts",
    "/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/pki/tls",
    "/etc/pki/ca-trust", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs",
    "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/timezone",
)  # fmt: skip
# the first release that bounds a tmpfs, and forbids further user namespaces
_TMPFS_SIZE_SINCE = (0, 8)
_VERSION = re.compile(r"(\d+)\.(\d+)")

_SETTING: ContextVar[SandboxSetting] = ContextVar("sandbox", default="required")
_ANSWER_KEYS: ContextVar[tuple[Path, ...]] = ContextVar("keys", default=())


# --- whether there is one ---------------------------------------------------------------


@contextmanager
def use_setting(value: object) -> Iterator[None]:
    """Set whether servers that are started in this context are sandboxed: "required" or "off".

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
def hide_paths(*paths: str | Path) -> Iterator[None]:
    """Hide paths from servers that are started in this context: answer keys, their folders."""
    added = tuple(Path(os.path.realpath(path)) for path in paths)
    token = _ANSWER_KEYS.set((*_ANSWER_KEYS.get(), *added))
    try:
        yield
    finally:
        _ANSWER_KEYS.reset(token)


def hidden_paths() -> tuple[Path, ...]:
    """Return the paths that no server may see."""
    return _ANSWER_KEYS.get()


def is_wanted() -> bool:
    """Return whether servers are to be sandboxed."""
    return _SETTING.get() == "required"


def require_sandbox() -> None:
    """Raise UsageError where a sandbox is required and there is none; the text says what to do."""
    if is_wanted() and (why := describe_missing()):
        raise UsageError(why)


def describe_missing() -> str:
    """Return why there is no sandbox here and what to do; empty where there is one."""
    if sys.platform != "linux":
        return _INSTALL_MESSAGE.format(
            why=f"it needs Linux, this is {sys.platform}", step="run on Linux"
        )
    return _try_bubblewrap()


@cache
def _try_bubblewrap() -> str:
    found = shutil.which("bwrap")
    if found is None:
        command = ("" if os.geteuid() == 0 else "sudo ") + "apt-get install bubblewrap"
        step = f"run `{command}` (elsewhere than on Debian and Ubuntu its package is named so too)"
        return _INSTALL_MESSAGE.format(why="the command bwrap is not found", step=step)
    empty_sandbox = SandboxSpec(system_mounts(), limits=ServerLimits())
    try:
        completed = subprocess.run(
            [found, *empty_sandbox.options(), "--", "true"],
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
            env={"PATH": SANDBOX_PATH},
        )
        why = completed.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["it failed"]
    except (OSError, subprocess.TimeoutExpired) as error:
        return _INSTALL_MESSAGE.format(why=f"bwrap does not run: {error}", step="put that right")
    if completed.returncode == 0:
        if sandbox_limits.process_bound():
            return ""
        return _INSTALL_MESSAGE.format(why=_UNBOUNDED_REASON, step="run as an ordinary user")
    step = "allow user namespaces (docs/reference/security.md says how)"
    return _INSTALL_MESSAGE.format(why=f"the system forbids it: {why[0]}", step=step)


@cache
def bubblewrap_version() -> tuple[int, int]:
    """Return the release of bubblewrap, (0, 0) where it is unknown."""
    with suppress(OSError, subprocess.TimeoutExpired):
        completed = subprocess.run(
            ["bwrap", "--version"], capture_output=True, timeout=_PROBE_S, check=False
        )
        if found := _VERSION.search(completed.stdout.decode(errors="replace")):
            return int(found[1]), int(found[2])
    return 0, 0


def sandbox_record() -> dict[str, str]:
    """Return what the record of a run says about the sandbox."""
    return {RECORD_KEY: describe_sandbox()}


def describe_sandbox() -> str:
    """Return one line that says what confines servers here, for the record of a run."""
    if not is_wanted():
        return "off"
    calls = ", a filter of system calls" if seccomp_filter.filter_program() else ""
    return (
        f"bubblewrap {'.'.join(map(str, bubblewrap_version()))}{calls}; limits: "
        f"{sandbox_limits.describe_limits()}"
    )


# --- what is seen -----------------------------------------------------------------------


class MountedPath(NamedTuple):
    """A path in the sandbox. A link has a `target`; a hidden path is an empty folder or file."""

    path: Path
    access: Literal["read", "write", "hide", "link"]
    target: str = ""


class SandboxSpec(NamedTuple):
    """How a server is confined: what it sees, where it starts, its limits, and its network.

    `scripts` are programs by name, in SCRIPTS_FOLDER. Of two mounts for one path the later counts.
    A mount counts for all paths below it that have no mount of their own.
    """

    mounts: tuple[MountedPath, ...]
    workspace: Path = Path("/")
    limits: ServerLimits = ServerLimits()
    network: bool = False
    cwd: str = "/"
    scripts: Mapping[str, str] = {}

    def options(self, files: Sequence[str] = ()) -> Iterator[str]:
        """Yield bubblewrap's options; `files` are options that name file descriptors."""
        yield from _ISOLATION_OPTIONS
        if bubblewrap_version() >= _TMPFS_SIZE_SINCE:
            yield "--disable-userns"
        if not self.network:
            yield "--unshare-net"
        yield from ("--proc", "/proc", "--dev", "/dev")
        for own, size in _TMPFS_BYTES.items():
            yield from _tmpfs_options(own, size)
        for path, how, target in _order_mounts(self.mounts):
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
        # root's own processes could write to these; mounts below them are not affected
        yield from ("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/")
        yield from ("--chdir", self.cwd)

    def can_read(self, path: str) -> bool:
        """Return whether a path of the machine can be seen in the sandbox."""
        return self._mount_kind(path) not in ("", "hide")

    def can_write(self, path: str) -> bool:
        """Return whether a path of the machine can be written to in the sandbox."""
        return self._mount_kind(path) == "write"

    def _mount_kind(self, path: str) -> str:
        above = [each for each in self.mounts if Path(path).is_relative_to(each.path)]
        return max(above, key=lambda each: len(each.path.parts)).access if above else ""


def _tmpfs_options(path: str, size: int) -> tuple[str, ...]:
    if bubblewrap_version() < _TMPFS_SIZE_SINCE:
        return "--tmpfs", path
    return "--size", str(size), "--perms", "1777", "--tmpfs", path


def _order_mounts(mounts: Sequence[MountedPath]) -> list[MountedPath]:
    """Return what is to be mounted: one entry for each path, parents first.

    Paths that are visible anyway are left out, and so are hidden paths that nothing else shows.
    """
    ordered: dict[Path, MountedPath] = {}
    last = {each.path: each for each in mounts}
    for each in sorted(last.values(), key=lambda each: len(each.path.parts)):
        above = next(
            (ordered[path].access for path in each.path.parents if path in ordered), "hide"
        )
        plain = each.access in ("read", "link") and above in ("read", "link")
        if not plain and not (each.access == "hide" and above == "hide"):
            ordered[each.path] = each
    return list(ordered.values())


def system_mounts() -> tuple[MountedPath, ...]:
    """Return what every program needs; links stay links."""
    found = []
    for name in _SYSTEM_PATHS:
        path = Path(name)
        if path.is_symlink() and path.is_dir():
            found.append(MountedPath(path, "link", os.readlink(path)))
        elif path.exists():
            found.append(MountedPath(path, "read"))
    return tuple(found)


# --- starting it ------------------------------------------------------------------------


@asynccontextmanager
async def open_sandboxed(
    argv: Sequence[str],
    env: Mapping[str, str],
    spec: SandboxSpec,
    *,
    pass_fds: Sequence[int] = (),
    **pipes: Any,
) -> AsyncIterator[tuple[asyncio.subprocess.Process, WatchedSandbox | None]]:
    """Start a process in its sandbox and watch it; what is left of it on leaving is killed.

    Nothing runs in the sandbox before its limits are set. Yields None instead of a WatchedSandbox
    where bubblewrap itself failed: the process is then ending, and its standard error says why.
    Raises OSError.
    """
    with ExitStack() as ours:
        info_pipe, start_pipe = _PipeEnd(ours), _PipeEnd(ours)
        with ExitStack() as theirs:
            descriptors = _descriptor_options(info_pipe, start_pipe, spec.scripts, theirs)
            words = [word for option, fd, rest in descriptors for word in (*option, str(fd), *rest)]
            process = await asyncio.create_subprocess_exec(
                "bwrap",
                *spec.options(words),
                "--",
                *argv,
                env=dict(env),
                cwd="/",
                pass_fds=[*pass_fds, *(fd for _, fd, _ in descriptors)],
                start_new_session=True,
                **pipes,
            )
        watched: WatchedSandbox | None = None
        first, report = _PipeEnd(ours), PidReport(info_pipe.fd)
        try:
            if pid := await _read_pid(report):
                first.fd = _open_pidfd(pid)
                watched = await _limit_in_thread(pid, spec)
            start_pipe.close()
            yield process, watched
        finally:
            try:
                if first.fd < 0 and process.returncode is None:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_PID_TIMEOUT_S):
                            first.fd = _open_pidfd(await report.read())
            finally:  # whoever is cancelled once more waits no longer
                if first.fd < 0:
                    first.fd = _open_pidfd(report.read_now())
                _kill_sandbox(process, first.fd)
                if watched is not None:
                    SANDBOX_WATCH.remove(watched)
                await _release_process(process)


def _open_pidfd(pid: int) -> int:
    """Return a file descriptor that refers to a process, -1 where the process has ended."""
    # ended, or no descriptors left: the sandbox is still killed by its group
    with suppress(OSError):
        return os.pidfd_open(pid) if pid else -1
    return -1


def _kill_sandbox(process: asyncio.subprocess.Process, first: int) -> None:
    """Kill a sandbox: its first process, of which `first` is the descriptor, and bubblewrap.

    The first process ends with bubblewrap only after it is set up. A process that still waited for
    its limits would continue without them.
    """
    if first >= 0:
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(first, signal.SIGKILL)
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


async def _release_process(process: asyncio.subprocess.Process) -> None:
    """Wait up to 0.5 s for a killed process to end, and release asyncio's resources of it."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _END_TIMEOUT_S
    while process.returncode is None and loop.time() < until:
        await asyncio.sleep(_POLL_S)
    process._transport.close()  # type: ignore[attr-defined]


async def _limit_in_thread(pid: int, spec: SandboxSpec) -> WatchedSandbox | None:
    """Call `_apply_limits` in a thread: joining a control group may take 30 ms."""
    task = asyncio.create_task(asyncio.to_thread(_apply_limits, pid, spec))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() is None and (watched := task.result()):
            SANDBOX_WATCH.remove(watched)
        raise


class _PipeEnd:
    """An end of a pipe that this process owns until it is closed."""

    def __init__(self, stack: ExitStack) -> None:
        self.fd = -1
        stack.callback(self.close)

    def close(self) -> None:
        """Close it, once."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


# options, descriptor, the rest
DescriptorOption: TypeAlias = tuple[tuple[str, ...], int, tuple[str, ...]]


def _descriptor_options(
    info_pipe: _PipeEnd, start_pipe: _PipeEnd, scripts: Mapping[str, str], stack: ExitStack
) -> list[DescriptorOption]:
    """Return options that name file descriptors; `stack` closes these.

    Bubblewrap writes its first process to one of them, and waits for the end of another before it
    starts anything. From the others it reads files.
    """

    def hand_over(fd: int) -> int:
        stack.callback(os.close, fd)
        return fd

    info_pipe.fd, info_writer = os.pipe()
    start_reader, start_pipe.fd = os.pipe()
    options: list[DescriptorOption] = [
        (("--info-fd",), hand_over(info_writer), ()),
        (("--block-fd",), hand_over(start_reader), ()),
    ]
    uid, gid = os.getuid(), os.getgid()
    files = {
        "/etc/passwd": f"user:x:{uid}:{gid}::{SANDBOX_HOME}:/bin/sh\n",
        "/etc/group": f"user:x:{gid}:\n",
        **{f"{SCRIPTS_FOLDER}/{name}": text for name, text in scripts.items()},
    }
    for path, text in files.items():
        perms = ("--perms", "0555" if path.startswith(SCRIPTS_FOLDER) else "0444")
        options.append(
            ((*perms, "--ro-bind-data"), hand_over(_pipe_with_bytes(text.encode())), (path,))
        )
    if calls := seccomp_filter.filter_program():
        options.append((("--seccomp",), hand_over(_pipe_with_bytes(calls)), ()))
    return options


def _pipe_with_bytes(data: bytes) -> int:
    """Return a file descriptor from which these few bytes can be read."""
    reads, writes = os.pipe()
    os.write(writes, data)
    os.close(writes)
    return reads


async def _read_pid(report: PidReport) -> int:
    """Return the first process of the sandbox from bubblewrap, 0 where bubblewrap failed."""
    return await report.read()


def _apply_limits(pid: int, spec: SandboxSpec) -> WatchedSandbox | None:
    """Set the limits of a sandbox and begin to watch it; None where it has ended."""
    group = sandbox_limits.create_group(spec.limits)
    try:
        if group is not None:
            group.add_process(pid)
        sandbox_limits.set_resource_limits(pid, spec.limits)
        watched = WatchedSandbox(pid, spec.workspace, spec.limits, group, tuple(_TMPFS_BYTES))
    except ProcessLookupError:
        if group is not None:
            group.remove()
        return None
    SANDBOX_WATCH.add(watched)
    return watched

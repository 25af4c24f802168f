"""What a sandboxed server may use: processes, memory, files, time; bounded and watched.

The kernel bounds what it can: with control groups where they can be made, else with resource
limits. A resource limit does not bind root's number of processes, so root's processes are bounded
by the number of ids of their process namespace. One thread measures every sandbox four times a
second and kills one that is over a limit, so passing a limit ends one server and nothing else.
"""

from __future__ import annotations

import atexit
import os
import resource
import secrets
import signal
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

from toolmark.core.records import Record
from toolmark.environments.mcp import process_counts, resource_usage

MIB = 2**20
TICK_S = 0.25
_OOM_SCORE = 500  # of 1,000: such processes are killed first when memory is short
_OPEN_FILES = 4096
_CGROUP_ROOT = Path("/sys/fs/cgroup")
_CGROUP_PREFIX = "toolmark"

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31)]


class ServerLimits(Record, frozen=True, kw_only=True):
    """Limits of one server, with all that it starts. Threads count as processes.

    `workspace_mib` bounds all files of the episode's folder together, and each file alone.
    """

    processes: Positive = 512
    memory_mib: Positive = 2048
    workspace_mib: Positive = 512
    files: Positive = 20_000
    cpu_s: Positive = 600


# --- what the kernel bounds -------------------------------------------------------------


class ControlGroup:
    """Control groups of one sandbox, of version 1 or 2: for its processes and its memory."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self.folders = folders

    def count_processes(self) -> int:
        """Return the number of processes and threads, 0 where that is not bounded."""
        with suppress(KeyError, OSError, ValueError):
            return int((self.folders["pids"] / "pids.current").read_text())
        return 0

    def count_oom_kills(self) -> int:
        """Return how many processes were killed for lack of memory."""
        for name in ("memory.events", "memory.oom_control"):
            for folder in set(self.folders.values()):
                with suppress(OSError, ValueError):
                    lines = (folder / name).read_text().splitlines()
                    return int(dict(line.split() for line in lines)["oom_kill"])
        return 0

    def add_process(self, pid: int) -> None:
        """Add a process, with all that it will start. Raises OSError."""
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def remove(self) -> bool:
        """Remove the groups. Return False where a process is still in one."""
        for folder in set(self.folders.values()):
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True


def group_parents(
    cgroup_text: str = "",
    root: Path = _CGROUP_ROOT,
    *,
    controllers: tuple[str, ...] = ("pids", "memory"),
) -> dict[str, Path]:
    """Return the folders in which groups can be made, by controller; empty where they cannot be.

    `cgroup_text` is the text of /proc/self/cgroup. In version 2 a group that contains processes
    cannot have bounded groups below it, so the parent of our own group is tried first.
    """
    lines = (cgroup_text or _own_cgroup_text()).splitlines()
    paths = {words: path for _, words, path in (line.split(":", 2) for line in lines)}
    found: dict[str, Path] = {}
    for name in controllers:
        first = next((path for words, path in paths.items() if name in words.split(",")), None)
        at = None if first is None else root / name / first.lstrip("/")
        if at is not None and os.access(at, os.W_OK):
            found[name] = at
    if found or "" not in paths:
        return found
    here = root / paths[""].lstrip("/")
    for at in (here.parent, here) if here != root else (here,):
        with suppress(OSError):
            delegated = (at / "cgroup.subtree_control").read_text().split()
            writable = os.access(at, os.W_OK) and os.access(at / "cgroup.procs", os.W_OK)
            if writable and set(controllers) <= set(delegated):
                return dict.fromkeys(controllers, at)
    return {}


def _own_cgroup_text() -> str:
    try:
        return Path("/proc/self/cgroup").read_text()
    except OSError:
        return ""


@cache
def usable_controllers() -> tuple[str, ...]:
    """Return the controllers that a group could be made with; this is tried once.

    Groups that killed processes have left are removed.
    """
    for parent in set(group_parents().values()):
        for leftover in parent.glob(f"{_CGROUP_PREFIX}-*"):
            if not Path("/proc", leftover.name.split("-")[1]).exists():
                with suppress(OSError):  # not empty: it belongs to another namespace
                    leftover.rmdir()
    created = create_group(ServerLimits())
    if created is None:
        return ()
    created.remove()
    return tuple(created.folders)


def create_group(limits: ServerLimits) -> ControlGroup | None:
    """Make groups with these limits; None where the system does not permit it."""
    name = f"{_CGROUP_PREFIX}-{os.getpid()}-{secrets.token_hex(4)}"
    created = ControlGroup({})
    memory = limits.memory_mib * MIB
    try:
        for controller, parent in group_parents().items():
            folder = parent / name
            folder.mkdir(exist_ok=True)
            created.folders[controller] = folder
            if controller == "pids":
                (folder / "pids.max").write_text(str(limits.processes))
            else:
                _bound_memory(folder, memory)
    except OSError:
        created.remove()
        return None
    return created if created.folders else None


def _bound_memory(folder: Path, memory: int) -> None:
    if not (folder / "memory.max").exists():
        (folder / "memory.limit_in_bytes").write_text(str(memory))
        return
    (folder / "memory.max").write_text(str(memory))
    with suppress(OSError):  # there is no swap
        (folder / "memory.swap.max").write_text("0")
    with suppress(OSError):
        (folder / "memory.oom.group").write_text("1")


def set_resource_limits(pid: int, limits: ServerLimits) -> None:
    """Set the resource limits of a process that has started nothing yet. Raises OSError."""
    memory, file = limits.memory_mib * MIB, limits.workspace_mib * MIB
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.cpu_s + 5,
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_FSIZE: file,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
    }
    match process_bound():
        case "sandbox":
            wanted[resource.RLIMIT_NPROC] = limits.processes
        case "user":
            wanted[resource.RLIMIT_NPROC] = limits.processes + process_counts.count_user_processes()
        case "ids":
            process_counts.bound_process_ids(pid, limits.processes)
    for kind, value in wanted.items():
        _, hard = resource.prlimit(pid, kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.prlimit(pid, kind, (value, value))
    with suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(_OOM_SCORE))


@cache
def process_bound() -> process_counts.ProcessBound:
    """Return how the kernel bounds a sandbox's number of processes here; "" for not at all."""
    return "groups" if "pids" in usable_controllers() else process_counts.bound_without_groups()


def describe_limits() -> str:
    """Return one line that says by what means limits are enforced here."""
    groups = usable_controllers()
    by = [f"control groups ({', '.join(groups)})"] if groups else []
    if process_bound() == "ids":
        by.append("process ids")
    processes = "processes, " if process_bound() in ("sandbox", "user") else ""
    by.append(f"resource limits ({processes}memory of each process, file size, CPU time)")
    return ", ".join([*by, "a watch four times a second"])


# --- the watch --------------------------------------------------------------------------


class WatchedSandbox:
    """A running sandbox: its first process, its folder, its limits, and the limit that it passed.

    `mounts` are the paths where it may write to memory.
    """

    def __init__(
        self,
        pid: int,
        workspace: Path,
        limits: ServerLimits,
        group: ControlGroup | None,
        mounts: tuple[str, ...],
    ) -> None:
        self.pid = pid
        self.workspace = workspace
        self.limits = limits
        self.group = group
        self.mounts = mounts
        self._exceeded_limit = ""
        self._most_free_bytes = resource_usage.free_bytes(workspace)
        self._pidfd = os.pidfd_open(pid)

    @property
    def exceeded(self) -> str:
        """The limit for which it was ended, by us or by the kernel; "" for none."""
        if not self._exceeded_limit and self.group is not None and self.group.count_oom_kills():
            self._exceeded_limit = f"{self.limits.memory_mib} MiB of memory"
        return self._exceeded_limit

    def kill_for_limit(self, limit: str) -> None:
        """Kill it for a limit that it passed."""
        self._exceeded_limit = limit
        self.kill()

    def find_exceeded_limit(self, folders: dict[tuple[Path, ServerLimits], tuple[int, int]]) -> str:
        """Return the limit that is passed, "" for none; `folders` are sizes measured already."""
        limits, group = self.limits, self.group
        bounded = group is not None and "memory" in group.folders
        # measuring so many processes would take too long
        if group is not None and group.count_processes() >= limits.processes:
            return f"{limits.processes} processes and threads"
        now = resource_usage.measure_processes(self.pid, limits.processes, memory=not bounded)
        if now.processes >= limits.processes:
            return f"{limits.processes} processes and threads"
        brief_bytes, brief_files = resource_usage.tmpfs_usage(self.pid, self.mounts)
        if not bounded and self._exceeds_memory(now, brief_bytes):
            return f"{limits.memory_mib} MiB of memory"
        if now.cpu_s > limits.cpu_s:
            return f"{limits.cpu_s} s of CPU time"
        if brief_files > limits.files:
            return f"{limits.files} files in memory"
        n_bytes, n_files = self._workspace_size(now.pids, folders)
        if n_bytes >= limits.workspace_mib * MIB:
            return f"{limits.workspace_mib} MiB in its workspace"
        return f"{limits.files} files in its workspace" if n_files > limits.files else ""

    def _exceeds_memory(self, now: resource_usage.ProcessUsage, brief_bytes: int) -> bool:
        limit_bytes = self.limits.memory_mib * MIB - brief_bytes
        return (
            now.memory_bytes > limit_bytes
            and resource_usage.proportional_memory_bytes(now.pids) > limit_bytes
        )

    def _workspace_size(
        self,
        pids: tuple[int, ...],
        folders: dict[tuple[Path, ServerLimits], tuple[int, int]],
    ) -> tuple[int, int]:
        """Return bytes and files of the workspace, with deleted files that are still open.

        Deleted files are searched for only where the file system's free space has shrunk by more
        than half the workspace limit.
        """
        limits, key = self.limits, (self.workspace, self.limits)
        most_bytes = limits.workspace_mib * MIB
        if key not in folders:
            folders[key] = resource_usage.folder_size(
                self.workspace, most_bytes=most_bytes, most_files=limits.files
            )
        n_bytes, n_files = folders[key]
        free_bytes = resource_usage.free_bytes(self.workspace)
        self._most_free_bytes = max(self._most_free_bytes, free_bytes)
        if self._most_free_bytes - free_bytes > most_bytes // 2:
            with suppress(OSError):
                n_bytes += resource_usage.unnamed_files_bytes(pids, self.workspace.stat().st_dev)
        return n_bytes, n_files

    def kill(self) -> None:
        """Kill all that runs in the sandbox: nothing in it outlives its first process."""
        with suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Record the limit that was passed, and kill what is left."""
        self._exceeded_limit = self.exceeded
        self.kill()
        os.close(self._pidfd)


class SandboxWatch:
    """The thread that measures all sandboxes of this process; it ends when there is none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sandboxes: list[WatchedSandbox] = []
        self._groups: list[ControlGroup] = []
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()

    def add(self, sandbox: WatchedSandbox) -> None:
        """Start to watch a sandbox."""
        with self._lock:
            self._sandboxes.append(sandbox)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch_until_stopped, name="sandboxes", daemon=True
                )
                self._thread.start()

    def remove(self, sandbox: WatchedSandbox) -> None:
        """Stop watching a sandbox and kill what is left of it.

        Its groups are removed when they are empty.
        """
        with self._lock:
            self._sandboxes.remove(sandbox)
            sandbox.close()
            if sandbox.group is not None and not sandbox.group.remove():
                self._groups.append(sandbox.group)
            if not self._sandboxes:
                self._wake.set()

    def _watch_until_stopped(self) -> None:
        while True:
            self._wake.wait(TICK_S)
            self._wake.clear()
            with self._lock:
                self._groups = [each for each in self._groups if not each.remove()]
                if not self._sandboxes and not self._groups:
                    self._thread = None
                    return
                sandboxes = list(self._sandboxes)
            folders: dict[tuple[Path, ServerLimits], tuple[int, int]] = {}
            for sandbox in sandboxes:
                self.enforce_limits(sandbox, folders)

    def enforce_limits(
        self, sandbox: WatchedSandbox, folders: dict[tuple[Path, ServerLimits], tuple[int, int]]
    ) -> None:
        """Measure a sandbox now, and kill it where it is over a limit."""
        exceeded = sandbox.exceeded or sandbox.find_exceeded_limit(folders)
        with self._lock:
            if exceeded and sandbox in self._sandboxes:
                sandbox.kill_for_limit(exceeded)

    def remove_groups(self) -> None:
        """Remove the groups of killed sandboxes. Wait up to 1 s for their processes to end."""
        for _ in range(100):
            self._groups = [each for each in self._groups if not each.remove()]
            if not self._groups:
                break
            time.sleep(0.01)


SANDBOX_WATCH = SandboxWatch()
atexit.register(SANDBOX_WATCH.remove_groups)

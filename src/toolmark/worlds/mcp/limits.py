"""What a sandboxed server may use: processes, memory, files, time; kept by the kernel, and watched.

The kernel bounds what it can: control groups where they may be made, else resource limits; the
latter do not bind root's number of processes, so that root's are bounded by the ids that their
namespace has. One thread measures every sandbox four times a second and kills the one that is over:
so whatever goes beyond a limit ends a server, and nothing else.
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

from toolmark.types import Record
from toolmark.worlds.mcp import counts, usage

MIB = 2**20
TICK_S = 0.25
_OOM = 500  # of 1,000: such processes go first when memory is short
_OPEN_FILES = 4096
_GROUPS = Path("/sys/fs/cgroup")
_GROUP = "toolmark"

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31)]


class ServerLimits(Record, frozen=True, kw_only=True):
    """Of one server, with all that it starts. Threads count as processes.

    `workspace_mib` is what all files of the episode's folder may have together, and each one alone.
    """

    processes: Positive = 512
    memory_mib: Positive = 2048
    workspace_mib: Positive = 512
    files: Positive = 20_000
    cpu_s: Positive = 600


# --- what the kernel bounds -------------------------------------------------------------


class Group:
    """Control groups of one sandbox: of both versions the number of processes, and memory."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self.folders = folders

    def processes(self) -> int:
        """Return how many processes and threads there are, 0 where that is not bounded."""
        with suppress(KeyError, OSError, ValueError):
            return int((self.folders["pids"] / "pids.current").read_text())
        return 0

    def kills(self) -> int:
        """Return how many processes died for want of memory."""
        for name in ("memory.events", "memory.oom_control"):
            for folder in set(self.folders.values()):
                with suppress(OSError, ValueError):
                    lines = (folder / name).read_text().splitlines()
                    return int(dict(line.split() for line in lines)["oom_kill"])
        return 0

    def add(self, pid: int) -> None:
        """Take a process in, with all that it will start. Raises OSError."""
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def remove(self) -> bool:
        """Remove the groups; False where a process is still in one."""
        for folder in set(self.folders.values()):
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True


def parents(
    own: str = "", root: Path = _GROUPS, *, controllers: tuple[str, ...] = ("pids", "memory")
) -> dict[str, Path]:
    """Return the folders in which groups can be made, by controller; none where they cannot be.

    `own` is the text of /proc/self/cgroup. In version 2 a group that holds processes has none
    below it that are bounded, so that beside our own one is tried first.
    """
    lines = (own or _own()).splitlines()
    places = {words: path for _, words, path in (line.split(":", 2) for line in lines)}
    found: dict[str, Path] = {}
    for name in controllers:
        first = next((path for words, path in places.items() if name in words.split(",")), None)
        at = None if first is None else root / name / first.lstrip("/")
        if at is not None and os.access(at, os.W_OK):
            found[name] = at
    if found or "" not in places:
        return found
    here = root / places[""].lstrip("/")
    for at in (here.parent, here) if here != root else (here,):
        with suppress(OSError):
            given = (at / "cgroup.subtree_control").read_text().split()
            writable = os.access(at, os.W_OK) and os.access(at / "cgroup.procs", os.W_OK)
            if writable and set(controllers) <= set(given):
                return dict.fromkeys(controllers, at)
    return {}


def _own() -> str:
    try:
        return Path("/proc/self/cgroup").read_text()
    except OSError:
        return ""


@cache
def usable() -> tuple[str, ...]:
    """Return the controllers that a group could be made with: tried once.

    What processes that were killed have left there is removed.
    """
    for parent in set(parents().values()):
        for left in parent.glob(f"{_GROUP}-*"):
            if not Path("/proc", left.name.split("-")[1]).exists():
                with suppress(OSError):  # not empty: of another namespace
                    left.rmdir()
    made = group(ServerLimits())
    if made is None:
        return ()
    made.remove()
    return tuple(made.folders)


def group(limits: ServerLimits) -> Group | None:
    """Make groups with these limits; None where the system does not let us."""
    name = f"{_GROUP}-{os.getpid()}-{secrets.token_hex(4)}"
    made = Group({})
    memory = limits.memory_mib * MIB
    try:
        for controller, parent in parents().items():
            folder = parent / name
            folder.mkdir(exist_ok=True)
            made.folders[controller] = folder
            if controller == "pids":
                (folder / "pids.max").write_text(str(limits.processes))
            else:
                _bound_memory(folder, memory)
    except OSError:
        made.remove()
        return None
    return made if made.folders else None


def _bound_memory(folder: Path, memory: int) -> None:
    if not (folder / "memory.max").exists():
        (folder / "memory.limit_in_bytes").write_text(str(memory))
        return
    (folder / "memory.max").write_text(str(memory))
    with suppress(OSError):  # there is no swap
        (folder / "memory.swap.max").write_text("0")
    with suppress(OSError):
        (folder / "memory.oom.group").write_text("1")


def bound(pid: int, limits: ServerLimits) -> None:
    """Set the resource limits of a process that has started nothing yet. Raises OSError."""
    memory, file = limits.memory_mib * MIB, limits.workspace_mib * MIB
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.cpu_s + 5,
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_FSIZE: file,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
    }
    match counted():
        case "sandbox":
            wanted[resource.RLIMIT_NPROC] = limits.processes
        case "user":
            wanted[resource.RLIMIT_NPROC] = limits.processes + counts.own()
        case "ids":
            counts.bound_ids(pid, limits.processes)
    for kind, value in wanted.items():
        _, hard = resource.prlimit(pid, kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.prlimit(pid, kind, (value, value))
    with suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(_OOM))


@cache
def counted() -> counts.By:
    """Tell by what the kernel bounds the number of a sandbox's processes here; "" for nothing."""
    return "groups" if "pids" in usable() else counts.without_groups()


def described() -> str:
    """Say by what means the limits are kept here, in a line."""
    groups = usable()
    by = [f"control groups ({', '.join(groups)})"] if groups else []
    if counted() == "ids":
        by.append("process ids")
    processes = "processes, " if counted() in ("sandbox", "user") else ""
    by.append(f"resource limits ({processes}memory of each process, file size, CPU time)")
    return ", ".join([*by, "a watch four times a second"])


# --- the watch --------------------------------------------------------------------------


class Watched:
    """A running sandbox: the first process in it, its folder, its limits, and what it broke.

    `mounts` are the paths where it may write to memory.
    """

    def __init__(
        self,
        pid: int,
        workspace: Path,
        limits: ServerLimits,
        group: Group | None,
        mounts: tuple[str, ...],
    ) -> None:
        self.pid = pid
        self.workspace = workspace
        self.limits = limits
        self.group = group
        self.mounts = mounts
        self._over = ""
        self._free = usage.free(workspace)
        self._handle = os.pidfd_open(pid)

    @property
    def exceeded(self) -> str:
        """The limit for which it was ended, "" if it was for none; the kernel may have done it."""
        if not self._over and self.group is not None and self.group.kills():
            self._over = f"{self.limits.memory_mib} MiB of memory"
        return self._over

    def end(self, over: str) -> None:
        """Kill it for a limit that it passed."""
        self._over = over
        self.kill()

    def measure(self, folders: dict[tuple[Path, ServerLimits], tuple[int, int]]) -> str:
        """Return the limit that is passed, "" for none; `folders` are those measured already."""
        limits, group = self.limits, self.group
        bounded = group is not None and "memory" in group.folders
        # so many that to go through them would take long
        if group is not None and group.processes() >= limits.processes:
            return f"{limits.processes} processes and threads"
        now = usage.used(self.pid, limits.processes, memory=not bounded)
        if now.processes >= limits.processes:
            return f"{limits.processes} processes and threads"
        brief_bytes, brief_files = usage.brief(self.pid, self.mounts)
        if not bounded and self._fills(now, brief_bytes):
            return f"{limits.memory_mib} MiB of memory"
        if now.cpu_s > limits.cpu_s:
            return f"{limits.cpu_s} s of CPU time"
        if brief_files > limits.files:
            return f"{limits.files} files in memory"
        n_bytes, n_files = self._size(now.pids, folders)
        if n_bytes >= limits.workspace_mib * MIB:
            return f"{limits.workspace_mib} MiB in its workspace"
        return f"{limits.files} files in its workspace" if n_files > limits.files else ""

    def _fills(self, now: usage.Used, brief_bytes: int) -> bool:
        most = self.limits.memory_mib * MIB - brief_bytes
        return now.memory_bytes > most and usage.apportioned(now.pids) > most

    def _size(
        self,
        pids: tuple[int, ...],
        folders: dict[tuple[Path, ServerLimits], tuple[int, int]],
    ) -> tuple[int, int]:
        """Return bytes and files of the workspace, those without a name with it.

        These are looked for where the file system has lost half as much as the workspace may have.
        """
        limits, key = self.limits, (self.workspace, self.limits)
        most_bytes = limits.workspace_mib * MIB
        if key not in folders:
            folders[key] = usage.size(
                self.workspace, most_bytes=most_bytes, most_files=limits.files
            )
        n_bytes, n_files = folders[key]
        left = usage.free(self.workspace)
        self._free = max(self._free, left)
        if self._free - left > most_bytes // 2:
            with suppress(OSError):
                n_bytes += usage.unnamed(pids, self.workspace.stat().st_dev)
        return n_bytes, n_files

    def kill(self) -> None:
        """Kill all that runs in the sandbox: it does not outlive its first process."""
        with suppress(OSError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def close(self) -> None:
        """Kill what is left, forget it, and remove its groups as soon as they are empty."""
        self._over = self.exceeded
        self.kill()
        os.close(self._handle)


class Watch:
    """The thread that measures all sandboxes of this process; it ends when there is none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._boxes: list[Watched] = []
        self._groups: list[Group] = []
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()

    def add(self, box: Watched) -> None:
        """Begin to watch."""
        with self._lock:
            self._boxes.append(box)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sandboxes", daemon=True)
                self._thread.start()

    def drop(self, box: Watched) -> None:
        """Watch no more; what is left of it is killed."""
        with self._lock:
            self._boxes.remove(box)
            box.close()
            if box.group is not None and not box.group.remove():
                self._groups.append(box.group)
            if not self._boxes:
                self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait(TICK_S)
            self._wake.clear()
            with self._lock:
                self._groups = [each for each in self._groups if not each.remove()]
                if not self._boxes and not self._groups:
                    self._thread = None
                    return
                boxes = list(self._boxes)
            folders: dict[tuple[Path, ServerLimits], tuple[int, int]] = {}
            for box in boxes:
                self.look(box, folders)

    def look(self, box: Watched, folders: dict[tuple[Path, ServerLimits], tuple[int, int]]) -> None:
        """Measure a sandbox now, and kill it where it is over a limit."""
        over = box.exceeded or box.measure(folders)
        with self._lock:
            if over and box in self._boxes:
                box.end(over)

    def finish(self) -> None:
        """Remove the groups of what was killed: it is gone in a moment."""
        for _ in range(100):
            self._groups = [each for each in self._groups if not each.remove()]
            if not self._groups:
                break
            time.sleep(0.01)


WATCH = Watch()
atexit.register(WATCH.finish)

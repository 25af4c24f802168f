"""Servers that can write nowhere but in their workspace: bubblewrap around their processes.

Community servers open any path that they are handed, with the rights of whoever started them. Where
the `bwrap` command works they may read the file system but write to their workspace alone; they see
no other episode's workspace, no other process, none of the usual sockets of the system and, if
asked, no network; and they end with us, however that happens.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

_SEEN = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
_BRIEF = "/dev/shm"  # in memory and gone with the process; for what libraries put into TMPDIR
_ALONE = ("--unshare-pid", "--unshare-ipc", "--die-with-parent")
_PROBE_S = 20
# where services listen: a socket can be connected to on a read-only file system, too
_SOCKETS = ("/run", "/var/run", "/tmp/.X11-unix", "/tmp/.ICE-unix", "~/.docker/run")
_TOLD = ("CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "SSH_AUTH_SOCK")
_ADDRESS = re.compile(r"(?:unix:(?://|path=))?(/[^,;]+)")
# what else lies there: the names of the network, and the commands of some systems
_SPARED = ("/etc/resolv.conf", "/run/current-system")


@cache
def command() -> str:
    """Return the command that confines, "" where there is none or the system forbids it."""
    found = shutil.which("bwrap")
    if found is None:
        return ""
    try:
        tried = subprocess.run(
            [found, *_SEEN, *_deaf(), *_ALONE, "--unshare-net", "true"],
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found if tried.returncode == 0 else ""


def wrapped(argv: Sequence[str], workspace: Path, *, network: bool) -> tuple[str, ...]:
    """Return the command line confined to the workspace; as it is where that is not possible.

    The folder in which the workspace lies is taken to hold other workspaces, and is hidden.
    """
    if not command():
        return tuple(argv)
    here, beside = str(workspace), str(workspace.parent)
    # the workspace last: it may lie in any of the others
    bound = ("--tmpfs", _BRIEF, *_deaf(), "--tmpfs", beside, "--bind", here, here)
    brief = ("--setenv", "TMPDIR", _BRIEF)
    apart = () if network else ("--unshare-net",)
    return (command(), *_SEEN, *bound, *brief, *_ALONE, *apart, "--", *argv)


def _deaf(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what hides the usual sockets: of containers, of the session, of keys, of screens."""
    folders = [Path(os.path.expanduser(name)) for name in _SOCKETS]
    hidden = [path for path in folders if os.path.isdir(path) and not os.path.islink(path)]
    links = [path for name in _SPARED for path in (Path(name), Path(os.path.realpath(name)))]
    spared = [path for path in dict.fromkeys(links) if _within(path, hidden)]
    return (
        *(word for path in hidden for word in ("--tmpfs", str(path))),
        *(word for path in spared for word in ("--ro-bind-try", str(path), str(path))),
        *(word for path in _told(environ) for word in ("--ro-bind", os.devnull, str(path))),
    )


def _within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _told(environ: Mapping[str, str]) -> Iterator[Path]:
    """Go through the sockets that the environment names."""
    for name in _TOLD:
        found = _ADDRESS.match(environ.get(name, ""))
        if found and os.path.exists(found[1]) and Path(found[1]).is_socket():
            yield Path(found[1])

"""What the sandbox seems to have denied a server, from its output, and the line that allows it.

The kernel refuses without saying that the sandbox is the reason, so this is a guess: a path that
exists and cannot be seen or written to, or a network that cannot be reached.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from toolmark.environments.mcp import sandbox
from toolmark.environments.mcp.sandbox import SandboxSpec

PathEntry: TypeAlias = str | dict[str, object]
"""An entry of `paths`: a path to be read, or an object with `write`."""

_MAX_READ_CHARS = 4000
_MAX_PATHS = 8
_MODEL_CHOSE_NOTE = "the model chose this path: allow it only where a task needs it"
_NETWORK_ERROR = re.compile(
    r"\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|ENOTCACHED|[Nn]etwork is unreachable|getaddrinfo|"
    "name resolution|Name or service not known|Could not resolve|dns error|NameResolutionError|"
    "nodename nor servname|No address associated|error sending request|ECONNREFUSED|"
    "[Cc]onnection refused)"
)
_DENIED_ERROR = re.compile(
    "ENOENT|EACCES|EROFS|EPERM|No such file|no such file|not found|does not exist|"
    "Read-only file system|read-only|Permission denied|Operation not permitted|cannot open|"
    "Cannot access|not accessible|"
    "unable to open|Cannot find module",
    re.IGNORECASE,
)
_READ_ONLY_ERROR = re.compile("EROFS|Read-only file system|read-only", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w./~-])/[\w.@+=~-][\w./@+=~-]{0,400}")


def denial_advice(
    name: str, box: SandboxSpec, complaint: str, argv: Sequence[str] = (), call_arguments: str = ""
) -> str:
    """Return what to add to a server's entry for what it was denied, "" where nothing is found.

    `argv` is its command line where it did not start: the server should see the paths named there.
    `call_arguments` are the arguments of a call that failed: some servers fail without a reason.
    Paths that contain answers are never suggested.
    """
    text, arguments = complaint[-_MAX_READ_CHARS:], call_arguments[:_MAX_READ_CHARS]
    command_paths = [word for word in argv if os.path.isabs(word) and os.path.exists(word)]
    unseen: list[PathEntry] = [word for word in command_paths if not box.can_read(word)]
    paths = unseen or _denied_paths(box, text) or _unseen_paths(box, arguments)
    lines = [f'"paths": {json.dumps(paths)}'] if paths else []
    if not box.network and _NETWORK_ERROR.search(text):
        lines.append('"network": true')
    if not lines:
        return ""
    hint = f"its sandbox may be why: to allow it, add to mcpServers.{name}: {', '.join(lines)}"
    chosen = any(
        str(each["path"] if isinstance(each, dict) else each) in arguments for each in paths
    )
    return f"{hint} ({_MODEL_CHOSE_NOTE})" if chosen else hint


def describe_permissions(box: SandboxSpec) -> str:
    """Return what a server was allowed, for one that ended without a reason."""
    network = "a network" if box.network else "no network"
    return f"it ran in a sandbox with {network}, no home and no files but its own"


def _denied_paths(box: SandboxSpec, text: str) -> list[PathEntry]:
    """Return entries for the paths of a complaint that cannot be seen, or not be written to."""
    if not _DENIED_ERROR.search(text):
        return []
    reads: list[PathEntry] = []
    writes: list[PathEntry] = []
    for path in _existing_paths(box, text):
        if not box.can_read(path):
            reads.append(path)
        elif not box.can_write(path) and _READ_ONLY_ERROR.search(text):
            writes.append({"path": path, "write": True})
    return [*reads, *writes]


def _unseen_paths(box: SandboxSpec, text: str) -> list[PathEntry]:
    """Return the paths of a text that exist and cannot be seen."""
    return [
        place for place in _existing_paths(box, text) if not box.can_read(place) and place in text
    ]


def _existing_paths(box: SandboxSpec, text: str) -> Iterator[str]:
    """Yield the paths of a text that exist, or whose folders exist, each once."""
    yielded: set[str] = set()
    for found in list(_PATH.finditer(text))[:_MAX_PATHS]:
        path = found[0].rstrip(".,:;")
        place = path if os.path.exists(path) else str(Path(path).parent)
        if Path(path).is_relative_to(box.workspace) or len(Path(place).parts) < 3:
            continue
        if place not in yielded and os.path.exists(place) and not _holds_answers(place):
            yielded.add(place)
            yield place


def _holds_answers(place: str) -> bool:
    real = Path(os.path.realpath(place))
    return any(
        real.is_relative_to(key) or key.is_relative_to(real) for key in sandbox.hidden_paths()
    )

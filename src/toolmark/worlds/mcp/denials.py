"""What the sandbox seems to have denied a server, from what it says, and the line to add for it.

The kernel refuses without saying that it was the sandbox, so this is a guess: a path that is there
and cannot be seen or written to, or a network that cannot be reached.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from toolmark.worlds.mcp import sandbox
from toolmark.worlds.mcp.sandbox import Box

Wanted: TypeAlias = str | dict[str, object]
"""An entry of `paths`: to be read, or with `write`."""

_READ_CHARS = 4000
_PATHS = 8
_CHOSEN = "the model chose this path: allow it only where a task needs it"
_NETWORK = re.compile(
    r"\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|ENOTCACHED|[Nn]etwork is unreachable|getaddrinfo|"
    "name resolution|Name or service not known|Could not resolve|dns error|NameResolutionError|"
    "nodename nor servname|No address associated|error sending request|ECONNREFUSED|"
    "[Cc]onnection refused)"
)
_DENIED = re.compile(
    "ENOENT|EACCES|EROFS|EPERM|No such file|no such file|not found|does not exist|"
    "Read-only file system|read-only|Permission denied|Operation not permitted|cannot open|"
    "Cannot access|not accessible|"
    "unable to open|Cannot find module",
    re.IGNORECASE,
)
_WRITING = re.compile("EROFS|Read-only file system|read-only", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w./~-])/[\w.@+=~-][\w./@+=~-]{0,400}")


def advice(name: str, box: Box, said: str, argv: Sequence[str] = (), asked: str = "") -> str:
    """Return what to add to a server's entry for what it was denied, "" where nothing shows.

    `argv` is its command line where it did not start: what that names should be seen. `asked` are
    the arguments of a call that failed: some servers fail without a word of why. What holds answers
    is never among it.
    """
    text, given = said[-_READ_CHARS:], asked[:_READ_CHARS]
    named = [word for word in argv if os.path.isabs(word) and os.path.exists(word)]
    unseen: list[Wanted] = [word for word in named if not box.shows(word)]
    paths = unseen or _refused(box, text) or _hidden(box, given)
    lines = [f'"paths": {json.dumps(paths)}'] if paths else []
    if not box.network and _NETWORK.search(text):
        lines.append('"network": true')
    if not lines:
        return ""
    hint = f"its sandbox may be why: to allow it, add to mcpServers.{name}: {', '.join(lines)}"
    chosen = any(str(each["path"] if isinstance(each, dict) else each) in given for each in paths)
    return f"{hint} ({_CHOSEN})" if chosen else hint


def declared(box: Box) -> str:
    """Say what a server was let, for one that ended without a word of why."""
    network = "a network" if box.network else "no network"
    return f"it ran in a sandbox with {network}, no home and no files but its own"


def _refused(box: Box, text: str) -> list[Wanted]:
    """Return entries for the paths of a complaint that are not seen, or not to be written to."""
    if not _DENIED.search(text):
        return []
    reads: list[Wanted] = []
    writes: list[Wanted] = []
    for place in _places(box, text):
        if not box.shows(place):
            reads.append(place)
        elif not box.writes(place) and _WRITING.search(text):
            writes.append({"path": place, "write": True})
    return [*reads, *writes]


def _hidden(box: Box, text: str) -> list[Wanted]:
    """Return the paths of a text that are there and are not seen."""
    return [place for place in _places(box, text) if not box.shows(place) and place in text]


def _places(box: Box, text: str) -> Iterator[str]:
    """Go through the paths of a text that are there, or whose folders are, each once."""
    met: set[str] = set()
    for found in list(_PATH.finditer(text))[:_PATHS]:
        path = found[0].rstrip(".,:;")
        place = path if os.path.exists(path) else str(Path(path).parent)
        if Path(path).is_relative_to(box.workspace) or len(Path(place).parts) < 3:
            continue
        if place not in met and os.path.exists(place) and not _holds_answers(place):
            met.add(place)
            yield place


def _holds_answers(place: str) -> bool:
    real = Path(os.path.realpath(place))
    return any(real.is_relative_to(key) or key.is_relative_to(real) for key in sandbox.hidden())

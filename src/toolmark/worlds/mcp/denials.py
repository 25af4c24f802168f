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

from toolmark.worlds.mcp.sandbox import Box

_READ_CHARS = 4000
_PATHS = 8
_NETWORK = re.compile(
    r"\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|ENOTCACHED|[Nn]etwork is unreachable|getaddrinfo|"
    "name resolution|Name or service not known|Could not resolve|dns error|NameResolutionError|"
    "nodename nor servname|No address associated|error sending request)"
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


def advice(name: str, box: Box, said: str, argv: Sequence[str] = ()) -> str:
    """Return what to add to a server's entry for what it was denied, "" where nothing shows.

    `argv` is its command line where it did not start: what that names should be seen.
    """
    text = said[-_READ_CHARS:]
    named = [word for word in argv if os.path.isabs(word) and os.path.exists(word)]
    unseen = [word for word in named if not box.shows(word)]
    lines = [f'"paths": {json.dumps(unseen)}'] if unseen else list(_wanted(box, text))
    if not box.network and _NETWORK.search(text):
        lines.append('"network": true')
    if not lines:
        return ""
    told = ", ".join(dict.fromkeys(lines))
    return f"its sandbox may be why: to allow it, add to mcpServers.{name}: {told}"


def declared(box: Box) -> str:
    """Say what a server was let, for one that ended without a word of why."""
    network = "a network" if box.network else "no network"
    return f"it ran in a sandbox with {network}, no home and no files but its own"


def _wanted(box: Box, text: str) -> Iterator[str]:
    """Go through the entries for paths that exist and are not seen, or not to be written to."""
    if not _DENIED.search(text):
        return
    reads: list[str] = []
    writes: list[dict[str, object]] = []
    for found in list(_PATH.finditer(text))[:_PATHS]:
        path = found[0].rstrip(".,:;")
        place = path if os.path.exists(path) else str(Path(path).parent)
        if Path(path).is_relative_to(box.workspace) or len(Path(place).parts) < 3:
            continue
        if not os.path.exists(place):
            continue
        if not box.shows(place) and place not in reads:
            reads.append(place)
        elif box.shows(place) and not box.writes(place) and _WRITING.search(text):
            writes.append({"path": place, "write": True})
    if reads or writes:
        yield f'"paths": {json.dumps([*reads, *writes])}'

"""The servers of `m3-local`: published ones that need no key and no network, each pinned.

A standard `mcpServers` configuration. Every server that reads or writes files has a process of its
own in each episode, with the workspace as its folder, so relative paths mean the same in every
episode and a trajectory can be compared and replayed. docs/m3-servers.md tells what is odd about
each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolmark import fetch as store
from toolmark.errors import DataError
from toolmark.worlds.mcp import environment

REPOSITORY = "repo"  # the git server sees this one alone, and ends at once where it is not there
DATABASE = "data.db"
GRAPH = "memory.jsonl"  # what the memory server remembers, one JSON object per line

# nothing listens there: a tool that is handed an address of the internet fails at once
_NOWHERE = "http://127.0.0.1:9"
_OFFLINE = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _NOWHERE)
# one author and one moment, whatever the machine: equal commits have equal hashes
SAME = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Robin Example" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "robin@example.org" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "1767603600 +0000" for who in ("AUTHOR", "COMMITTER")},
}

# the first start compiles what it imports; two cores may serve eight servers at once
_PATIENT: dict[str, Any] = {"start_timeout_s": 90.0, "confined": True, "network": False}

CONFIG: dict[str, Any] = {
    "mcpServers": {
        "barcode": {"python": "barcode", "env": _OFFLINE, **_PATIENT},
        "calculator": {"python": "calculator", "stateful": False, **_PATIENT},
        "excel": {
            "python": "excel",
            "args": ["stdio", "--allow-dir", "${workspace}"],
            **_PATIENT,
        },
        "filesystem": {"npm": "filesystem", "args": ["${workspace}"], **_PATIENT},
        "git": {
            "python": "git",
            "args": ["--repository", f"${{workspace}}/{REPOSITORY}"],
            "env": SAME,
            **_PATIENT,
        },
        "image": {"python": "image", **_PATIENT},
        "memory": {
            "npm": "memory",
            "env": {"MEMORY_FILE_PATH": f"${{workspace}}/{GRAPH}"},
            "serial": True,  # each call reads and rewrites the whole file
            **_PATIENT,
        },
        "ocr": {"python": "ocr", "env": _OFFLINE, "call_timeout_s": 120.0, **_PATIENT},
        # presentations live in its memory until they are saved
        "powerpoint": {"python": "powerpoint", "restart": False, **_PATIENT},
        "sqlite": {
            "python": "sqlite",
            "args": ["--db-path", f"${{workspace}}/{DATABASE}"],
            **_PATIENT,
        },
        "time": {
            "python": "time",
            "args": ["--local-timezone", "UTC"],
            "stateful": False,
            **_PATIENT,
        },
    }
}


SIZE = "all of them take about 1.1 GB and a minute or two"


def fetch(tell: Callable[[str], None] = lambda line: None) -> str:
    """Install every server that can be; say where they are and what the system still lacks.

    What could be installed stays; `tell` is called with a line before, and one for each. Raises
    DataError with the reason for each server that could not.
    """
    known = environment.pins()
    notes = [absent for one in known.values() if (absent := environment.lacking(one))]
    new = [name for name, one in known.items() if not environment.made(one)]
    if new:
        tell(f"{len(new)} of {len(known)} servers are to be installed in {store.cache()}; {SIZE}")
        for note in notes:
            tell(note)
    failed = environment.make_all(new, tell=tell)
    if failed:
        done = ", ".join(name for name in known if name not in failed) or "none"
        why = "\n".join(f"  {text}" for text in failed.values())
        raise DataError(f"servers that could not be installed (ready: {done}):\n{why}")
    return "\n".join([f"{store.cache() / 'servers'}  {len(known)} servers", *notes])

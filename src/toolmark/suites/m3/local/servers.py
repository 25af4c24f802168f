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
from toolmark.worlds.mcp import environment, sandbox

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

# what the repository's own settings could make git run; the last word on each is had here
_TAME = {
    "core.askPass": "true",
    "core.attributesFile": "/dev/null",
    "core.editor": "true",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.sshCommand": "false",
    "commit.gpgSign": "false",
    "gpg.program": "false",
    "interactive.diffFilter": "cat",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "sequence.editor": "true",
    "submodule.recurse": "false",
    "tag.gpgSign": "false",
}
_REPOSITORY = f"${{workspace}}/{REPOSITORY}"
# git reads the settings of whichever repository it is sent to, or goes to as to a submodule: of one
# that a model made inside of the task's own, say. What git starts is looked for at GIT_EXEC_PATH
# first, and so comes here too
_ONLY = f"""#!/bin/sh
if [ "${{GIT_DIR:=$TASK_REPOSITORY/.git}}" != "$TASK_REPOSITORY/.git" ]; then
    echo "fatal: not the repository {REPOSITORY}" >&2
    exit 128
fi
export GIT_DIR
PATH=${{PATH#*:}} exec git "$@"
"""
GIT = {
    "TASK_REPOSITORY": _REPOSITORY,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_EXEC_PATH": sandbox.SCRIPTS,
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": str(len(_TAME)),
    **{f"GIT_CONFIG_KEY_{place}": name for place, name in enumerate(_TAME)},
    **{f"GIT_CONFIG_VALUE_{place}": value for place, value in enumerate(_TAME.values())},
}

# the first start compiles what it imports; two cores may serve eight servers at once
_PATIENT: dict[str, Any] = {"start_timeout_s": 90.0}
# what git runs is written in there
_FILES: dict[str, Any] = {**_PATIENT, "read_only": [f"{REPOSITORY}/.git"]}

CONFIG: dict[str, Any] = {
    "mcpServers": {
        "barcode": {"python": "barcode", "env": _OFFLINE, **_FILES},
        "calculator": {"python": "calculator", "stateful": False, **_FILES},
        "excel": {
            "python": "excel",
            "args": ["stdio", "--allow-dir", "${workspace}"],
            **_FILES,
        },
        "filesystem": {"npm": "filesystem", "args": ["${workspace}"], **_FILES},
        "git": {
            "python": "git",
            "args": ["--repository", f"${{workspace}}/{REPOSITORY}"],
            "env": {**SAME, **GIT},
            "scripts": {"git": _ONLY},
            "read_only": [f"{REPOSITORY}/.git/{name}" for name in ("config", "hooks", "info")],
            **_PATIENT,
        },
        "image": {"python": "image", **_FILES},
        "memory": {
            "npm": "memory",
            "env": {"MEMORY_FILE_PATH": f"${{workspace}}/{GRAPH}"},
            "serial": True,  # each call reads and rewrites the whole file
            **_FILES,
        },
        "ocr": {"python": "ocr", "env": _OFFLINE, "call_timeout_s": 120.0, **_FILES},
        # presentations live in its memory until they are saved
        "powerpoint": {"python": "powerpoint", "restart": False, **_FILES},
        "sqlite": {
            "python": "sqlite",
            "args": ["--db-path", f"${{workspace}}/{DATABASE}"],
            **_FILES,
        },
        "time": {
            "python": "time",
            "args": ["--local-timezone", "UTC"],
            "stateful": False,
            **_FILES,
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

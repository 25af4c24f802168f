"""The servers of `m3-local`: published and pinned servers without keys or network.

This is a standard `mcpServers` configuration. Every server that reads or writes files has its own
process in each episode, with the workspace as its folder. So relative paths have the same meaning
in every episode, and a trajectory can be compared and replayed. docs/reference/pinned-servers.md
lists the peculiarities of each server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolmark.core import files
from toolmark.core.errors import DataError
from toolmark.environments.mcp import sandbox, server_packages

# The git server sees only this folder, and exits at once if it is missing.
REPOSITORY_FOLDER = "repo"
DATABASE_FILE = "data.db"
# The memory server's data, one JSON object per line.
GRAPH_FILE = "memory.jsonl"

# No process listens there: a tool that gets an internet address fails at once.
_DEAD_PROXY = "http://127.0.0.1:9"
_OFFLINE_PROXIES = dict.fromkeys(
    ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _DEAD_PROXY
)
# One author and one date on every machine, so that equal commits have equal hashes.
GIT_IDENTITY = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Robin Example" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "robin@example.org" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "1767603600 +0000" for who in ("AUTHOR", "COMMITTER")},
}

# The repository's own settings could make git run programs; these settings override them.
_SAFE_GIT_SETTINGS = {
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
_REPOSITORY_PATH = f"${{workspace}}/{REPOSITORY_FOLDER}"
# Git reads the settings of any repository that it is pointed to, or enters as a submodule, for
# example one that a model made inside the task's repository. The wrapper refuses all others. Git
# looks for its helper programs at GIT_EXEC_PATH first, so they run through the wrapper too.
_GIT_WRAPPER = f"""#!/bin/sh
if [ "${{GIT_DIR:=$TASK_REPOSITORY/.git}}" != "$TASK_REPOSITORY/.git" ]; then
    echo "fatal: not the repository {REPOSITORY_FOLDER}" >&2
    exit 128
fi
export GIT_DIR
PATH=${{PATH#*:}} exec git "$@"
"""
GIT_ENVIRONMENT = {
    "TASK_REPOSITORY": _REPOSITORY_PATH,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_EXEC_PATH": sandbox.SCRIPTS_FOLDER,
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": str(len(_SAFE_GIT_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{place}": name for place, name in enumerate(_SAFE_GIT_SETTINGS)},
    **{
        f"GIT_CONFIG_VALUE_{place}": value
        for place, value in enumerate(_SAFE_GIT_SETTINGS.values())
    },
}

# The first start compiles imported modules, and two cores may run eight servers at once.
_SLOW_START: dict[str, Any] = {"start_timeout_s": 90.0}
# The programs that git runs are configured in that folder.
_FILE_SERVER: dict[str, Any] = {**_SLOW_START, "read_only": [f"{REPOSITORY_FOLDER}/.git"]}

SERVER_CONFIG: dict[str, Any] = {
    "mcpServers": {
        "barcode": {"python": "barcode", "env": _OFFLINE_PROXIES, **_FILE_SERVER},
        "calculator": {"python": "calculator", "stateful": False, **_FILE_SERVER},
        "excel": {
            "python": "excel",
            "args": ["stdio", "--allow-dir", "${workspace}"],
            **_FILE_SERVER,
        },
        "filesystem": {"npm": "filesystem", "args": ["${workspace}"], **_FILE_SERVER},
        "git": {
            "python": "git",
            "args": ["--repository", f"${{workspace}}/{REPOSITORY_FOLDER}"],
            "env": {**GIT_IDENTITY, **GIT_ENVIRONMENT},
            "scripts": {"git": _GIT_WRAPPER},
            "read_only": [
                f"{REPOSITORY_FOLDER}/.git/{name}" for name in ("config", "hooks", "info")
            ],
            **_SLOW_START,
        },
        "image": {"python": "image", **_FILE_SERVER},
        "memory": {
            "npm": "memory",
            "env": {"MEMORY_FILE_PATH": f"${{workspace}}/{GRAPH_FILE}"},
            # Each call reads and rewrites the whole file.
            "concurrency": 1,
            **_FILE_SERVER,
        },
        "ocr": {"python": "ocr", "env": _OFFLINE_PROXIES, "call_timeout_s": 120.0, **_FILE_SERVER},
        # Presentations exist in the server's memory until they are saved.
        "powerpoint": {"python": "powerpoint", "restart": False, **_FILE_SERVER},
        "sqlite": {
            "python": "sqlite",
            "args": ["--db-path", f"${{workspace}}/{DATABASE_FILE}"],
            **_FILE_SERVER,
        },
        "time": {
            "python": "time",
            "args": ["--local-timezone", "UTC"],
            "stateful": False,
            **_FILE_SERVER,
        },
    }
}


SIZE_NOTE = "all of them take about 1.1 GB and a minute or two"


def install_servers(report: Callable[[str], None] = lambda line: None) -> str:
    """Install every server possible; return where they are and what the system still lacks.

    Servers that could be installed remain installed. `report` is called with a line before the
    installation and one for each server. Raises DataError with the reason for each server that
    failed.
    """
    known = server_packages.read_pinned_environments()
    notes = [
        missing_part
        for one in known.values()
        if (missing_part := server_packages.missing_system_packages(one))
    ]
    new = [name for name, one in known.items() if not server_packages.is_installed(one)]
    if new:
        report(
            f"{len(new)} of {len(known)} servers are to be installed in {files.cache_folder()}; "
            f"{SIZE_NOTE}"
        )
        for note in notes:
            report(note)
    failed = server_packages.install_environments(new, tell=report)
    if failed:
        ready_names = ", ".join(name for name in known if name not in failed) or "none"
        why = "\n".join(f"  {text}" for text in failed.values())
        raise DataError(f"servers that could not be installed (ready: {ready_names}):\n{why}")
    return "\n".join([f"{files.cache_folder() / 'servers'}  {len(known)} servers", *notes])

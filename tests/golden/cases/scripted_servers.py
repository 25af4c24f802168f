"""MCP servers that fail in every way: what becomes of the episodes, and what is said of it."""

from __future__ import annotations

from pathlib import Path

from tests.environments.mcp import test_run_of_faulty_servers
from tests.golden import observe
from tests.golden.normalise import Normaliser
from tests.golden.paths import Json

import toolmark as tm

MARKERS = ("servers",)


def record(folder: Path) -> dict[str, Json]:
    tidy = Normaliser(folder)
    found = tm.run(
        test_run_of_faulty_servers.faults(),
        test_run_of_faulty_servers.Caller(),
        log_dir=folder,
        max_connections=1,
        max_retries=0,
    )
    return {
        "faults": {
            "run": observe.run(found, tidy),
            "report": observe.report([found], tidy, episodes=20),
        }
    }

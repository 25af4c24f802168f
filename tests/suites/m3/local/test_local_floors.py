"""The floor of m3-local: it is played without servers, and scores as with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import toolmark as tm
from toolmark.environments.mcp import sandbox
from toolmark.runs.floors.floor_records import FLOORS_FILE, read_floors

pytestmark = [
    pytest.mark.servers,
    pytest.mark.usefixtures("installed"),
    pytest.mark.skipif(bool(sandbox.describe_missing()), reason="no bubblewrap here"),
]


def test_replying_nothing_scores_without_servers_as_with_them(tmp_path: Path) -> None:
    suite = tm.load("m3-local", instances=1, family=("clock", "ledger"), seed=1)
    run = tm.run(suite, "baseline/last-word", log_dir=tmp_path, limit=2)
    idle = read_floors(run.path)
    (run.path / FLOORS_FILE).unlink()
    with_servers = replace(suite, environment=replace(suite.environment, open_idle=None))
    tm.rescore(run, with_servers, floors="all")
    assert idle is not None and idle.floors[0].scores
    assert read_floors(run.path) == idle

"""The page on servers of one's own does what it says, word for word."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.servers.planning_endpoint import Command

pytestmark = pytest.mark.servers

PAGE = Path(__file__).parents[2] / "docs/how-to/own-servers.md"
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def test_the_page_on_own_servers_is_followed(
    toolmark: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Path(sys.executable).parent  # what the page calls `python` has the SDK
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")
    blocks = BLOCK.findall(PAGE.read_text())
    servers, tasks = [text for kind, text in blocks if kind == "json"]
    (script,) = [text for kind, text in blocks if kind == "python"]
    commands = [line for kind, text in blocks if not kind for line in text.splitlines()]
    (tmp_path / "mcp.json").write_text(servers)
    (tmp_path / "tasks.json").write_text(tasks)
    (tmp_path / "server.py").write_text(script)

    (doctor,) = [line for line in commands if " doctor " in line]
    said = toolmark(*shlex.split(doctor)[1:], "--json")
    assert said.code == 0, said.out
    (found,) = json.loads(said.out)
    assert found["status"] == "ok" and found["detail"].startswith("orders offers total")

    (oracle,) = [line for line in commands if "control/oracle" in line]
    said = toolmark(*shlex.split(oracle)[1:], "--json")
    summary = json.loads(said.out)
    assert (said.code, summary["n_run"], summary["score"]["value"]) == (0, 2, 1.0)
    said = toolmark(*shlex.split(oracle.replace("oracle", "null"))[1:], "--json")
    assert json.loads(said.out)["score"]["value"] == 0.0

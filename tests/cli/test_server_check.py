"""Servers are examined before a run: each is started, asked for its tools, and ended."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.environments.mcp.mcp_episodes import FAULT, fault
from tests.servers.planning_endpoint import Command

pytestmark = pytest.mark.servers

KEY = "sk-very-private-1234"


def examined(toolmark: Command, path: Path, **entries: dict[str, Any]) -> dict[str, dict[str, Any]]:
    path.write_text(json.dumps({"mcpServers": entries}))
    said = toolmark("doctor", "--servers", path, "--json")
    found = json.loads(said.out)
    assert said.code == int(any(check["status"] == "fail" for check in found))
    assert [check["name"] for check in found] == list(entries)
    return {check["name"]: check for check in found}


def test_each_server_is_examined_by_itself(toolmark: Command, tmp_path: Path) -> None:
    shutil.copy(FAULT, tmp_path / "server.py")
    found = examined(
        toolmark,
        tmp_path / "mcp.json",
        good=fault(),
        adjacent=fault() | {"args": ["${config_dir}/server.py"]},
        astray=fault() | {"args": ["server.py"]},
        refuses=fault("--refuse", env={"API_KEY": KEY}),
        hangs=fault("--hang", start_timeout_s=0.5),
        absent={"command": "no-such-command"},
        lacks=fault(needs=["NO_SUCH_KEY"]),
        odd=fault("--odd-tools"),
        off=fault(disabled=True),
        web={"url": "http://127.0.0.1:9/mcp"},
    )
    well = {name for name, check in found.items() if check["status"] == "ok"}
    assert well == {"good", "adjacent"}
    assert {name for name, check in found.items() if check["status"] == "warn"} == {"odd", "off"}
    assert found["good"]["detail"].startswith("fault 1 offers echo, ")
    for name, words in (
        ("astray", "write ${config_dir}/server.py"),
        ("refuses", "no licence found"),
        ("hangs", "did not start within 0.5 s"),
        ("absent", "no such command: no-such-command"),
        ("lacks", "NO_SUCH_KEY"),
        ("odd", "'no_schema' is left out"),
        ("off", "disabled"),
        ("web", "did not start"),
    ):
        assert words in found[name]["detail"]
        assert found[name]["next_step"]
    assert KEY not in str(found)


def test_the_step_of_a_server_that_does_not_start_can_be_pasted(
    toolmark: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, empty = tmp_path / "a place", tmp_path / "empty"
    home.mkdir()
    empty.mkdir()
    (home / "server.py").write_text(
        "import os, sys; print([os.environ['WORD'], *sys.argv[1:]], end=''); sys.exit(3)"
    )
    monkeypatch.setenv("WORD", KEY)
    args = ["${config_dir}/server.py", "a b", "it's", "${WORD}", "x${NONE:-a \"b\" $c}y",
            "${workspace}/z", ""]  # fmt: skip
    entry = {"command": "python3", "args": args, "needs": ["WORD"]}
    found = examined(toolmark, home / "mcp.json", s=entry)["s"]
    begin, _, pasted = found["next_step"].partition(": ")
    assert begin == "start it by hand in an empty folder" and KEY not in pasted
    ran = subprocess.run(["sh", "-c", pasted], cwd=empty, capture_output=True, text=True)
    wanted = [KEY, "a b", "it's", KEY, 'xa "b" $cy', f"{empty}/z", ""]
    assert (ran.returncode, ran.stdout) == (3, str(wanted))


def test_what_a_server_prints_is_shown(toolmark: Command, tmp_path: Path) -> None:
    found = examined(toolmark, tmp_path / "mcp.json", noisy=fault("--junk"))
    assert "stdout: " in found["noisy"]["detail"]


def test_someone_is_to_be_examined(toolmark: Command, tmp_path: Path) -> None:
    said = toolmark("doctor")
    assert said.code == 2 and "--servers mcp.json" in said.err
    assert toolmark("doctor", "--servers", tmp_path / "none.json").code == 2

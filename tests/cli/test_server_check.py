"""Servers are examined before a run: each is started, asked for its tools, and ended."""

from __future__ import annotations

import json
import re
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


SERVER = """
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

app = MCPServer("box")

@app.tool(annotations=ToolAnnotations(destructiveHint=True))
def delete_box(name: str) -> str:
    "Delete a box."
    return name

@app.tool(annotations=ToolAnnotations(readOnlyHint=True))
def find_box(name: str) -> str:
    "%s"
    return name

app.run()
"""


def test_what_a_server_costs_and_may_destroy_is_said_of_what_it_offers(
    toolmark: Command, tmp_path: Path
) -> None:
    entries = {}
    for name, text in (("short", "Find a box."), ("long", "Find a box. " * 400)):
        (tmp_path / f"{name}.py").write_text(SERVER % text)
        entries[name] = fault() | {"args": [f"${{config_dir}}/{name}.py"]}
    entries["safe"] = entries["short"] | {"not_tools": ["delete_*"]}
    found = examined(toolmark, tmp_path / "mcp.json", **entries)
    said = {name: check["detail"].split("\n")[0] for name, check in found.items()}
    n_tokens = {}
    for name, text in said.items():
        count = re.search(r"about ([\d\s]+) tokens", text)
        assert count is not None, text
        n_tokens[name] = int("".join(count[1].split()))
    assert "offers delete_box, find_box; 2 tools, about " in said["short"]
    assert "; started in " in said["short"]
    assert said["short"].endswith("says that it can destroy something: delete_box")
    assert "1 tool, about " in said["safe"] and "destroy" not in said["safe"]
    assert n_tokens["safe"] < n_tokens["short"]
    assert n_tokens["long"] - n_tokens["short"] == pytest.approx(399 * 12 / 4, abs=1)

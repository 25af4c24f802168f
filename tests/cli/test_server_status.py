"""What servers lack is said before the first question, what happened to them after the last."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest
from tests.environments.mcp.mcp_episodes import fault
from tests.servers.planning_endpoint import Command, Mind

from toolmark.runs.run_store import Run

pytestmark = pytest.mark.servers


@pytest.fixture
def words(mind: Mind, toolmark: Command) -> list[str]:
    """Return a run of two tasks on two servers: one odd, the other without its key."""
    tasks = [
        {"id": id, "question": "Where?",
         "steps": [{"step": 1, "calls": [{"name": f"{server}/echo", "arguments": {}}]}]}
        for id, server in (("00010000", "odd"), ("00020000", "maps"))
    ]  # fmt: skip
    Path("truths.json").write_text(json.dumps(tasks))
    servers = {"odd": fault("--odd-tools"), "maps": fault(needs=["NO_SUCH_KEY"])}
    Path("mcp.json").write_text(json.dumps({"mcpServers": servers}))
    mind.body = {"choices": [{"message": {"role": "assistant", "content": "hm"}}]}
    return ["run", "m3", "-m", mind.model, "-T", "truths=truths.json", "-T", "servers=mcp.json",
            "-T", "similarity=exact", "-T", "agent=loop"]  # fmt: skip


LACKS = "maps: not set in the environment: NO_SUCH_KEY; the task that needs it is not run: 00020000"


def test_a_dry_run_says_what_servers_lack(words: list[str], toolmark: Command) -> None:
    said = toolmark(*words, "--dry-run")
    assert said.code == 0 and LACKS in said.out
    assert "odd:" not in said.out
    assert "NO_SUCH_KEY" not in toolmark(*words, "--dry-run", "--ids", "00010000").out


def test_a_run_says_it_first_and_keeps_it_for_the_report(
    words: list[str], toolmark: Command, mind: Mind
) -> None:
    said = toolmark(*words)
    assert said.code == 3 and len(mind.asked) == 1
    about, first = said.err.strip().splitlines()[:2]
    assert about.startswith("m3: 2 of 2 references") and first.strip() == LACKS
    assert "odd: tool 'no_schema' is left out" in said.out
    (path,) = Path("runs").glob("*/")
    assert Run(path).info.missing_parts.keys() == {"maps"}
    assert Run(path).info.notes.keys() == {"data", "odd"}
    assert toolmark("report", str(path)).code == 0
    page = html.unescape((path / "report.html").read_text("utf-8").replace("<wbr>", ""))
    assert "NO_SUCH_KEY; the task that needs it" in page and "'odd/echo' is listed twice" in page


def test_what_is_there_when_a_run_is_continued_is_no_longer_missing(
    words: list[str], toolmark: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert toolmark(*words).code == 3
    monkeypatch.setenv("NO_SUCH_KEY", "now-it-is-set")
    said = toolmark(*words)
    assert "NO_SUCH_KEY" not in said.err
    (path,) = Path("runs").glob("*/")
    assert Run(path).info.missing_parts == {} and Run(path).info.notes.keys() == {"data", "odd"}

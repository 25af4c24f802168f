"""A whole run over servers that fail in every way: it ends, and each fault stays with its task."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.runs import mini
from tests.worlds.mcp.stage import fault

import toolmark as tm
from toolmark.dialects.native import Native
from toolmark.media import Media
from toolmark.runs.suite import Suite
from toolmark.types import Call, Message, Reply, Request, Task, Text, Turn
from toolmark.worlds.mcp.config import parse
from toolmark.worlds.mcp.site import Servers

LATE = {"call_timeout_s": 0.5}
# server, its entry, the call, and what becomes of the task: an answer, or why it is not run
CASES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "refuses": (fault("--refuse"), "echo", "", "did not start"),
    "hangs-at-start": (fault("--hang", start_timeout_s=0.5), "echo", "", "did not start within"),
    "hangs": (fault(**LATE), "hang", "", "none to a ping"),
    "dies": (fault(), "die", "", "about to die"),
    "lacks": (fault(needs=["NO_SUCH_KEY"]), "echo", "", "NO_SUCH_KEY"),
    "absent": ({"command": "no-such-command"}, "echo", "", "no such command"),
    "junk": (fault("--junk", "--binary"), "junk", "after the junk", ""),
    "big": (fault(), "big", "the answer has", ""),
    "errs": (fault(), "wrong", "there is no such page", ""),
    "changes": (fault(), "change", "changed", ""),
    "odd": (fault("--odd-tools"), "bad_schema", "MCP error -32602", ""),
    "shared": (fault(stateful=False), "where", "/", ""),
    "good": (fault(), "where", "/workspace", ""),
}


def ask(name: str) -> Task:
    said = Message(role="user", parts=(Text(name),))
    return Task(
        id=name, suite="faults", item=name, turns=(Turn(messages=(said,)),),
        reference={"servers": (name,)},
    )  # fmt: skip


class Caller:
    """Calls the tool of its case, and repeats what it says."""

    name = "caller"

    async def __call__(self, request: Request, /) -> Reply:
        last = request.messages[-1]
        if last.role == "tool":
            return Reply(text=last.text[:100])
        name = request.messages[0].text
        given = {"size": 50_000_000} if name == "big" else {}
        tool = f"{name}/{CASES[name][1]}"
        assert tool in [offered.name for offered in request.tools]
        return Reply(calls=(Call(name=tool, arguments=json.dumps(given), id="c"),))


def test_a_run_over_failing_servers_ends_and_says_what_happened(tmp_path: Path) -> None:
    @asynccontextmanager
    async def site(media: Media) -> AsyncIterator[Servers]:
        entries = {name: entry for name, (entry, *_) in CASES.items()}
        async with Servers(parse({"mcpServers": entries}, "x"), media) as servers:
            yield servers

    suite = Suite(
        name="faults", tasks=[ask(name) for name in CASES], scorer=mini.SCORER, site=site,
        dialects={"native": Native()},
    )  # fmt: skip
    found = tm.run(suite, Caller(), log_dir=tmp_path)
    answers = {trajectory.task: trajectory.answer for trajectory in found.trajectories()}
    reasons = {attempt.task: (attempt.stage, attempt.reason) for attempt in found.attempts()}
    for name, (_, _, answer, reason) in CASES.items():
        if reason:
            stage, why = reasons[name]
            assert stage == "world" and reason in why and name in why
        else:
            assert answers[name].startswith(answer)
    assert set(answers) | set(reasons) == set(CASES) and not set(answers) & set(reasons)

"""A whole run over servers that fail in every way: it ends, and each fault stays with its task."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.environments.mcp.mcp_episodes import fault
from tests.reports.page_reader import read_page
from tests.runs import mini

import toolmark as tm
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Call, Message, Reply, Request, Task, Text, Turn
from toolmark.environments.mcp.mcp_environment import McpServersFactory, servers_that_cannot_run
from toolmark.environments.mcp.server_config import parse_config
from toolmark.formats.native_format import NativeFormat
from toolmark.runs.runner import Progress
from toolmark.runs.suite import EnvironmentSource, Suite

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
    "frail": (fault(), "frail", "answered after all", ""),
    "crowded": (fault(), "many", "[content that cannot be shown]", ""),
    "shared": (fault(stateful=False), "where", "/", ""),
    "good": (fault(), "where", "/workspace", ""),
}


def ask(name: str) -> Task:
    said = Message(role="user", parts=(Text(name),))
    return Task(
        id=name, suite="faults", item=name, turns=(Turn(messages=(said,)),),
        data={"servers": (name,)},
    )  # fmt: skip


class Caller(Model):
    """Calls the tool of its case, and repeats what it says."""

    name = "caller"

    async def __call__(self, request: Request, /) -> Reply:
        last = request.messages[-1]
        if last.role == "tool":
            return Reply(text=last.text[:100])
        name = request.messages[0].text
        given = {
            "big": {"size": 50_000_000},
            "frail": {"marker": "/workspace/marker"},
            "crowded": {"parts": 100_000},
        }.get(name, {})
        tool = f"{name}/{CASES[name][1]}"
        assert tool in [offered.name for offered in request.tools]
        return Reply(calls=(Call(name=tool, arguments=json.dumps(given), id="c"),))


def faults() -> Suite:
    servers = parse_config(
        {"mcpServers": {name: entry for name, (entry, *_) in CASES.items()}}, "x"
    )

    @asynccontextmanager
    async def site(media: MediaStore) -> AsyncIterator[McpServersFactory]:
        async with McpServersFactory(servers, media) as opened:
            yield opened

    return Suite(
        name="faults",
        tasks=[ask(name) for name in CASES],
        scorer=mini.SCORER,
        environment=EnvironmentSource(
            open=site, missing_parts=lambda tasks: servers_that_cannot_run(servers, tasks)
        ),
        tool_formats={"native": NativeFormat()},
    )


def test_a_run_over_failing_servers_ends_and_says_what_happened(tmp_path: Path) -> None:
    seen: list[dict[str, str]] = []
    done: list[int] = []

    def watch(progress: Progress) -> None:
        seen.append(dict(progress.missing_parts))
        done.append(progress.n_run + progress.n_not_run)

    found = tm.run(faults(), Caller(), log_dir=tmp_path, watch=watch)
    answers = {trajectory.task: trajectory.answer for trajectory in found.trajectories()}
    reasons = {
        attempt.task: (attempt.failure.stage, attempt.failure.message)
        for attempt in found.attempts()
    }
    for name, (_, _, answer, reason) in CASES.items():
        if reason:
            stage, why = reasons[name]
            assert stage == "environment" and reason in why and name in why
        else:
            assert answers[name].startswith(answer)
    assert set(answers) | set(reasons) == set(CASES) and not set(answers) & set(reasons)

    # what is lacking is told before the first episode, what happened after the last
    unmet = "the task that needs it is not run"
    lacking = {
        "lacks": f"not set in the environment: NO_SUCH_KEY\n{unmet}: lacks",
        "absent": f"no such command: no-such-command\n{unmet}: absent",
    }
    assert done[0] == 0 and seen[0] == lacking == tm.open_run(found.path).info.missing_parts
    notes = tm.open_run(found.path).info.notes
    for name, reported in (
        ("refuses", "no licence found"),
        ("dies", "exited with code 9"),
        ("frail", "started again once"),
        ("odd", "'no_schema' is left out"),
        ("odd", "'odd/echo' is listed twice"),
    ):
        assert reported in str(notes[name])
    assert not notes.keys() & {"good", "shared", "errs", "lacks", "absent"}
    page = read_page(tm.write_report(found))
    for reported in ("NO_SUCH_KEY", "no_schema", "started again once"):
        assert reported in page.root.text
    assert "odd/list_schema()" in json.dumps(page.blocks)

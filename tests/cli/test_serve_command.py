"""`toolmark serve`: a task for any MCP client, over standard input and output or HTTP."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from tests.environments.mcp.mcp_episodes import ask, play, site, task
from tests.servers.planning_endpoint import Command

import toolmark
import toolmark as tm
from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.records import Call, Task, Text
from toolmark.environments.function_graph import FunctionGraphEnvironment
from toolmark.environments.mcp.mcp_environment import McpEnvironment

pytestmark = pytest.mark.servers

SIZE: dict[str, Any] = {"core": 4, "depth": 2, "connected": 2, "seed": 7}
WORDS = ("-T", "core=4", "-T", "depth=2", "-T", "connected=2", "--seed", "7")
PROGRAM = ("-m", "toolmark", "serve", "funcbench", *WORDS)
MODES = ("legacy", "auto")  # with a handshake and a session, and without


@contextmanager
def serving(*words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve over HTTP; give the address."""
    process = subprocess.Popen(
        [sys.executable, *PROGRAM, "--http", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()


def calls(played: Task) -> list[Call]:
    """Make a right call, a silently wrong one, and one of each error."""
    given = played.data["graph"]["known_values"]
    nodes = played.data["graph"]["nodes"]
    first = next(x for x in nodes if {i["source"] for i in x["inputs"]} <= given.keys())
    right = {i["parameter"]: given[i["source"]] for i in first["inputs"]}
    name = first["function"]
    wrong = dict.fromkeys(right, 5)
    faults = [{}, dict.fromkeys(right, "5"), right | {"more": 1}]
    found = [(name, inputs) for inputs in (right, wrong, *faults)]
    found.append(("nope", right))
    return [Call(name=name, arguments=json.dumps(inputs)) for name, inputs in found]


async def heard(where: Any, mode: Any, asked: list[Call]) -> tuple[list[Any], list[Any]]:
    """Ask a server through the client of the SDK: its tools, its results."""
    async with Client(where, mode=mode) as client:
        tools = [
            (tool.name, tool.description, tool.input_schema)
            for tool in (await client.list_tools()).tools
        ]
        results = [await client.call_tool(call.name, json.loads(call.arguments)) for call in asked]
    return tools, [(result.content, result.is_error) for result in results]


async def same(where: Any, mode: Any, played: Task) -> None:
    """Hold what a server says against the world in the process."""
    asked, dag = calls(played), FunctionGraphEnvironment(played)
    tools, results = await heard(where, mode, asked)
    assert tools == [(tool.name, tool.description, tool.parameters) for tool in played.tools]
    near = [await dag.call(call) for call in asked]
    for (content, is_error), result in zip(results, near, strict=True):
        assert [Text(part.text) for part in content] == list(result.parts)
        assert is_error == result.is_error
    assert [result.is_error for result in near] == [False, False, True, True, True, True]


@pytest.mark.parametrize("mode", MODES)
def test_a_task_is_served_on_standard_input_and_output(mode: str) -> None:
    second = list(tm.load("funcbench", **SIZE))[1]
    where = StdioServerParameters(command=sys.executable, args=[*PROGRAM, "--task", second.id])
    asyncio.run(same(where, mode, second))


def test_the_first_task_is_served_unless_one_is_named(tmp_path: Path) -> None:
    first = next(iter(tm.load("funcbench", **SIZE)))

    async def scene(environment: McpEnvironment) -> None:
        assert [tool.name for tool in await environment.tools()] == [
            f"f/{x.name}" for x in first.tools
        ]
        assert (await ask(environment, f"f/{first.tools[0].name}")).is_error

    source = str(Path(toolmark.__file__).parents[1])  # no part of the environment in a checkout
    entry = {"env": {"PYTHONPATH": source}, "paths": [source]}
    play({"f": {"command": sys.executable, "args": list(PROGRAM), **entry}}, tmp_path, scene)


@pytest.mark.parametrize("mode", MODES)
def test_over_http_the_address_names_the_task(mode: str) -> None:
    tasks = list(tm.load("funcbench", **SIZE, restate=True))

    async def scene(url: str) -> None:
        await same(url, mode, tasks[0])
        for played in tasks[1:3]:
            await same(f"{url}?task={quote(played.id, safe='')}", mode, played)

    with serving("-T", "restate=true") as (url, _):
        assert url.startswith("http://127.0.0.1:") and url.endswith("/mcp")
        asyncio.run(scene(url))


def test_every_session_knows_only_its_own_messages() -> None:
    played = next(iter(tm.load("funcbench", **SIZE, restate=True)))
    (right, *_) = calls(played)

    async def scene(url: str) -> None:
        first = await heard(url, "legacy", [right, right])
        assert await heard(url, "legacy", [right, right]) == first

    with serving("-T", "restate=true") as (url, _):
        asyncio.run(scene(url))


def test_a_task_that_does_not_exist_opens_no_session(tmp_path: Path) -> None:
    async def scene(url: str) -> None:
        entry = {"url": f"{url}?task=nope", "start_timeout_s": 20}
        async with site({"f": entry}, tmp_path) as servers:
            with pytest.raises(ToolEnvironmentError, match="'f' did not start"):
                async with servers.open_environment(task(), {}):
                    pass

    with serving() as (url, _):
        asyncio.run(scene(url))


def test_the_question_is_shown_next_to_the_protocol() -> None:
    first = next(iter(tm.load("funcbench", **SIZE)))
    done = subprocess.run(
        [sys.executable, *PROGRAM, "--show"], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == ""
    assert done.stderr.startswith(f"{first.id}, seed 7\n")
    assert first.turns[0].messages[-1].text in done.stderr


def test_ctrl_c_ends_the_server() -> None:
    with serving() as (_, process):
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr is not None and process.stderr.read() == ""
    process = subprocess.Popen(
        [sys.executable, *PROGRAM, "--show"], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stderr is not None and process.stderr.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) != 0
    process.communicate()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bfcl",), "no server for 'bfcl'"),
        (("funcbench", *WORDS, "--task", "funcbench-c4-d2-k2-m0-g99"), "did you mean: funcbench"),
        (("funcbench", "-T", "core=x"), "parameter core: expected"),
        (("funcbench", "-T", "core"), "expected NAME=VALUE"),
    ],
)
def test_what_cannot_be_served_is_reported(
    toolmark: Command, words: tuple[str, ...], said: str
) -> None:
    found = toolmark("serve", *words)
    assert found.code == 2
    assert said in found.err


def test_a_port_that_is_taken_is_reported(toolmark: Command) -> None:
    with serving() as (url, _):
        port = url.split(":")[2].split("/")[0]
        found = toolmark("serve", "funcbench", *WORDS, "--http", "--port", port)
    assert found.code == 2
    assert f"--port {port}: cannot listen there" in found.err

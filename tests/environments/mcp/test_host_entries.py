"""Configurations of other hosts say here what they say there, or are refused by name."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.environments.mcp.mcp_episodes import ask, fault, play, site, task

from toolmark.core.errors import DataError
from toolmark.core.records import Result, Text
from toolmark.environments.mcp import host_entries, result_content
from toolmark.environments.mcp.mcp_environment import McpEnvironment
from toolmark.environments.mcp.server_config import ServerConfig, parse_config, read_config

CLAUDE = """{"mcpServers": {
  "git": {"command": "git-server", "args": ["--read"], "env": {"HOME": "/x"},
          "alwaysAllow": ["log"]},
  "maps": {"type": "http", "url": "https://maps.example/mcp",
           "headers": {"Authorization": "Bearer ${MAPS}"}}
}}"""
CURSOR = """{"mcpServers": {
  "git": {"command": "git-server", "args": ["--read"], "env": {"HOME": "/x"}},
  "maps": {"url": "https://maps.example/mcp", "headers": {"Authorization": "Bearer ${env:MAPS}"}}
}}"""
VS_CODE = """{
  // the servers of this folder
  "inputs": [],
  "servers": {
    "git": {"type": "stdio", "command": "git-server", "args": ["--read"], "env": {"HOME": "/x"}},
    "maps": {
      "type": "http",
      "url": "https://maps.example/mcp", /* of the office */
      "headers": {"Authorization": "Bearer ${env:MAPS}"},
    },
  },
}"""
CODEX = """
model = "any"

[mcp_servers.git]
command = "git-server"
args = ["--read"]
startup_timeout_sec = 30
[mcp_servers.git.env]
HOME = "/x"
[mcp_servers.git.tools.log]
approval_mode = "approve"

[mcp_servers.maps]
url = "https://maps.example/mcp"
bearer_token_env_var = "MAPS"
enabled = true
"""
GEMINI = """{"theme": "dark", "mcpServers": {
  "git": {"command": "git-server", "args": ["--read"], "env": {"HOME": "/x"}, "timeout": 60000,
          "trust": true},
  "maps": {"httpUrl": "https://maps.example/mcp", "headers": {"Authorization": "Bearer ${MAPS}"}}
}}"""
HOSTS = {"claude.json": CLAUDE, "cursor.json": CURSOR, "vs_code.json": VS_CODE,
         "codex.toml": CODEX, "gemini.json": GEMINI}  # fmt: skip


@pytest.mark.parametrize("name", HOSTS)
def test_the_same_servers_are_read_from_the_files_of_every_host(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(HOSTS[name])
    folder = str(tmp_path.resolve())
    assert read_config(path) == (
        ServerConfig(
            name="git", command="git-server", args=("--read",), env={"HOME": "/x"}, folder=folder
        ),
        ServerConfig(
            name="maps", url="https://maps.example/mcp", stateful=False, folder=folder,
            headers={"Authorization": "Bearer ${MAPS}"},
        ),
    )  # fmt: skip


def one(entry: dict[str, Any]) -> ServerConfig:
    (server,) = parse_config({"mcpServers": {"s": entry}}, "x.json")
    return server


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"disabledTools": ["delete_repo"]}, {"not_tools": ("delete_repo",)}),
        ({"excludeTools": ["delete_*"]}, {"not_tools": ("delete_*",)}),
        ({"disabled_tools": ["a"], "enabled_tools": ["b"]}, {"not_tools": ("a",), "tools": ("b",)}),
        ({"includeTools": ["a", "b"]}, {"tools": ("a", "b")}),
        ({"timeout": 600}, {"call_timeout_s": 600.0}),
        ({"timeout": 600_000}, {"call_timeout_s": 600.0}),
        ({"startup_timeout_ms": 1500}, {"start_timeout_s": 1.5}),
        ({"tool_timeout_sec": 5}, {"call_timeout_s": 5.0}),
        ({"enabled": False}, {"disabled": True}),
        ({"env_vars": ["A", {"name": "B"}]}, {"env": {"A": "${A:-}", "B": "${B:-}"}}),
        ({"env_vars": ["A"], "env": {"C": "d"}}, {"env": {"A": "${A:-}", "C": "d"}}),
        ({"env_vars": ["A"], "env": {"A": "d", "a": "e"}}, {"env": {"A": "d", "a": "e"}}),
        ({"env": {"A": "d", "a": "e"}, "env_vars": ["A"]}, {"env": {"A": "d", "a": "e"}}),
        (
            {"args": ["${workspaceFolder}/x", "${userHome}"]},
            {"args": ("${workspace}/x", "${HOME}")},
        ),
        ({"args": ["${A:-b}", "${env:C}"]}, {"args": ("${A:-b}", "${C}")}),
        ({key: "x" for key in sorted(host_entries.host_keys().ignored)}, {}),
    ],
)
def test_keys_of_other_hosts_are_followed(written: dict[str, Any], read: dict[str, Any]) -> None:
    assert one({"command": "a", **written}) == ServerConfig(name="s", command="a", **read)


@pytest.mark.parametrize(
    ("written", "headers"),
    [
        ({"http_headers": {"X-Team": "core"}}, {"X-Team": "core"}),
        ({"env_http_headers": {"X-Key": "KEY"}}, {"X-Key": "${KEY}"}),
        (
            {"http_headers": {"authorization": "Bearer old"}, "bearer_token_env_var": "NEW"},
            {"Authorization": "Bearer ${NEW}"},
        ),
    ],
)
def test_headers_with_keys_name_variables(written: dict[str, Any], headers: dict[str, str]) -> None:
    assert one({"url": "https://a.example/mcp", **written}).headers == headers


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "a", "allowList": []}, "unknown key 'allowList'; docs/reference/mcp.md lists"),
        ({"command": "a", "disabledTool": []}, "'disabledTool'; did you mean: disabledTools"),
        ({"command": "a", "envFile": ".env"}, "'envFile' is not followed; write the variables"),
        ({"command": "a", "timeout": 3000}, "seconds or milliseconds"),
        ({"command": "a", "timeout": float("nan")}, "expected a number above 0"),
        ({"command": "a", "enabled": "no"}, "expected true or false"),
        ({"command": "a", "args": ["${input:token}"]}, r"\$\{input:...\} is not followed"),
        ({"command": "a", "env_vars": ["A B"]}, "names of environment variables"),
        ({"url": "http://a", "bearer_token_env_var": "sk-1"}, "name of an environment variable"),
        ({"url": "http://a", "env_http_headers": ["X"]}, "names of environment variables"),
        ({"command": "a", "includeTools": []}, "'includeTools' offers no tool"),
        ({"command": "a", "enabled_tools": []}, "'enabled_tools' offers no tool"),
        ({"command": "a", "tools": ["x"], "includeTools": ["y"]}, "another key .* says tools too"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        one(entry)
    assert "x.json: mcpServers.s" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.json", json.dumps({"mcpServers": {"x": {"command": "a"}, "y": {"command": "b",
                   "odd": 1}}}, indent=1), 8),
        ("a.toml", '[mcp_servers.x]\ncommand = "a"\n[mcp_servers.y]\ncommand = "b"\nodd = 1\n', 5),
    ],
)  # fmt: skip
def test_an_unknown_key_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=rf"{name}:{line}: \w+\.y: unknown key 'odd'"):
        read_config(path)


def test_a_tool_that_is_switched_off_is_neither_offered_nor_called(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        names = {tool.name for tool in await environment.tools()}
        assert "a/echo" in names and not names & {"a/write", "a/where"}
        assert (await ask(environment, "a/write", path="x", text="y")).text == (
            "Unknown tool: a/write"
        )
        assert not list(environment.workspace.iterdir())

    factory = play({"a": fault(disabledTools=["wr*", "where", "no_such_tool"])}, tmp_path, scene)
    assert factory.incident_notes() == {"a": ("no tool that it lists matches 'no_such_tool'",)}


def test_only_tools_that_are_named_are_offered(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            site({"a": fault(tools=["ec*", "count"], not_tools=["count"])}, tmp_path) as servers,
            servers.open_environment(task(), {}) as world,
        ):
            assert [tool.name for tool in await world.tools()] == ["a/echo"]

    asyncio.run(scene())


def test_a_long_result_is_cut_with_a_mark() -> None:
    result = Result(parts=(Text("abcdef"), Text("ghi")), structured={"a": 1})
    assert result_content.cut_result(result, 0) == result
    assert result_content.cut_result(result, 9) == result
    cut = result_content.cut_result(result, 7)
    assert [part.text for part in cut.parts if isinstance(part, Text)] == [
        "abcdef", "g", "[cut: the first 7 of 9 characters are shown]",
    ]  # fmt: skip
    assert cut.structured is None


def test_results_of_a_server_are_cut_as_its_entry_says(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        said = (await ask(environment, "a/echo", text="x" * 100)).text
        assert said.startswith("x" * 20) and "x" * 21 not in said
        assert "the first 20 of 100 characters" in said

    play({"a": fault(result_chars=20)}, tmp_path, scene)

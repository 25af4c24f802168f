"""What answers has an identity: another one makes another run, and a key is not part of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.environments.mcp.mcp_episodes import FAULT, fault
from tests.runs import mini

import toolmark as tm
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Message, Reply, Request, Task, Text, Tool, Turn
from toolmark.environments.mcp.mcp_environment import McpServersFactory
from toolmark.environments.mcp.server_config import ServerConfig, parse_config, read_config
from toolmark.environments.mcp.server_identity import describe_server, servers_digest
from toolmark.formats.native_format import NativeFormat
from toolmark.runs.suite import EnvironmentSource, Provenance, Suite

KEY = "sk-very-private-1234"
BASE: dict[str, Any] = {
    "command": "server",
    "args": ["--mode", "fast", "--api-key", KEY, "${config_dir}/x.py", "${HOME}/data"],
    "env": {"LEVEL": "high", "API_KEY": KEY},
    "needs": ["MAPS_KEY"],
}
WEB: dict[str, Any] = {
    "url": f"https://robin:{KEY}@a.example/mcp?key={KEY}&set=small",
    "headers": {"Authorization": f"Bearer {KEY}"},
}


def of(entry: dict[str, Any], folder: Path = Path("/a"), **environ: str) -> str:
    servers = parse_config({"mcpServers": {"s": entry}}, "x", folder=folder)
    return servers_digest(
        servers, {"HOME": "/home/robin", "MAPS_KEY": "abc-very-private", **environ}
    )


@pytest.mark.parametrize(
    "change",
    [
        {"command": "other"},
        {"args": ["--mode", "slow"]},
        {"env": {"LEVEL": "low"}},
        {"call_timeout_s": 5},
        {"stateful": False},
        {"cwd": "elsewhere"},
        {"disabled": True},
    ],
)
def test_other_settings_are_another_configuration(change: dict[str, Any]) -> None:
    assert of(BASE | change) != of(BASE)


def test_other_servers_and_another_order_are_another_configuration() -> None:
    one, two = parse_config({"mcpServers": {"a": BASE, "b": WEB}}, "x", folder=Path("/a"))
    assert len({servers_digest(found) for found in ([one, two], [two, one], [one], [])}) == 4
    assert of(WEB) != of(WEB | {"url": WEB["url"].replace("small", "large")})


def test_a_value_from_the_environment_counts_and_a_key_does_not() -> None:
    assert of(BASE) != of(BASE, HOME="/home/alex")
    assert of(BASE) == of(BASE, MAPS_KEY="xyz-very-private-too")
    for entry in (BASE, WEB):
        other = json.loads(json.dumps(entry).replace(KEY, "sk-quite-another-99"))
        assert of(other) == of(entry)


def test_the_place_of_the_configuration_does_not_count() -> None:
    entry = BASE | {"cwd": "below"}
    assert of(entry, Path("/a")) == of(entry, Path("/b/c"))


def test_a_pinned_server_counts_with_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolmark.environments.mcp import server_identity

    before = of({"python": "git"})
    assert before != of({"python": "no-such-environment"})
    monkeypatch.setattr(server_identity, "_lock_digest", lambda server: "another")
    assert of({"python": "git"}) != before


def test_a_server_is_known_by_name_version_and_tools() -> None:
    tools = (Tool(name="s/echo", parameters={"type": "object"}),)
    said = describe_server("shop", "1.2", tools)
    assert said.startswith("shop 1.2, 1 tool, sha256 ")
    assert (
        len(
            {
                said,
                describe_server("shop", "1.3", tools),
                describe_server("shop", "1.2", ()),
                describe_server("", "", ()),
            }
        )
        == 4
    )


def _suite(servers: tuple[ServerConfig, ...]) -> Suite:
    @asynccontextmanager
    async def site(media: MediaStore) -> AsyncIterator[McpServersFactory]:
        async with McpServersFactory(servers, media) as opened:
            yield opened

    said = (Turn(messages=(Message(role="user", parts=(Text("Go."),)),)),)
    tasks = [Task(id=name, suite="shop", turns=said, data={}) for name in ("a", "b")]
    return Suite(
        name="shop",
        tasks=tasks,
        scorer=mini.SCORER,
        environment=EnvironmentSource(open=site),
        tool_formats={"native": NativeFormat()},
        provenance=Provenance(hashes={"servers": servers_digest(servers)}),
    )


class Silent(Model):
    """Answers at once."""

    name = "silent"

    async def __call__(self, request: Request, /) -> Reply:
        return Reply(text="done")


def test_a_run_says_who_answered_and_other_servers_begin_another(tmp_path: Path) -> None:
    shutil.copy(FAULT, tmp_path / "server.py")
    path = tmp_path / "mcp.json"
    entry = fault()
    entry["args"] = ["${config_dir}/server.py"]
    path.write_text(json.dumps({"mcpServers": {"s": entry}}))
    first = tm.run(_suite(read_config(path)), Silent(), log_dir=tmp_path / "runs")
    info = first.info
    assert info.plan.environment_hashes == {"servers": info.hashes["servers"]}
    (said,) = info.server_versions["s"]
    assert "tools, sha256 " in said
    assert info.versions["mcp"][0].isdecimal()

    (first.path / "trajectories.jsonl").unlink()  # as if nothing had been done
    again = tm.run(_suite(read_config(path)), Silent(), log_dir=tmp_path / "runs")
    assert again.path == first.path

    (first.path / "trajectories.jsonl").unlink()
    entry["env"] = {"LEVEL": "low"}
    path.write_text(json.dumps({"mcpServers": {"s": entry}}))
    other = tm.run(_suite(read_config(path)), Silent(), log_dir=tmp_path / "runs")
    assert other.path != first.path


def test_a_server_that_changed_between_two_parts_of_a_run_shows(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    shutil.copy(FAULT, script)
    servers = parse_config({"mcpServers": {"s": fault() | {"args": [str(script)]}}}, "x")
    first = tm.run(_suite(servers), Silent(), log_dir=tmp_path / "runs")
    (first.path / "trajectories.jsonl").unlink()
    script.write_text(script.read_text().replace('"version": "1"', '"version": "2"'))
    again = tm.run(_suite(servers), Silent(), log_dir=tmp_path / "runs")
    assert again.path == first.path
    assert len(set(again.info.server_versions["s"])) == 2

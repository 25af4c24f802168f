"""What the tests of MCP servers share: the server that fails, a site, one episode to play in."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Result, Task
from toolmark.environments.mcp.mcp_environment import McpEnvironment, McpServersFactory
from toolmark.environments.mcp.server_config import parse_config

FAULT = str(Path(__file__).parents[2] / "servers" / "mcp_fault.py")


def fault(*flags: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [FAULT, *flags], **more}


def task(*servers: str) -> Task:
    return Task(id="t", suite="s", turns=(), data={"servers": servers} if servers else None)


def site(entries: dict[str, Any], folder: Path, **more: Any) -> McpServersFactory:
    return McpServersFactory(
        parse_config({"mcpServers": entries}, "x"), MediaStore(folder / "media"), **more
    )


async def ask(environment: Any, name: str, /, **given: Any) -> Result:
    result: Result = await environment.call(Call(name=name, arguments=json.dumps(given)))
    return result


def gone(pid: int) -> bool:
    """Say whether a process has ended; one that nobody has reaped yet counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def soon(condition: Callable[[], bool]) -> bool:
    for _ in range(6000):  # a minute: a busy machine starts processes late
        if condition():
            return True
        await asyncio.sleep(0.01)
    return False


def play(
    entries: dict[str, Any],
    folder: Path,
    scene: Callable[[McpEnvironment], Awaitable[None]],
    **more: Any,
) -> McpServersFactory:
    """Play a scene in one episode with all servers; it has to end within a minute."""

    async def played() -> McpServersFactory:
        async with (
            asyncio.timeout(60),
            site(entries, folder, **more) as servers,
            servers.open_environment(task(), {}) as world,
        ):
            assert isinstance(world, McpEnvironment)
            await scene(world)
        return servers

    return asyncio.run(played())

"""Streamable HTTP on the loopback: the same laws as over standard input and output."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.environments.mcp.mcp_episodes import ask, fault, site, soon, task
from tests.servers import fake
from tests.servers.mcp_fault import PNG

from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.records import Image
from toolmark.environments.mcp.mcp_environment import McpEnvironment

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def serving(port: int, *flags: str) -> AsyncIterator[subprocess.Popen[bytes]]:
    """Run the server of the SDK on a port until the end of the block."""

    def up() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    program = [sys.executable, str(ROOT / "tests" / "servers" / "mcp_sdk.py"), str(port), *flags]
    process = subprocess.Popen(
        program, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL
    )
    try:
        assert await soon(up)
        yield process
    finally:
        process.kill()
        process.wait()


def free() -> int:
    with socket.socket() as collected:
        collected.bind(("127.0.0.1", 0))
        return int(collected.getsockname()[1])


def play(
    folder: Path, scene: Callable[[McpEnvironment, int], Awaitable[None]], *flags: str
) -> None:
    async def played() -> None:
        port = free()
        entry = {"url": f"http://127.0.0.1:{port}/{'sse' if '--sse' in flags else 'mcp'}"}
        async with (
            asyncio.timeout(240),
            serving(port, *flags),
            site({"h": entry}, folder) as servers,
            servers.open_environment(task(), {}) as world,
        ):
            assert isinstance(world, McpEnvironment)
            await scene(world, port)

    asyncio.run(played())


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["events", "json"])
def test_tools_answer_over_http(tmp_path: Path, flags: tuple[str, ...]) -> None:
    async def scene(environment: McpEnvironment, port: int) -> None:
        assert (await ask(environment, "h/add", a=1, b=2)).structured == {"total": 3}
        (part,) = (await ask(environment, "h/picture")).parts
        assert isinstance(part, Image) and environment.factory.media.read(part) == PNG
        assert (await ask(environment, "h/refuse")).is_error
        assert (await ask(environment, "h/add", a="x")).is_error
        assert len((await ask(environment, "h/big", size=2_000_000)).text) == 2_000_000
        long = await ask(environment, "h/big", size=17_000_000)
        assert long.is_error and "byte limit" in long.text
        assert (await ask(environment, "h/add", a=1, b=2)).structured == {"total": 3}

    play(tmp_path, scene, *flags)


def test_tools_answer_over_the_legacy_transport(tmp_path: Path) -> None:
    """An address that ends in /sse speaks it. Its events hold 1 MiB at most."""

    async def scene(environment: McpEnvironment, port: int) -> None:
        assert (await ask(environment, "h/add", a=1, b=2)).structured == {"total": 3}
        (part,) = (await ask(environment, "h/picture")).parts
        assert isinstance(part, Image) and environment.factory.media.read(part) == PNG
        assert (await ask(environment, "h/refuse")).is_error
        assert len((await ask(environment, "h/big", size=400_000)).text) == 400_000
        with pytest.raises(ToolEnvironmentError, match="stopped during the run"):
            await ask(environment, "h/big", size=2_000_000)

    play(tmp_path, scene, "--sse")


def test_a_changed_tool_list_is_heard_over_http(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment, port: int) -> None:
        await environment.tools()
        await ask(environment, "h/grow")
        assert await soon(lambda: environment.tools_changed())
        assert "h/grown" in [tool.name for tool in await environment.tools()]
        assert (await ask(environment, "h/grown")).text == "grown"

    play(tmp_path, scene)


def test_a_server_that_is_started_anew_is_greeted_anew(tmp_path: Path) -> None:
    async def scene() -> None:
        port = free()
        async with site({"h": {"url": f"http://127.0.0.1:{port}/mcp"}}, tmp_path) as servers:
            async with serving(port), servers.open_environment(task(), {}) as world:
                await ask(world, "h/put", key="a", value=1)
            async with serving(port), servers.open_environment(task(), {}) as world:
                collected = await ask(world, "h/put", key="b", value=2)
                assert collected.structured == {"b": 2}

    asyncio.run(scene())


def test_a_server_that_goes_away_is_an_environment_error(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment, port: int) -> None:
        with pytest.raises(ToolEnvironmentError, match="'h'"):
            await ask(environment, "h/leave")
        with pytest.raises(ToolEnvironmentError, match="ConnectError"):
            await ask(environment, "h/add", a=1, b=2)

    play(tmp_path, scene)


@pytest.mark.parametrize("status", [401, 404, 500, 503])
def test_a_server_that_refuses_is_reported_with_its_status_and_without_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-very-private-1234")

    async def refuse(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool:
        assert asked.headers["authorization"] == "Bearer sk-very-private-1234"
        said = f"bad key {asked.headers['authorization']}".encode()
        head = f"HTTP/1.1 {status} No\r\nContent-Length: {len(said)}\r\n\r\n"
        writer.write(head.encode() + said)
        await writer.drain()
        return False

    async def scene() -> None:
        async with fake.serve(refuse) as server:
            entry: dict[str, Any] = {
                "url": server.url, "headers": {"Authorization": "Bearer ${THE_KEY}"},
            }  # fmt: skip
            async with site({"bad": entry, "good": fault()}, tmp_path) as servers:
                with pytest.raises(
                    ToolEnvironmentError, match=f"'bad' did not start.*{status}"
                ) as caught:
                    async with servers.open_environment(task(), {}):
                        pass
                assert "sk-very" not in str(caught.value)
                said = str(caught.value)
                assert ("it wants a login" in said) == (status == 401)
                assert ('"type": "sse"' in said) == (status == 404)
                async with servers.open_environment(task("good"), {}) as world:
                    assert (await ask(world, "good/echo", text="hi")).text == "hi"

    asyncio.run(scene())


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    async def silent(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(600)
        return True

    async def scene() -> None:
        async with fake.serve(silent) as server:
            entry = {"url": server.url, "start_timeout_s": 0.5}
            async with site({"bad": entry}, tmp_path) as servers:
                with pytest.raises(ToolEnvironmentError, match=r"did not start within 0\.5 s"):
                    async with servers.open_environment(task(), {}):
                        pass

    asyncio.run(scene())

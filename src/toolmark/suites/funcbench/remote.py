"""The site over MCP: one server process for the run, a session and a world for every episode.

A process for every episode would cost more than the episode. The tasks reach the server through a
folder, as the episodes begin: which ones will be asked is not known before.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import toolmark
from toolmark import codec
from toolmark.errors import WorldError
from toolmark.media import Media
from toolmark.suites.funcbench.data import SUITE
from toolmark.types import Call, Result, Site, Task, Tool, World
from toolmark.worlds.dag import Dag
from toolmark.worlds.mcp import sandbox, view
from toolmark.worlds.mcp.config import Server
from toolmark.worlds.mcp.site import Hosted, Servers

_PACKAGE = Path(toolmark.__file__).parent
_MODULE = "toolmark.suites.funcbench.server"
_PREFIX = f"{SUITE}/"
_STDERR = "stderr"
_START_S = 60.0
_GRACE_S = 5.0
_BACKLOG = 1024
_TAIL_CHARS = 1000


@asynccontextmanager
async def site(media: Media) -> AsyncIterator[Site]:
    """Open the site: start the server, and end it on leaving. Raises UsageError: no sandbox."""
    sandbox.require()
    with tempfile.TemporaryDirectory(prefix="toolmark-") as name:
        folder = Path(name)
        async with _serving(folder) as port:
            server = Server(
                name=SUITE,
                # the workspace names the episode; a task that restates lives in its session
                url=f"http://127.0.0.1:{port}/mcp?task=${{workspace}}",
                stateful=True,
                restart=False,
                start_timeout_s=_START_S,
            )
            async with Servers((server,), media, prepare=_Shelf(folder).put) as servers:
                yield Remote(servers, _Shelf(folder))


class _Shelf:
    """Where the server finds the tasks of the episodes under way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, task: Task, workspace: Path) -> None:
        """Lay down what a task's functions are, under the name of its episode's workspace."""
        functions = replace(task, turns=(), reference={"graph": task.reference["graph"]})
        self._path(workspace).write_bytes(codec.encode(functions))

    def drop(self, workspace: Path) -> None:
        """Take it away."""
        self._path(workspace).unlink(missing_ok=True)

    def told(self) -> str:
        """Return the last that the server said on its standard error."""
        with suppress(OSError):
            return (self.folder / _STDERR).read_text("utf-8", "replace")[-_TAIL_CHARS:].strip()
        return ""

    def _path(self, workspace: Path) -> Path:
        return self.folder / f"{workspace.name}.json"


class Remote:
    """Worlds behind MCP sessions, equal to those in the process."""

    def __init__(self, servers: Servers, shelf: _Shelf) -> None:
        self.servers = servers
        self.shelf = shelf

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[World]:
        """Open a session for the task. Raises WorldError with what the server said last."""
        try:
            async with self.servers.world(task, needed) as hosted:
                assert isinstance(hosted, Hosted)
                try:
                    yield Wired(task, hosted)
                finally:
                    self.shelf.drop(hosted.workspace)
        except WorldError as error:
            told = self.shelf.told()
            raise WorldError(f"{error}; stderr: {told}" if told else str(error)) from None

    def notes(self) -> Mapping[str, Sequence[str]]:
        """Return what happened to the server."""
        return self.servers.notes()


class Wired:
    """One episode: functions under their own names, every call over the wire."""

    def __init__(self, task: Task, hosted: Hosted) -> None:
        self.task = task
        self.hosted = hosted
        # what a restated result says depends on the order of the calls
        self.at_once = 1 if task.axes.get("protocol") == "restate" else hosted.at_once

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools as listed; the task's own tuple where they equal it."""
        listed = await self.hosted.tools()
        tools = tuple(replace(tool, name=tool.name.removeprefix(_PREFIX)) for tool in listed)
        return self.task.tools if tools == self.task.tools else tools

    async def call(self, call: Call, /) -> Result:
        """Call a function. What MCP cannot carry is an error, in the words of the world."""
        offered = {tool.name for tool in await self.tools()}
        if call.name not in offered or not _sendable(call.arguments):
            return await Dag(self.task).call(call)
        return await self.hosted.call(replace(call, name=_PREFIX + call.name))

    async def final_state(self) -> Any:
        """Return nothing: functions have no effects."""
        return await self.hosted.final_state()


def _sendable(arguments: str) -> bool:
    """Tell whether the arguments are an object of finite numbers and proper text."""
    try:
        found = codec.loads(codec.restore(arguments))
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return isinstance(found, dict)


@asynccontextmanager
async def _serving(folder: Path) -> AsyncIterator[int]:
    """Keep a server process on a port of the loopback and give the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) as listener:
        async with AsyncExitStack() as stack:
            processes = [await _start(stack, listener, folder)]
            keeper = asyncio.create_task(_keep(stack, processes, listener, folder))
            try:
                yield listener.getsockname()[1]
            finally:
                keeper.cancel()
                await asyncio.gather(keeper, return_exceptions=True)
                for process in processes:
                    await _end(process)


async def _keep(
    stack: AsyncExitStack, processes: list[Process], listener: socket.socket, folder: Path
) -> None:
    """Start the server once more if it dies; after that let connections fail, so that it shows."""
    with listener:
        await processes[-1].wait()
        processes.append(await _start(stack, listener, folder))
        await processes[-1].wait()


async def _start(stack: AsyncExitStack, listener: socket.socket, folder: Path) -> Process:
    """Start a server that takes the connections; they wait until it does."""
    fd = listener.fileno()
    argv = (sys.executable, "-P", "-m", _MODULE, str(fd), str(folder))
    with (folder / _STDERR).open("ab") as errors:
        ends: dict[str, Any] = {
            "pass_fds": (fd,), "stdin": asyncio.subprocess.PIPE,
            "stdout": asyncio.subprocess.DEVNULL, "stderr": errors,
        }  # fmt: skip
        if not sandbox.wanted():
            return await asyncio.create_subprocess_exec(*argv, start_new_session=True, **ends)
        env = {"PATH": sandbox.PATH, "PYTHONPATH": str(_PACKAGE.parent)}
        opened = sandbox.opened(argv, env, _box(folder), **ends)
        process, _ = await stack.enter_async_context(opened)
        return process


def _box(folder: Path) -> sandbox.Box:
    """Return what the server sees: Python, this package, the tasks under way."""
    seen = (*sandbox.system(), *view.program(sys.executable), sandbox.Seen(_PACKAGE, "read"))
    return sandbox.Box((*seen, sandbox.Seen(folder, "read")), folder, cwd=str(folder))


async def _end(process: Process) -> None:
    """Close its standard input, which ends it; kill it if not."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _GRACE_S)
    except TimeoutError:
        process.kill()
        await process.wait()

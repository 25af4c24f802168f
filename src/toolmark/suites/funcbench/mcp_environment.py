"""The environment factory over MCP: one server process per run, one session per episode.

A process for every episode would cost more than the episode. Each task reaches the server through a
folder when its episode begins: which tasks will be asked is not known before.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.environment import (
    DelegatingEnvironment,
    DelegatingFactory,
    Environment,
    EnvironmentFactory,
)
from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Result, Task, Tool
from toolmark.environments.function_graph import FunctionGraphEnvironment
from toolmark.environments.mcp import sandbox, sandbox_view
from toolmark.environments.mcp.mcp_environment import McpServersFactory
from toolmark.environments.mcp.server_config import ServerConfig
from toolmark.suites.funcbench.task_generation import SUITE_NAME

_PACKAGE = Path(__file__).parents[2]
_MODULE = "toolmark.suites.funcbench.mcp_task_server"
_TOOL_PREFIX = f"{SUITE_NAME}/"
_STDERR_FILE = "stderr"
_START_S = 60.0
_GRACE_S = 5.0
_BACKLOG = 1024
_TAIL_CHARS = 1000


@asynccontextmanager
async def open_mcp_environments(media: MediaStore) -> AsyncIterator[EnvironmentFactory]:
    """Open the environment factory: start the server, and end it on exit.

    Raises UsageError where there is no sandbox.
    """
    sandbox.require_sandbox()
    with tempfile.TemporaryDirectory(prefix="toolmark-") as name:
        folder = Path(name)
        async with _run_server(folder) as port:
            server = ServerConfig(
                name=SUITE_NAME,
                # the workspace names the episode; a task that restates lives in its session
                url=f"http://127.0.0.1:{port}/mcp?task=${{workspace}}",
                stateful=True,
                restart=False,
                start_timeout_s=_START_S,
            )
            async with McpServersFactory(
                (server,), media, prepare=_TaskFolder(folder).write_task
            ) as servers:
                yield FuncbenchMcpEnvironments(servers, _TaskFolder(folder))


class _TaskFolder:
    """The folder where the server finds the tasks of the running episodes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write_task(self, task: Task, workspace: Path) -> None:
        """Write a task's functions to a file named after its episode's workspace."""
        functions = replace(task, turns=())
        self._task_path(workspace).write_bytes(json_codec.encode_record(functions))

    def remove_task(self, workspace: Path) -> None:
        """Remove the file."""
        self._task_path(workspace).unlink(missing_ok=True)

    def last_stderr(self) -> str:
        """Return the end of the server's standard error."""
        with suppress(OSError):
            return (self.folder / _STDERR_FILE).read_text("utf-8", "replace")[-_TAIL_CHARS:].strip()
        return ""

    def _task_path(self, workspace: Path) -> Path:
        return self.folder / f"{workspace.name}.json"


class FuncbenchMcpEnvironments(DelegatingFactory):
    """Makes environments behind MCP sessions, equal to those in the process."""

    def __init__(self, servers: McpServersFactory, task_folder: _TaskFolder) -> None:
        super().__init__(servers)
        self.servers = servers
        self.task_folder = task_folder

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[Environment]:
        """Open a session for the task. Raises ToolEnvironmentError with the server's last text."""
        try:
            async with self.servers.open_environment(task, needed) as hosted:
                assert hosted.workspace is not None
                try:
                    yield FuncbenchMcpEnvironment(task, hosted)
                finally:
                    self.task_folder.remove_task(hosted.workspace)
        except ToolEnvironmentError as error:
            stderr_text = self.task_folder.last_stderr()
            raise ToolEnvironmentError(
                f"{error}; stderr: {stderr_text}" if stderr_text else str(error)
            ) from None


class FuncbenchMcpEnvironment(DelegatingEnvironment):
    """One episode: functions under their own names, every call over the wire."""

    def __init__(self, task: Task, hosted: Environment) -> None:
        super().__init__(hosted)
        self.task = task
        if task.axes.get("protocol") == "restate":
            self.max_parallel_calls = 1  # what a result says depends on the order of the calls

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools as listed; the task's own tuple where they equal it."""
        listed = await self.environment.tools()
        # MCP has no place for fields such as `strict`, which are how the task asks
        own = {tool.name: tool.extra_fields for tool in self.task.tools}
        names = [tool.name.removeprefix(_TOOL_PREFIX) for tool in listed]
        tools = tuple(
            replace(tool, name=name, extra_fields=own.get(name, {}))
            for tool, name in zip(listed, names, strict=True)
        )
        return self.task.tools if tools == self.task.tools else tools

    async def call(self, call: Call, /) -> Result:
        """Call a function. What MCP cannot carry is an error, with the environment's message."""
        offered = {tool.name for tool in await self.tools()}
        if call.name not in offered or not _is_sendable(call.arguments):
            return await FunctionGraphEnvironment(self.task).call(call)
        return await self.environment.call(replace(call, name=_TOOL_PREFIX + call.name))


def _is_sendable(arguments: str) -> bool:
    """Return whether the arguments are an object of finite numbers and valid text."""
    try:
        found = json_codec.parse_json(json_codec.restore_surrogates(arguments))
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return isinstance(found, dict)


@asynccontextmanager
async def _run_server(folder: Path) -> AsyncIterator[int]:
    """Run a server process on a port of the loopback and yield the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) as listener:
        async with AsyncExitStack() as stack:
            processes = [await _start_server(stack, listener, folder)]
            restarter = asyncio.create_task(_restart_once(stack, processes, listener, folder))
            try:
                yield listener.getsockname()[1]
            finally:
                restarter.cancel()
                await asyncio.gather(restarter, return_exceptions=True)
                for process in processes:
                    await _end_process(process)


async def _restart_once(
    stack: AsyncExitStack, processes: list[Process], listener: socket.socket, folder: Path
) -> None:
    """Restart the server once if it dies; after that let connections fail, so that it shows."""
    with listener:
        await processes[-1].wait()
        processes.append(await _start_server(stack, listener, folder))
        await processes[-1].wait()


async def _start_server(stack: AsyncExitStack, listener: socket.socket, folder: Path) -> Process:
    """Start a server that accepts the connections; they wait until it does."""
    fd = listener.fileno()
    argv = (sys.executable, "-P", "-m", _MODULE, str(fd), str(folder))
    with (folder / _STDERR_FILE).open("ab") as errors:
        ends: dict[str, Any] = {
            "pass_fds": (fd,), "stdin": asyncio.subprocess.PIPE,
            "stdout": asyncio.subprocess.DEVNULL, "stderr": errors,
        }  # fmt: skip
        if not sandbox.is_wanted():
            return await asyncio.create_subprocess_exec(*argv, start_new_session=True, **ends)
        env = {"PATH": sandbox.SANDBOX_PATH, "PYTHONPATH": str(_PACKAGE.parent)}
        opened = sandbox.open_sandboxed(argv, env, _server_sandbox(folder), **ends)
        process, _ = await stack.enter_async_context(opened)
        return process


def _server_sandbox(folder: Path) -> sandbox.SandboxSpec:
    """Return what the server may see: Python, this package, the tasks of running episodes."""
    visible_paths = (
        *sandbox.system_mounts(),
        *sandbox_view.program_mounts(sys.executable),
        sandbox.MountedPath(_PACKAGE, "read"),
    )
    return sandbox.SandboxSpec(
        (*visible_paths, sandbox.MountedPath(folder, "read")), folder, cwd=str(folder)
    )


async def _end_process(process: Process) -> None:
    """Close the process's standard input, which ends it; kill it if not."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _GRACE_S)
    except TimeoutError:
        process.kill()
        await process.wait()

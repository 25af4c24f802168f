"""Tasks behind the Model Context Protocol: functions are the tools, the environment answers.

Over standard input and output there is one task. Over HTTP the address may name one, `?task=NAME`,
and every session has its own environment.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import mcp_types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import DEFAULT_MAX_SESSIONS
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from toolmark.core import json_codec
from toolmark.core.records import Call, Task
from toolmark.core.version import TOOLMARK_VERSION
from toolmark.environments.function_graph import FunctionGraphEnvironment
from toolmark.suites.funcbench.task_generation import SUITE_NAME

FindTask: TypeAlias = Callable[[str], Task | None]
HTTP_PATH = "/mcp"
_BODY_BYTES = 2 * json_codec.MAX_JSON_CHARS
_MAX_SHOWN_CHARS = 80
_EPISODE_NAME = re.compile(r"[\w-]{1,99}")


class TaskServer:
    """Serves all sessions. `find` returns the task with a name; the name is "" if none is given."""

    def __init__(self, find: FindTask) -> None:
        self.find = find
        self.environments: OrderedDict[tuple[str, str], FunctionGraphEnvironment] = OrderedDict()
        self.server = Server[Any](
            SUITE_NAME,
            version=TOOLMARK_VERSION,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._inner = self.server.streamable_http_app(
            streamable_http_path=HTTP_PATH, json_response=True, max_request_body_size=_BODY_BYTES
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer over HTTP: refuse a task that does not exist, and forget a session that ends."""
        if scope["type"] == "http":
            request = Request(scope)
            key = _session_key(request)
            if not key[0] and key not in self.environments and self.find(key[1]) is None:
                response = PlainTextResponse(
                    f"no task {key[1][:_MAX_SHOWN_CHARS]!r}\n", status_code=404
                )
                await response(scope, receive, send)
                return
            if request.method == "DELETE":
                self.environments.pop(key, None)
        await self._inner(scope, receive, send)

    async def _list_tools(
        self, context: Any, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        tools = [
            mcp_types.Tool(
                name=tool.name, description=tool.description, input_schema=tool.parameters
            )
            for tool in await self._environment(context.request).tools()
        ]
        return mcp_types.ListToolsResult(tools=tools)

    async def _call_tool(
        self, context: Any, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        arguments = json.dumps(params.arguments or {}, ensure_ascii=False)
        call = Call(name=params.name, arguments=arguments)
        result = await self._environment(context.request).call(call)
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(text=result.text)], is_error=result.is_error
        )

    def _environment(self, request: Request | None) -> FunctionGraphEnvironment:
        """Return the environment of a session, made at its first request."""
        key = ("", "") if request is None else _session_key(request)
        if key not in self.environments:
            task = self.find(key[1])
            if task is None:
                raise MCPError(mcp_types.INVALID_PARAMS, f"no task {key[1][:_MAX_SHOWN_CHARS]!r}")
            self.environments[key] = FunctionGraphEnvironment(task)
            if len(self.environments) > DEFAULT_MAX_SESSIONS:  # sessions that ended without notice
                self.environments.popitem(last=False)
        self.environments.move_to_end(key)
        return self.environments[key]


def _session_key(request: Request) -> tuple[str, str]:
    """Return the session, "" for a client that has none, and the name of the task."""
    session = request.headers.get(MCP_SESSION_ID_HEADER, "")
    return session, request.query_params.get("task", "")


def find_among(task: Task, others: Iterable[Task] = ()) -> FindTask:
    """Return a finder: this task where no name is given, else the one of `others` with this id."""

    @lru_cache(maxsize=64)
    def find(name: str) -> Task | None:
        return next((other for other in others if other.id == name), None) if name else task

    return find


def find_in_folder(folder: Path) -> FindTask:
    """Return a finder of the tasks stored as NAME.json in a folder; any path is safe as a name."""

    def find(name: str) -> Task | None:
        name = name.rpartition("/")[2]
        if not _EPISODE_NAME.fullmatch(name):
            return None
        try:
            return json_codec.decode_record((folder / f"{name}.json").read_bytes(), Task)
        except FileNotFoundError:
            return None

    return find


async def serve_stdio(find: FindTask) -> None:
    """Serve one client on standard input and output until it leaves."""
    server = TaskServer(find).server
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def make_http_server(find: FindTask) -> uvicorn.Server:
    """Return an HTTP server; its `run(sockets=[...])` serves on a listening socket."""
    settings = uvicorn.Config(
        TaskServer(find), lifespan="on", log_level="error", timeout_graceful_shutdown=1
    )
    return uvicorn.Server(settings)


def main() -> None:
    """Serve the tasks of a run, given socket and folder. Ends with its standard input."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    threading.Thread(target=_exit_with_stdin, daemon=True).start()
    make_http_server(find_in_folder(Path(sys.argv[2]))).run(sockets=[listener])


def _exit_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # the run is over or has died: no client waits for an answer


if __name__ == "__main__":
    main()

"""Tasks behind the Model Context Protocol: the functions are the tools, the world answers.

Over standard input and output there is one task. Over HTTP the address may name one, `?task=NAME`,
and every session has a world of its own.
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

from toolmark import __version__, codec
from toolmark.suites.funcbench.data import SUITE
from toolmark.types import Call, Task
from toolmark.worlds.dag import Dag

Find: TypeAlias = Callable[[str], Task | None]
PATH = "/mcp"
_BODY_BYTES = 2 * codec.MAX_BYTES
_SHOWN = 80
_EPISODE = re.compile(r"[\w-]{1,99}")


class Desk:
    """Answers all sessions. `find` returns the task of a name, "" where the address has none."""

    def __init__(self, find: Find) -> None:
        self.find = find
        self.worlds: OrderedDict[tuple[str, str], Dag] = OrderedDict()
        self.server = Server[Any](
            SUITE, version=__version__, on_list_tools=self._tools, on_call_tool=self._call
        )
        self._inner = self.server.streamable_http_app(
            streamable_http_path=PATH, json_response=True, max_request_body_size=_BODY_BYTES
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer over HTTP: refuse a task that does not exist, and forget a session that ends."""
        if scope["type"] == "http":
            request = Request(scope)
            key = _key(request)
            if not key[0] and key not in self.worlds and self.find(key[1]) is None:
                told = PlainTextResponse(f"no task {key[1][:_SHOWN]!r}\n", status_code=404)
                await told(scope, receive, send)
                return
            if request.method == "DELETE":
                self.worlds.pop(key, None)
        await self._inner(scope, receive, send)

    async def _tools(
        self, context: Any, params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        tools = [
            mcp_types.Tool(
                name=tool.name, description=tool.description, input_schema=tool.parameters
            )
            for tool in await self._world(context.request).tools()
        ]
        return mcp_types.ListToolsResult(tools=tools)

    async def _call(
        self, context: Any, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        arguments = json.dumps(params.arguments or {}, ensure_ascii=False)
        call = Call(name=params.name, arguments=arguments)
        result = await self._world(context.request).call(call)
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(text=result.text)], is_error=result.is_error
        )

    def _world(self, request: Request | None) -> Dag:
        """Return the world of a session, made when it first asks."""
        key = ("", "") if request is None else _key(request)
        if key not in self.worlds:
            task = self.find(key[1])
            if task is None:
                raise MCPError(mcp_types.INVALID_PARAMS, f"no task {key[1][:_SHOWN]!r}")
            self.worlds[key] = Dag(task)
            if len(self.worlds) > DEFAULT_MAX_SESSIONS:  # those that ended without saying so
                self.worlds.popitem(last=False)
        self.worlds.move_to_end(key)
        return self.worlds[key]


def _key(request: Request) -> tuple[str, str]:
    """Return the session, "" for a client that has none, and the name of the task."""
    session = request.headers.get(MCP_SESSION_ID_HEADER, "")
    return session, request.query_params.get("task", "")


def only(task: Task, others: Iterable[Task] = ()) -> Find:
    """Return this task where no name is given, else the one of `others` with this id."""

    @lru_cache(maxsize=64)
    def find(name: str) -> Task | None:
        return next((other for other in others if other.id == name), None) if name else task

    return find


def beside(folder: Path) -> Find:
    """Find the tasks that lie in a folder as NAME.json; a name may be the path of anything."""

    def find(name: str) -> Task | None:
        name = name.rpartition("/")[2]
        if not _EPISODE.fullmatch(name):
            return None
        try:
            return codec.decode((folder / f"{name}.json").read_bytes(), Task)
        except FileNotFoundError:
            return None

    return find


async def stdio(find: Find) -> None:
    """Serve one client on standard input and output until it leaves."""
    server = Desk(find).server
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http(find: Find) -> uvicorn.Server:
    """Give what serves over HTTP; `run(sockets=[...])` serves on a socket that listens."""
    settings = uvicorn.Config(
        Desk(find), lifespan="on", log_level="error", timeout_graceful_shutdown=1
    )
    return uvicorn.Server(settings)


def main() -> None:
    """Serve the tasks of a run: socket and folder are given. Ends with its standard input."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    threading.Thread(target=_follow, daemon=True).start()
    http(beside(Path(sys.argv[2]))).run(sockets=[listener])


def _follow() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # the run is over, or dead: nobody is there to be answered


if __name__ == "__main__":
    main()

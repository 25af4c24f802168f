"""One server: started, asked, watched, ended; and started once more should it die.

Contexts of the SDK must be left by the task that entered them, so every server lives in a task of
its own; calls come from any task.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from toolmark import __version__
from toolmark.codec import escape
from toolmark.errors import WorldError
from toolmark.worlds.mcp import denials, pipe
from toolmark.worlds.mcp.config import Server, launch, stray
from toolmark.worlds.mcp.limits import Watched

_PING_S = 5.0
_STOP_S = 10.0
_PAGES = 100
_TOOLS = 2_000  # no model is offered more, and each is kept
_REASON_CHARS = 3000
_ABOUT_CHARS = 100
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LOST = (
    "Connection closed",
    "SSE stream ended without a response",
    "SSE stream ended and reconnection attempts were exhausted",
)

for _name in ("mcp", "client", "httpx2"):  # foreign text is no business of the user's terminal
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Lost(WorldError):
    """The server is gone, or answers nothing any more; the call may or may not have been done."""


class Exceeded(Lost):
    """The server was ended because it passed a limit of its sandbox."""


class Refused(Exception):
    """The server answered a call with an error of the protocol, or not in time."""


class Session:
    """One life of a server. `listed` are its tools as listed last, `cut` what is not among them.

    `stale` says that they have changed.
    """

    def __init__(self, server: Server, workspace: Path) -> None:
        self.server = server
        self.launch = launch(server, workspace)
        self.listed: list[Any] = []
        self.cut = ""
        self.stale = False
        self.about = ("", "")  # the name and version that it goes by
        self._pipe: pipe.Pipe | None = None
        self._wire: JSONRPCDispatcher[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._end = asyncio.Event()
        self._lost = False
        self._status = 0

    @property
    def watched(self) -> Watched | None:
        """Its sandbox, None where it has none."""
        return self._pipe.watched if self._pipe is not None else None

    @property
    def exceeded(self) -> str:
        """Why its sandbox ended it, "" if it did not."""
        limit = self._pipe.exceeded if self._pipe is not None else ""
        return self._said(f"was ended: it used more than {limit}") if limit else ""

    @property
    def alive(self) -> bool:
        """Whether calls may be answered."""
        if self._lost or not self._ready.is_set() or self._task is None or self._task.done():
            return False
        return self._pipe is None or not self._pipe.ended

    async def start(self) -> None:
        """Start the server and read its tools. Raises WorldError, with nothing left running."""
        self._task = asyncio.create_task(self._live())
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait(
                {self._task, ready},
                timeout=self.server.start_timeout_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not self._ready.is_set():
                raise WorldError(await self._not_started())
        except BaseException:
            await self.stop()
            raise
        finally:
            ready.cancel()

    async def stop(self) -> None:
        """End the server; what it started ends with it."""
        task = self._task
        if task is None:
            return
        self._end.set()
        if self._lost or not self._ready.is_set():
            self._kill()
        if not self._ready.is_set():
            task.cancel()
        await asyncio.wait({task}, timeout=_STOP_S)
        if not task.done():
            self._kill()
            task.cancel()
            await asyncio.wait({task}, timeout=_STOP_S)
        if task.done() and not task.cancelled():
            task.exception()  # looked at: it was told when it mattered

    async def tools(self) -> list[Any]:
        """Return the tools, read again if the server said that they changed. Raises Lost."""
        if self.stale:
            self.stale = False
            try:
                with anyio.fail_after(self.server.call_timeout_s):
                    self.listed = await self._list()
            except TimeoutError:
                self._lost = True
                raise Lost(self._said("did not list its tools in time")) from None
            except MCPError as error:
                await self._check(error)  # an unreadable list leaves the one before in force
        return self.listed

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and return the answer as it is. Raises Refused and Lost."""
        limit_s = self.server.call_timeout_s
        try:
            with anyio.fail_after(limit_s):
                return await self._ask("tools/call", {"name": name, "arguments": arguments})
        except TimeoutError:
            await self._check_pulse()
            raise Refused(f"no answer within {limit_s:g} s; the call was cancelled") from None
        except MCPError as error:
            await self._check(error)
            text = self.launch.clean(error.message)
            if error.code == pipe.TOO_LONG or "byte limit" in text:
                raise Refused(text) from None
            raise Refused(f"MCP error {error.code}: {text}") from None

    def heard(self) -> str:
        """Return what the server has printed beside the protocol, and how it ended, if it has."""
        told = self._pipe.told() if self._pipe is not None else ""
        return escape(self.launch.clean(told)[:_REASON_CHARS]).strip()

    # --- the server's own task ---

    async def _live(self) -> None:
        async with self._connected() as (read, write):
            self._wire = JSONRPCDispatcher(read, write)
            about = mcp_types.Implementation(name="toolmark", version=__version__)
            async with ClientSession(
                dispatcher=self._wire, message_handler=self._notice, client_info=about
            ) as session:
                told = (await session.initialize()).server_info
                self.about = (self._short(told.name), self._short(told.version))
                self.listed = await self._list()
                self._ready.set()
                await self._end.wait()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[Any, Any]]:
        if not self.launch.url:
            async with pipe.opened(self.launch) as self._pipe:
                yield self._pipe.read, self._pipe.write
            return
        async with (
            httpx2.AsyncClient(
                headers=dict(self.launch.headers),
                timeout=httpx2.Timeout(30.0, read=None),
                verify=_tls(),
                trust_env=httpx2.URL(self.launch.url).host not in _LOOPBACK,  # no proxy for these
                event_hooks={"response": [self._guard]},
            ) as client,
            streamable_http_client(
                self.launch.url, http_client=client, max_sse_event_size=pipe.LIMIT_BYTES
            ) as streams,
        ):
            yield streams

    async def _guard(self, response: httpx2.Response) -> None:
        """Note what an outage looks like, and bound a body that comes in one piece."""
        kind = response.headers.get("content-type", "")
        if response.status_code >= 400:
            self._status = response.status_code
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            self._lost = True  # it was started anew, and knows this session no more
        if response.status_code >= 500 and not kind.startswith("application/json"):
            raise httpx2.RemoteProtocolError(f"HTTP status {response.status_code}")
        if not kind.startswith("text/event-stream"):
            response.stream = _Bounded(response.stream)

    async def _notice(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.stale = True

    # --- asking ---

    async def _ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        if self._wire is None:
            raise Lost(self._said("is not running"))
        return await self._wire.send_raw_request(method, params, CallOptions())

    async def _list(self) -> list[Any]:
        """Read all pages of the tools as they are: the SDK refuses a list for one bad entry.

        All pages together are held to what a single one may have.
        """
        self.cut = ""
        found: list[Any] = []
        size = 0
        cursors: set[str] = set()
        params: dict[str, Any] | None = None
        for _ in range(_PAGES):
            page = await self._ask("tools/list", params)
            listed = page.get("tools")
            tools = listed if isinstance(listed, list) else []
            cursor = page.get("nextCursor")
            size += len(json.dumps([tools, cursor], ensure_ascii=False, separators=(",", ":")))
            room = _TOOLS - len(found) if size <= pipe.LIMIT_BYTES else 0
            found.extend(tools[:room])
            if room < len(tools):
                self.cut = f"it lists too many tools, or too large ones: {len(found):,} are offered"
                break
            if not isinstance(cursor, str) or cursor in cursors:
                break
            cursors.add(cursor)
            params = {"cursor": cursor}
        return found

    async def _check_pulse(self) -> None:
        """Raise Lost unless the server still answers a ping."""
        try:
            with anyio.fail_after(min(_PING_S, self.server.call_timeout_s)):
                await self._ask("ping")
        except TimeoutError:
            self._lost = True
            limit_s = self.server.call_timeout_s
            text = f"gave no answer within {limit_s:g} s, and none to a ping"
            raise Lost(self._said(text)) from None
        except MCPError as error:
            await self._check(error)  # any answer of its own is a pulse

    async def _check(self, error: MCPError) -> None:
        """Raise Lost if the error means that the connection is gone."""
        if error.message in _LOST or not self.alive:
            self._lost = True
            if self._pipe is not None:
                await self._pipe.settle()
            if self.exceeded:
                raise Exceeded(self.exceeded) from None
            raise Lost(self._said("stopped during the run")) from None

    # --- what to tell ---

    async def _not_started(self) -> str:
        task = self._task
        if task is None or not task.done():
            return self._said(f"did not start within {self.server.start_timeout_s:g} s")
        if task.cancelled() or (error := task.exception()) is None:
            return self._said("ended at its start")
        status = f" (HTTP status {self._status})" if self._status else ""
        hint = ""
        if file := stray(self.server):
            hint = (
                f" ({file} lies beside the configuration, but servers start in the workspace: "
                f"write ${{config_dir}}/{file})"
            )
        return self._said(f"did not start: {'; '.join(_reasons(error))}{status}{hint}")

    def _said(self, what: str) -> str:
        told = self._pipe.told() if self._pipe is not None else ""
        text = f"MCP server {self.server.name!r} {what}" + (f"; {told}" if told else "")
        text += self._sandboxed(told)
        return escape(self.launch.clean(text)[:_REASON_CHARS])

    def _sandboxed(self, told: str) -> str:
        """Say what the sandbox may have to do with an end."""
        box = self.launch.box
        if box is None or (self._pipe is not None and self._pipe.exceeded):
            return ""
        argv = () if self._ready.is_set() else self.launch.argv
        hint = denials.advice(self.server.name, box, told, argv)
        return f"\n{hint or denials.declared(box)}"

    def denied(self, told: str, asked: str) -> str:
        """Return what to add to the entry for what the server seems to complain of, or "".

        `asked` are the arguments of the call that failed.
        """
        box = self.launch.box
        return "" if box is None else denials.advice(self.server.name, box, told, asked=asked)

    def _short(self, text: str) -> str:
        return escape(self.launch.clean(text)[:_ABOUT_CHARS])

    def _kill(self) -> None:
        if self._pipe is not None:
            self._pipe.kill()


@cache
def _tls() -> ssl.SSLContext:
    """Return what all connections check certificates with: making it takes 36 ms."""
    return httpx2.create_ssl_context()


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends in an error once it is over the limit."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for block in self.inner:
            size += len(block)
            if size > pipe.LIMIT_BYTES:
                raise httpx2.StreamError(f"the answer exceeded the {pipe.LIMIT_BYTES} byte limit")
            yield block

    async def aclose(self) -> None:
        await self.inner.aclose()


def _reasons(error: BaseException) -> list[str]:
    """Return what went wrong, without the groups that task groups wrap it in."""
    if isinstance(error, BaseExceptionGroup):
        return [text for inner in error.exceptions for text in _reasons(inner)]
    if isinstance(error, MCPError):
        return [error.message]
    return [f"{type(error).__name__}: {error}"]

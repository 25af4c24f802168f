"""One process of a server: started, called, watched, ended.

Contexts of the SDK must be left by the task that entered them, so every server has its own task.
Calls may come from any task.
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
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from toolmark.core import number_format
from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.json_codec import escape_surrogates
from toolmark.core.version import TOOLMARK_VERSION
from toolmark.environments.mcp import sandbox_denials, stdio_process
from toolmark.environments.mcp.sandbox_limits import WatchedSandbox
from toolmark.environments.mcp.server_config import ServerConfig
from toolmark.environments.mcp.server_launch import misplaced_argument, prepare_launch

_PING_S = 5.0
_STOP_S = 10.0
_MAX_PAGES = 100
_MAX_TOOLS = 2_000  # no model is offered more, and each uses memory
_MAX_REASON_CHARS = 3000
_MAX_NAME_CHARS = 100
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LOGIN_ADVICE = (
    'it wants a login: set "headers": {"Authorization": "Bearer ${NAME}"}, with a token in the '
    "environment variable NAME"
)
_OTHER_TRANSPORT = {
    False: 'a server of the legacy SSE transport needs "type": "sse"',
    True: 'a server of streamable HTTP needs "type": "http"',
}
_CONNECTION_LOST = (
    "Connection closed",
    "SSE stream ended without a response",
    "SSE stream ended and reconnection attempts were exhausted",
)

for _name in ("mcp", "client", "httpx2"):  # server text must not reach the terminal
    logging.getLogger(_name).addHandler(logging.NullHandler())


class ServerLost(ToolEnvironmentError):
    """The server ended, or does not answer any more; the call may or may not have been done."""


class LimitExceeded(ServerLost):
    """The server was ended because it passed a limit of its sandbox."""


class CallRefused(Exception):
    """The server answered a call with an error of the protocol, or not in time."""


class ServerSession:
    """One process of a server, from its start to its end.

    `listed` are its tools as listed last. `truncation_note` says what is left out of them.
    `tools_changed` says that they have changed since.
    """

    def __init__(self, server: ServerConfig, workspace: Path) -> None:
        self.server = server
        self.launch = prepare_launch(server, workspace)
        self.listed: list[Any] = []
        self.truncation_note = ""
        self.tools_changed = False
        self.server_info = ("", "")  # the name and version that it reports
        self._pipe: stdio_process.ServerPipe | None = None
        self._dispatcher: JSONRPCDispatcher[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._end = asyncio.Event()
        self._is_lost = False
        self._status = 0

    @property
    def watched(self) -> WatchedSandbox | None:
        """Its sandbox, None where it has none."""
        return self._pipe.watched if self._pipe is not None else None

    @property
    def exceeded(self) -> str:
        """Why its sandbox ended it, "" if it did not."""
        limit = self._pipe.exceeded if self._pipe is not None else ""
        return self._describe_server(f"was ended: it used more than {limit}") if limit else ""

    @property
    def alive(self) -> bool:
        """Whether calls may be answered."""
        if self._is_lost or not self._ready.is_set() or self._task is None or self._task.done():
            return False
        return self._pipe is None or not self._pipe.ended

    async def start(self) -> None:
        """Start the server and read its tools. Raises ToolEnvironmentError after stopping it."""
        self._task = asyncio.create_task(self._run_session())
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait(
                {self._task, ready},
                timeout=self.server.start_timeout_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not self._ready.is_set():
                raise ToolEnvironmentError(await self._describe_failed_start())
        except BaseException:
            await self.stop()
            raise
        finally:
            ready.cancel()

    async def stop(self) -> None:
        """End the server, with all that it started."""
        task = self._task
        if task is None:
            return
        self._end.set()
        if self._is_lost or not self._ready.is_set():
            self._kill_process()
        if not self._ready.is_set():
            task.cancel()
        await asyncio.wait({task}, timeout=_STOP_S)
        if not task.done():
            self._kill_process()
            task.cancel()
            await asyncio.wait({task}, timeout=_STOP_S)
        if task.done() and not task.cancelled():
            task.exception()  # retrieve the exception: it was already reported

    async def tools(self) -> list[Any]:
        """Return the tools, read again if the server reported a change. Raises ServerLost."""
        if self.tools_changed:
            self.tools_changed = False
            try:
                with anyio.fail_after(self.server.call_timeout_s):
                    self.listed = await self._list_tools()
            except TimeoutError:
                self._is_lost = True
                raise ServerLost(self._describe_server("did not list its tools in time")) from None
            except MCPError as error:
                # if the list is unreadable, the previous one stays valid
                await self._check_connection(error)
        return self.listed

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and return the answer unchanged. Raises CallRefused and ServerLost."""
        limit_s = self.server.call_timeout_s
        try:
            with anyio.fail_after(limit_s):
                return await self._send_request(
                    "tools/call", {"name": name, "arguments": arguments}
                )
        except TimeoutError:
            await self._check_pulse()
            raise CallRefused(f"no answer within {limit_s:g} s; the call was cancelled") from None
        except MCPError as error:
            await self._check_connection(error)
            text = self.launch.redact_secrets(error.message)
            if error.code == stdio_process.ANSWER_TOO_LONG_CODE or "byte limit" in text:
                raise CallRefused(text) from None
            raise CallRefused(f"MCP error {error.code}: {text}") from None

    def server_output(self) -> str:
        """Return what the server has printed besides the protocol, and how it ended, if it has."""
        ending = self._pipe.describe_end() if self._pipe is not None else ""
        return escape_surrogates(self.launch.redact_secrets(ending)[:_MAX_REASON_CHARS]).strip()

    # --- the server's own task ---

    async def _run_session(self) -> None:
        async with self._open_streams() as (read, write):
            self._dispatcher = JSONRPCDispatcher(read, write)
            about = mcp_types.Implementation(name="toolmark", version=TOOLMARK_VERSION)
            async with ClientSession(
                dispatcher=self._dispatcher,
                message_handler=self._handle_notification,
                client_info=about,
            ) as session:
                info = (await session.initialize()).server_info
                self.server_info = (self._shown_name(info.name), self._shown_name(info.version))
                self.listed = await self._list_tools()
                self._ready.set()
                await self._end.wait()

    @asynccontextmanager
    async def _open_streams(self) -> AsyncIterator[tuple[Any, Any]]:
        if not self.launch.url:
            async with stdio_process.open_server(self.launch) as self._pipe:
                yield self._pipe.read, self._pipe.write
            return
        if self.server.legacy_stream:
            async with sse_client(
                self.launch.url, httpx_client_factory=self._make_http_client
            ) as streams:
                yield streams
            return
        async with (
            self._make_http_client() as client,
            streamable_http_client(
                self.launch.url, http_client=client, max_sse_event_size=stdio_process.LIMIT_BYTES
            ) as streams,
        ):
            yield streams

    def _make_http_client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """Return the client of a server with an address. What the SDK would set is not used."""
        return httpx2.AsyncClient(
            headers=dict(self.launch.headers),
            timeout=httpx2.Timeout(30.0, read=None),
            verify=_tls_context(),
            trust_env=httpx2.URL(self.launch.url).host not in _LOOPBACK,  # no proxy for these
            event_hooks={"response": [self._check_response]},
        )

    async def _check_response(self, response: httpx2.Response) -> None:
        """Record signs of an outage, and bound a body that is sent at once."""
        kind = response.headers.get("content-type", "")
        if response.status_code >= 400:
            self._status = response.status_code
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            self._is_lost = True  # the server was restarted, and does not know this session
        if response.status_code >= 500 and not kind.startswith("application/json"):
            raise httpx2.RemoteProtocolError(f"HTTP status {response.status_code}")
        if not kind.startswith("text/event-stream"):
            response.stream = _BoundedStream(response.stream)

    async def _handle_notification(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.tools_changed = True

    # --- asking ---

    async def _send_request(
        self, method: str, params: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        if self._dispatcher is None:
            raise ServerLost(self._describe_server("is not running"))
        return await self._dispatcher.send_raw_request(method, params, CallOptions())

    async def _list_tools(self) -> list[Any]:
        """Read all pages of the tools unchanged: the SDK refuses a list for one bad entry.

        All pages together are bounded by the limit of a single answer.
        """
        self.truncation_note = ""
        found: list[Any] = []
        size = 0
        cursors: set[str] = set()
        params: dict[str, Any] | None = None
        for _ in range(_MAX_PAGES):
            page = await self._send_request("tools/list", params)
            listed = page.get("tools")
            tools = listed if isinstance(listed, list) else []
            cursor = page.get("nextCursor")
            size += len(json.dumps([tools, cursor], ensure_ascii=False, separators=(",", ":")))
            n_more = _MAX_TOOLS - len(found) if size <= stdio_process.LIMIT_BYTES else 0
            found.extend(tools[:n_more])
            if n_more < len(tools):
                n_offered = number_format.format_count(len(found))
                self.truncation_note = (
                    f"it lists too many tools, or too large ones: {n_offered} are offered"
                )
                break
            if not isinstance(cursor, str) or cursor in cursors:
                break
            cursors.add(cursor)
            params = {"cursor": cursor}
        return found

    async def _check_pulse(self) -> None:
        """Raise ServerLost unless the server still answers a ping."""
        try:
            with anyio.fail_after(min(_PING_S, self.server.call_timeout_s)):
                await self._send_request("ping")
        except TimeoutError:
            self._is_lost = True
            limit_s = self.server.call_timeout_s
            text = f"gave no answer within {limit_s:g} s, and none to a ping"
            raise ServerLost(self._describe_server(text)) from None
        except MCPError as error:
            await self._check_connection(error)  # any answer of its own shows that it is alive

    async def _check_connection(self, error: MCPError) -> None:
        """Raise ServerLost if the error means that the connection is closed.

        Raises LimitExceeded where the sandbox ended the server.
        """
        if error.message in _CONNECTION_LOST or not self.alive:
            self._is_lost = True
            if self._pipe is not None:
                await self._pipe.wait_for_exit()
            if self.exceeded:
                raise LimitExceeded(self.exceeded) from None
            raise ServerLost(self._describe_server("stopped during the run")) from None

    # --- what to tell ---

    async def _describe_failed_start(self) -> str:
        task = self._task
        if task is None or not task.done():
            return self._describe_server(f"did not start within {self.server.start_timeout_s:g} s")
        if task.cancelled() or (error := task.exception()) is None:
            return self._describe_server("ended at its start")
        status = f" (HTTP status {self._status})" if self._status else ""
        hint = ""
        if file := misplaced_argument(self.server):
            hint = (
                f" ({file} lies next to the configuration, but servers start in the workspace: "
                f"write ${{config_dir}}/{file})"
            )
        elif self._status in (401, 403):
            hint = f" ({_LOGIN_ADVICE})"
        elif self.server.url and self._status in (404, 405):
            hint = f" ({_OTHER_TRANSPORT[self.server.legacy_stream]})"
        return self._describe_server(
            f"did not start: {'; '.join(_error_reasons(error))}{status}{hint}"
        )

    def _describe_server(self, what: str) -> str:
        ending = self._pipe.describe_end() if self._pipe is not None else ""
        text = f"MCP server {self.server.name!r} {what}" + (f"; {ending}" if ending else "")
        text += self._sandbox_note(ending)
        return escape_surrogates(self.launch.redact_secrets(text)[:_MAX_REASON_CHARS])

    def _sandbox_note(self, output: str) -> str:
        """Return a text on how the sandbox may have caused an end."""
        spec = self.launch.sandbox_spec
        if spec is None or (self._pipe is not None and self._pipe.exceeded):
            return ""
        argv = () if self._ready.is_set() else self.launch.argv
        hint = sandbox_denials.denial_advice(self.server.name, spec, output, argv)
        return f"\n{hint or sandbox_denials.describe_permissions(spec)}"

    def denial_advice(self, output: str, call_arguments: str) -> str:
        """Return what to add to the entry for what the server seems to lack, or "".

        `call_arguments` are the arguments of the call that failed.
        """
        spec = self.launch.sandbox_spec
        return (
            ""
            if spec is None
            else sandbox_denials.denial_advice(
                self.server.name, spec, output, call_arguments=call_arguments
            )
        )

    def _shown_name(self, text: str) -> str:
        return escape_surrogates(self.launch.redact_secrets(text)[:_MAX_NAME_CHARS])

    def _kill_process(self) -> None:
        if self._pipe is not None:
            self._pipe.kill()


@cache
def _tls_context() -> ssl.SSLContext:
    """Return the context by which all connections check certificates: making it takes 36 ms."""
    return httpx2.create_ssl_context()


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that raises an error once it is over the limit."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for block in self.inner:
            size += len(block)
            if size > stdio_process.LIMIT_BYTES:
                raise httpx2.StreamError(
                    f"the answer exceeded the {stdio_process.LIMIT_BYTES} byte limit"
                )
            yield block

    async def aclose(self) -> None:
        await self.inner.aclose()


def _error_reasons(error: BaseException) -> list[str]:
    """Return what went wrong, without the exception groups of task groups."""
    if isinstance(error, BaseExceptionGroup):
        return [text for inner in error.exceptions for text in _error_reasons(inner)]
    if isinstance(error, MCPError):
        return [error.message]
    return [f"{type(error).__name__}: {error}"]

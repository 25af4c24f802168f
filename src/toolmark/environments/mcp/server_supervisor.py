"""A server over several processes: started when first needed, started again when it ends.

A server of one episode is restarted once in the episode. A shared server is restarted whenever it
is needed again. A call that was in progress when the shared server ended is repeated in a separate
process, so that a call that kills servers does not end calls of other episodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolmark.core import number_format
from toolmark.core.errors import DataError, SandboxError, ToolEnvironmentError, UsageError
from toolmark.environments.mcp.sandbox_limits import WatchedSandbox
from toolmark.environments.mcp.server_config import ServerConfig
from toolmark.environments.mcp.server_launch import describe_missing
from toolmark.environments.mcp.server_session import LimitExceeded, ServerLost, ServerSession

_MAX_FAILED_STARTS = (
    2  # after failed starts in a row of this many start-up time-outs, it is not tried again
)
_MAX_NOTES = 100


class ServerStatus:
    """What a run knows of one server: what it lacks, time of failed starts, what happened."""

    def __init__(self, server: ServerConfig, gate: asyncio.Semaphore) -> None:
        self.server = server
        self.gate = gate
        self.missing = describe_missing(server)
        self.wasted_s = 0.0
        self.start_s = 0.0  # of the last start, with the list of tools
        self.last_error = ""
        self.notes: list[str] = []
        self.n_restarts = 0
        self.descriptions: list[str] = []

    def add_note(self, text: str) -> None:
        """Store a note for the report, once, up to 100 notes."""
        if text not in self.notes and len(self.notes) < _MAX_NOTES:
            self.notes.append(text)

    def add_description(self, description: str) -> None:
        """Store what the server reports it is, once, up to 100 descriptions."""
        if description not in self.descriptions and len(self.descriptions) < _MAX_NOTES:
            self.descriptions.append(description)

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, and how often the server was started again."""
        if not self.n_restarts:
            return tuple(self.notes)
        times = "once" if self.n_restarts == 1 else f"{self.n_restarts} times"
        return (*self.notes, f"started again {times} after it had ended")

    async def start(self, workspace: Path) -> ServerSession:
        """Start a process when few enough others are starting. Raises ToolEnvironmentError."""
        self._check_can_start()
        async with self.gate:
            self._check_can_start()
            try:
                session = ServerSession(self.server, workspace)
            except (DataError, UsageError) as error:  # something was removed since
                raise ToolEnvironmentError(
                    f"MCP server {self.server.name!r} cannot run: {error}"
                ) from None
            begun_s = asyncio.get_running_loop().time()
            try:
                await session.start()
            except ToolEnvironmentError as error:
                self.wasted_s += asyncio.get_running_loop().time() - begun_s
                self.last_error = str(error)
                self.add_note(self.last_error)
                raise
            self.start_s = asyncio.get_running_loop().time() - begun_s
        self.wasted_s = 0.0
        return session

    def _check_can_start(self) -> None:
        if self.missing:
            raise ToolEnvironmentError(
                f"MCP server {self.server.name!r} cannot run: {self.missing}"
            )
        if self.wasted_s >= _MAX_FAILED_STARTS * self.server.start_timeout_s:
            raise ToolEnvironmentError(
                f"{self.last_error} (given up after "
                f"{number_format.format_duration(self.wasted_s)} of failed starts)"
            )


class ServerSupervisor:
    """Runs one server in one workspace, and restarts it."""

    def __init__(self, status: ServerStatus, workspace: Path) -> None:
        self.status = status
        self.server = status.server
        self.workspace = workspace
        self.n_restarts = 0
        self._session: ServerSession | None = None
        self._lock = asyncio.Lock()
        self._call_gate = (
            asyncio.Semaphore(self.server.concurrency) if self.server.concurrency else None
        )

    @property
    def tools_may_differ(self) -> bool:
        """Whether the tools may differ from those listed last."""
        return self._session is None or self._session.tools_changed or not self._session.alive

    async def running_session(self) -> ServerSession:
        """Return the running server, started if needed. Raises ToolEnvironmentError."""
        if self._session is not None and self._session.alive:
            return self._session
        async with self._lock:
            session = self._session
            if session is not None and session.alive:
                return session
            self.check_limits()
            if session is not None:
                self._count_restart()
                await session.stop()
            self._session = None
            self._session = await self.status.start(self.workspace)
            return self._session

    @property
    def watched_sandbox(self) -> WatchedSandbox | None:
        """The sandbox of a server that one episode owns, else None."""
        return self._session.watched if self.server.stateful and self._session else None

    def check_limits(self) -> None:
        """Raise SandboxError where the server of this episode passed a limit of its sandbox."""
        if self.server.stateful and self._session is not None and self._session.exceeded:
            raise SandboxError(self._session.exceeded)

    async def tools(self) -> list[Any]:
        """Return the tools as the server lists them now. Raises ToolEnvironmentError."""
        try:
            return await (await self.running_session()).tools()
        except ServerLost as lost:
            self.status.add_note(str(lost))
            return await (await self.running_session()).tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        """Call a tool, and repeat the call once if the server ended during it.

        Raises CallRefused and ToolEnvironmentError.
        """
        if self._call_gate is None:
            return await self._call_with_restart(name, arguments)
        async with self._call_gate:
            return await self._call_with_restart(name, arguments)

    async def _call_with_restart(self, name: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        try:
            return await (await self.running_session()).call(name, arguments)
        except ServerLost as lost:
            self.status.add_note(str(lost))
            self.check_limits()
            if not self.server.restart:
                raise ToolEnvironmentError(
                    f"{lost}; what it had in memory is lost with it"
                ) from None
        try:
            if self.server.stateful:
                return await (await self.running_session()).call(name, arguments)
            return await self._call_in_own_process(name, arguments)
        except ServerLost as lost:
            self.status.add_note(str(lost))
            if isinstance(lost, LimitExceeded):
                raise SandboxError(str(lost)) from None
            raise ToolEnvironmentError(
                f"{lost} (and so it was once before, in the same call)"
            ) from None

    async def stop(self) -> None:
        """End the server."""
        if self._session is not None:
            await self._session.stop()

    async def _call_in_own_process(self, name: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        session = await self.status.start(self.workspace)
        try:
            return await session.call(name, arguments)
        finally:
            await session.stop()

    def _count_restart(self) -> None:
        """Count a restart. Raises ToolEnvironmentError where no restart is left for the episode."""
        self.n_restarts += 1
        if self.server.stateful and (not self.server.restart or self.n_restarts > 1):
            why = self.status.notes[-1] if self.status.notes else "it stopped between two calls"
            raise ToolEnvironmentError(f"MCP server {self.server.name!r} is lost: {why}")
        self.status.n_restarts += 1

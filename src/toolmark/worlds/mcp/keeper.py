"""A server over its lives: started when first needed, started once more when it dies.

A server of one episode is restarted once in the episode. A shared one is restarted whenever it
is needed again; a call that was under way when it died is repeated alone, in a process of its own,
so that a call which kills servers cannot take those of other episodes with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolmark.errors import DataError, SandboxError, UsageError, WorldError
from toolmark.worlds.mcp.config import Server, missing
from toolmark.worlds.mcp.limits import Watched
from toolmark.worlds.mcp.session import Exceeded, Lost, Session

_TRIES = 2  # start-up time-outs' worth of failed starts in a row, then it is down for the run
_NOTES = 100


class Ledger:
    """What a run knows of one server: what it lacks, what failing starts cost, what happened."""

    def __init__(self, server: Server, gate: asyncio.Semaphore) -> None:
        self.server = server
        self.gate = gate
        self.missing = missing(server)
        self.wasted_s = 0.0
        self.why = ""
        self.notes: list[str] = []
        self.n_restarts = 0
        self.met: list[str] = []

    def note(self, text: str) -> None:
        """Keep a note for the report, once, up to a limit."""
        if text not in self.notes and len(self.notes) < _NOTES:
            self.notes.append(text)

    def meet(self, said: str) -> None:
        """Keep what the server says it is, once, up to a limit."""
        if said not in self.met and len(self.met) < _NOTES:
            self.met.append(said)

    def told(self) -> tuple[str, ...]:
        """Return the notes, and how often it had to be started again."""
        if not self.n_restarts:
            return tuple(self.notes)
        times = "once" if self.n_restarts == 1 else f"{self.n_restarts} times"
        return (*self.notes, f"started again {times} after it had ended")

    async def start(self, workspace: Path) -> Session:
        """Start a process, as soon as few enough others are starting. Raises WorldError."""
        self._able()
        async with self.gate:
            self._able()
            try:
                session = Session(self.server, workspace)
            except (DataError, UsageError) as error:  # what was there before the run is gone
                raise WorldError(f"MCP server {self.server.name!r} cannot run: {error}") from None
            begun_s = asyncio.get_running_loop().time()
            try:
                await session.start()
            except WorldError as error:
                self.wasted_s += asyncio.get_running_loop().time() - begun_s
                self.why = str(error)
                self.note(self.why)
                raise
        self.wasted_s = 0.0
        return session

    def _able(self) -> None:
        if self.missing:
            raise WorldError(f"MCP server {self.server.name!r} cannot run: {self.missing}")
        if self.wasted_s >= _TRIES * self.server.start_timeout_s:
            raise WorldError(f"{self.why} (given up after {self.wasted_s:.0f} s of failed starts)")


class Keeper:
    """Keeps one server running in one workspace."""

    def __init__(self, ledger: Ledger, workspace: Path) -> None:
        self.ledger = ledger
        self.server = ledger.server
        self.workspace = workspace
        self.n_restarts = 0
        self._session: Session | None = None
        self._lock = asyncio.Lock()
        self._turn = asyncio.Lock()

    @property
    def stale(self) -> bool:
        """Whether the tools may differ from those listed last."""
        return self._session is None or self._session.stale or not self._session.alive

    async def session(self) -> Session:
        """Return the running server, started if need be. Raises WorldError."""
        if self._session is not None and self._session.alive:
            return self._session
        async with self._lock:
            session = self._session
            if session is not None and session.alive:
                return session
            self.check_limits()
            if session is not None:
                self._count()
                await session.stop()
            self._session = None
            self._session = await self.ledger.start(self.workspace)
            return self._session

    @property
    def watched(self) -> Watched | None:
        """The sandbox of the server where it has one of its own, for its episode."""
        return self._session.watched if self.server.stateful and self._session else None

    def check_limits(self) -> None:
        """Raise SandboxError where the server of this episode passed a limit of its sandbox."""
        if self.server.stateful and self._session is not None and self._session.exceeded:
            raise SandboxError(self._session.exceeded)

    async def tools(self) -> list[Any]:
        """Return the tools as the server lists them now. Raises WorldError."""
        try:
            return await (await self.session()).tools()
        except Lost as lost:
            self.ledger.note(str(lost))
            return await (await self.session()).tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        """Call a tool; once more if the server died over it. Raises Refused and WorldError."""
        if not self.server.serial:
            return await self._call(name, arguments)
        async with self._turn:
            return await self._call(name, arguments)

    async def _call(self, name: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        try:
            return await (await self.session()).call(name, arguments)
        except Lost as lost:
            self.ledger.note(str(lost))
            self.check_limits()
            if not self.server.restart:
                raise WorldError(f"{lost}; what it held in memory is lost with it") from None
        try:
            if self.server.stateful:
                return await (await self.session()).call(name, arguments)
            return await self._alone(name, arguments)
        except Lost as lost:
            self.ledger.note(str(lost))
            if isinstance(lost, Exceeded):
                raise SandboxError(str(lost)) from None
            raise WorldError(f"{lost} (and so it was once before, in the same call)") from None

    async def stop(self) -> None:
        """End the server."""
        if self._session is not None:
            await self._session.stop()

    async def _alone(self, name: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        session = await self.ledger.start(self.workspace)
        try:
            return await session.call(name, arguments)
        finally:
            await session.stop()

    def _count(self) -> None:
        """Count a restart. Raises WorldError when a server of one episode has had its one."""
        self.n_restarts += 1
        if self.server.stateful and (not self.server.restart or self.n_restarts > 1):
            why = self.ledger.notes[-1] if self.ledger.notes else "it stopped between two calls"
            raise WorldError(f"MCP server {self.server.name!r} is lost: {why}")
        self.ledger.n_restarts += 1

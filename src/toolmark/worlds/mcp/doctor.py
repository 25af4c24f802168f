"""Servers examined before a run: whether each starts, what it offers, what it says of itself."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from toolmark.errors import WorldError
from toolmark.types import Check, Tool
from toolmark.worlds.mcp import content
from toolmark.worlds.mcp.config import Server
from toolmark.worlds.mcp.keeper import Ledger
from toolmark.worlds.mcp.session import Session

_AT_ONCE = 8


async def examine(servers: Sequence[Server]) -> list[Check]:
    """Start each server in an empty folder, read its tools, end it; a check for each, in order."""
    gate = asyncio.Semaphore(_AT_ONCE)
    with tempfile.TemporaryDirectory(prefix="toolmark-", ignore_cleanup_errors=True) as home:
        folders = [Path(home).resolve() / str(number) for number in range(len(servers))]
        for folder in folders:
            folder.mkdir()
        probes = [
            _probe(Ledger(server, gate), folder)
            for server, folder in zip(servers, folders, strict=True)
        ]
        return list(await asyncio.gather(*probes))


async def _probe(ledger: Ledger, folder: Path) -> Check:
    name = ledger.server.name
    if ledger.server.disabled:
        return Check(name=name, status="warn", detail=ledger.missing, step="no task can use it")
    if ledger.missing:
        step = 'put that right, or set "disabled": true'
        return Check(name=name, status="fail", detail=ledger.missing, step=step)
    try:
        session = await ledger.start(folder)
    except WorldError as error:
        return Check(name=name, status="fail", detail=str(error), step=_step(ledger.server))
    try:
        return _found(session, await session.tools())
    except WorldError as error:
        return Check(name=name, status="fail", detail=str(error), step=_step(ledger.server))
    finally:
        await session.stop()


def _found(session: Session, listed: Sequence[object]) -> Check:
    """Say what a running server offers, and what it printed meanwhile."""
    name = session.server.name
    read = [content.tool(name, said) for said in listed]
    tools = [tool.name.partition("/")[2] for tool in read if isinstance(tool, Tool)]
    odd = [told for told in read if isinstance(told, str)]
    about = " ".join(filter(None, session.about)) or "a server without a name"
    offered = f"offers {', '.join(tools)}" if tools else "offers no tools"
    detail = session.launch.clean("; ".join([f"{about} {offered}", *odd]))
    if heard := session.heard():
        detail = f"{detail}\n{heard}"
    if tools and not odd:
        return Check(name=name, status="ok", detail=detail)
    step = "mend what it lists" if odd else "a model could do nothing with it"
    return Check(name=name, status="warn", detail=detail, step=step)


def _step(server: Server) -> str:
    if server.url:
        return "is it up, and is the address right?"
    if server.pinned:
        return "docs/m3-servers.md tells what it needs"
    shown = shlex.join([server.command, *server.args])  # as written: no variable is filled in
    return f"start it by hand in an empty folder: {shown}"

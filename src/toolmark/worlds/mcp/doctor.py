"""Servers examined before a run: whether each starts, what it offers, what it says of itself."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from toolmark.errors import WorldError
from toolmark.types import Check, Tool
from toolmark.worlds.mcp import content, sandbox
from toolmark.worlds.mcp.config import HOLE, Server
from toolmark.worlds.mcp.keeper import Ledger
from toolmark.worlds.mcp.session import Session

_AT_ONCE = 8


async def examine(servers: Sequence[Server]) -> list[Check]:
    """Start each server in an empty folder, read its tools, end it; a check for each, in order.

    Raises UsageError where there is no sandbox for them.
    """
    if any(not server.url for server in servers):
        sandbox.require()
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
    home = server.folder
    beside = os.sep in server.command and not server.command.startswith("$")
    command = os.path.join(home, server.command) if beside else server.command
    shown = " ".join(_word(text, home) for text in (command, *server.args))
    place = f"in {_word(server.cwd, home)}" if server.cwd else "in an empty folder"
    env = f", with its {', '.join(server.env)} set" if server.env else ""
    return f"start it by hand {place}{env}: {shown}"


def _word(text: str, home: str) -> str:
    """Return a text of the configuration, which lies in `home`, as a word for a shell.

    The shell fills in the variables: they may be keys, and are not shown.
    """
    text = text.replace("${config_dir}", home)
    word, end = "", 0
    for hole in HOLE.finditer(text):
        word += shlex.quote(text[end : hole.start()]) if hole.start() > end else ""
        word += _hole(hole)
        end = hole.end()
    return word + (shlex.quote(text[end:]) if text[end:] or not word else "")


def _hole(hole: re.Match[str]) -> str:
    if hole[1] == "workspace":
        return '"$PWD"'
    default = "" if hole[2] is None else ":-" + re.sub(r'([\\"$`])', r"\\\1", hole[2])
    return f'"${{{hole[1]}{default}}}"'

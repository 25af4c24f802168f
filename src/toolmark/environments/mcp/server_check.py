"""Servers checked before a run: whether each starts, and which tools it lists."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.records import Check, Tool
from toolmark.environments.mcp import result_content, sandbox
from toolmark.environments.mcp.server_config import PLACEHOLDER, ServerConfig
from toolmark.environments.mcp.server_session import ServerSession
from toolmark.environments.mcp.server_supervisor import ServerStatus

_MAX_STARTING = 8


async def check_servers(servers: Sequence[ServerConfig]) -> list[Check]:
    """Start each server in an empty folder, read its tools and end it.

    Returns one check for each server, in order. Raises UsageError where a sandbox is required but
    there is none.
    """
    if any(not server.url for server in servers):
        sandbox.require_sandbox()
    gate = asyncio.Semaphore(_MAX_STARTING)
    with tempfile.TemporaryDirectory(prefix="toolmark-", ignore_cleanup_errors=True) as parent:
        folders = [Path(parent).resolve() / str(number) for number in range(len(servers))]
        for folder in folders:
            folder.mkdir()
        probes = [
            _check_server(ServerStatus(server, gate), folder)
            for server, folder in zip(servers, folders, strict=True)
        ]
        return list(await asyncio.gather(*probes))


async def _check_server(ledger: ServerStatus, folder: Path) -> Check:
    name = ledger.server.name
    if ledger.server.disabled:
        return Check(
            name=name, status="warn", detail=ledger.missing, next_step="no task can use it"
        )
    if ledger.missing:
        step = 'put that right, or set "disabled": true'
        return Check(name=name, status="fail", detail=ledger.missing, next_step=step)
    try:
        session = await ledger.start(folder)
    except ToolEnvironmentError as error:
        return Check(
            name=name, status="fail", detail=str(error), next_step=_next_step(ledger.server)
        )
    try:
        return _report_server(session, await session.tools())
    except ToolEnvironmentError as error:
        return Check(
            name=name, status="fail", detail=str(error), next_step=_next_step(ledger.server)
        )
    finally:
        await session.stop()


def _report_server(session: ServerSession, listed: Sequence[object]) -> Check:
    """Return what a running server offers, and what it printed meanwhile."""
    name = session.server.name
    converted = [result_content.convert_tool(name, said) for said in listed]
    listed_tools = [tool.name.partition("/")[2] for tool in converted if isinstance(tool, Tool)]
    tools = [tool for tool in listed_tools if session.server.offers_tool(tool)]
    problems = [problem for problem in converted if isinstance(problem, str)]
    problems += [
        f"no tool that it lists matches {pattern!r}"
        for pattern in session.server.unmatched_patterns(listed_tools)
    ]
    about = " ".join(filter(None, session.server_info)) or "a server without a name"
    offered = f"offers {', '.join(tools)}" if tools else "offers no tools"
    detail = session.launch.redact_secrets("; ".join([f"{about} {offered}", *problems]))
    if output := session.server_output():
        detail = f"{detail}\n{output}"
    if tools and not problems:
        return Check(name=name, status="ok", detail=detail)
    step = "correct what it lists" if problems else "a model could do nothing with it"
    return Check(name=name, status="warn", detail=detail, next_step=step)


def _next_step(server: ServerConfig) -> str:
    if server.url:
        return "is it up, and is the address right?"
    if server.pinned_environment:
        return "docs/reference/pinned-servers.md lists what it needs"
    config_folder = server.folder
    is_relative = os.sep in server.command and not server.command.startswith("$")
    command = os.path.join(config_folder, server.command) if is_relative else server.command
    shown = " ".join(_shell_word(text, config_folder) for text in (command, *server.args))
    start_folder = (
        f"in {_shell_word(server.cwd, config_folder)}" if server.cwd else "in an empty folder"
    )
    env = f", with its {', '.join(server.env)} set" if server.env else ""
    return f"start it by hand {start_folder}{env}: {shown}"


def _shell_word(text: str, config_folder: str) -> str:
    """Return a text of the configuration, which is in `config_folder`, as a word for a shell.

    The shell fills in the variables: they may be keys, and are not shown.
    """
    text = text.replace("${config_dir}", config_folder)
    word, end = "", 0
    for hole in PLACEHOLDER.finditer(text):
        word += shlex.quote(text[end : hole.start()]) if hole.start() > end else ""
        word += _shell_variable(hole)
        end = hole.end()
    return word + (shlex.quote(text[end:]) if text[end:] or not word else "")


def _shell_variable(hole: re.Match[str]) -> str:
    if hole[1] == "workspace":
        return '"$PWD"'
    default = "" if hole[2] is None else ":-" + re.sub(r'([\\"$`])', r"\\\1", hole[2])
    return f'"${{{hole[1]}{default}}}"'

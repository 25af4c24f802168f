"""Servers checked before a run: whether each starts, and which tools it lists."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.number_format import format_count, format_duration
from toolmark.core.records import Check, Tool
from toolmark.environments.mcp import result_content, sandbox
from toolmark.environments.mcp.server_config import PLACEHOLDER, ServerConfig
from toolmark.environments.mcp.server_session import ServerSession
from toolmark.environments.mcp.server_supervisor import ServerStatus

_MAX_STARTING = 8
_CHARACTERS_PER_TOKEN = 4  # of schemas as JSON, an estimate


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
        return _report_server(session, await session.tools(), ledger.start_s)
    except ToolEnvironmentError as error:
        return Check(
            name=name, status="fail", detail=str(error), next_step=_next_step(ledger.server)
        )
    finally:
        await session.stop()


def _report_server(session: ServerSession, listed: Sequence[object], start_s: float) -> Check:
    """Return what a running server offers and costs, and what it printed meanwhile.

    `start_s` are the seconds from its start to its list of tools.
    """
    name = session.server.name
    converted = [result_content.convert_tool(name, said) for said in listed]
    by_name = {
        tool.name.partition("/")[2]: (tool, said)
        for tool, said in zip(converted, listed, strict=True)
        if isinstance(tool, Tool)
    }
    listed_tools = list(by_name)
    tools = [tool for tool in listed_tools if session.server.offers_tool(tool)]
    problems = [problem for problem in converted if isinstance(problem, str)]
    problems += [
        f"no tool that it lists matches {pattern!r}"
        for pattern in session.server.unmatched_patterns(listed_tools)
    ]
    about = " ".join(filter(None, session.server_info)) or "a server without a name"
    offered = f"offers {', '.join(tools)}" if tools else "offers no tools"
    facts = _describe_offer([by_name[tool] for tool in tools], start_s)
    detail = session.launch.redact_secrets("; ".join([f"{about} {offered}", *facts, *problems]))
    if output := session.server_output():
        detail = f"{detail}\n{output}"
    if tools and not problems:
        return Check(name=name, status="ok", detail=detail)
    step = "correct what it lists" if problems else "a model could do nothing with it"
    return Check(name=name, status="warn", detail=detail, next_step=step)


def _describe_offer(tools: Sequence[tuple[Tool, object]], start_s: float) -> list[str]:
    """Return sentences on tools, each with the entry of the list that it was read from."""
    n_characters = sum(
        len(json.dumps([tool.name, tool.description, tool.parameters], ensure_ascii=False))
        for tool, _ in tools
    )
    n_tokens = format_count(round(n_characters / _CHARACTERS_PER_TOKEN))
    facts = [f"started in {format_duration(start_s)}"]
    if tools:
        count = "1 tool" if len(tools) == 1 else f"{format_count(len(tools))} tools"
        facts.insert(0, f"{count}, about {n_tokens} tokens of every request")
    destructive = [tool.name.partition("/")[2] for tool, said in tools if _is_destructive(said)]
    if destructive:
        facts.append(f"says that it can destroy something: {', '.join(destructive)}")
    return facts


def _is_destructive(said: object) -> bool:
    """Return whether the server marks a tool so. Without a mark nothing is assumed."""
    annotations = said.get("annotations") if isinstance(said, dict) else None
    return isinstance(annotations, dict) and annotations.get("destructiveHint") is True


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

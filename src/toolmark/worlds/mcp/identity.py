"""Which servers these are: what tells two configurations, or two releases of a server, apart."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from toolmark.errors import ToolmarkError
from toolmark.types import Tool
from toolmark.worlds.mcp import config, environment
from toolmark.worlds.mcp.config import BLANK, Server

_DIGITS = 12
_ANYWHERE, _HERE = Path("${workspace}"), "${config_dir}"


def digest(servers: Iterable[Server], environ: Mapping[str, str] = os.environ) -> str:
    """Return the sha256 of what these servers are started with, in their order.

    Placeholders count with their values, secrets do not count, not even hashed. A pinned
    environment counts with its lock. Where the configuration lies does not count.
    """
    told = [_open(server, environ) for server in servers]
    return hashlib.sha256("\n".join(told).encode(errors="surrogatepass")).hexdigest()


def met(name: str, version: str, tools: Sequence[Tool]) -> str:
    """Return what a server said it is, in a line: its name, version, and the hash of its tools."""
    listed = hashlib.sha256(msgspec.json.encode(tools, order="sorted")).hexdigest()[:_DIGITS]
    said = " ".join(filter(None, (name, version))) or "without a name"
    counted = "1 tool" if len(tools) == 1 else f"{len(tools)} tools"
    return f"{said}, {counted}, sha256 {listed}"


def _open(server: Server, environ: Mapping[str, str]) -> str:
    """Return a server as JSON, placeholders filled and secrets blanked."""
    cwd = server.cwd
    if cwd and server.folder and not cwd.startswith("${"):
        cwd = os.path.relpath(cwd, server.folder)
    held: dict[str, Any] = msgspec.to_builtins(server) | {"cwd": cwd, "folder": ""}
    fill = config.filled(msgspec.structs.replace(server, folder=_HERE), _ANYWHERE, environ)
    text = json.dumps(_mapped(held, fill) | {"lock": _lock(server)}, sort_keys=True)
    for secret in config.secrets(server, environ):
        text = text.replace(secret, BLANK)
    return text


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [_mapped(item, change) for item in value]
        case dict():
            return {key: _mapped(item, change) for key, item in value.items()}
        case _:
            return value


def _lock(server: Server) -> str:
    if not server.pinned:
        return ""
    try:
        return hashlib.sha256(environment.pin(server.pinned).lock.read_bytes()).hexdigest()
    except (OSError, ToolmarkError):  # such a server cannot run, and that is told elsewhere
        return ""

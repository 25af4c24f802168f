"""Which servers these are: what distinguishes two configurations, or two releases of a server."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from toolmark.core.errors import ToolmarkError
from toolmark.core.records import Tool
from toolmark.environments.mcp import server_launch, server_packages
from toolmark.environments.mcp.server_config import REDACTED, ServerConfig

_N_HASH_DIGITS = 12
_ANY_WORKSPACE, _ANY_CONFIG_FOLDER = Path("${workspace}"), "${config_dir}"


def servers_digest(servers: Iterable[ServerConfig], environ: Mapping[str, str] = os.environ) -> str:
    """Return the sha256 of what these servers are started with, in their order.

    Placeholders count with their values. Secrets do not count, not even hashed. A pinned
    environment counts with its lock. The folder of the configuration does not count.
    """
    descriptions = [_redacted_json(server, environ) for server in servers]
    return hashlib.sha256("\n".join(descriptions).encode(errors="surrogatepass")).hexdigest()


def describe_server(name: str, version: str, tools: Sequence[Tool]) -> str:
    """Return one line with a server's name and version as it reports them, and its tools' hash."""
    listed = hashlib.sha256(msgspec.json.encode(tools, order="sorted")).hexdigest()[:_N_HASH_DIGITS]
    title = " ".join(filter(None, (name, version))) or "without a name"
    counted = "1 tool" if len(tools) == 1 else f"{len(tools)} tools"
    return f"{title}, {counted}, sha256 {listed}"


def _redacted_json(server: ServerConfig, environ: Mapping[str, str]) -> str:
    """Return a server as JSON, placeholders filled and secrets blanked."""
    cwd = server.cwd
    if cwd and server.folder and not cwd.startswith("${"):
        cwd = os.path.relpath(cwd, server.folder)
    fields: dict[str, Any] = msgspec.to_builtins(server) | {"cwd": cwd, "folder": ""}
    fill = server_launch.placeholder_filler(
        msgspec.structs.replace(server, folder=_ANY_CONFIG_FOLDER), _ANY_WORKSPACE, environ
    )
    text = json.dumps(_map_texts(fields, fill) | {"lock": _lock_digest(server)}, sort_keys=True)
    for secret in server_launch.server_secrets(server, environ):
        text = text.replace(secret, REDACTED)
    return text


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [_map_texts(item, change) for item in value]
        case dict():
            return {key: _map_texts(item, change) for key, item in value.items()}
        case _:
            return value


def _lock_digest(server: ServerConfig) -> str:
    if not server.pinned_environment:
        return ""
    try:
        return hashlib.sha256(
            server_packages.find_pinned_environment(server.pinned_environment).lock.read_bytes()
        ).hexdigest()
    except (OSError, ToolmarkError):  # such a server cannot run, and that is reported elsewhere
        return ""

"""Which servers there are: the `mcpServers` JSON of other hosts, read into frozen records.

A value may contain `${NAME}` or `${NAME:-default}` from the environment variables, `${workspace}`,
and `${config_dir}`, the folder of the file. Errors name the file and the place in it, never a
value: a value may be a key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Record
from toolmark.environments.mcp.sandbox_limits import ServerLimits

_SERVERS_KEYS = ("mcpServers", "servers")
_SERVER_NAME = re.compile(r"[^/\s]+")
PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
REDACTED = "[removed]"


class ServerConfig(Record, frozen=True, kw_only=True):
    """One entry. Exactly one of `command`, `pinned_environment` and `url` is set.

    - `stateful`: every episode has its own process, else the run shares one.
    - `restart`: whether the server can continue after its process died, that is, stores nothing in
      memory that later calls depend on.
    - `needs`: environment variables without which it cannot run.
    - `network`: whether it has a network in its sandbox.
    - `paths`: further files and folders that it sees in its sandbox. It may write to those that end
      in ":rw".
    - `read_only`: paths in the workspace that it cannot change.
    - `limits`: the resources that it may use.
    - `scripts`: programs that come before other programs of their names.
    - `serial`: it cannot process two calls at a time.
    - `folder`: the folder of the configuration file, empty where it was not read from one.
    """

    name: str
    command: str = ""
    pinned_environment: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    stateful: bool = True
    restart: bool = True
    disabled: bool = False
    needs: tuple[str, ...] = ()
    network: bool = False
    paths: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    scripts: dict[str, str] = {}
    limits: ServerLimits = ServerLimits()
    serial: bool = False
    start_timeout_s: float = 30.0
    call_timeout_s: float = 60.0
    folder: str = ""

    def __repr__(self) -> str:
        """Return the name alone: a traceback must not show keys."""
        return f"Server({self.name!r})"


class _Path(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    write: bool = False


class _ServerEntry(Struct, frozen=True, kw_only=True):
    """An entry as written; keys that only other hosts know are accepted."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = None
    disabled: bool = False
    stateful: bool | None = None
    restart: bool = True
    needs: tuple[str, ...] = ()
    network: bool = False
    paths: tuple[str | _Path, ...] = ()
    read_only: tuple[str, ...] = ()
    scripts: dict[str, str] = {}
    limits: ServerLimits = ServerLimits()
    serial: bool = False
    start_timeout_s: float = 30.0
    call_timeout_s: float = 60.0
    python: str = ""
    npm: str = ""


def read_config(path: Path) -> tuple[ServerConfig, ...]:
    """Read a configuration file.

    Raises UsageError where there is no file. Raises DataError with file, line or place, and what is
    wrong.
    """
    if path.exists() and not path.is_file():  # reading a pipe would block forever
        raise DataError(f"{path}: not a file")
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}") from None
    try:
        found = json.loads(text, object_pairs_hook=_unique_keys)
    except _DuplicateKey as duplicate:
        raise DataError(f"{path}: the key {duplicate} appears twice in one object") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise DataError(
            f"{path}: not JSON that can be read: too deep, or too long a number"
        ) from None
    return parse_config(found, str(path), folder=path.parent)


def parse_config(found: Any, where: str, *, folder: Path | None = None) -> tuple[ServerConfig, ...]:
    """Check a configuration that was already read. Raises DataError with the place and the error.

    A relative `cwd`, and a relative command with a slash, are resolved from `folder`.
    """
    if not isinstance(found, dict):
        raise DataError(
            f"{where}: expected an object with the key mcpServers, not {_json_kind(found)}"
        )
    keys = [key for key in _SERVERS_KEYS if key in found]
    if len(keys) != 1:
        found_keys = "both" if keys else ", ".join(map(repr, found)) or "no key"
        raise DataError(f"{where}: expected one key, mcpServers or servers; there is {found_keys}")
    entries = found[keys[0]]
    if not isinstance(entries, dict):
        raise DataError(f"{where}: {keys[0]}: expected an object, not {_json_kind(entries)}")
    return tuple(
        _parse_server(name, entry, f"{where}: {keys[0]}.{name}", folder)
        for name, entry in entries.items()
    )


def _parse_server(name: str, written: Any, where: str, folder: Path | None) -> ServerConfig:
    if not _SERVER_NAME.fullmatch(name):
        raise DataError(f"{where}: a server's name has no slash and no space, and is not empty")
    if not isinstance(written, dict):
        raise DataError(f"{where}: expected an object, not {_json_kind(written)}")
    for key in set(written) - set(_ServerEntry.__struct_fields__):
        if close := get_close_matches(key, _ServerEntry.__struct_fields__, n=1, cutoff=0.8):
            raise DataError(f"{where}: unknown key {key!r}; did you mean: {close[0]}")
    try:
        entry = msgspec.convert(written, _ServerEntry)
    except msgspec.ValidationError as error:
        if written.get("type") == "sse":
            raise DataError(
                f"{where}.type: 'sse' is not supported any more; use the server's streamable HTTP "
                "address"
            ) from None
        raise DataError(describe_decode_error(error, written, where=where)) from None
    pinned = _check_entry(entry, where, folder)
    fields = {
        key: getattr(entry, key)
        for key in _ServerEntry.__struct_fields__
        if key not in ("type", "python", "npm", "cwd", "stateful", "paths")
    }
    stateful = not entry.url if entry.stateful is None else entry.stateful
    cwd = entry.cwd
    if cwd and folder is not None and not cwd.startswith("${"):
        cwd = str((folder / cwd).resolve())
    config_folder = "" if folder is None else str(folder.resolve())
    paths = tuple(
        each if isinstance(each, str) else each.path + (":rw" if each.write else "")
        for each in entry.paths
    )
    return ServerConfig(
        name=name,
        pinned_environment=pinned,
        stateful=stateful,
        cwd=cwd,
        folder=config_folder,
        paths=paths,
        **fields,
    )


def _check_entry(entry: _ServerEntry, where: str, folder: Path | None) -> str:
    """Return the name of the pinned environment, "" for none. Raises DataError for a bad entry."""
    start_keys = [key for key in ("command", "url", "python", "npm") if getattr(entry, key)]
    if len(start_keys) != 1:
        found_keys = " and ".join(start_keys) or "none of them"
        raise DataError(
            f"{where}: expected one of command, url, python, npm; there is {found_keys}"
        )
    if entry.type is not None and (entry.type == "stdio") == bool(entry.url):
        raise DataError(f"{where}: type {entry.type!r} does not go with {start_keys[0]}")
    if entry.url and not entry.url.startswith(("http://", "https://", "${")):
        raise DataError(f"{where}.url: expected an address that starts with http:// or https://")
    for key in ("start_timeout_s", "call_timeout_s"):
        if not 0 < getattr(entry, key) <= 86_400:  # a NaN fails too
            raise DataError(f"{where}.{key}: expected seconds, more than 0 and at most a day")
    for text in entry.read_only:
        if os.path.isabs(text) or ".." in Path(text).parts:
            raise DataError(f"{where}.read_only: expected paths in the workspace, not {text!r}")
    for key, text in placeholder_texts(entry):
        if "\0" in text:
            raise DataError(f"{where}.{key}: holds a NUL character")
        if "${config_dir}" in text and folder is None:
            raise DataError(f"{where}.{key}: ${{config_dir}} has no meaning: there is no file")
    return entry.python or entry.npm


class _DuplicateKey(Exception):
    """A key that appears twice."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _DuplicateKey(repr(next(name for name in names if names.count(name) > 1)))
    return found


def _json_kind(value: Any) -> str:
    kinds = {list: "an array", dict: "an object", str: "a text", bool: "a boolean"}
    return "nothing" if value is None else kinds.get(type(value), "a number")


# --- what a server is started with ------------------------------------------------------


def placeholder_texts(entry: _ServerEntry | ServerConfig) -> Iterator[tuple[str, str]]:
    """Yield all texts that may contain placeholders, each with its key."""
    yield from (("command", entry.command), ("cwd", entry.cwd), ("url", entry.url))
    yield from (("args", text) for text in entry.args)
    yield from (("paths", text if isinstance(text, str) else text.path) for text in entry.paths)
    yield from ((f"env.{name}", text) for name, text in entry.env.items())
    yield from ((f"headers.{name}", text) for name, text in entry.headers.items())

"""Which servers there are: the configurations of other hosts, read into frozen records.

JSON with `mcpServers` (Claude, Cursor, Gemini CLI, Cline) or `servers` (VS Code, also with
comments), and TOML with `mcp_servers` (Codex). `host_entries` has the keys that differ.

A value may contain `${NAME}` or `${NAME:-default}` from the environment variables, `${workspace}`,
and `${config_dir}`, the folder of the file. Errors name the file and the place in it, never a
value: a value may be a key.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Record
from toolmark.environments.mcp import host_entries
from toolmark.environments.mcp.sandbox_limits import ServerLimits

_SERVERS_KEYS = ("mcpServers", "servers", "mcp_servers")
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
    - `tools`, `not_tools`: names of its tools, with `*` and `?`; only those that the first has and
      the second has not are offered. An empty `tools` has all.
    - `legacy_stream`: its address speaks the SSE transport that streamable HTTP replaced.
    - `concurrency`: how many calls it can process at a time; 0 for any number.
    - `result_chars`: characters of text of one result that a model sees; 0 for all.
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
    tools: tuple[str, ...] = ()
    not_tools: tuple[str, ...] = ()
    concurrency: int = 0
    result_chars: int = 0
    start_timeout_s: float = 30.0
    call_timeout_s: float = 60.0
    legacy_stream: bool = False
    folder: str = ""

    def offers_tool(self, tool: str) -> bool:
        """Return whether a tool of this name, without the server's, is offered."""
        wanted = not self.tools or any(fnmatchcase(tool, each) for each in self.tools)
        return wanted and not any(fnmatchcase(tool, each) for each in self.not_tools)

    def unmatched_patterns(self, names: Collection[str]) -> list[str]:
        """Return the patterns of `tools` and `not_tools` that none of these names matches."""
        return [
            each
            for each in (*self.tools, *self.not_tools)
            if not any(fnmatchcase(name, each) for name in names)
        ]

    def __repr__(self) -> str:
        """Return the name alone: a traceback must not show keys."""
        return f"Server({self.name!r})"


class _Path(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    write: bool = False


class _ServerEntry(Struct, frozen=True, kw_only=True):
    """An entry in toolmark's own keys."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    type: Literal["stdio", "http", "streamable-http", "streamableHttp", "sse"] | None = None
    disabled: bool = False
    stateful: bool | None = None
    restart: bool = True
    needs: tuple[str, ...] = ()
    network: bool = False
    paths: tuple[str | _Path, ...] = ()
    read_only: tuple[str, ...] = ()
    scripts: dict[str, str] = {}
    limits: ServerLimits = ServerLimits()
    tools: tuple[str, ...] = ()
    not_tools: tuple[str, ...] = ()
    concurrency: int = 0
    result_chars: int = 0
    start_timeout_s: float = 30.0
    call_timeout_s: float = 60.0
    python: str = ""
    npm: str = ""


_OWN_KEYS = frozenset(_ServerEntry.__struct_fields__)


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
    found = _parse_toml(path, text) if path.suffix == ".toml" else _parse_json(path, text)
    return parse_config(found, str(path), folder=path.parent, text=text)


def _parse_toml(path: Path, text: str) -> Any:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{path}: not TOML: {error}") from None


def _parse_json(path: Path, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except _DuplicateKey as duplicate:
        raise DataError(f"{path}: the key {duplicate} appears twice in one object") from None
    except json.JSONDecodeError as error:
        found = _parse_commented_json(text)
        if found is not None:
            return found
        raise DataError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise DataError(
            f"{path}: not JSON that can be read: too deep, or too long a number"
        ) from None


def _parse_commented_json(text: str) -> Any:
    """Return JSON that has comments and commas at the end, as VS Code writes it; None for other."""
    import json5  # of the extra `m3`, as all that starts a server

    try:
        return json5.loads(text, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError):
        return None


def parse_config(
    found: Any, where: str, *, folder: Path | None = None, text: str = ""
) -> tuple[ServerConfig, ...]:
    """Check a configuration that was already read. Raises DataError with the place and the error.

    A relative `cwd`, and a relative command with a slash, are resolved from `folder`. `text` is
    what was read: errors name the line of a key in it.
    """
    if isinstance(found, dict) and isinstance(found.get("mcp"), dict):
        found = found["mcp"]  # the settings of VS Code
    if not isinstance(found, dict):
        raise DataError(
            f"{where}: expected an object with the key mcpServers, not {_json_kind(found)}"
        )
    keys = [key for key in _SERVERS_KEYS if key in found]
    if len(keys) != 1:
        found_keys = "both" if keys else ", ".join(map(repr, found)) or "no key"
        raise DataError(
            f"{where}: expected one of the keys mcpServers, servers (VS Code) and mcp_servers "
            f"(Codex); there is {found_keys}"
        )
    entries = found[keys[0]]
    if not isinstance(entries, dict):
        raise DataError(f"{where}: {keys[0]}: expected an object, not {_json_kind(entries)}")
    return tuple(
        _parse_server(name, entry, _Place(where, keys[0], name, text), folder)
        for name, entry in entries.items()
    )


class _Place(NamedTuple):
    """Where an entry stands: in which file, below which key, in which text."""

    file: str
    servers_key: str
    server: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}: {self.servers_key}.{self.server}"

    def of_key(self, key: str) -> str:
        """Return the place of a key of the entry, with its line where the text is known."""
        at = 0
        for name in (self.servers_key, self.server, key):
            word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
            found = word.search(self.text, at)
            if found is None:
                return str(self)
            at = found.end()
        line = self.text.count("\n", 0, at) + 1
        return f"{self.file}:{line}: {self.servers_key}.{self.server}"


def _parse_server(name: str, written: Any, place: _Place, folder: Path | None) -> ServerConfig:
    where = str(place)
    if not _SERVER_NAME.fullmatch(name):
        raise DataError(f"{where}: a server's name has no slash and no space, and is not empty")
    if not isinstance(written, dict):
        raise DataError(f"{where}: expected an object, not {_json_kind(written)}")
    translated = host_entries.translate_entry(written, _OWN_KEYS, place.of_key)
    try:
        entry = msgspec.convert(translated, _ServerEntry)
    except msgspec.ValidationError as error:
        raise DataError(describe_decode_error(error, translated, where=where)) from None
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
        legacy_stream=entry.type == "sse",
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
    for key in ("concurrency", "result_chars"):
        if getattr(entry, key) < 0:
            raise DataError(f"{where}.{key}: expected 0 or more")
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


def _unique_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    listed = list(pairs)
    found = dict(listed)
    if len(found) < len(listed):
        names = [name for name, _ in listed]
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

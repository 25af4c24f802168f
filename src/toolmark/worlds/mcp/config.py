"""Which servers there are: the `mcpServers` JSON of other hosts, read into frozen records.

A value may hold `${NAME}` or `${NAME:-default}` from the environment, `${workspace}`, and
`${config_dir}`, the folder of the file. Errors name the file and the place in it, never a value:
what stands there may be a key.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from toolmark import private
from toolmark.errors import DataError, ToolmarkError, UsageError
from toolmark.types import Record
from toolmark.worlds import cassette
from toolmark.worlds.mcp import environment, programs, sandbox, view
from toolmark.worlds.mcp.limits import ServerLimits

_KEYS = ("mcpServers", "servers")
HOLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_PLACES = ("workspace", "config_dir")
_NAME = re.compile(r"[^/\s]+")
_INHERITED = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
)  # fmt: skip
BLANK = "[removed]"


class Server(Record, frozen=True, kw_only=True):
    """One entry. Exactly one of `command`, `pinned` (a pinned environment) and `url` is set.

    `stateful`: a process of its own for every episode, else one is shared by the run. `restart`:
    whether the server can go on after its process died, that is, keeps nothing in memory that
    later calls rest on. `needs`: environment variables without which it cannot run. A process runs
    in a sandbox: `network` says whether it has one there, `paths` are further files and folders
    that it sees, those that end in ":rw" it may write to; `read_only` are paths in the workspace
    that it cannot change; `limits` is what it may use; `scripts` come before programs of their
    names. `serial`: it cannot bear two calls at a
    time. `folder`: that of the configuration file, empty where it was not read from one.
    """

    name: str
    command: str = ""
    pinned: str = ""
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
        """Show the name alone: a traceback must not show keys."""
        return f"Server({self.name!r})"


class _Path(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    write: bool = False


class _Entry(Struct, frozen=True, kw_only=True):
    """An entry as written; keys that other hosts know are let through."""

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


def read(path: Path) -> tuple[Server, ...]:
    """Read a configuration file.

    Raises UsageError where there is none, DataError with file, line or place, and what is wrong.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited on for ever
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
        found = json.loads(text, object_pairs_hook=_once)
    except _Twice as twice:
        raise DataError(f"{path}: the key {twice} appears twice in one object") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise DataError(
            f"{path}: not JSON that can be read: too deep, or too long a number"
        ) from None
    return parse(found, str(path), folder=path.parent)


def parse(found: Any, where: str, *, folder: Path | None = None) -> tuple[Server, ...]:
    """Check a configuration that was read already.

    A relative `cwd`, and a relative command with a slash, are taken from `folder`.
    """
    if not isinstance(found, dict):
        raise DataError(f"{where}: expected an object with the key mcpServers, not {_kind(found)}")
    keys = [key for key in _KEYS if key in found]
    if len(keys) != 1:
        have = "both" if keys else ", ".join(map(repr, found)) or "no key"
        raise DataError(f"{where}: expected one key, mcpServers or servers; there is {have}")
    entries = found[keys[0]]
    if not isinstance(entries, dict):
        raise DataError(f"{where}: {keys[0]}: expected an object, not {_kind(entries)}")
    return tuple(
        _server(name, entry, f"{where}: {keys[0]}.{name}", folder)
        for name, entry in entries.items()
    )


def _server(name: str, written: Any, where: str, folder: Path | None) -> Server:
    if not _NAME.fullmatch(name):
        raise DataError(f"{where}: a server's name has no slash and no space, and is not empty")
    if not isinstance(written, dict):
        raise DataError(f"{where}: expected an object, not {_kind(written)}")
    for key in set(written) - set(_Entry.__struct_fields__):
        if close := get_close_matches(key, _Entry.__struct_fields__, n=1, cutoff=0.8):
            raise DataError(f"{where}: unknown key {key!r}; did you mean: {close[0]}")
    try:
        entry = msgspec.convert(written, _Entry)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}: {_told(error, written)}") from None
    pinned = _checked(entry, where, folder)
    fields = {
        key: getattr(entry, key)
        for key in _Entry.__struct_fields__
        if key not in ("type", "python", "npm", "cwd", "stateful", "paths")
    }
    stateful = not entry.url if entry.stateful is None else entry.stateful
    cwd = entry.cwd
    if cwd and folder is not None and not cwd.startswith("${"):
        cwd = str((folder / cwd).resolve())
    home = "" if folder is None else str(folder.resolve())
    paths = tuple(
        each if isinstance(each, str) else each.path + (":rw" if each.write else "")
        for each in entry.paths
    )
    return Server(
        name=name, pinned=pinned, stateful=stateful, cwd=cwd, folder=home, paths=paths, **fields
    )


def _told(error: msgspec.ValidationError, written: Mapping[str, Any]) -> str:
    if written.get("type") == "sse":
        return "type: 'sse' is not supported any more; use the server's streamable HTTP address"
    text = str(error)
    return text if " - at " in text else f"{text} - at `$`"


def _checked(entry: _Entry, where: str, folder: Path | None) -> str:
    """Return the name of the pinned environment, if it is one; raise where the entry is at odds."""
    ways = [key for key in ("command", "url", "python", "npm") if getattr(entry, key)]
    if len(ways) != 1:
        have = " and ".join(ways) or "none of them"
        raise DataError(f"{where}: expected one of command, url, python, npm; there is {have}")
    if entry.type is not None and (entry.type == "stdio") == bool(entry.url):
        raise DataError(f"{where}: type {entry.type!r} does not go with {ways[0]}")
    if entry.url and not entry.url.startswith(("http://", "https://", "${")):
        raise DataError(f"{where}.url: expected an address that starts with http:// or https://")
    for key in ("start_timeout_s", "call_timeout_s"):
        if not 0 < getattr(entry, key) <= 86_400:  # a NaN fails too
            raise DataError(f"{where}.{key}: expected seconds, more than 0 and at most a day")
    for text in entry.read_only:
        if os.path.isabs(text) or ".." in Path(text).parts:
            raise DataError(f"{where}.read_only: expected paths in the workspace, not {text!r}")
    for key, text in _texts(entry):
        if "\0" in text:
            raise DataError(f"{where}.{key}: holds a NUL character")
        if "${config_dir}" in text and folder is None:
            raise DataError(f"{where}.{key}: ${{config_dir}} has no meaning: there is no file")
    return entry.python or entry.npm


def _texts(entry: _Entry | Server) -> Iterator[tuple[str, str]]:
    """Go through all texts that may hold placeholders, each with the key it stands under."""
    yield from (("command", entry.command), ("cwd", entry.cwd), ("url", entry.url))
    yield from (("args", text) for text in entry.args)
    yield from (("paths", text if isinstance(text, str) else text.path) for text in entry.paths)
    yield from ((f"env.{name}", text) for name, text in entry.env.items())
    yield from ((f"headers.{name}", text) for name, text in entry.headers.items())


class _Twice(Exception):
    """A key that appears twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(repr(next(name for name in names if names.count(name) > 1)))
    return found


def _kind(value: Any) -> str:
    kinds = {list: "an array", dict: "an object", str: "a text", bool: "a boolean"}
    return "nothing" if value is None else kinds.get(type(value), "a number")


# --- what a server is started with ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Launch:
    """A server with every placeholder filled. `secrets` are not to be shown to anyone.

    `box` is its sandbox, None where it has none.
    """

    argv: tuple[str, ...] = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    cwd: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    box: sandbox.Box | None = field(default=None, repr=False)

    def clean(self, text: str) -> str:
        """Return the text with every secret of four letters or more blanked."""
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, BLANK)
        return text


def missing(server: Server, environ: Mapping[str, str] = os.environ) -> str:
    """Say what a server lacks to run: variables, its command; empty when it lacks nothing."""
    if server.disabled:
        return "disabled in the configuration"
    holes = [
        found[1]
        for _, text in _texts(server)
        for found in HOLE.finditer(text)
        if found[1] not in _PLACES and found[2] is None
    ]
    lacking = [name for name in dict.fromkeys((*server.needs, *holes)) if not environ.get(name)]
    if lacking:
        return f"not set in the environment: {', '.join(lacking)}"
    try:
        launch(server, Path(os.sep), environ)
    except ToolmarkError as error:
        return str(error).removeprefix(f"{server.pinned}: ")
    return ""


def launch(server: Server, workspace: Path, environ: Mapping[str, str] = os.environ) -> Launch:
    """Fill the placeholders and find the command. Raises DataError where that is impossible."""
    fill = filled(server, workspace, environ)
    env = {name: environ[name] for name in (*_INHERITED, *server.needs) if name in environ}
    env.update((name, fill(text)) for name, text in server.env.items())
    argv = _argv(server, fill, env)
    cwd = fill(server.cwd) or str(workspace)
    box = None
    if argv and sandbox.wanted():
        argv = _installed(server, argv)
        box = view.box(server, argv, cwd, workspace, fill)
        env = view.environ(server, env, box)
    return Launch(
        argv=argv,
        env=env,
        cwd=cwd,
        url=fill(server.url),
        headers={name: fill(text) for name, text in server.headers.items()},
        secrets=secrets(server, environ),
        box=box,
    )


def filled(
    server: Server, workspace: Path, environ: Mapping[str, str] = os.environ
) -> Callable[[str], str]:
    """Return what fills the placeholders of a server's texts."""
    places = {"workspace": str(workspace), "config_dir": server.folder}

    def value(hole: re.Match[str]) -> str:
        return places.get(hole[1]) or environ.get(hole[1]) or hole[2] or ""

    return lambda text: HOLE.sub(value, text)


def stray(server: Server) -> str:
    """Return the argument that names a file beside the configuration; the server cannot see it.

    Empty where there is none. A relative path is one of the workspace, where servers start.
    """
    if not server.folder or server.cwd:
        return ""
    for text in server.args:
        plain = text and not text.startswith("-") and "${" not in text and not os.path.isabs(text)
        if plain and os.path.isfile(os.path.join(server.folder, text)):
            return text
    return ""


def _argv(server: Server, fill: Callable[[str], str], env: Mapping[str, str]) -> tuple[str, ...]:
    args = [fill(text) for text in server.args]
    if server.url:
        return ()
    if server.pinned:
        return (*environment.command(server.pinned), *args)
    command = fill(server.command)
    if os.sep in command and server.folder:
        command = os.path.join(server.folder, command)  # an absolute one stays as it is
    found = shutil.which(command, path=env.get("PATH"))
    if found is None and not (os.sep in command and "${workspace}" in server.command):
        raise DataError(f"no such command: {server.command}")
    return (found or command, *args)


def _installed(server: Server, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the program that npx or uvx would start. Raises DataError where it is not installed.

    With a network they may fetch it themselves, at each start.
    """
    package = programs.launcher(argv)
    found = programs.installed(argv, Path.home()) if package else None
    if found is not None:
        return found.argv
    if package and not server.network:
        npx = Path(argv[0]).name == "npx"
        first = f"npx -y {package} --help" if npx else f"uv tool install {package}"
        raise DataError(
            f"{package} is not installed, and servers have no network in their sandbox; run "
            f'`{first}` once, or add to its entry: "network": true'
        )
    return argv


def secrets(server: Server, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what must not be shown, longest first, also as it stands in JSON or in an address.

    That is what the environment fills in or the server needs, but for paths and flags; headers;
    and what is named, or looks, like a key in `env`, `args` and `url`. Texts of less than four
    letters are not among it. The server need not be able to run.
    """
    fill = filled(server, Path("${workspace}"), environ)

    def found() -> Iterator[str]:
        for name, default in _foreign(server):
            yield from private.of_variable(name, environ.get(name, ""))
            yield from private.of_entry(name, default)
        for name, text in server.env.items():
            if name not in _INHERITED:
                yield from private.of_entry(name, fill(text))
        for name, text in server.headers.items():
            yield from private.of_header(name, fill(text))
        yield from private.of_arguments([fill(text) for text in server.args])
        yield from private.of_text(fill(server.url))

    # places in the workspace are no secrets, and are written so in recordings
    return cassette.forms(text for text in found() if "${workspace}" not in text)


def _foreign(server: Server) -> Iterator[tuple[str, str]]:
    """Go through the variables that the server is given, but for everyday ones: name, default."""
    holes = [hole for _, text in _texts(server) for hole in HOLE.finditer(text)]
    given = [(name, "") for name in server.needs] + [(hole[1], hole[2] or "") for hole in holes]
    return ((name, default) for name, default in given if name not in (*_INHERITED, *_PLACES))

"""What a server is shown of the machine: what its entry in the configuration comes to."""

from __future__ import annotations

import os
import shutil
import site
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolmark import fetch
from toolmark.errors import DataError
from toolmark.worlds.mcp import environment, programs, sandbox
from toolmark.worlds.mcp.sandbox import Box, Seen

if TYPE_CHECKING:
    from toolmark.worlds.mcp.config import Server

_WRITE = ":rw"
_WHOLE = ("/", "/dev", "/proc", "/run", "/sys", "/tmp", "/var/run")  # never shown as they are
_PLACES = {"HOME": sandbox.HOME, "TMPDIR": sandbox.HOME}


def box(
    server: Server, argv: Sequence[str], cwd: str, workspace: Path, fill: Callable[[str], str]
) -> Box:
    """Return how a server is shut in. Raises DataError for a path that it cannot be shown."""
    declared = tuple(_declared(server, fill))
    # what a server wrote names no part of the machine that it shall see
    own = (workspace, *(each.path for each in declared if each.how == "write"))
    shown = (
        *sandbox.system(),
        *_apart(workspace),
        *_programs(server, argv, own),
        *_named(argv, cwd, own),
        *declared,
    )
    seen = (
        *shown,
        *_hidden(shown),
        Seen(workspace, "write"),
        *_pinned_down(server, workspace),
    )
    return Box(seen, workspace, server.limits, server.network, cwd, server.scripts)


def _apart(workspace: Path) -> Iterator[Seen]:
    """Go through what may lie below a folder that is shown, and is never shown with it."""
    for path in (workspace.parent, fetch.cache(), Path(tempfile.gettempdir())):
        yield Seen(Path(os.path.realpath(path)), "hide")


def _hidden(shown: Sequence[Seen]) -> Iterator[Seen]:
    """Go through what holds answers, by every path that leads to it in what is shown.

    Where that can be written to, the folders above are mounted too: what is mounted cannot be moved
    away, to be found elsewhere by the next server.
    """
    for key in filter(os.path.exists, sandbox.hidden()):
        yield Seen(key, "hide")
        for each in shown:
            real = Path(os.path.realpath(each.path))
            if each.how not in ("read", "write") or not key.is_relative_to(real):
                continue
            inside = each.path / key.relative_to(real)
            if each.how == "write":
                above = [path for path in inside.parents if path.is_relative_to(each.path)]
                yield from (Seen(path, "write") for path in above)
            yield Seen(inside, "hide")


def _programs(server: Server, argv: Sequence[str], own: Sequence[Path]) -> Iterator[Seen]:
    if server.pinned:
        one = environment.pin(server.pinned)
        yield Seen(environment.place(one), "read")
        commands = [shutil.which(word) for word in one.commands]
    else:
        commands = []
    for name in filter(None, (argv[0], *commands)):
        if not _within(name, own):
            yield from program(name)


def program(name: str) -> Iterator[Seen]:
    """Go through what a program needs, by its path, besides what the system has."""
    for path in programs.parts(name):
        yield from _part(path)


def _part(path: Path) -> Iterator[Seen]:
    """Go through a part of a program: as it is named, and where it really lies."""
    real = Path(os.path.realpath(path))
    if path.is_symlink():
        yield Seen(path, "link", os.readlink(path))
    elif path.exists():
        yield Seen(path, "read")
    if real != path and real.exists():
        yield Seen(real, "read")


def _named(argv: Sequence[str], cwd: str, own: Sequence[Path]) -> Iterator[Seen]:
    """Go through the files that a command line names, and the folder that it starts in."""
    for word in argv[1:]:
        if os.path.isabs(word) and os.path.isfile(word) and not _within(word, own):
            yield from program(word)
    if not _within(cwd, own):
        yield Seen(Path(cwd), "read")


def _within(path: str, folders: Sequence[Path]) -> bool:
    """Tell whether a path is in one of the folders, by its name or in truth."""
    names = (os.path.normpath(path), os.path.realpath(path))
    tops = {*folders, *(Path(os.path.realpath(folder)) for folder in folders)}
    return any(Path(name).is_relative_to(top) for name in names for top in tops)


def _declared(server: Server, fill: Callable[[str], str]) -> Iterator[Seen]:
    """Go through the paths of an entry. Raises DataError for one that cannot be shown."""
    for text in server.paths:
        name = os.path.expanduser(fill(text.removesuffix(_WRITE)))
        path = Path(os.path.normpath(os.path.join(server.folder or os.getcwd(), name)))
        real = Path(os.path.realpath(path))
        if not real.exists():
            raise DataError(f"paths: {text}: no such file or folder")
        if str(real) in _WHOLE:
            raise DataError(f"paths: {text}: too much; name what the server needs below it")
        for key in sandbox.hidden():
            if real.is_relative_to(key):
                raise DataError(f"paths: {text}: lies in {key}, which holds answers")
        yield Seen(path, "write" if text.endswith(_WRITE) else "read")


def _pinned_down(server: Server, workspace: Path) -> Iterator[Seen]:
    """Go through what a server may not change in the workspace, as far as it is there.

    The folders above it are mounted too: what is mounted cannot be moved away. Raises DataError
    where a link stands in for it.
    """
    for name in server.read_only:
        path = workspace / name
        if path.exists():
            if path.resolve() != workspace.resolve() / name:
                raise DataError(f"read_only: {name}: a link was put there")
            inner = [each for each in path.parents if each.is_relative_to(workspace)]
            yield from (Seen(each, "write") for each in inner if each != workspace)
            yield Seen(path, "read")


def environ(server: Server, env: Mapping[str, str], seen: Box) -> dict[str, str]:
    """Return the variables that a server gets: places of its own, and programs that it can see."""
    found = {name: value for name, value in env.items() if name != "SHELL"}
    found |= {name: value for name, value in _PLACES.items() if name not in server.env}
    folders = [name for name in env.get("PATH", "").split(os.pathsep) if _shown(seen, name)]
    if "PATH" not in server.env:
        first = [sandbox.SCRIPTS] if server.scripts else []
        words = [*first, *folders, *sandbox.PATH.split(":")]
        found["PATH"] = os.pathsep.join(dict.fromkeys(words))
    base = Path(site.getuserbase())
    if any(each.path.is_relative_to(base / "lib") for each in seen.seen):
        found.setdefault("PYTHONUSERBASE", str(base))
    return found


def _shown(seen: Box, name: str) -> bool:
    return os.path.isabs(name) and (
        seen.shows(name) or any(each.path.parent == Path(name) for each in seen.seen)
    )

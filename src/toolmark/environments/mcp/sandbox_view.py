"""Which parts of the machine a server sees, according to its entry in the configuration."""

from __future__ import annotations

import os
import shutil
import site
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolmark.core import files
from toolmark.core.errors import DataError
from toolmark.environments.mcp import program_files, sandbox, server_packages
from toolmark.environments.mcp.sandbox import MountedPath, SandboxSpec

if TYPE_CHECKING:
    from toolmark.environments.mcp.server_config import ServerConfig

_WRITE_SUFFIX = ":rw"
# paths that are never shown themselves
_FORBIDDEN_PATHS = ("/", "/dev", "/proc", "/run", "/sys", "/tmp", "/var/run")
_HOME_VARIABLES = {"HOME": sandbox.SANDBOX_HOME, "TMPDIR": sandbox.SANDBOX_HOME}


def build_sandbox_spec(
    server: ServerConfig, argv: Sequence[str], cwd: str, workspace: Path, fill: Callable[[str], str]
) -> SandboxSpec:
    """Return how a server is confined. Raises DataError for a path that it must not see."""
    declared = tuple(_declared_mounts(server, fill))
    # a path that the server can write to must not make another part of the machine visible
    written_paths = (workspace, *(each.path for each in declared if each.access == "write"))
    visible = (
        *sandbox.system_mounts(),
        *_hidden_parents(workspace),
        *_program_mounts(server, argv, written_paths),
        *_command_line_mounts(argv, cwd, written_paths),
        *declared,
    )
    mounts = (
        *visible,
        *_hidden_answer_keys(visible),
        MountedPath(workspace, "write"),
        *_read_only_mounts(server, workspace),
    )
    return SandboxSpec(mounts, workspace, server.limits, server.network, cwd, server.scripts)


def _hidden_parents(workspace: Path) -> Iterator[MountedPath]:
    """Yield folders that may be below a visible folder, and are never visible with it."""
    for path in (workspace.parent, files.cache_folder(), Path(tempfile.gettempdir())):
        yield MountedPath(Path(os.path.realpath(path)), "hide")


def _hidden_answer_keys(visible: Sequence[MountedPath]) -> Iterator[MountedPath]:
    """Yield the paths that contain answers, under every visible path that leads to them.

    Where such a path can be written to, the folders above it are mounted too: a mounted folder
    cannot be moved to a place where the next server finds it.
    """
    for key in filter(os.path.exists, sandbox.hidden_paths()):
        yield MountedPath(key, "hide")
        for each in visible:
            real = Path(os.path.realpath(each.path))
            if each.access not in ("read", "write") or not key.is_relative_to(real):
                continue
            inside = each.path / key.relative_to(real)
            if each.access == "write":
                above = [path for path in inside.parents if path.is_relative_to(each.path)]
                yield from (MountedPath(path, "write") for path in above)
            yield MountedPath(inside, "hide")


def _program_mounts(
    server: ServerConfig, argv: Sequence[str], written_paths: Sequence[Path]
) -> Iterator[MountedPath]:
    if server.pinned_environment:
        pinned = server_packages.find_pinned_environment(server.pinned_environment)
        yield MountedPath(server_packages.environment_folder(pinned), "read")
        commands = [shutil.which(word) for word in pinned.commands]
    else:
        commands = []
    for name in filter(None, (argv[0], *commands)):
        if not _is_within(name, written_paths):
            yield from program_mounts(name)


def program_mounts(name: str) -> Iterator[MountedPath]:
    """Yield what a program needs, by its path, besides the system paths."""
    for path in program_files.program_files(name):
        yield from _part_mounts(path)


def _part_mounts(path: Path) -> Iterator[MountedPath]:
    """Yield the mounts of a part of a program: its name, and its real path."""
    real = Path(os.path.realpath(path))
    if path.is_symlink():
        yield MountedPath(path, "link", os.readlink(path))
    elif path.exists():
        yield MountedPath(path, "read")
    if real != path and real.exists():
        yield MountedPath(real, "read")


def _command_line_mounts(
    argv: Sequence[str], cwd: str, written_paths: Sequence[Path]
) -> Iterator[MountedPath]:
    """Yield the files that a command line names, and the folder that it starts in."""
    for word in argv[1:]:
        if os.path.isabs(word) and os.path.isfile(word) and not _is_within(word, written_paths):
            yield from program_mounts(word)
    if not _is_within(cwd, written_paths):
        yield MountedPath(Path(cwd), "read")


def _is_within(path: str, folders: Sequence[Path]) -> bool:
    """Return whether a path is in one of the folders, by its name or its real path."""
    names = (os.path.normpath(path), os.path.realpath(path))
    tops = {*folders, *(Path(os.path.realpath(folder)) for folder in folders)}
    return any(Path(name).is_relative_to(top) for name in names for top in tops)


def _declared_mounts(server: ServerConfig, fill: Callable[[str], str]) -> Iterator[MountedPath]:
    """Yield the paths of an entry. Raises DataError for a path that must not be shown."""
    for text in server.paths:
        name = os.path.expanduser(fill(text.removesuffix(_WRITE_SUFFIX)))
        path = Path(os.path.normpath(os.path.join(server.folder or os.getcwd(), name)))
        real = Path(os.path.realpath(path))
        if not real.exists():
            raise DataError(f"paths: {text}: no such file or folder")
        if str(real) in _FORBIDDEN_PATHS:
            raise DataError(f"paths: {text}: too much; name what the server needs below it")
        for key in sandbox.hidden_paths():
            if real.is_relative_to(key):
                raise DataError(f"paths: {text}: lies in {key}, which holds answers")
        yield MountedPath(path, "write" if text.endswith(_WRITE_SUFFIX) else "read")


def _read_only_mounts(server: ServerConfig, workspace: Path) -> Iterator[MountedPath]:
    """Yield the existing paths in the workspace that a server may not change.

    The folders above them are mounted too, because a mounted folder cannot be moved. Raises
    DataError where a path was replaced by a link.
    """
    for name in server.read_only:
        path = workspace / name
        if path.exists():
            if path.resolve() != workspace.resolve() / name:
                raise DataError(f"read_only: {name}: a link was put there")
            inner = [each for each in path.parents if each.is_relative_to(workspace)]
            yield from (MountedPath(each, "write") for each in inner if each != workspace)
            yield MountedPath(path, "read")


def server_environ(
    server: ServerConfig, env: Mapping[str, str], spec: SandboxSpec
) -> dict[str, str]:
    """Return a server's variables: its own folders, and a PATH of folders that it can see."""
    found = {name: value for name, value in env.items() if name != "SHELL"}
    found |= {name: value for name, value in _HOME_VARIABLES.items() if name not in server.env}
    folders = [name for name in env.get("PATH", "").split(os.pathsep) if _is_visible(spec, name)]
    if "PATH" not in server.env:
        first = [sandbox.SCRIPTS_FOLDER] if server.scripts else []
        words = [*first, *folders, *sandbox.SANDBOX_PATH.split(":")]
        found["PATH"] = os.pathsep.join(dict.fromkeys(words))
    base = Path(site.getuserbase())
    if any(each.path.is_relative_to(base / "lib") for each in spec.mounts):
        found.setdefault("PYTHONUSERBASE", str(base))
    return found


def _is_visible(spec: SandboxSpec, name: str) -> bool:
    return os.path.isabs(name) and (
        spec.can_read(name) or any(each.path.parent == Path(name) for each in spec.mounts)
    )

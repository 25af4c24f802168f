"""The files of a program: what a sandbox has to show so that the program starts.

A link is followed to its file, a script to its interpreter, a virtual environment to the Python it
was made from. Of an installation the complete folder is returned, of any other program only its
file.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_HEAD_BYTES = 256
_MAX_STEPS = 40  # links, interpreters and base environments that are followed
_NPX_OPTIONS = frozenset({"-y", "--yes", "-q", "--quiet"})


class InstalledProgram(NamedTuple):
    """What is started instead of a launcher, and the folder that contains it."""

    argv: tuple[str, ...]
    folder: Path


def program_files(program: str, path: str | None = None) -> tuple[Path, ...]:
    """Return the files and folders that a program needs, with the links on the way to it.

    `path` is where interpreters are searched. Files that the system has anyway may be included.
    """
    found: dict[Path, None] = {}
    todo = [Path(os.path.abspath(program))]
    for _ in range(_MAX_STEPS):
        if not todo:
            break
        path_now = todo.pop()
        if path_now in found:
            continue
        found.update(dict.fromkeys(_installation_folders(path_now)))
        if path_now.is_symlink():
            target = os.path.join(path_now.parent, os.readlink(path_now))
            todo.append(Path(os.path.normpath(target)))
        todo.extend(_interpreters(path_now, path))
        found[path_now] = None
    return tuple(found)


def _installation_folders(program: Path) -> Iterator[Path]:
    """Yield the installations that a program of this path is part of."""
    if "node_modules" in program.parts:
        at = program.parts.index("node_modules")
        yield Path(*program.parts[: at + 1])
    prefix = program.parent.parent
    if program.parent.name != "bin" or prefix in (Path("/"), Path.home()):
        return
    node = any((prefix / name).exists() for name in ("include/node", "lib/node_modules/npm"))
    conda = (prefix / "conda-meta").is_dir()
    python = any(prefix.glob("lib/python3*/os.py"))
    if (prefix / "pyvenv.cfg").is_file() or node or conda or python:
        yield prefix
    else:  # an installation by `pip install --user`
        yield from prefix.glob("lib/python3*/site-packages")


def _interpreters(program: Path, path: str | None) -> Iterator[Path]:
    """Yield what a program depends on: its environment's Python, a script's interpreter."""
    venv = program.parent.parent
    if (venv / "pyvenv.cfg").is_file():
        yield venv / "bin" / "python"
        yield from (Path(home) / "python3" for home in [_base_python_folder(venv)] if home)
    try:
        with program.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return
    if not head.startswith(b"#!"):
        return
    words = head[2:].partition(b"\n")[0].decode("utf-8", "replace").split()
    names = [word for word in words if not word.startswith("-")]
    for name in names[:2]:
        interpreter = name if os.sep in name else shutil.which(name, path=path)
        if interpreter:
            yield Path(interpreter)


def _base_python_folder(venv: Path) -> str:
    """Return the folder of the Python that an environment was made from, "" if it is unknown."""
    try:
        lines = (venv / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    settings = dict(line.partition("=")[::2] for line in lines if "=" in line)
    return next((value.strip() for key, value in settings.items() if key.strip() == "home"), "")


# --- npx and uvx ------------------------------------------------------------------------


def launched_package(argv: Sequence[str]) -> str:
    """Return the package that a command line asks npx or uvx for, "" where it does not."""
    name = Path(argv[0]).name if argv else ""
    words = list(argv[1:])
    if name == "uv" and words[:2] == ["tool", "run"]:
        name, words = "uvx", words[2:]
    while name == "npx" and words and words[0] in _NPX_OPTIONS:
        del words[0]
    plain = name in ("npx", "uvx") and words and not words[0].startswith("-")
    return words[0] if plain else ""


def find_installed(argv: Sequence[str], home: Path) -> InstalledProgram | None:
    """Return the installed program that npx or uvx would start, None where there is none.

    It is started directly: launchers ask their registry first and write to their caches, and may
    start another release each time.
    """
    package = launched_package(argv)
    if not package:
        return None
    arguments = tuple(argv[argv.index(package) + 1 :])
    find = _find_npx_program if Path(argv[0]).name == "npx" else _find_uv_tool
    return find(package, arguments, home)


def _find_npx_program(
    package: str, arguments: tuple[str, ...], home: Path
) -> InstalledProgram | None:
    cache = Path(os.environ.get("NPM_CONFIG_CACHE", home / ".npm"))
    node = shutil.which("node")
    package_files = sorted(
        cache.glob("_npx/*/package.json"), key=lambda path: -path.stat().st_mtime
    )
    for file in package_files if node else ():
        npx_entry = _read_json_object(file).get("_npx", {})
        if isinstance(npx_entry, dict) and npx_entry.get("packages") == [package]:
            bin = _package_program(file.parent / "node_modules" / _package_name(package))
            if bin is not None and node is not None:
                return InstalledProgram((node, str(bin), *arguments), file.parent)
    return None


def _package_program(folder: Path) -> Path | None:
    """Return the only program of a package, or the one that has its name."""
    bin_entry = _read_json_object(folder / "package.json").get("bin")
    named = bin_entry if isinstance(bin_entry, dict) else {"": bin_entry}
    own = named.get(folder.name) or (next(iter(named.values())) if len(named) == 1 else None)
    path = folder / own if isinstance(own, str) else None
    return path if path is not None and path.is_file() else None


def _find_uv_tool(package: str, arguments: tuple[str, ...], home: Path) -> InstalledProgram | None:
    data = Path(os.environ.get("XDG_DATA_HOME", home / ".local" / "share"))
    tools = Path(os.environ.get("UV_TOOL_DIR", data / "uv" / "tools"))
    program = tools / package / "bin" / package
    return (
        InstalledProgram((str(program), *arguments), tools / package) if program.is_file() else None
    )


def _package_name(package: str) -> str:
    """Return a package's name without its version."""
    at = package.rfind("@")
    return package[:at] if at > 0 else package


def _read_json_object(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

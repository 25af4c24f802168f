"""Where a program and what it is made of lie: what a sandbox has to show so that it starts.

A link is followed to its file, a script to its interpreter, a virtual environment to the Python it
was made from. Of an installation the whole folder is named, of any other program its file alone.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_HEAD_BYTES = 256
_STEPS = 40  # links, interpreters and base environments that are followed
_NPX = frozenset({"-y", "--yes", "-q", "--quiet"})


class Program(NamedTuple):
    """What is started instead of a launcher, and the folder that holds it."""

    argv: tuple[str, ...]
    folder: Path


def parts(program: str, path: str | None = None) -> tuple[Path, ...]:
    """Return the files and folders that a program needs, links on the way to it included.

    `path` is where interpreters are looked for. Nothing says that the system does not have them
    anyway.
    """
    found: dict[Path, None] = {}
    todo = [Path(os.path.abspath(program))]
    for _ in range(_STEPS):
        if not todo:
            break
        here = todo.pop()
        if here in found:
            continue
        found.update(dict.fromkeys(_homes(here)))
        if here.is_symlink():
            target = os.path.join(here.parent, os.readlink(here))
            todo.append(Path(os.path.normpath(target)))
        todo.extend(_rest(here, path))
        found[here] = None
    return tuple(found)


def _homes(program: Path) -> Iterator[Path]:
    """Go through the installations that a program of this path is part of."""
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
    else:  # of an own installation with `pip install --user`
        yield from prefix.glob("lib/python3*/site-packages")


def _rest(program: Path, path: str | None) -> Iterator[Path]:
    """Go through what a program rests on: its environment's Python, a script's interpreter."""
    venv = program.parent.parent
    if (venv / "pyvenv.cfg").is_file():
        yield venv / "bin" / "python"
        yield from (Path(home) / "python3" for home in [_base(venv)] if home)
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
        place = name if os.sep in name else shutil.which(name, path=path)
        if place:
            yield Path(place)


def _base(venv: Path) -> str:
    """Return the folder of the Python that an environment was made from, "" if it says none."""
    try:
        lines = (venv / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    said = dict(line.partition("=")[::2] for line in lines if "=" in line)
    return next((value.strip() for key, value in said.items() if key.strip() == "home"), "")


# --- npx and uvx ------------------------------------------------------------------------


def launcher(argv: Sequence[str]) -> str:
    """Return the package that a command line asks npx or uvx for, "" where it does not."""
    name = Path(argv[0]).name if argv else ""
    words = list(argv[1:])
    if name == "uv" and words[:2] == ["tool", "run"]:
        name, words = "uvx", words[2:]
    while name == "npx" and words and words[0] in _NPX:
        del words[0]
    plain = name in ("npx", "uvx") and words and not words[0].startswith("-")
    return words[0] if plain else ""


def installed(argv: Sequence[str], home: Path) -> Program | None:
    """Return the installed program that npx or uvx would start, None where there is none.

    It is started directly: launchers ask their registry first and write to their caches, and what
    they start may be another release each time.
    """
    package = launcher(argv)
    if not package:
        return None
    rest = tuple(argv[argv.index(package) + 1 :])
    find = _of_npx if Path(argv[0]).name == "npx" else _tool
    return find(package, rest, home)


def _of_npx(package: str, rest: tuple[str, ...], home: Path) -> Program | None:
    cache = Path(os.environ.get("NPM_CONFIG_CACHE", home / ".npm"))
    node = shutil.which("node")
    made = sorted(cache.glob("_npx/*/package.json"), key=lambda path: -path.stat().st_mtime)
    for file in made if node else ():
        asked = _json(file).get("_npx", {})
        if isinstance(asked, dict) and asked.get("packages") == [package]:
            bin = _bin(file.parent / "node_modules" / _bare(package))
            if bin is not None and node is not None:
                return Program((node, str(bin), *rest), file.parent)
    return None


def _bin(folder: Path) -> Path | None:
    """Return the one program of a package, or the one that has its name."""
    told = _json(folder / "package.json").get("bin")
    named = told if isinstance(told, dict) else {"": told}
    own = named.get(folder.name) or (next(iter(named.values())) if len(named) == 1 else None)
    path = folder / own if isinstance(own, str) else None
    return path if path is not None and path.is_file() else None


def _tool(package: str, rest: tuple[str, ...], home: Path) -> Program | None:
    data = Path(os.environ.get("XDG_DATA_HOME", home / ".local" / "share"))
    tools = Path(os.environ.get("UV_TOOL_DIR", data / "uv" / "tools"))
    program = tools / package / "bin" / package
    return Program((str(program), *rest), tools / package) if program.is_file() else None


def _bare(package: str) -> str:
    """Return a package's name without its version."""
    at = package.rfind("@")
    return package[:at] if at > 0 else package


def _json(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

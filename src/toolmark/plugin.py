"""Objects named `module:attribute` or `FILE.py:NAME`: our own by table, the user's as typed."""

from __future__ import annotations

import ast
import hashlib
import os
import shlex
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from toolmark.errors import ToolmarkError, UsageError, near, traced

FILE_MODULE = "_toolmark_file_"  # how the names of modules begin that were loaded from a file

# rooms of ours, and the extra that they need; the first that fits counts
EXTRAS = {
    "image": "vision", "vision": "vision", "m3": "m3", "mcp": "m3", "mfcl": "speech",
    "perturb": "speech", "hub": "multinet-hub", "multinet": "multinet",
}  # fmt: skip


def named(spec: str) -> bool:
    """Tell whether the words have the form `module:attribute`."""
    module, colon, attribute = spec.partition(":")
    names = [*module.split("."), *attribute.split(".")]
    return bool(colon) and all(name.isidentifier() for name in names)


def in_file(spec: str) -> bool:
    """Tell whether the words have the form `FILE.py:NAME`."""
    place, colon, name = spec.rpartition(":")
    return bool(colon) and place.endswith(".py") and name.isidentifier()


def normal(spec: str) -> str:
    """Return the one way to write `FILE.py:NAME`: from the current folder, where it lies there."""
    if not in_file(spec):
        return spec
    place, _, name = spec.rpartition(":")
    file, here = Path(os.path.abspath(place)), Path.cwd()
    return (
        f"{file.relative_to(here) if file.is_relative_to(here) else os.path.normpath(place)}:{name}"
    )


def attribute(spec: str) -> Any:
    """Import `module:attribute` or `FILE.py:NAME`.

    Only what the user typed may come here, or what a table of ours names, never a word out of a
    results file. For the user's the working directory is looked in last, and the file's own folder.
    Raises UsageError naming the nearest attribute.
    """
    module, _, path = spec.rpartition(":")
    own = module.partition(".")[0] == "toolmark"
    folder = str(Path(module).resolve().parent) if in_file(spec) else os.getcwd()
    if not own and folder not in sys.path:  # a console script does not look where the user is
        sys.path.append(folder)
    try:
        found: Any = _loaded(Path(module)) if in_file(spec) else import_module(module)
    except ModuleNotFoundError as error:
        next_ = f"; next: {extra(module)}" if extra(module) else ""
        raise UsageError(f"cannot import {module}: {error}{next_}") from None
    except ToolmarkError:
        raise
    except Exception as error:
        if own:  # a fault of ours
            raise
        raise UsageError(f"cannot import {module}: {traced(error)}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            raise UsageError(f"module {module} has no {path}{near(name, dir(found))}")
        found = getattr(found, name)
    return found


def _loaded(file: Path) -> ModuleType:
    """Return the module that a file holds, run once; its name is its place's, and nobody else's."""
    place = file.resolve()
    name = f"{FILE_MODULE}{place.stem}_{hashlib.sha256(os.fsencode(place)).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    found = spec_from_file_location(name, place)
    if found is None or found.loader is None or not place.is_file():
        raise UsageError(f"{file}: no such file")
    module = sys.modules[name] = module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def extra(module: str) -> str:
    """Return how to install the extra that a module of ours needs, "" if it needs none."""
    own = module.split(".")
    wanted = [extra for room, extra in EXTRAS.items() if own[0] == "toolmark" and room in own]
    return install(wanted[0]) if wanted else ""


def install(extra: str) -> str:
    """Return the command that adds an extra to what runs now, be it a checkout or a package."""
    home = Path(__file__).parents[2]
    python = Path(sys.executable or "python")
    python = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    if not (home / "pyproject.toml").is_file():
        return f"{shlex.quote(str(python))} -m pip install 'toolmark[{extra}]'"
    place = "." if home == Path.cwd() else str(home)
    # editable: a copy would stand in the way of what is changed in the checkout
    return f"{shlex.quote(str(python))} -m pip install -e {shlex.quote(f'{place}[{extra}]')}"


def blame(error: ModuleNotFoundError) -> str:
    """Return how to install the extra that the module of ours needs which could not import."""
    frames = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    ours = [name for name in frames if name.partition(".")[0] == "toolmark"]
    return extra(ours[-1]) if ours else ""


def doc(spec: str) -> str:
    """Return the docstring of the function `module:attribute`, read from the source.

    The module is not imported, so that it is known also where the module lacks a library. "" where
    the source does not show it.
    """
    _, made = _source(spec)
    return (ast.get_docstring(made) or "") if made else ""


def signature(spec: str) -> list[tuple[str, str, Any]]:
    """Return the keywords of a function as (name, type, default), read from the source as `doc`.

    A default that only importing tells is None.
    """
    tree, made = _source(spec)
    if made is None:
        return []
    known = _constants(tree)
    pairs = zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True)
    return [
        (each.arg, ast.unparse(each.annotation) if each.annotation else "", _value(default, known))
        for each, default in pairs
    ]


def constant(spec: str) -> Any:
    """Return the constant `module:NAME`, read from the source as `doc`; None if there is none."""
    tree, _ = _source(spec)
    return _value(_constants(tree).get(spec.rpartition(":")[2]), {})


def _constants(tree: ast.Module) -> dict[str, ast.expr | None]:
    return {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _source(spec: str) -> tuple[ast.Module, ast.FunctionDef | None]:
    module, _, name = spec.rpartition(":")
    found = None if in_file(spec) else find_spec(module)
    origin = module if in_file(spec) else (found.origin if found is not None else "") or ""
    if not origin.endswith(".py"):
        return ast.Module([], []), None
    tree = ast.parse(Path(origin).read_text("utf-8"))
    made = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    return tree, next(made, None)


def _value(node: ast.expr | None, known: Mapping[str, ast.expr | None]) -> Any:
    if isinstance(node, ast.Name):
        node = known.get(node.id)
    try:
        return ast.literal_eval(node) if node else None
    except ValueError:  # made when the module is imported
        return None

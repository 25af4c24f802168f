"""Objects named `module:attribute` or `FILE.py:NAME`: toolmark's by table, the user's as typed."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from toolmark.core.errors import ToolmarkError, UsageError, describe_error, suggest_names

FILE_MODULE_PREFIX = "_toolmark_file_"  # prefix of the names of modules loaded from a file
_MISSING = object()

# parts of module names, alone or before an underscore, and the extra they need; the first counts
EXTRA_BY_PACKAGE = {
    "image": "vision", "vision": "vision", "mfcl_vision": "vision", "m3": "m3", "mcp": "m3",
    "mfcl": "speech", "perturb": "speech", "speech": "speech", "language": "speech",
    "hub": "multinet-hub",
    "multinet": "multinet",
}  # fmt: skip


def is_module_spec(spec: str) -> bool:
    """Return whether a text has the form `module:attribute`."""
    module, colon, attribute = spec.partition(":")
    names = [*module.split("."), *attribute.split(".")]
    return bool(colon) and all(name.isidentifier() for name in names)


def is_file_spec(spec: str) -> bool:
    """Return whether a text has the form `FILE.py:NAME`."""
    path, colon, name = spec.rpartition(":")
    return bool(colon) and path.endswith(".py") and name.isidentifier()


def normalize_spec(spec: str) -> str:
    """Return the normal form of `FILE.py:NAME`: relative to the current folder if inside it."""
    if not is_file_spec(spec):
        return spec
    path, _, name = spec.rpartition(":")
    file, here = Path(os.path.abspath(path)), Path.cwd()
    return (
        f"{file.relative_to(here) if file.is_relative_to(here) else os.path.normpath(path)}:{name}"
    )


def import_attribute(spec: str) -> Any:
    """Import `module:attribute` or `FILE.py:NAME`.

    `spec` must be what the user typed or what a table of toolmark names, never text from a results
    file. For a user's module the working directory is searched last, and so is the file's own
    folder. Raises UsageError naming the nearest attribute.
    """
    module, _, path = spec.rpartition(":")
    is_ours = module.partition(".")[0] == "toolmark"
    folder = str(Path(module).resolve().parent) if is_file_spec(spec) else os.getcwd()
    if not is_ours and folder not in sys.path:  # console scripts lack it
        sys.path.append(folder)
    try:
        found: Any = _load_file(Path(module)) if is_file_spec(spec) else import_module(module)
    except ModuleNotFoundError as error:
        hint = f"; next: {module_install_command(module)}" if module_install_command(module) else ""
        raise UsageError(f"cannot import {module}: {error}{hint}") from None
    except ToolmarkError:
        raise
    except Exception as error:
        if is_ours:  # a fault of toolmark
            raise
        raise UsageError(f"cannot import {module}: {describe_error(error)}") from error
    for name in path.split("."):
        inner = getattr(found, name, _MISSING)
        if inner is _MISSING:
            nearest = suggest_names(name, filter(_is_public, dir(found)))
            raise UsageError(f"module {module} has no {path}{nearest}")
        found = inner
    return found


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _load_file(file: Path) -> ModuleType:
    """Return the module of a file, run once; its name follows from its path and is unique."""
    path = file.resolve()
    name = f"{FILE_MODULE_PREFIX}{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    found = spec_from_file_location(name, path)
    if found is None or found.loader is None or not path.is_file():
        raise UsageError(f"{file}: no such file")
    module = sys.modules[name] = module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def module_install_command(module: str) -> str:
    """Return how to install the extra that a module of ours needs, "" if it needs none."""
    own, *parts = module.split(".")
    extras = [
        extra
        for name, extra in EXTRA_BY_PACKAGE.items()
        if any(part == name or part.startswith(f"{name}_") for part in parts)
    ]
    return install_command(extras[0]) if own == "toolmark" and extras else ""


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the installed toolmark, a checkout or a package."""
    home = Path(__file__).parents[3]
    python = Path(sys.executable or "python")
    python = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    if not (home / "pyproject.toml").is_file():
        return f"{shlex.quote(str(python))} -m pip install 'toolmark[{extra}]'"
    checkout = "." if home == Path.cwd() else str(home)
    # editable: a copy would hide later changes in the checkout
    return f"{shlex.quote(str(python))} -m pip install -e {shlex.quote(f'{checkout}[{extra}]')}"


def error_install_command(error: ModuleNotFoundError) -> str:
    """Return how to install the extra that a module of toolmark needs, if its import failed."""
    frames = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    ours = [name for name in frames if name.partition(".")[0] == "toolmark"]
    return module_install_command(ours[-1]) if ours else ""

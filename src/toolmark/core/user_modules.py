"""Objects named `module:attribute` or `FILE.py:NAME`: toolmark's by table, the user's as typed."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from toolmark.core.errors import ToolmarkError, UsageError, describe_error, suggest_names
from toolmark.core.nearest_files import suggest_file

FILE_MODULE_PREFIX = "_toolmark_file_"  # prefix of the names of modules loaded from a file
_MISSING = object()


def is_module_spec(spec: str) -> bool:
    """Return whether a text has the form `module:attribute`."""
    module, colon, attribute = spec.partition(":")
    names = [*module.split("."), *attribute.split(".")]
    return bool(colon) and all(name.isidentifier() for name in names)


def is_file_spec(spec: str) -> bool:
    """Return whether a text has the form `FILE.py:NAME`."""
    path, colon, name = spec.rpartition(":")
    return bool(colon) and path.endswith(".py") and name.isidentifier()


def is_code_spec(spec: str) -> bool:
    """Return whether a text names code: `module:attribute` or `FILE.py:NAME`."""
    return is_module_spec(spec) or is_file_spec(spec)


def loaded_module(spec: str) -> ModuleType | None:
    """Return the module of `module:attribute` or `FILE.py:NAME`, None where it is not imported."""
    module = spec.rpartition(":")[0]
    name = file_module_name(Path(module)) if is_file_spec(spec) else module
    return sys.modules.get(name)


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
    found: Any = import_file(Path(module)) if is_file_spec(spec) else _import_by_name(module)
    for name in path.split("."):
        inner = getattr(found, name, _MISSING)
        if inner is _MISSING:
            nearest = suggest_names(name, filter(_is_public, dir(found)))
            raise UsageError(f"module {module} has no {path}{nearest}")
        found = inner
    return found


def import_file(file: Path) -> ModuleType:
    """Return the module of a user's file; its folder is searched last for what it imports.

    Raises UsageError for a file that cannot be imported.
    """
    _search_last(str(file.resolve().parent))
    with _import_errors(str(file)):
        return load_file(file)


def _import_by_name(module: str) -> ModuleType:
    is_ours = module.partition(".")[0] == "toolmark"
    if not is_ours:
        _search_last(os.getcwd())
    with _import_errors(module, is_ours=is_ours):
        return import_module(module)


def _search_last(folder: str) -> None:
    if folder not in sys.path:  # console scripts lack it
        sys.path.append(folder)


@contextmanager
def _import_errors(module: str, *, is_ours: bool = False) -> Iterator[None]:
    """Raise what an import raises as UsageError; a fault of toolmark passes through."""
    try:
        yield
    except ModuleNotFoundError as error:
        hint = f"; next: {step}" if (step := error_install_command(error)) else ""
        raise UsageError(f"cannot import {module}: {error}{hint}") from None
    except ToolmarkError:
        raise
    except Exception as error:
        if is_ours:
            raise
        raise UsageError(f"cannot import {module}: {describe_error(error)}") from error


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def file_module_name(file: Path) -> str:
    """Return the name of the module that a file is loaded as; it is unique to the path."""
    path = file.resolve()
    return f"{FILE_MODULE_PREFIX}{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"


def load_file(file: Path) -> ModuleType:
    """Return the module of a file, run once; its name follows from its path and is unique."""
    path, name = file.resolve(), file_module_name(file)
    if name in sys.modules:
        return sys.modules[name]
    found = spec_from_file_location(name, path)
    if found is None or found.loader is None or not path.is_file():
        raise UsageError(f"{file}: no such file{suggest_file(file)}")
    module = sys.modules[name] = module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


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
    """Return how to install the extra that a failed import needs, "" if no package names one.

    A package of toolmark names its extra as `EXTRA`. Of the modules that were being imported, the
    innermost one in such a package counts.
    """
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    for module in reversed(frames):
        if extra := _package_extra(module):
            return install_command(extra)
    return ""


def _package_extra(module: str) -> str:
    """Return the extra that a module's package names, or the nearest package around it."""
    while module.partition(".")[0] == "toolmark":
        if module in sys.modules and (extra := vars(sys.modules[module]).get("EXTRA")):
            return str(extra)
        module = module.rpartition(".")[0]
    return ""

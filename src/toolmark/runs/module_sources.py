"""Sources of Python modules: where importing would find them, and what they import.

Nothing is imported: the sources are read and parsed.
"""

from __future__ import annotations

import ast
import os
import pkgutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import NamedTuple

_STANDARD_LIBRARY_PATHS = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
_LIBRARY_FOLDERS = {"site-packages", "dist-packages"}


class Module(NamedTuple):
    """A module that importing would find."""

    name: str
    path: Path
    package: str  # what its relative imports start from


@dataclass(frozen=True, slots=True)
class Source:
    """The names of all modules that a source may import, and of the data files that it reads."""

    imports: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


def is_library_file(path: Path) -> bool:
    """Return whether a file is of the standard library or of an installed package."""
    of_python = any(path.is_relative_to(place) for place in _STANDARD_LIBRARY_PATHS)
    return of_python or bool(_LIBRARY_FOLDERS & {*path.parts})


def read_source(path: Path, package: str) -> Source:
    """Return what a source names; nothing if it is not Python."""
    status = path.stat()
    return _parse_source(path, status.st_mtime_ns, status.st_size, package)


@cache
def _parse_source(path: Path, mtime_ns: int, size_bytes: int, package: str) -> Source:
    if path.suffix != ".py":
        return Source()
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):  # importing the module reports the error
        return Source()
    return Source(
        tuple(dict.fromkeys(_import_names(tree, package))),
        tuple(dict.fromkeys(_table_names(tree))),
    )


def _table_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="read_table"),
                args=[ast.Name(id="__file__"), ast.Constant(value=str(name)), _],
            ):
                yield name


def _import_names(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _package_prefixes(each.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level and not package:  # Python does not follow these either
                continue
            if node.level:
                upper = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*upper, *filter(None, [base])])
            if base:
                yield from _package_prefixes(base)
                yield from (f"{base}.{each.name}" for each in node.names)


def _package_prefixes(name: str) -> Iterator[str]:
    """Yield the packages above a dotted name, then the name: importing it runs them all."""
    parts = name.split(".")
    return (".".join(parts[: n + 1]) for n in range(len(parts)))


def find_module(name: str) -> Module | None:
    """Return the location of a module as seen from the working directory; None for no module."""
    return ModuleFinder(os.getcwd()).find_module(name)


class ModuleFinder:
    """Finds the sources of modules as importing them would, but imports nothing.

    The packages above a module are not imported: their locations are enough. `folder` is searched
    last.
    """

    def __init__(self, folder: str) -> None:
        self._search_path = [*sys.path, folder]
        self._locations: dict[str, tuple[str, list[str]]] = {}

    def find_module(self, name: str) -> Module | None:
        """Return the location of a module; None where there is none."""
        origin, package_paths = self._locate(name)
        if not origin:
            return None
        return Module(name, Path(origin), name if package_paths else name.rpartition(".")[0])

    def _locate(self, name: str) -> tuple[str, list[str]]:
        """Return a module's file, and the folders of its submodules."""
        if name not in self._locations:
            parent = name.rpartition(".")[0]
            search_path = self._locate(parent)[1] if parent else self._search_path
            self._locations[name] = _find_on_path(name, search_path) or ("", [])
            if not parent and self._locations[name] == ("", []):
                self._locations[name] = _find_with_meta_path(name)
        return self._locations[name]


def _find_on_path(name: str, search_path: Iterable[str]) -> tuple[str, list[str]] | None:
    portions: list[str] = []
    for each in search_path:
        finder = pkgutil.get_importer(each or os.getcwd())
        found = finder.find_spec(name) if finder is not None else None
        if found is not None and found.loader is not None:
            return _spec_location(found)
        if found is not None:  # a part of a package without a file
            portions += found.submodule_search_locations or ()
    return ("", portions) if portions else None


def _find_with_meta_path(name: str) -> tuple[str, list[str]]:
    """Find a module that is on no path, such as a package installed in editable mode."""
    for finder in sys.meta_path:
        find = None if finder is PathFinder else getattr(finder, "find_spec", None)
        found: ModuleSpec | None = find(name, None) if find is not None else None
        if found is not None:
            return _spec_location(found)
    return "", []


def _spec_location(found: ModuleSpec) -> tuple[str, list[str]]:
    origin = found.origin if found.has_location and found.origin else ""
    return origin, list(found.submodule_search_locations or ())

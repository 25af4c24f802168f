"""Which module of toolmark imports which: rooms and their levels, circles, suites named below them.

Imports are read from the syntax tree, those inside functions and for type checkers included, and
from strings: `module:attribute`, and short forms such as "suites.suite_registry".
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

# Rooms by level. A module imports from its own room and from lower levels.
LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"core"}),
    frozenset({"language", "models", "statistics", "sources", "formats"}),
    frozenset({"scoring", "environments", "perturb", "generation"}),
    frozenset({"agents"}),
    frozenset({"runs"}),
    frozenset({"judging"}),
    frozenset({"authoring", "baselines", "official_bfcl"}),
    frozenset({"suites"}),
    frozenset({"reports"}),
    frozenset({"studio"}),
    frozenset({"api"}),
    frozenset({"cli", "testing"}),
    frozenset({"__main__", "pytest_plugin"}),
)
LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
TOP_LEVEL = len(LEVELS)  # of the package itself, which offers the public names

# with a letter or a dash at its side, a name of a suite is part of another word
SUITE_NAME = re.compile(
    r"(?<![\w-])(?:funcbench|bfcl|m3(?:-\w+)?|mfcl-\w+|multinet(?:-\w+)?)(?![\w.-])"
)
# rooms and files below the suites that may name one, and why
SUITES_NAMED = {
    "official_bfcl": "what several suites take from the official package of BFCL",
    "language/data/units.toml": "a cubic metre",
}


class Import(NamedTuple):
    """One module of ours that another one names."""

    source: str
    target: str
    line: int


def room_of(module: str) -> str:
    """Return the room of a module: the part below `toolmark`, `` for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def is_below_suites(room: str) -> bool:
    """Tell whether the suites import a room, and not the other way round."""
    return LEVEL_OF.get(room, TOP_LEVEL) < LEVEL_OF["suites"]


def suite_of(module: str) -> str:
    """Return the suite that a module belongs to, `` where it belongs to none."""
    parts = module.split(".")
    return parts[2] if len(parts) > 3 and parts[1] == "suites" else ""


def existing_module(name: str, modules: Mapping[str, object]) -> str:
    """Return the longest leading part of a dotted name that is a module."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def find_imports(module: str, tree: ast.AST, modules: Mapping[str, object]) -> Iterator[Import]:
    """Yield what a module imports of ours, also inside functions and as strings.

    `toolmark` itself counts where a module imports it: what it offers loads everything.
    """
    for node in ast.walk(tree):
        names: list[str] = []
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom(module=str(base)):
                names = [f"{base}.{alias.name}" for alias in node.names]
            case ast.Constant(value=str(text)) if re.fullmatch(r"toolmark(\.\w+)+(:\w+)?", text):
                names = [text.partition(":")[0]]
            case ast.Constant(value=str(text)) if re.fullmatch(r"\w+(\.\w+)+(:\w+)?", text):
                short = f"toolmark.{text.partition(':')[0]}"
                names = [short] if short in modules else []
        for name in names:
            if name.partition(".")[0] == "toolmark":
                target = existing_module(name, modules)
                is_string = isinstance(node, ast.Constant)
                if target not in ("", module) and not (target == "toolmark" and is_string):
                    yield Import(module, target, getattr(node, "lineno", 0))


def upward_imports(imports: Iterable[Import]) -> Iterator[Import]:
    """Yield imports that point up, or across to another room of the same level."""
    for edge in imports:
        source, target = room_of(edge.source), room_of(edge.target)
        if source in ("", target):
            continue
        if LEVEL_OF.get(target, TOP_LEVEL) >= LEVEL_OF[source]:
            yield edge


def suite_imports(imports: Iterable[Import]) -> Iterator[Import]:
    """Yield imports from one suite into another."""
    for edge in imports:
        source, target = suite_of(edge.source), suite_of(edge.target)
        if source and target and source != target:
            yield edge


def circles(imports: Iterable[Import]) -> list[list[str]]:
    """Return the groups of modules that import each other, by Tarjan's algorithm."""
    targets: dict[str, set[str]] = defaultdict(set)
    for edge in imports:
        targets[edge.source].add(edge.target)
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for target in sorted(targets[module]):
            if target not in index:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], index[target])
        if lowest[module] == index[module]:
            at = stack.index(module)
            group = sorted(stack[at:])
            del stack[at:]
            if len(group) > 1:
                groups.append(group)

    for module in sorted(targets):
        if module not in index:
            visit(module)
    return groups


def named_suites(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield strings that name a suite or a path of one; docstrings and names of extras are none."""
    extras = {id(node) for node in _names_of_extras(tree)}
    documented = {id(node) for node in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in extras or id(node) in documented:
                continue
            yield from ((node.lineno + n, what) for n, what in named_suites_of_text(node.value))


def named_suites_of_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield the names of suites, and paths into their folder, by line from 0."""
    for number, line in enumerate(text.split("\n")):
        for found in (*SUITE_NAME.finditer(line), *re.finditer(r"\bsuites/", line)):
            yield number, found[0]


def docstrings(tree: ast.AST) -> list[ast.Constant]:
    """Return the docstrings of a module, of its classes and functions."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    ]


def _names_of_extras(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what is assigned to EXTRA, and what `install_command` gets."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=str(name))], value=value) if "EXTRA" in name:
                yield value
            case ast.Call(func=ast.Attribute(attr="install_command"), args=[value]):
                yield value

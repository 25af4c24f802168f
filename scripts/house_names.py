"""Words in names and texts: verbs without an object, and words that the field does not use."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

_WORDS = tomllib.loads(Path(__file__).with_name("house_words.toml").read_text())
RETIRED_WORDS = frozenset(_WORDS["retired_words"])
PLAIN_NAMES = frozenset(_WORDS["plain_names"])
PYTHON_METHODS = frozenset(_WORDS["python_methods"])
OTHER_TEXTS: Mapping[str, str] = _WORDS["other_texts"]
MOST_BARE_VERBS = 0.01  # of all functions and methods

# with a hyphen at its side a word is part of a name in data; in code an underscore parts words
RETIRED_TEXT = re.compile(
    rf"(?<![^\W_]|-)(?:{'|'.join(sorted(RETIRED_WORDS))})(?![^\W_]|-)"
    r"|\b(?:of yours|of one's own)\b",
    re.IGNORECASE,
)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def named_functions(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, Function]]:
    """Yield the functions of each module, and the methods whose name is the class's own choice.

    Left out are names that Python gives, private classes, properties, methods of a protocol, and
    methods that a base class or a subclass has too: a name that several classes share is known.
    """
    classes = [
        (module, node)
        for module, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    ]
    shared = _shared_names([node for _, node in classes])
    for module, tree in trees.items():
        yield from ((module, node) for node in tree.body if isinstance(node, Function))
    for module, owner in classes:
        if not owner.name.startswith("_") and "Protocol" not in base_names(owner):
            for method in _methods(owner):
                is_given = method.name.startswith("__") or method.name in PYTHON_METHODS
                if not (is_given or _is_property(method) or (owner.name, method.name) in shared):
                    yield module, method


def is_bare_verb(name: str) -> bool:
    """Tell whether a name is one word that is not a noun or an adjective."""
    word = name.strip("_")
    return "_" not in word and not name.startswith("__") and word not in PLAIN_NAMES


def base_names(owner: ast.ClassDef) -> list[str]:
    """Return the names of the classes that a class is made from."""
    return [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in owner.bases]


def _methods(owner: ast.ClassDef) -> list[Function]:
    return [node for node in owner.body if isinstance(node, Function)]


def _is_property(method: Function) -> bool:
    return any(
        "property" in (text := ast.unparse(each)) or text.endswith(".setter")
        for each in method.decorator_list
    )


def _shared_names(classes: list[ast.ClassDef]) -> set[tuple[str, str]]:
    """Return class and method where a base, a subclass or a protocol has the method too.

    So have three classes or more: then the method is what a function may ask of any of them.
    """
    owners = defaultdict(list)
    classes_by_method = defaultdict(set)
    protocols = set()
    for owner in classes:
        owners[owner.name].append(owner)
        for method in _methods(owner):
            classes_by_method[method.name].add(owner.name)
            if "Protocol" in base_names(owner):
                protocols.add(method.name)
    found = {
        (owner, name)
        for name, having in classes_by_method.items()
        if name in protocols or len(having) > 2
        for owner in having
    }
    for owner in classes:
        for base in base_names(owner):
            for above in owners[base]:
                both = {m.name for m in _methods(owner)} & {m.name for m in _methods(above)}
                found |= {(each.name, name) for each in (owner, above) for name in both}
    return found


# drawn and sounding things that are really called so
DRAWN_THINGS = frozenset(
    {"draw_shelf", "_draw_door", "door", "test_a_door_slams_at_once_and_dies_away"}
)


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that a module gives: of functions, classes, parameters, fields, variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name):
                yield node.lineno, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def retired_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield names that hold a retired word."""
    for line, name in bound_names(tree):
        if name not in DRAWN_THINGS and RETIRED_WORDS & set(name.lower().strip("_").split("_")):
            yield line, name


def retired_texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield retired words in strings: messages, help, options, keys and docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in RETIRED_TEXT.finditer(node.value):
                yield node.lineno, found[0]


def retired_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield retired words in the comments of a source file."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            for found in RETIRED_TEXT.finditer(token.string):
                yield token.start[0], found[0]


def retired_docs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield retired words in a page of the documentation."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in RETIRED_TEXT.finditer(line):
            yield number, found[0]

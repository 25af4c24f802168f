"""The exactly pinned grammars that BFCL reads Java and JavaScript text with, where installed.

Error recovery differs between versions of these grammars, so other versions do not count.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata
from typing import Any, Literal, TypeAlias

from toolmark.dialects.parse.frame import Unreadable

Language: TypeAlias = Literal["java", "javascript"]

PINS = {
    "java": {"tree_sitter": "0.21.3", "tree-sitter-java": "0.21.0"},
    "javascript": {"tree_sitter": "0.21.3", "tree-sitter-javascript": "0.21.4"},
}


@lru_cache
def parser(language: Language) -> Any | None:
    """Return the parser of a language; None unless the pinned versions are installed."""
    try:
        if any(metadata.version(name) != pin for name, pin in PINS[language].items()):
            return None
        core = importlib.import_module("tree_sitter")
        grammar = importlib.import_module(f"tree_sitter_{language}")
    except (metadata.PackageNotFoundError, ImportError):
        return None
    made = core.Parser()
    made.set_language(core.Language(grammar.language(), language))
    return made


def tree(found: Any, text: str) -> Any:
    """Return the root node of a text. Raises Unreadable where the grammar had to skip something."""
    try:
        root = found.parse(text.encode("utf-8")).root_node
    except UnicodeEncodeError as error:
        raise Unreadable(str(error)) from None
    if root.has_error and any(node.type == "ERROR" for node in walk(root)):
        raise Unreadable("not in the language's syntax")
    return root


def walk(root: Any) -> Iterator[Any]:
    """Go through a tree from the top, without recursion: its depth is the text's."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)

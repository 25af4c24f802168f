"""The exactly pinned grammars that BFCL reads Java and JavaScript text with, where installed.

Error recovery differs between versions of these grammars, so other versions do not count.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from typing import Any, Literal, TypeAlias

from toolmark.dialects.parse.frame import FOREIGN_CHARS, Unreadable, bounded

Language: TypeAlias = Literal["java", "javascript"]
Maker: TypeAlias = Callable[[], Any]

# a call of the greatest length takes a twentieth of it; what takes longer is full of errors, from
# which the grammars recover slowly
LIMIT_S = 0.5
_SLICE_S = 0.05

PINS = {
    "java": {"tree_sitter": "0.21.3", "tree-sitter-java": "0.21.0"},
    "javascript": {"tree_sitter": "0.21.3", "tree-sitter-javascript": "0.21.4"},
}


@lru_cache
def parser(language: Language) -> Maker | None:
    """Return a maker of parsers of a language; None unless the pinned versions are installed."""
    try:
        if any(metadata.version(name) != pin for name, pin in PINS[language].items()):
            return None
        core = importlib.import_module("tree_sitter")
        grammar = importlib.import_module(f"tree_sitter_{language}")
    except (metadata.PackageNotFoundError, ImportError):
        return None
    spoken = core.Language(grammar.language(), language)

    def make() -> Any:
        made = core.Parser()
        made.set_language(spoken)
        return made

    return make


def tree(make: Maker, text: str) -> Any:
    """Return the root node of a text.

    Raises Unreadable where the grammar had to skip something, and for text that is too long or
    keeps the grammar busy for too long.
    """
    bounded(text, FOREIGN_CHARS)
    try:
        root = _parsed(make(), text.encode("utf-8")).root_node
    except UnicodeEncodeError as error:
        raise Unreadable(str(error)) from None
    if root.has_error and any(node.type == "ERROR" for node in walk(root)):
        raise Unreadable("not in the language's syntax")
    return root


def _parsed(fresh: Any, source: bytes) -> Any:
    """Parse slice by slice: the limit is processor time, whatever else keeps the machine busy.

    The parser is for this text alone: one whose text was given up would go on with it.
    """
    start = time.thread_time()
    fresh.set_timeout_micros(int(_SLICE_S * 1e6))
    while time.thread_time() - start < LIMIT_S:
        with suppress(ValueError):  # the slice is over; the next one goes on from there
            return fresh.parse(source)
    raise Unreadable(f"the grammar takes longer than {LIMIT_S} s")


def walk(root: Any) -> Iterator[Any]:
    """Go through a tree from the top, without recursion: its depth is the text's."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)

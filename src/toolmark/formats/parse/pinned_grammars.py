"""The exactly pinned grammars with which BFCL parses Java and JavaScript, if installed.

Error recovery differs between versions of these grammars, so other versions are not used.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from typing import Any, Literal, TypeAlias

from toolmark.formats.parse.reply_text import MAX_FOREIGN_CHARS, UnreadableCalls, check_length

Language: TypeAlias = Literal["java", "javascript"]
ParserMaker: TypeAlias = Callable[[], Any]

# a call of the greatest length takes a twentieth of it; text that takes longer is full of errors,
# from which the grammars recover slowly
PARSE_LIMIT_S = 0.5
_SLICE_S = 0.05

PINNED_VERSIONS = {
    "java": {"tree_sitter": "0.21.3", "tree-sitter-java": "0.21.0"},
    "javascript": {"tree_sitter": "0.21.3", "tree-sitter-javascript": "0.21.4"},
}


@lru_cache
def parser_maker(language: Language) -> ParserMaker | None:
    """Return a maker of parsers of a language; None unless the pinned versions are installed."""
    try:
        if any(metadata.version(name) != pin for name, pin in PINNED_VERSIONS[language].items()):
            return None
        core = importlib.import_module("tree_sitter")
        grammar = importlib.import_module(f"tree_sitter_{language}")
    except (metadata.PackageNotFoundError, ImportError):
        return None
    grammar_language = core.Language(grammar.language(), language)

    def make_parser() -> Any:
        new_parser = core.Parser()
        new_parser.set_language(grammar_language)
        return new_parser

    return make_parser


def parse_tree(make: ParserMaker, text: str) -> Any:
    """Return the root node of a text.

    Raises UnreadableCalls if the grammar had to skip something, and for text that is too long or
    takes the grammar too long.
    """
    check_length(text, MAX_FOREIGN_CHARS)
    try:
        root = _parse_in_slices(make(), text.encode("utf-8")).root_node
    except UnicodeEncodeError as error:
        raise UnreadableCalls(str(error)) from None
    if root.has_error and any(node.type == "ERROR" for node in walk_nodes(root)):
        raise UnreadableCalls("not in the language's syntax")
    return root


def _parse_in_slices(unused_parser: Any, source: bytes) -> Any:
    """Parse in time slices.

    The limit is processor time, so other load on the machine does not count.

    The parser must be new: after a text that was given up, a parser would continue with that text.
    """
    start = time.thread_time()
    unused_parser.set_timeout_micros(int(_SLICE_S * 1e6))
    while time.thread_time() - start < PARSE_LIMIT_S:
        with suppress(ValueError):  # end of a slice; the next call continues from there
            return unused_parser.parse(source)
    raise UnreadableCalls(f"the grammar takes longer than {PARSE_LIMIT_S} s")


def walk_nodes(root: Any) -> Iterator[Any]:
    """Yield the nodes of a tree from the root, without recursion: a text sets its depth."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.children)

"""A rough reader of `name(a = value, b = value)` in brace languages, by quotes and brackets alone.

It stands in where the grammars are not installed; what it reads is marked approximate.
"""

from __future__ import annotations

import re

from toolmark import brackets
from toolmark.dialects.parse.frame import FOREIGN_CHARS, Unreadable, bounded

_CALL = re.compile(r"\s*((?:[\w$]+\s*\.\s*)*[\w$]+)\s*\(", re.ASCII)
_NAMED = re.compile(r"\s*([\w$.]+)\s*=(?![=>])", re.ASCII)
_BLANKS = " \t\n\r\f\v"  # what \s is in ASCII
_QUOTES = "\"'`"


def call(text: str) -> tuple[str, list[tuple[str | None, str]]]:
    """Return the name and the arguments of the one call, each with its name or None.

    Raises Unreadable for anything else: no call, unbalanced brackets, text after the call, too long
    a text.
    """
    bounded(text, FOREIGN_CHARS)
    head = _CALL.match(text)
    if head is None:
        raise Unreadable("no call")
    try:
        pieces, end = brackets.split(text, head.end(), _QUOTES)
    except brackets.Unbalanced as error:
        raise Unreadable(str(error)) from None
    if text[end:].strip() not in ("", ";"):
        raise Unreadable("something follows the call")
    return head[1], [] if pieces == [""] else [_argument(piece) for piece in pieces]


def _argument(piece: str) -> tuple[str | None, str]:
    named = _NAMED.match(piece)
    value = piece[named.end() :].strip(_BLANKS) if named else ""
    return (named[1], value) if named and value else (None, piece.strip())

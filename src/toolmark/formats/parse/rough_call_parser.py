"""A rough parser of `name(a = value, b = value)` in brace languages, by quotes and brackets alone.

It is used if the grammars are not installed; its results are marked approximate.
"""

from __future__ import annotations

import re

from toolmark.core import brackets
from toolmark.formats.parse.reply_text import MAX_FOREIGN_CHARS, UnreadableCalls, check_length

_CALL = re.compile(r"\s*((?:[\w$]+\s*\.\s*)*[\w$]+)\s*\(", re.ASCII)
_NAMED_ARGUMENT = re.compile(r"\s*([\w$.]+)\s*=(?![=>])", re.ASCII)
_BLANKS = " \t\n\r\f\v"  # what \s is in ASCII
_QUOTES = "\"'`"


def parse_call(text: str) -> tuple[str, list[tuple[str | None, str]]]:
    """Return the name and the arguments of the one call, each with its name or None.

    Raises UnreadableCalls for anything else: no call, unbalanced brackets, text after the call, a
    text that is too long.
    """
    check_length(text, MAX_FOREIGN_CHARS)
    head = _CALL.match(text)
    if head is None:
        raise UnreadableCalls("no call")
    try:
        pieces, end = brackets.split_at_commas(text, head.end(), _QUOTES)
    except brackets.UnbalancedBrackets as error:
        raise UnreadableCalls(str(error)) from None
    if text[end:].strip() not in ("", ";"):
        raise UnreadableCalls("something follows the call")
    return head[1], [] if pieces == [""] else [_split_argument(piece) for piece in pieces]


def _split_argument(piece: str) -> tuple[str | None, str]:
    named = _NAMED_ARGUMENT.match(piece)
    value = piece[named.end() :].strip(_BLANKS) if named else ""
    return (named[1], value) if named and value else (None, piece.strip())

"""A rough reader of `name(a = value, b = value)` in brace languages, by quotes and brackets alone.

It stands in where the grammars are not installed; what it reads is marked approximate.
"""

from __future__ import annotations

import re

from toolmark.dialects.parse.frame import Unreadable

_CALL = re.compile(r"\s*((?:[\w$]+\s*\.\s*)*[\w$]+)\s*\(", re.ASCII)
_NAMED = re.compile(r"\s*([\w$.]+)\s*=(?![=>])\s*(.*\S)\s*\Z", re.ASCII | re.DOTALL)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_QUOTES = "\"'`"
# type arguments of a constructor; bounded, since each `<` is tried
_GENERIC = re.compile(r"<[\w.,\s?\[\]<>]{0,200}>(?=\s*\()")


def call(text: str) -> tuple[str, list[tuple[str | None, str]]]:
    """Return the name and the arguments of the one call, each with its name or None.

    Raises Unreadable for anything else: no call, unbalanced brackets, text after the call.
    """
    head = _CALL.match(text)
    if head is None:
        raise Unreadable("no call")
    pieces, end = _split(text, head.end())
    if text[end:].strip() not in ("", ";"):
        raise Unreadable("something follows the call")
    return head[1], [_argument(piece) for piece in pieces]


def _split(text: str, start: int) -> tuple[list[str], int]:
    """Cut at the commas outside brackets and quotes, up to the bracket that closes the call."""
    opened = ["("]
    pieces: list[str] = []
    at = begin = start
    while at < len(text):
        char = text[at]
        generic = _GENERIC.match(text, at) if char == "<" else None
        if char in _QUOTES:
            at = _closing(text, at)
        elif generic:
            at = generic.end() - 1
        elif char in "([{":
            opened.append(char)
        elif char in _PAIRS and opened.pop() != _PAIRS[char]:
            raise Unreadable("brackets do not match")
        if not opened or (char == "," and len(opened) == 1):
            pieces.append(text[begin:at])
            begin = at + 1
        at += 1
        if not opened:
            return ([] if pieces == [""] else pieces), at
    raise Unreadable("a bracket is not closed")


def _closing(text: str, start: int) -> int:
    """Return where the quote that opens at `start` closes."""
    at = start + 1
    while at < len(text) and text[at] != text[start]:
        at += 2 if text[at] == "\\" else 1
    if at >= len(text):
        raise Unreadable("a quote is not closed")
    return at


def _argument(piece: str) -> tuple[str | None, str]:
    named = _NAMED.match(piece)
    return (named[1], named[2]) if named else (None, piece.strip())

"""Cutting text of brace languages at its commas, by brackets and quotes alone, in one pass."""

from __future__ import annotations

import re

_PAIRS = {")": "(", "]": "[", "}": "{"}
# type arguments of a constructor; bounded, since each `<` is tried
_GENERIC = re.compile(r"<[\w.,\s?\[\]<>]{0,200}>(?=\s*\()")


class Unbalanced(ValueError):
    """Brackets or quotes that do not close; the message says which."""


def split(text: str, start: int, quotes: str) -> tuple[list[str], int]:
    """Cut at the commas up to the bracket that closes; return the pieces and where it ends.

    The opening bracket stands before `start`. There is one piece more than there are commas, blanks
    and all. Raises Unbalanced.
    """
    opened = [text[start - 1]]
    pieces: list[str] = []
    at = begin = start
    while at < len(text):
        char = text[at]
        generic = _generic(text, at) if char == "<" else None
        if char in quotes:
            at = _closing(text, at)
        elif generic:
            at = generic - 1
        elif char in "([{":
            opened.append(char)
        elif char in _PAIRS and opened.pop() != _PAIRS[char]:
            raise Unbalanced("brackets do not match")
        if not opened or (char == "," and len(opened) == 1):
            pieces.append(text[begin:at])
            begin = at + 1
        at += 1
        if not opened:
            return pieces, at
    raise Unbalanced("a bracket is not closed")


def _generic(text: str, start: int) -> int | None:
    """Return where type arguments that begin at `start` end; None where it is a comparison."""
    found = _GENERIC.match(text, start)
    return found.end() if found and found[0].count("<") == found[0].count(">") else None


def _closing(text: str, start: int) -> int:
    """Return where the quote that opens at `start` closes."""
    at = start + 1
    while at < len(text) and text[at] != text[start]:
        at += 2 if text[at] == "\\" else 1
    if at >= len(text):
        raise Unbalanced("a quote is not closed")
    return at

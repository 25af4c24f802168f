"""Split text of brace languages at its commas, by brackets and quotes alone, in one pass."""

from __future__ import annotations

import re

_OPENING_BY_CLOSING = {")": "(", "]": "[", "}": "{"}
# type arguments of a constructor; bounded, because each `<` is tried
_TYPE_ARGUMENTS = re.compile(r"<[\w.,\s?\[\]<>]{0,200}>(?=\s*\()")


class UnbalancedBrackets(ValueError):
    """Brackets or quotes that do not close; the message says which."""


def split_at_commas(text: str, start: int, quotes: str) -> tuple[list[str], int]:
    """Split at the commas up to the closing bracket; return the pieces and where it ends.

    The opening bracket is before `start`. There is one piece more than there are commas; blanks are
    included. Raises UnbalancedBrackets.
    """
    open_brackets = [text[start - 1]]
    pieces: list[str] = []
    position = piece_start = start
    while position < len(text):
        char = text[position]
        generic_end = _type_arguments_end(text, position) if char == "<" else None
        if char in quotes:
            position = _closing_quote(text, position)
        elif generic_end:
            position = generic_end - 1
        elif char in "([{":
            open_brackets.append(char)
        elif char in _OPENING_BY_CLOSING and open_brackets.pop() != _OPENING_BY_CLOSING[char]:
            raise UnbalancedBrackets("brackets do not match")
        if not open_brackets or (char == "," and len(open_brackets) == 1):
            pieces.append(text[piece_start:position])
            piece_start = position + 1
        position += 1
        if not open_brackets:
            return pieces, position
    raise UnbalancedBrackets("a bracket is not closed")


def _type_arguments_end(text: str, start: int) -> int | None:
    """Return where the type arguments that begin at `start` end, or None if it is a comparison."""
    found = _TYPE_ARGUMENTS.match(text, start)
    return found.end() if found and found[0].count("<") == found[0].count(">") else None


def _closing_quote(text: str, start: int) -> int:
    """Return where the quote that opens at `start` closes."""
    position = start + 1
    while position < len(text) and text[position] != text[start]:
        position += 2 if text[position] == "\\" else 1
    if position >= len(text):
        raise UnbalancedBrackets("a quote is not closed")
    return position

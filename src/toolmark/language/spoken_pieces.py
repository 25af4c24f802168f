"""A piece that was read aloud, and the pieces next to a place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from toolmark.language.text_lexer import Lexeme


class SpokenPiece(NamedTuple):
    """How many pieces were read aloud, the words, and the feature that did it."""

    n: int
    words: str
    feature: str


Reader: TypeAlias = Callable[[Sequence[Lexeme], int], SpokenPiece | None]
"""Reads the pieces from a place on; None where it reads nothing there."""


def text_at(pieces: Sequence[Lexeme], i: int) -> str:
    """Return the text of a piece, "" beyond the ends."""
    return pieces[i].text if 0 <= i < len(pieces) else ""


def piece_kind(pieces: Sequence[Lexeme], i: int) -> str:
    """Return the kind of a piece, "" beyond the ends."""
    return pieces[i].kind if 0 <= i < len(pieces) else ""


def is_glued(pieces: Sequence[Lexeme], i: int) -> bool:
    """Return whether a piece touches the piece before it."""
    return 0 <= i < len(pieces) and pieces[i].glued

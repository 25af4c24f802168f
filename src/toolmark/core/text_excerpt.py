"""Texts cut to a length for readers."""

from __future__ import annotations


def shorten_text(text: str, max_chars: int) -> str:
    """Return a text of at most `max_chars` characters; one that is cut ends in an ellipsis."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"

"""Thoughts at the start of a reply's text, where the server did not take them out."""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.core.records import Reply

THINK_TAGS = ("<think>", "</think>")


def split_thoughts(text: str) -> tuple[str, str]:
    """Return the thoughts that a text begins with, "" for none, and the text after them.

    Thoughts that are not closed take the whole text. A closing tag alone ends thoughts too, where
    it begins or ends a line: some templates write the opening tag into the prompt.
    """
    opening, closing = THINK_TAGS
    start = text.lstrip()
    thoughts, found, rest = start.partition(closing)
    if start.startswith(opening):
        return thoughts.removeprefix(opening).strip(), rest.lstrip()
    is_line_end = thoughts.endswith("\n") or rest.startswith("\n")
    if found and is_line_end and not start.startswith("<"):
        return thoughts.strip(), rest.lstrip()
    return "", text


def separate_thoughts(reply: Reply) -> Reply:
    """Return the reply with the thoughts at the start of its text as reasoning."""
    thoughts, rest = split_thoughts(reply.text)
    if not thoughts and rest == reply.text:
        return reply
    joined = "\n\n".join(filter(None, (reply.reasoning, thoughts)))
    return replace(reply, text=rest, reasoning=joined)

"""What is around the calls in a reply, and what every reader of calls has in common."""

from __future__ import annotations

from typing import Any, TypeAlias

Decoded: TypeAlias = list[tuple[str, dict[Any, Any]]]

MAX_CHARS = 2**20

TAG = "TOOLCALL"


class Unreadable(ValueError):
    """Text that holds no calls in the expected form; the message says why."""


class Misshapen(Unreadable):
    """Text that was read, but what it holds is no list of calls with named arguments."""


def bracketed(text: str) -> str:
    """Drop fences and blanks around a reply and add missing brackets, as BFCL does in any form.

    Raises Unreadable beyond a million characters.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable(f"{len(text)} characters; the limit is {MAX_CHARS}")
    text = text.strip("`\n ")
    if not text.startswith("["):
        text = "[" + text
    if not text.endswith("]"):
        text = text + "]"
    return text


def tagged(text: str) -> str:
    """Return what the first tool-call tag holds, without blanks; raises Unreadable for none."""
    found = between(text, f"<{TAG}>", f"</{TAG}>")
    if found is None:
        raise Unreadable(f"no <{TAG}> section")
    return found.strip()


def between(text: str, start: str, end: str) -> str | None:
    """Return what lies between the first start and the next end; None if either is missing."""
    head = text.find(start)
    tail = text.find(end, head + len(start)) if head >= 0 else -1
    return None if tail < 0 else text[head + len(start) : tail]

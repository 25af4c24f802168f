"""What is around the calls in a reply, and what every reader of calls has in common."""

from __future__ import annotations

from typing import Any, TypeAlias

Decoded: TypeAlias = list[tuple[str, dict[Any, Any]]]

MAX_CHARS = 2**20
FOREIGN_CHARS = 2**14  # a call in Java or JavaScript: their grammars recover in quadratic time

TAG = "TOOLCALL"


class Unreadable(ValueError):
    """Text that holds no calls in the expected form; the message says why."""


class Misshapen(Unreadable):
    """Text that was read, but what it holds is no list of calls with named arguments."""


def bounded(text: str, limit: int = MAX_CHARS) -> None:
    """Refuse text of more characters than the limit: raises Unreadable."""
    if len(text) > limit:
        raise Unreadable(f"{len(text)} characters; the limit is {limit}")


def bracketed(text: str) -> str:
    """Drop fences and blanks around a reply and add missing brackets, as BFCL does in any form.

    Raises Unreadable beyond a million characters.
    """
    bounded(text)
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


def put(arguments: dict[Any, Any], key: str | None, value: str) -> None:
    """Add an argument to those of a call; raises Unreadable for a name that is there already."""
    if key in arguments:
        raise Unreadable(f"the argument {key} is given twice")
    arguments[key] = value


def bare(value: str) -> str:
    """Drop one pair of equal quotes around a value."""
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value

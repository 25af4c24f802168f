"""The text around the calls in a reply, and what all parsers of calls share."""

from __future__ import annotations

from typing import Any, TypeAlias

DecodedCalls: TypeAlias = list[tuple[str, dict[Any, Any]]]

MAX_CHARS = 2**20
MAX_FOREIGN_CHARS = 2**14  # of Java or JavaScript: their grammars recover in quadratic time

CALL_TAG = "TOOLCALL"


class UnreadableCalls(ValueError):
    """Text without calls in the expected form; the message says why."""


class MisshapenCalls(UnreadableCalls):
    """Text that was parsed, but is not a list of calls with named arguments."""


def check_length(text: str, max_chars: int = MAX_CHARS) -> None:
    """Raise UnreadableCalls for text of more characters than the limit."""
    if len(text) > max_chars:
        raise UnreadableCalls(f"{len(text)} characters; the limit is {max_chars}")


def add_brackets(text: str) -> str:
    """Remove fences and blanks around a reply and add missing brackets, as BFCL does in any form.

    Raises UnreadableCalls beyond a million characters.
    """
    check_length(text)
    text = text.strip("`\n ")
    if not text.startswith("["):
        text = "[" + text
    if not text.endswith("]"):
        text = text + "]"
    return text


def tag_content(text: str) -> str:
    """Return the content of the first tool-call tag, without blanks.

    Raises UnreadableCalls for none.
    """
    found = text_between(text, f"<{CALL_TAG}>", f"</{CALL_TAG}>")
    if found is None:
        raise UnreadableCalls(f"no <{CALL_TAG}> section")
    return found.strip()


def text_between(text: str, start: str, end: str) -> str | None:
    """Return the text between the first start and the next end; None if either is missing."""
    start_at = text.find(start)
    end_at = text.find(end, start_at + len(start)) if start_at >= 0 else -1
    return None if end_at < 0 else text[start_at + len(start) : end_at]


def add_argument(arguments: dict[Any, Any], key: str | None, value: str) -> None:
    """Add an argument to a call's; raises UnreadableCalls for a name that is there already."""
    if key in arguments:
        raise UnreadableCalls(f"the argument {key} is given twice")
    arguments[key] = value


def strip_quotes(value: str) -> str:
    """Drop one pair of equal quotes around a value."""
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value

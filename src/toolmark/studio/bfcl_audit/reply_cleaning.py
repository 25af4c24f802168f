"""What evaluators of 2024 removed from a reply's text before they read its calls.

Each function returns the text that the default decoder then reads, or None where the evaluator
failed. All of them take time linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from toolmark.official_bfcl.handler_replies import StoredReply, read_text_reply
from toolmark.official_bfcl.reply_decoding import HANDLER_FAILS

TextCleaner: TypeAlias = Callable[[str], str | None]

_BLANKS = "`\n "
_QUOTES = "'\""


def read_cleaned(cleaners: tuple[TextCleaner, ...], stored: Any, is_executed: bool) -> StoredReply:
    """Read a text after all cleaners, one after the other."""
    found = read_text_reply(stored, is_executed)
    text: str | None = found.text
    for clean in cleaners:
        text = clean(text) if text is not None else None
    if text is None:
        return found._replace(handler_fault=HANDLER_FAILS)
    return found._replace(text=text)


def make_text_reader(*cleaners: TextCleaner) -> Callable[[Any, bool], StoredReply]:
    """Return the reader of a text with these cleaners."""
    return partial(read_cleaned, cleaners)


def refuse_fences(text: str) -> str | None:
    """Fail on a text that begins or ends with a fence or a blank, one leading space aside."""
    body = text.removeprefix(" ")
    return None if body != body.strip(_BLANKS) else body


def refuse_missing_brackets(text: str) -> str | None:
    """Fail on calls that are not in brackets; blanks around them do not count."""
    body = text.strip()
    return body if body.startswith("[") else None


def unescape_underscores(text: str) -> str | None:
    """Remove the backslash of Markdown before underscores."""
    return text.replace("\\_", "_")


def remove_list_quotes(text: str) -> str | None:
    """Remove quotes around the calls: `['f(x=1)', 'g()']` and `'f(x=1)'`."""
    body = text.strip(_BLANKS)
    inner = body[1:-1].strip() if body.startswith("[") and body.endswith("]") else body
    if len(inner) < 2 or inner[0] not in _QUOTES or inner[-1] != inner[0]:
        return text
    quote = inner[0]
    return "[" + inner[1:-1].replace(f"{quote}, {quote}", ", ") + "]"


def remove_single_quotes(text: str) -> str | None:
    """Remove single quotes around the calls of a list; blanks around the text stay."""
    for quoted, plain in (("['", "["), ("', '", ", "), ("']", "]")):
        text = text.replace(quoted, plain)
    return text


def keep_first_fence(text: str) -> str | None:
    """Return what stands in the first fence; a text without one is returned unchanged."""
    _, mark, after = text.partition("```")
    if not mark:
        return text
    inner = after.partition("```")[0]
    for word in ("python", "json", "java", "javascript"):
        if inner.startswith(word + "\n"):
            return inner[len(word) :].strip()
    return inner.strip()


def keep_first_brackets(text: str) -> str | None:
    """Return the first line's part from its first to its last bracket, of lines that have both."""
    for line in text.split("\n"):
        first, last = line.find("["), line.rfind("]")
        if 0 <= first < last:
            return line[first : last + 1]
    return None


def join_statements(text: str) -> str | None:
    """Return statements that end with semicolons as a list."""
    parts = [part.strip() for part in text.strip(_BLANKS).split(";")]
    return ", ".join(part for part in parts if part)

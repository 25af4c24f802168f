"""Stored replies, and those in text that the default decoder reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from toolmark.core.records import Call
from toolmark.formats.parse import python_calls
from toolmark.official_bfcl.reply_decoding import (
    HANDLER_FAILS,
)

ReplyForm: TypeAlias = Literal["native", "prompt"]
ArgumentShape: TypeAlias = Literal["text", "object", "parameters", ""]
MAX_SHOWN_CHARS = 80


class MalformedResult(ValueError):
    """A result in a shape that its handler does not write, or with an unclear meaning."""


class StoredReply(NamedTuple):
    """A stored reply: its text, and the calls in it or in its place.

    `handler_fault`: what the handler makes of a single-turn reply without calls, one of
    `ERROR_TYPE_OF_HANDLER_FAULT`; "" where the text itself decides.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    handler_fault: str = ""


# (what is stored, whether its calls are executed) -> the reply; raises MalformedResult
ReplyReader: TypeAlias = Callable[[Any, bool], StoredReply]


def format_json(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):
        return type(value).__name__
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "..."


def read_text_reply(stored: Any, is_executed: bool) -> StoredReply:
    """Read a reply in text; where there is none, every handler fails."""
    if stored is None:
        return StoredReply(handler_fault=HANDLER_FAILS)
    if not isinstance(stored, str):
        raise MalformedResult(f"a reply is text in a run by prompt, not {format_json(stored)}")
    return StoredReply(stored)


def read_cleaned_text(
    clean_text: Callable[[str, bool], str], stored: Any, is_executed: bool
) -> StoredReply:
    """Read a text from which something is removed before the default decoder reads it.

    The last reply without calls is searched for the answer as it was stored.
    """
    found = read_text_reply(stored, is_executed)
    cleaned = clean_text(found.text, is_executed)
    if is_executed and not _holds_calls(cleaned) and not _holds_calls(found.text):
        return found
    return found._replace(text=cleaned)


def _holds_calls(text: str) -> bool:
    try:
        return bool(python_calls.parse_reply(text))
    except python_calls.UnreadableCalls:
        return False


def remove_code_fences(text: str, is_executed: bool) -> str:
    """Return a text without the fences that its handler removes, wherever they are."""
    return text.replace("```tool_code\n", "").replace("\n```", "")


def remove_opening_fence(text: str, is_executed: bool) -> str:
    """Return a text without the fence that opens it."""
    text = text if is_executed else text.strip()
    return text.removeprefix("```json").removeprefix("```python")

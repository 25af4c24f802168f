"""The thoughts in a chat endpoint's state that a person can read."""

from __future__ import annotations

from typing import Any

import msgspec

from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import ProviderState
from toolmark.models.wires import chat_state, reply_parts

_TEXT_MEMBERS = ("text", "summary", "thinking")
_MAX_DEPTH = 4


def readable_reasoning(state: ProviderState) -> str:
    """Return the texts of thoughts in a state, "" where there are only signatures."""
    found = chat_state.decode_state(state)
    if found is None:
        return ""
    text = ""
    for name, value in found.message.items():  # several names may have the same text
        if not text and "signature" not in name:
            text = _text_of(
                _thinking_parts(_decode_members(value))
                if name == "content"
                else _decode_members(value)
            )
    if len(text) > reply_parts.MAX_TEXT_CHARS:
        text = reply_parts.cut_text(text, reply_parts.MAX_TEXT_CHARS)
    return escape_surrogates(text)


def _decode_members(value: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _thinking_parts(content: Any) -> list[Any]:
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict) and part.get("type") == "thinking"]


def _text_of(value: Any, depth: int = _MAX_DEPTH) -> str:
    """Return the text of a value: itself, or those of its parts."""
    match value:
        case str():
            return value
        case list() if depth:
            return "".join(_text_of(item, depth - 1) for item in value if not isinstance(item, str))
        case dict() if depth:
            return "".join(
                _text_of(value[name], depth - 1) for name in _TEXT_MEMBERS if name in value
            )
    return ""

"""Under which names a reply carries thoughts, and which of them an endpoint says it misses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from toolmark.core.records import Reply
from toolmark.models.provider_table import provider_table

_MAX_NAMES = 3
_MAX_DEPTH = 6
_WORDS_OF_WIRES = ("encrypted_content", "thoughtSignature")
"""Names of wires other than chat, whose words are in `providers.toml`."""
_MISSED_MEMBERS = (
    ("reasoning_content", "reasoning_content"),
    ("reasoning_details", "reasoning_details"),
    ("thought_signature", "thought_signature"),
    ("thought signature", "thought_signature"),
    ("encrypted content", "encrypted_content"),
    ("encrypted_content", "encrypted_content"),
    ("item with id", "a reasoning item"),
    ("without its required", "a reasoning item"),
    ("signature", "signature"),
    ("thinking", "thinking"),
    ("reasoning", "reasoning"),
    ("tool_call_id", "tool_call_id"),
    ("tool_use_id", "tool_use_id"),
)
"""What complaints call a member, and its name; the first that a complaint contains counts."""


def carried_members(reply: Reply) -> tuple[str, ...]:
    """Return the names of the members in which a reply carries thoughts, the outermost first."""
    if reply.provider_state is None:
        return ()
    try:
        content = msgspec.json.decode(reply.provider_state.data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ()
    words = (*provider_table().state.words, *_WORDS_OF_WIRES)
    found = dict.fromkeys(
        name for name in _walk_names(content, _MAX_DEPTH) if any(word in name for word in words)
    )
    # the text of a thinking part, and its type, have the same word in their names
    return tuple(found)[:_MAX_NAMES]


def missed_member(complaint: str) -> str:
    """Return the member that an endpoint says it misses, "" where it names none."""
    text = complaint.casefold()
    return next((name for sign, name in _MISSED_MEMBERS if sign in text), "")


def _walk_names(value: Any, depth: int) -> Iterator[str]:
    """Yield the names of members with a value, and the types of parts, from the outside in."""
    if not depth:
        return
    if isinstance(value, list):
        for each in value:
            yield from _walk_names(each, depth - 1)
    elif isinstance(value, dict):
        kind = value.get("type")
        if isinstance(kind, str):
            yield kind.partition(".")[0]
        yield from (name for name, each in value.items() if each)
        for each in value.values():
            yield from _walk_names(each, depth - 1)

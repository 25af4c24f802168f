"""The content of a message as it goes back: whole and in order, with its thoughts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from toolmark.core.records import Call
from toolmark.models.wires.request_parts import encode_json

_MAX_CACHED_CHARS = 2**15  # of a state that is read once
_MAX_CACHED = 512
_THOUGHTS = ("thinking", "redacted_thinking")


class StateBlocks(NamedTuple):
    """The blocks of one message as sent.

    `calls` are the id, name and arguments of each call, in order. `offer` is the digest of the
    tools that were offered. `n_left_out` counts thoughts that no answer followed, `n_unreadable`
    calls whose arguments are no object and are sent as an empty one.
    """

    blocks: tuple[bytes, ...]
    calls: tuple[tuple[str, str, str], ...]
    offer: str
    has_thoughts: bool
    n_left_out: int
    n_unreadable: int


class _State(Struct):
    content: list[Raw]
    offer: str = ""


class _Block(Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"{}")


_decode_state = msgspec.json.Decoder(_State).decode
_decode_block = msgspec.json.Decoder(_Block).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode


@lru_cache(_MAX_CACHED)
def offer_digest(encoded: bytes) -> str:
    """Return the digest of tools as sent."""
    return hashlib.blake2b(encoded, digest_size=8).hexdigest()


def write_state(content: str, offered: bytes) -> str:
    """Return a content with the tools that were offered, as one text."""
    return f'{{"offer":"{offer_digest(offered)}","content":{content}}}'


def read_state(data: str) -> StateBlocks | None:
    """Return the blocks of a stored content; None for what is none.

    Blocks go back in their own bytes. Left out are blank texts, which the endpoint sends and does
    not take, and thoughts at the end, after which a reply was cut.
    """
    return _read_cached(data) if len(data) <= _MAX_CACHED_CHARS else _read_state(data)


def call_arguments(raw: bytes) -> str:
    """Return the arguments of a call: its input, or the text of one that is no JSON."""
    if raw in (b"", b"null"):
        return "{}"
    if not raw.startswith(b'"'):
        return raw.decode()
    text: str = json.loads(raw)  # may hold lone surrogates
    return text


def drop_calls(data: str, calls: tuple[Call, ...], chosen: Collection[int]) -> str | None:
    """Return a content with only some of its calls, None for what is none."""
    found: list[Raw] = []
    n_calls = 0
    try:
        state = _decode_state(data)
        for raw in state.content:
            is_call = _decode_block(raw).type == "tool_use"
            n_calls += is_call
            if not is_call or n_calls - 1 in chosen:
                found.append(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return encode_json({"offer": state.offer, "content": found}).decode()


def _read_state(data: str) -> StateBlocks | None:
    try:
        state = _decode_state(data)
        blocks = [(_decode_block(raw), bytes(raw)) for raw in state.content]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    blocks = [each for each in blocks if each[0].type != "text" or (each[0].text or "").strip()]
    n_spoken = len(blocks)
    while blocks and blocks[-1][0].type in _THOUGHTS:
        blocks.pop()
    n_left_out = n_spoken - len(blocks)
    encoded: list[bytes] = []
    calls: list[tuple[str, str, str]] = []
    n_unreadable = 0
    for block, raw in blocks:
        if block.type == "tool_use":
            source = bytes(block.input)
            calls.append((block.id, block.name, call_arguments(source)))
            is_readable = source.startswith(b"{")
            n_unreadable += not is_readable
            raw = _strip_call(raw, has_input=is_readable)
        encoded.append(raw)
    has_thoughts = any(block.type in _THOUGHTS for block, _ in blocks)
    return StateBlocks(
        tuple(encoded), tuple(calls), state.offer, has_thoughts, n_left_out, n_unreadable
    )


_read_cached = lru_cache(_MAX_CACHED)(_read_state)


def rename_calls(blocks: StateBlocks, ids: list[str]) -> tuple[bytes, ...]:
    """Return the blocks with other ids of the calls, in order."""
    left = iter(ids)
    renamed: list[bytes] = []
    for raw in blocks.blocks:
        if _decode_block(raw).type == "tool_use":
            members = _decode_members(raw)
            members["id"] = Raw(encode_json(next(left)))
            raw = encode_json(members)
        renamed.append(raw)
    return tuple(renamed)


def _strip_call(raw: bytes, *, has_input: bool) -> bytes:
    """Return a call without members that are null, which the endpoint does not take."""
    if has_input and b"null" not in raw:
        return raw
    members = _decode_members(raw)
    sent = {name: value for name, value in members.items() if bytes(value) != b"null"}
    if has_input and len(sent) == len(members):
        return raw
    if not has_input:
        sent["input"] = Raw(b"{}")
    return encode_json(sent)

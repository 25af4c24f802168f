"""The output of a response as it goes back: whole, in order, with its reasoning."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from toolmark.core.records import Call
from toolmark.models.wires.request_parts import encode_json, object_or_empty

_MAX_CACHED_CHARS = 2**15  # of a state that is read once
_MAX_CACHED_STATES = 512
_NO_CONTENT = (b"", b"null", b"[]")


class StateItems(NamedTuple):
    """The items of one output as sent, joined by commas.

    `calls` are the call id, name and arguments of each call, in order. `n_left_out` counts the
    reasoning that the endpoint would not know again.
    """

    encoded: bytes
    calls: tuple[tuple[str, str, str], ...]
    n_left_out: int


class _Item(Struct):
    type: str = ""
    call_id: str = ""
    name: str = ""
    arguments: str = "{}"
    encrypted_content: str | None = None
    content: Raw = Raw(b"")


_decode_raw_items = msgspec.json.Decoder(list[Raw]).decode
_decode_item = msgspec.json.Decoder(_Item).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode


def read_state(data: str) -> StateItems | None:
    """Return the items of a stored output; None for what is no output.

    Nothing is stored at the endpoint, so reasoning goes back only with its ciphertext, or with its
    text where the endpoint sends no ciphertext. Both together are refused. Members that are null
    are left out: the endpoint sends them, and does not take them.
    """
    return _read_cached(data) if len(data) <= _MAX_CACHED_CHARS else _read_state(data)


def read_repaired(data: str) -> StateItems | None:
    """Return the items with an empty object for all arguments that are none."""
    return _read_state(data, repairs_arguments=True)


def drop_calls(data: str, calls: tuple[Call, ...], chosen: Collection[int]) -> str | None:
    """Return an output with only some of its calls, None for what is no output.

    The endpoint wants no reasoning without what followed it.
    """
    found: list[Raw] = []
    thoughts: list[Raw] = []
    n_calls = 0
    try:
        for raw in _decode_raw_items(data):
            kind = _decode_item(raw).type
            if kind == "reasoning":
                thoughts.append(raw)
                continue
            n_calls += kind == "function_call"
            if kind != "function_call" or n_calls - 1 in chosen:
                found += (*thoughts, raw)
            thoughts = []
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return encode_json(found).decode()


def _read_state(data: str, *, repairs_arguments: bool = False) -> StateItems | None:
    encoded: list[bytes] = []
    calls: list[tuple[str, str, str]] = []
    n_left_out = 0
    try:
        for raw in _decode_raw_items(data):
            item = _decode_item(raw)
            has_text = bytes(item.content) not in _NO_CONTENT
            if item.type == "function_call":
                calls.append((item.call_id, item.name, item.arguments))
                if repairs_arguments and object_or_empty(item.arguments) != item.arguments:
                    raw = Raw(encode_json(_decode_members(raw) | {"arguments": "{}"}))
            elif item.type == "reasoning" and not item.encrypted_content and not has_text:
                n_left_out += 1
                continue
            without = item.type == "reasoning" and bool(item.encrypted_content) and has_text
            encoded.append(_strip_item(bytes(raw), without_content=without))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return StateItems(b",".join(encoded), tuple(calls), n_left_out)


_read_cached = lru_cache(_MAX_CACHED_STATES)(_read_state)


def _strip_item(raw: bytes, *, without_content: bool) -> bytes:
    """Return an item without what its endpoint does not take; else its own bytes."""
    if not without_content and b"null" not in raw:
        return raw
    members = _decode_members(raw)
    sent = {
        name: value
        for name, value in members.items()
        if bytes(value) != b"null" and not (without_content and name == "content")
    }
    return raw if len(sent) == len(members) else encode_json(sent)

"""The content of a reply as it goes back: whole, in order, with its signatures."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from toolmark.core.records import Call
from toolmark.models.wires.request_parts import encode_json

_MAX_CACHED_CHARS = 2**15  # of a state that is read once
_MAX_CACHED_STATES = 512
SIGNATURE_MEMBER = "thoughtSignature"


class StateParts(NamedTuple):
    """The parts of one content as sent.

    `calls` are the id, name and arguments of each call, in order; an id is "" where the endpoint
    gave none.
    """

    parts: tuple[Raw, ...]
    calls: tuple[tuple[str, str, str], ...]


class _Call(Struct):
    name: str = ""
    args: Raw = Raw(b"")
    id: str | None = None


class _Part(Struct, rename="camel"):
    function_call: _Call | None = None


class _Content(Struct):
    parts: list[Raw]


_decode_content = msgspec.json.Decoder(_Content).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_part = msgspec.json.Decoder(_Part).decode


def read_state(data: str) -> StateParts | None:
    """Return the parts of a stored content; None for what is none, or cannot be sent.

    Parts go back in their own bytes: the endpoint signs them one by one, so none may be joined with
    another.
    """
    return _read_cached(data) if len(data) <= _MAX_CACHED_CHARS else _read_state(data)


def call_arguments(args: bytes) -> str:
    """Return the arguments of a call as JSON text; those that are absent are an empty object."""
    return "{}" if args in (b"", b"null") else args.decode()


def drop_calls(data: str, calls: tuple[Call, ...], chosen: Collection[int]) -> str | None:
    """Return a content with only some of its calls.

    None for what is none, and where a call is signed that is left out: the others rely on it.
    """
    found: list[Raw] = []
    n_calls = 0
    try:
        members = _decode_members(data)
        for raw in _decode_content(data).parts:
            is_call = _decode_part(raw).function_call is not None
            n_calls += is_call
            if not is_call or n_calls - 1 in chosen:
                found.append(raw)
            elif SIGNATURE_MEMBER in _decode_members(raw):
                return None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return encode_json(members | {"parts": found}).decode()


def _read_state(data: str) -> StateParts | None:
    calls: list[tuple[str, str, str]] = []
    try:
        parts = _decode_content(data).parts
        for raw in parts:
            call = _decode_part(raw).function_call
            if call is None:
                continue
            arguments = call_arguments(bytes(call.args))
            if not arguments.startswith("{"):
                return None
            calls.append((call.id or "", call.name, arguments))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return StateParts(tuple(raw.copy() for raw in parts), tuple(calls)) if parts else None


_read_cached = lru_cache(_MAX_CACHED_STATES)(_read_state)

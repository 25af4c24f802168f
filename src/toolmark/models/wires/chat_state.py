"""What a chat endpoint wants back with a reply: cut from its body, spliced into later requests.

The state has the members of the message and of its calls that `Reply` has no field for, as source
text: thoughts, details of reasoning, signatures, a content that is a list. They go back under the
names under which they came.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

from toolmark.core.errors import TornReply
from toolmark.core.json_codec import escape_surrogates, restore_surrogates
from toolmark.core.records import Call, ProviderState
from toolmark.models.provider_table import provider_table
from toolmark.models.wires import reply_parts
from toolmark.models.wires.chat_arguments import quote_arguments

Json = dict[str, Any]

UNSIGNED_FORMATS = ("anthropic", "google")
"""How the names of the formats begin whose texts count only with a signature."""
_CALL_MEMBERS = frozenset({"id", "type", "function", "index"})
_FUNCTION_MEMBERS = frozenset({"name", "arguments"})
_ESCAPE = "\ufdd0".encode()  # how `escape_surrogates` begins a lone surrogate
_EMPTY_VALUES = frozenset({b"null", b'""', b"[]", b"{}"})
_TEXT_PART_MEMBERS = frozenset({"type", "text"})


class ChatState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of `ProviderState.data` for this wire.

    `message` are members of the message. Its content is one if it is a list of more than text; then
    `text` is the digest of the text in it. `calls` are members of the calls, `functions` of their
    functions. `digest` is that of the calls' names and arguments.
    """

    digest: str
    message: dict[str, Raw] = {}
    text: str = ""
    calls: tuple[dict[str, Raw], ...] = ()
    functions: tuple[dict[str, Raw], ...] = ()


class _RawChoice(Struct):
    message: dict[str, Raw]


class _RawBody(Struct):
    choices: list[_RawChoice]


_decode_raw_body = msgspec.json.Decoder(_RawBody).decode
_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_objects = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_state = msgspec.json.Decoder(ChatState).decode
_encode = msgspec.json.Encoder().encode
_DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_state(
    body: bytes, calls: tuple[Call, ...], text: str, origin: str
) -> ProviderState | None:
    """Return what the endpoint wants back with this body; None where nothing would be lost."""
    message = _raw_message(body)
    if message is None:
        return None
    try:
        found = _find_state(message, calls, text)
        data = None if found is None else _encode(found).decode()
    except _DECODE_ERRORS:
        return None
    return None if data is None else ProviderState(wire="chat", origin=origin, data=data)


def decode_state(state: ProviderState) -> ChatState | None:
    """Return the content of a state, None if it is no state of this wire."""
    try:
        return _decode_state(state.data)
    except (*_DECODE_ERRORS, UnicodeEncodeError):
        return None


def drop_calls(data: str, calls: tuple[Call, ...], chosen: Collection[int]) -> str | None:
    """Return the data of a state with only some of its calls; None for that of other calls."""
    try:
        state = _decode_state(data)
    except (*_DECODE_ERRORS, UnicodeEncodeError):
        return None
    if state.digest != digest_calls(calls):
        return None
    left = ChatState(
        digest=digest_calls(calls[index] for index in chosen),
        message=state.message,
        text=state.text,
        calls=tuple(state.calls[index] for index in chosen if index < len(state.calls)),
        functions=tuple(state.functions[index] for index in chosen if index < len(state.functions)),
    )
    return _encode(left).decode()


def digest_calls(calls: Iterable[Call]) -> str:
    """Return what identifies calls by their names and arguments; ids may have been replaced."""
    pairs = [part for call in calls for part in (call.name, call.arguments)]
    return digest_text("\0".join([str(len(pairs)), *pairs]))


def digest_text(text: str) -> str:
    """Return what identifies a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def signed_details(details: Raw) -> Raw:
    """Return details of reasoning without texts that lack the signature of their format."""
    try:
        parts = _decode_list(details)
    except _DECODE_ERRORS:
        return details
    signed = [part for part in parts if not _lacks_signature(part)]
    return details if len(signed) == len(parts) else Raw(_encode(signed))


def splice(encoded: bytes, members: Mapping[str, Raw]) -> bytes:
    """Return an encoded object with further members, whose values are JSON already."""
    if not members:
        return encoded
    added = b",".join(_encode(name) + b":" + as_sent(value) for name, value in members.items())
    return encoded[:-1] + (b"," if encoded != b"{}" else b"") + added + b"}"


def as_sent(value: Raw) -> bytes:
    """Return a value of a state as the JSON of a request."""
    content = bytes(value)
    if _ESCAPE in content:
        content = restore_surrogates(content.decode()).encode("utf-8", "backslashreplace")
    return content


def _raw_message(body: bytes) -> dict[str, Raw] | None:
    ways = (_parse_loosely,) if _ESCAPE in body else (_unchanged_body, _quote_body, _parse_loosely)
    for rewrite in ways:
        try:
            return _decode_raw_body(rewrite(body)).choices[0].message
        except IndexError:
            return None
        except (*_DECODE_ERRORS, TornReply):
            continue
    return None


def _unchanged_body(body: bytes) -> bytes:
    return body


def _quote_body(body: bytes) -> bytes:
    return quote_arguments(body.decode()).encode()


def _parse_loosely(body: bytes) -> bytes:
    """Return a body that only the standard library reads, with lone surrogates escaped."""
    decoded = reply_parts.parse_object(body, quote_arguments)
    return escape_surrogates(json.dumps(decoded, ensure_ascii=False)).encode()


def _find_state(message: dict[str, Raw], calls: tuple[Call, ...], text: str) -> ChatState | None:
    words = _state_words()
    members = {
        name: value
        for name, value in message.items()
        if _is_given(value) and any(word in name for word in words)
    }
    is_rich = _is_rich(message.get("content"))
    if is_rich:
        members["content"] = message["content"]
    call_members, function_members = _find_call_members(message.get("tool_calls"), len(calls))
    if not (members or any(call_members) or any(function_members)):
        return None
    return ChatState(
        digest=digest_calls(calls),
        message={name: value.copy() for name, value in members.items()},
        text=digest_text(text) if is_rich else "",
        calls=call_members if any(call_members) else (),
        functions=function_members if any(function_members) else (),
    )


def _find_call_members(
    tool_calls: Raw | None, n_calls: int
) -> tuple[tuple[dict[str, Raw], ...], tuple[dict[str, Raw], ...]]:
    """Return the members of the calls, and of their functions, that are not of the protocol."""
    if tool_calls is None or not n_calls:
        return (), ()
    items = _decode_objects(tool_calls)[:n_calls]
    call_members = tuple(_other_members(item, _CALL_MEMBERS) for item in items)
    functions = tuple(
        _other_members(_decode_object(item["function"]), _FUNCTION_MEMBERS)
        if "function" in item
        else {}
        for item in items
    )
    return call_members, functions


def _other_members(item: dict[str, Raw], known: frozenset[str]) -> dict[str, Raw]:
    if item.keys() <= known:
        return {}
    return {name: raw for name, raw in item.items() if name not in known and _is_given(raw)}


def _is_given(value: Raw) -> bool:
    return bytes(value) not in _EMPTY_VALUES


def _is_rich(content: Raw | None) -> bool:
    """Return whether a content has parts that are more than text."""
    if content is None or not bytes(content).startswith(b"["):
        return False
    try:
        parts = _decode_objects(content)
    except _DECODE_ERRORS:
        return False
    return any(
        bytes(part.get("type", b'"text"')) != b'"text"' or not part.keys() <= _TEXT_PART_MEMBERS
        for part in parts
    )


class _Detail(Struct):
    type: str = ""
    format: str | None = None
    signature: str | None = None


def _lacks_signature(part: Raw) -> bool:
    try:
        detail = msgspec.json.decode(part, type=_Detail)
    except _DECODE_ERRORS:
        return False
    return (
        detail.type == "reasoning.text"
        and not detail.signature
        and (detail.format or "").startswith(UNSIGNED_FORMATS)
    )


@cache
def _state_words() -> tuple[str, ...]:
    return provider_table().state.words

"""What the bodies of all wires are made of: JSON, media, settings."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec

from toolmark.core import secrets
from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Adaptation, Audio, Image, Message, Part, Sampling

Json = dict[str, Any]

SETTINGS = ("temperature", "top_p", "max_tokens", "reasoning_effort")
"""The settings of Sampling that a wire sends by a field of its own."""
_RESERVED_FIELDS = (
    "messages", "model", "stream", "tools", "input", "instructions", "system", "contents",
    "systemInstruction",
)  # fmt: skip

_encode_json = msgspec.json.Encoder().encode


def encode_json(value: Any) -> bytes:
    """Encode JSON with msgspec, or (huge integers, lone surrogates) with the standard library."""
    try:
        return _encode_json(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value).encode()


def given_settings(sampling: Sampling) -> Json:
    """Return the settings that are not None, by their names."""
    values = {name: getattr(sampling, name) for name in SETTINGS}
    return {name: value for name, value in values.items() if value is not None}


def check_sampling(sampling: Sampling) -> None:
    """Raise UsageError, before any request, for settings that no request can contain."""
    check_extra(sampling.extra)
    temperature, top_p, max_tokens = sampling.temperature, sampling.top_p, sampling.max_tokens
    if temperature is not None and not 0 <= temperature < math.inf:
        raise UsageError(f"temperature must be a number from 0; got {temperature}")
    if top_p is not None and not 0 <= top_p <= 1:
        raise UsageError(f"top-p must be from 0 to 1; got {top_p}")
    if max_tokens is not None and max_tokens < 1:
        raise UsageError(f"max-tokens must be at least 1; got {max_tokens}")


def check_extra(extra: Mapping[str, Any]) -> None:
    """Raise UsageError for fields that toolmark sets, for no JSON, and for keys."""
    for name in _RESERVED_FIELDS:
        if name in extra:
            raise UsageError(f"the extra body may not set {name!r}: toolmark sets it")
    try:
        json.dumps(dict(extra), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the extra body is not JSON: {error}") from None
    for place in secrets.key_paths_in_body(extra):
        raise UsageError(
            f"the extra body holds what looks like a key, at {place!r}, and is stored with the "
            "run: give it by --header, by TOOLMARK_HEADER or by the provider's variable"
        )


def read_media(part: Image | Audio, media: MediaStore | None) -> bytes:
    """Return the content of a picture or sound. Raises UsageError without a store."""
    if media is None:
        raise UsageError("a message holds media, but the model has no media store")
    return media.read(part)


def media_base64(part: Image | Audio, media: MediaStore | None) -> str:
    """Return the content of a picture or sound as base64."""
    return base64.b64encode(read_media(part, media)).decode()


def refuse_part(part: Part, wire_title: str) -> DataError:
    """Return the error for a part that a wire cannot carry."""
    kind = "sound" if isinstance(part, Audio) else "pictures"
    return DataError(
        f"{wire_title} takes no {kind}; next: --wire chat, if the endpoint offers that"
    )


def object_or_empty(arguments: str) -> str:
    """Return the arguments if they are a JSON object that any server can parse, else {}."""
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return "{}"
    return arguments


def repaired_messages(
    messages: tuple[Message, ...], adaptations: list[Adaptation], is_repair: bool
) -> tuple[Message, ...]:
    """Return the messages as a server takes them that refused others; what is left out is noted.

    Calls that nobody answered, as BFCL's official loop leaves them, are refused by most servers.
    """
    if not is_repair:
        return messages
    answered = answered_messages(messages)
    if answered != messages:
        detail = "calls without a result are left out of the history"
        adaptations.append(Adaptation(kind="content", detail=detail))
    return answered


def answered_messages(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages without the calls that no tool message right after them answers."""
    found: list[Message] = []
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "tool":
            answered.add(message.call_id)
        elif message.calls:
            calls = tuple(call for call in message.calls if call.id in answered)
            if len(calls) < len(message.calls):
                message = msgspec.structs.replace(message, calls=calls)
        if message.role != "tool":
            answered = set()
        if message.role != "assistant" or message.calls or message.parts:
            found.append(message)
    return tuple(reversed(found))


def is_json(text: str) -> bool:
    """Return whether a text is JSON that any server can parse."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True

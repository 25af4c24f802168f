"""What the bodies of all wires are made of: JSON, media, settings."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from toolmark.core import secrets
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Adaptation, Audio, Image, Sampling

Json = dict[str, Any]

SETTINGS = ("temperature", "top_p", "max_tokens", "reasoning_effort")
"""The settings of Sampling that a wire sends by a field of its own."""
TOOL_CHOICE = "tool_choice"
"""The name of the choice of a tool among the settings that can be refused."""
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


class SettingsTail:
    """The end of a body, which has the settings; the last ones are cached."""

    def __init__(self) -> None:
        self._sampling: Sampling | None = None
        self._encoded = b""

    def encode(self, sampling: Sampling, choose_settings: Callable[[Sampling], Json]) -> bytes:
        """Encode what is chosen of the settings, and close the body."""
        if self._sampling is not sampling:
            settings = choose_settings(sampling)
            self._encoded = b"," + encode_json(settings)[1:] if settings else b"}"
            self._sampling = sampling
        return self._encoded


def given_settings(sampling: Sampling, unsent: Collection[str] = ()) -> Json:
    """Return the settings that are not None, by their names, without those that are not sent."""
    values = {name: getattr(sampling, name) for name in SETTINGS if name not in unsent}
    return {name: value for name, value in values.items() if value is not None}


def extra_without_choice(
    extra: Mapping[str, Any], unsent: Collection[str], fields: tuple[str, ...]
) -> Mapping[str, Any]:
    """Return the extra body, without the fields that choose a tool where that is not sent."""
    if TOOL_CHOICE not in unsent:
        return extra
    return {name: value for name, value in extra.items() if name not in fields}


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


def free_choice(sampling: Sampling, fields: tuple[str, ...]) -> list[Adaptation]:
    """Return the note that the model decides itself whether to call a tool.

    None where none of the fields of the extra body, by which tools are chosen, is asked for.
    """
    if sampling.extra.keys().isdisjoint(fields):
        return []
    detail = "auto, as the endpoint refuses the choice that was asked for"
    return [Adaptation(kind="tool_choice", detail=detail)]


def read_media(part: Image | Audio, media: MediaStore | None) -> bytes:
    """Return the content of a picture or sound. Raises UsageError without a store."""
    if media is None:
        raise UsageError("a message holds media, but the model has no media store")
    return media.read(part)


def media_base64(part: Image | Audio, media: MediaStore | None) -> str:
    """Return the content of a picture or sound as base64."""
    return base64.b64encode(read_media(part, media)).decode()


def object_or_empty(arguments: str) -> str:
    """Return the arguments if they are a JSON object that any server can parse, else {}."""
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return "{}"
    return arguments


def is_json(text: str) -> bool:
    """Return whether a text is JSON that any server can parse."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True

"""Names in the lists of models that endpoints return."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from toolmark.core.json_codec import escape_surrogates
from toolmark.models.wires.reply_parts import MAX_MODEL_NAME_CHARS

_MAX_LISTED_MODELS = 10_000  # of a list that are read


class _Identified(msgspec.Struct):
    id: str


class _IdList(msgspec.Struct):
    data: list[_Identified]


class _Named(msgspec.Struct, rename="camel"):
    name: str
    supported_generation_methods: list[str] | None = None


class _NameList(msgspec.Struct):
    models: list[_Named]


def decode_listed_ids(body: bytes) -> tuple[str, ...] | None:
    """Return the ids of `{"data": [{"id": ...}]}`, None for another shape."""
    try:
        listed = msgspec.json.decode(body, type=_IdList)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return _shorten_names(each.id for each in listed.data)


def decode_listed_names(body: bytes, *, folder: str, method: str) -> tuple[str, ...] | None:
    """Return the names of the models in Gemini's list that offer a method, without their folder.

    None for another shape.
    """
    try:
        listed = msgspec.json.decode(body, type=_NameList)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return _shorten_names(
        each.name.removeprefix(folder)
        for each in listed.models
        if method in (each.supported_generation_methods or (method,))
    )


def _shorten_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        escape_surrogates(name[:MAX_MODEL_NAME_CHARS]) for name in islice(names, _MAX_LISTED_MODELS)
    )

"""What a server answers, as a Result: text, pictures, sounds, resources, structured content.

A server is not trusted: whatever has the wrong shape becomes a short note, never an error. Pictures
and sounds are stored in the media store, so that a model sees pixels. The notes are read by the
model, and write thousands with a comma, as most texts for models do.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from toolmark.core.json_codec import escape_surrogates, to_plain_json
from toolmark.core.media import MediaStore
from toolmark.core.records import Part, Result, Text, Tool

_MEDIA_TYPE = re.compile(r"(image|audio)/[A-Za-z0-9.+-]{1,60}")
_MAX_NOTE_CHARS = 120
_MAX_PARTS = 1_000  # of one result; small parts need far more memory than their bytes
_MAX_VALUES = 500_000  # of structured content


def convert_result(answer: Mapping[str, Any], media: MediaStore) -> Result:
    """Return the Result of a tools/call answer.

    Structured content is stored in addition to the parts. If a server sends nothing else, it is
    shown as JSON text. Parts over 1,000, and structured content of more than 500,000 values, are
    left out, and a note says so.
    """
    content = answer.get("content")
    items = content if isinstance(content, list) else []
    parts = tuple(_convert_part(item, media) for item in items[:_MAX_PARTS])
    if len(items) > _MAX_PARTS:
        parts += (_bracketed_note(f"{len(items) - _MAX_PARTS:,} further parts are left out"),)
    structured = answer.get("structuredContent")
    if _has_too_many_values(structured):
        parts += (
            _bracketed_note(f"structured content of more than {_MAX_VALUES:,} values is left out"),
        )
        structured = None
    structured = to_plain_json(structured)
    if not parts and structured is not None:
        parts = (Text(json.dumps(structured, ensure_ascii=False)),)
    return Result(parts=parts, structured=structured, is_error=answer.get("isError") is True)


def cut_result(result: Result, most_chars: int) -> Result:
    """Return a result with at most this many characters of text, as hosts cut it; 0 for all.

    The text is cut from its end, and a note says how much of it is shown. Structured content beyond
    the limit is left out: a model sees it as text.
    """
    n_chars = sum(len(part.text) for part in result.parts if isinstance(part, Text))
    if not most_chars or n_chars <= most_chars:
        return result
    parts: list[Part] = []
    n_left = most_chars
    for part in result.parts:
        if not isinstance(part, Text):
            parts.append(part)
        elif n_left > 0:
            parts.append(Text(part.text[:n_left]))
            n_left -= len(part.text)
    note = f"cut: the first {most_chars:,} of {n_chars:,} characters are shown"
    return replace(result, parts=(*parts, _bracketed_note(note)), structured=None)


def listed_names(listed_tools: Iterable[Any]) -> list[str]:
    """Return the names of listed tools, of those that have one."""
    names = (each.get("name") for each in listed_tools if isinstance(each, dict))
    return [escape_surrogates(name) for name in names if isinstance(name, str)]


def _has_too_many_values(value: Any) -> bool:
    """Return whether a value contains too many values; it counts no further than needed."""
    waiting = [value]
    n = 0
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, list | dict):
            n += len(inner)
            if n > _MAX_VALUES:
                return True
            waiting.extend(inner.values() if isinstance(inner, dict) else inner)
    return False


def error_result(text: str) -> Result:
    """Return an error Result with this text."""
    return Result(parts=(Text(escape_surrogates(text)),), is_error=True)


def convert_tool(server: str, listed_tool: Any) -> Tool | str:
    """Return a listed tool as `server/tool`, or why it cannot be offered.

    A schema that is an object is offered unchanged, valid or not: a model has to work with what a
    server publishes. Anything else could not be sent to a model at all.
    """
    if not isinstance(listed_tool, dict):
        return "a listed tool is not an object"
    name = listed_tool.get("name")
    if not isinstance(name, str) or not name:
        return "a listed tool has no name"
    schema = listed_tool.get("inputSchema")
    if not isinstance(schema, dict):
        return (
            f"tool {escape_surrogates(name[:_MAX_NOTE_CHARS])!r} is left out: its inputSchema is "
            "not an object"
        )
    described = listed_tool.get("description")
    return Tool(
        name=f"{server}/{escape_surrogates(name)}",
        description=escape_surrogates(described) if isinstance(described, str) else "",
        parameters=to_plain_json(schema),
    )


def _convert_part(item: Any, media: MediaStore) -> Part:
    match item:
        case {"type": "text", "text": str(text)}:
            return Text(escape_surrogates(text))
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(mime)}:
            return _convert_media(data, mime, media)
        case {"type": "resource", "resource": {"text": str(text)}}:
            return Text(escape_surrogates(text))
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            return _convert_blob(data, resource, media)
        case {"type": "resource_link", "uri": str(uri)}:
            return _convert_link(uri, item)
        case {"type": str(kind)}:
            return _bracketed_note(f"content of type {kind} that cannot be shown")
        case _:
            return _bracketed_note("content that cannot be shown")


def _convert_media(data: str, mime: str, media: MediaStore) -> Part:
    if not _MEDIA_TYPE.fullmatch(mime):
        return _bracketed_note(f"{mime}: neither a picture nor a sound")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _bracketed_note(f"{mime}: the data is not base64")
    if not content:
        return _bracketed_note(f"{mime}: empty")
    return (
        media.add_image(content, mime)
        if mime.startswith("image/")
        else media.add_audio(content, mime)
    )


def _convert_blob(data: str, resource: Mapping[str, Any], media: MediaStore) -> Part:
    mime = resource.get("mimeType")
    if isinstance(mime, str) and _MEDIA_TYPE.fullmatch(mime):
        return _convert_media(data, mime, media)
    return _bracketed_note(f"resource {resource.get('uri')}: {mime}, {len(data) * 3 // 4} bytes")


def _convert_link(uri: str, link: Mapping[str, Any]) -> Part:
    fields = [link.get(key) for key in ("name", "description", "mimeType")]
    words = [word for word in fields if isinstance(word, str) and word]
    return Text(escape_surrogates(": ".join([uri, ", ".join(words)]) if words else uri))


def _bracketed_note(text: str) -> Text:
    return Text(escape_surrogates(f"[{text[:_MAX_NOTE_CHARS]}]"))

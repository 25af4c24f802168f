"""What a server says, as a Result: text, pictures, sounds, resources, structured content.

A server is a stranger: whatever is not of the right shape becomes a short note, never an error
of ours. Pictures and sounds go into the media store, so that a model sees pixels.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

from toolmark.codec import escape, plain
from toolmark.media import Media
from toolmark.types import Part, Result, Text, Tool

_MEDIUM = re.compile(r"(image|audio)/[A-Za-z0-9.+-]{1,60}")
_SHOWN = 120
_PARTS = 1_000  # of one result; small ones cost far more in memory than the bytes they came in
_VALUES = 500_000  # of structured content


def result(said: Mapping[str, Any], media: Media) -> Result:
    """Return the Result of a tools/call answer.

    Structured content is kept beside the parts; a server that sends nothing else has it shown as
    JSON text. What has too many parts or values is cut off, and says so.
    """
    content = said.get("content")
    items = content if isinstance(content, list) else []
    parts = tuple(_part(item, media) for item in items[:_PARTS])
    if len(items) > _PARTS:
        parts += (_note(f"{len(items) - _PARTS:,} further parts are left out"),)
    structured = said.get("structuredContent")
    if _crowded(structured):
        parts += (_note(f"structured content of more than {_VALUES:,} values is left out"),)
        structured = None
    structured = plain(structured)
    if not parts and structured is not None:
        parts = (Text(json.dumps(structured, ensure_ascii=False)),)
    return Result(parts=parts, structured=structured, is_error=said.get("isError") is True)


def _crowded(value: Any) -> bool:
    """Tell whether there are too many values in a value; looks no further than that."""
    waiting = [value]
    n = 0
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, list | dict):
            n += len(inner)
            if n > _VALUES:
                return True
            waiting.extend(inner.values() if isinstance(inner, dict) else inner)
    return False


def failed(text: str) -> Result:
    """Return an error Result with this text."""
    return Result(parts=(Text(escape(text)),), is_error=True)


def tool(server: str, said: Any) -> Tool | str:
    """Return a listed tool as `server/tool`, or why it cannot be offered.

    A schema is offered as it is if it is an object, valid or not: what a server publishes is what
    a model has to live with. Anything else could not be sent to a model at all.
    """
    if not isinstance(said, dict):
        return "a listed tool is not an object"
    name = said.get("name")
    if not isinstance(name, str) or not name:
        return "a listed tool has no name"
    schema = said.get("inputSchema")
    if not isinstance(schema, dict):
        return f"tool {escape(name[:_SHOWN])!r} is left out: its inputSchema is not an object"
    described = said.get("description")
    return Tool(
        name=f"{server}/{escape(name)}",
        description=escape(described) if isinstance(described, str) else "",
        parameters=plain(schema),
    )


def _part(item: Any, media: Media) -> Part:
    match item:
        case {"type": "text", "text": str(text)}:
            return Text(escape(text))
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(mime)}:
            return _medium(data, mime, media)
        case {"type": "resource", "resource": {"text": str(text)}}:
            return Text(escape(text))
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            return _blob(data, resource, media)
        case {"type": "resource_link", "uri": str(uri)}:
            return _link(uri, item)
        case {"type": str(kind)}:
            return _note(f"content of type {kind} that cannot be shown")
        case _:
            return _note("content that cannot be shown")


def _medium(data: str, mime: str, media: Media) -> Part:
    if not _MEDIUM.fullmatch(mime):
        return _note(f"{mime}: neither a picture nor a sound")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _note(f"{mime}: the data is not base64")
    if not content:
        return _note(f"{mime}: empty")
    return media.image(content, mime) if mime.startswith("image/") else media.audio(content, mime)


def _blob(data: str, resource: Mapping[str, Any], media: Media) -> Part:
    mime = resource.get("mimeType")
    if isinstance(mime, str) and _MEDIUM.fullmatch(mime):
        return _medium(data, mime, media)
    return _note(f"resource {resource.get('uri')}: {mime}, {len(data) * 3 // 4} bytes")


def _link(uri: str, link: Mapping[str, Any]) -> Part:
    told = [link.get(key) for key in ("name", "description", "mimeType")]
    words = [word for word in told if isinstance(word, str) and word]
    return Text(escape(": ".join([uri, ", ".join(words)]) if words else uri))


def _note(text: str) -> Text:
    return Text(escape(f"[{text[:_SHOWN]}]"))

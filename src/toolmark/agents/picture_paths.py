"""The pictures that tools have made, by path, for use in later calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolmark.core import json_codec
from toolmark.core.records import Result

MAX_PATH_CHARS = 1024  # the reference code accepted whole base64 pictures as paths


class PicturePaths:
    """Paths in the order of their first appearance, without duplicates."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths."""
        return tuple(self._paths)

    def add(self, result: Result) -> None:
        """Add the paths that a result lists under `images`; failed calls have made none."""
        if result.is_error:
            return
        for value in (result.structured, _parse_object(result.text)):
            self._paths |= dict.fromkeys(_image_paths(value))


def _parse_object(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json_codec.parse_json(text)
    except json_codec.InvalidJson:
        return None


def _image_paths(value: Any) -> Iterator[str]:
    """Yield `images` of an object and of the objects in its `json_parts`."""
    if not isinstance(value, dict):
        return
    json_parts = value.get("json_parts")
    for holder in (value, *(json_parts if isinstance(json_parts, list) else ())):
        images = holder.get("images") if isinstance(holder, dict) else None
        for path in images if isinstance(images, list) else ():
            if isinstance(path, str) and path and len(path) <= MAX_PATH_CHARS and "\n" not in path:
                yield path

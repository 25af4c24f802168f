"""The pictures that tools have made, by path, as later calls may name them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolmark import codec
from toolmark.types import Result

LONGEST = 1024  # characters: the reference took whole pictures in base64 for paths


class Pool:
    """Paths in the order they came, each once."""

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths."""
        return tuple(self._paths)

    def add(self, result: Result) -> None:
        """Take up what a result lists under `images`; failed calls have made none."""
        if result.is_error:
            return
        for value in (result.structured, _object(result.text)):
            self._paths |= dict.fromkeys(_listed(value))


def _object(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return codec.loads(text)
    except codec.BadJson:
        return None


def _listed(value: Any) -> Iterator[str]:
    """Go through `images` of an object and of the objects in its `json_parts`."""
    if not isinstance(value, dict):
        return
    inner = value.get("json_parts")
    for holder in (value, *(inner if isinstance(inner, list) else ())):
        images = holder.get("images") if isinstance(holder, dict) else None
        for path in images if isinstance(images, list) else ():
            if isinstance(path, str) and path and len(path) <= LONGEST and "\n" not in path:
                yield path

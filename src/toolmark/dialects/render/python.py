"""Tool docs in the manner of Python docstrings (BFCL specification section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolmark.dialects.render.schema import described, inner, kind

_NAMES = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"}


def render(docs: Sequence[Mapping[str, Any]]) -> str:
    """Write a header and a docstring per function, with a section of arguments where it has any."""
    # the official text is joined from the blocks and a lone line break after each of them
    return "\n\n".join(piece for doc in docs for piece in ("".join(_block(doc)), "\n"))


def _block(doc: Mapping[str, Any]) -> Iterator[str]:
    yield f'# Function: {doc["name"]}\n    """\n    {doc.get("description", "")}\n\n'
    properties = doc.get("parameters", {}).get("properties", {})
    if properties:
        yield "    Args:\n"
        yield from _arguments(properties, 8)
    yield '    """\n'


def _arguments(properties: Mapping[str, Any], indent: int) -> Iterator[str]:
    for name, meta in properties.items():
        default = f", default={meta['default']!r}" if "default" in meta else ""
        yield f"{' ' * indent}{name} ({_type(meta)}{default}): {described(meta)}\n"
        yield from _arguments(meta.get("properties", {}), indent + 4)


def _type(meta: Mapping[str, Any]) -> str:
    name = kind(meta)
    if name in _NAMES:
        return _NAMES[name]
    if name in ("array", "list", "tuple") and "items" in meta:
        return f"list[{_type(meta['items'])}]"
    if name in ("object", "dict"):
        values = inner(meta, "additionalProperties")
        return "dict" if values is None else f"dict[str, {_type(values)}]"
    return name

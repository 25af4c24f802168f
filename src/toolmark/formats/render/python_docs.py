"""Tool docs in the style of Python docstrings (BFCL specification section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolmark.formats.render.schema_text import description_text, nested_schema, type_name

_PYTHON_TYPE_NAMES = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"}


def render_python_docs(docs: Sequence[Mapping[str, Any]]) -> str:
    """Write a header and a docstring per function, with a section of arguments where it has any."""
    # the official text joins the blocks and a single line break after each of them
    return "\n\n".join(piece for doc in docs for piece in ("".join(_function_lines(doc)), "\n"))


def _function_lines(doc: Mapping[str, Any]) -> Iterator[str]:
    yield f'# Function: {doc["name"]}\n    """\n    {doc.get("description", "")}\n\n'
    properties = doc.get("parameters", {}).get("properties", {})
    if properties:
        yield "    Args:\n"
        yield from _argument_lines(properties, 8)
    yield '    """\n'


def _argument_lines(properties: Mapping[str, Any], indent: int) -> Iterator[str]:
    for name, meta in properties.items():
        default = f", default={meta['default']!r}" if "default" in meta else ""
        yield f"{' ' * indent}{name} ({_type_text(meta)}{default}): {description_text(meta)}\n"
        yield from _argument_lines(meta.get("properties", {}), indent + 4)


def _type_text(meta: Mapping[str, Any]) -> str:
    name = type_name(meta)
    if name in _PYTHON_TYPE_NAMES:
        return _PYTHON_TYPE_NAMES[name]
    if name in ("array", "list", "tuple") and "items" in meta:
        return f"list[{_type_text(meta['items'])}]"
    if name in ("object", "dict"):
        values = nested_schema(meta, "additionalProperties")
        return "dict" if values is None else f"dict[str, {_type_text(values)}]"
    return name

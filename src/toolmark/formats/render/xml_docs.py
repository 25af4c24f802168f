"""Tool docs as XML-like text (BFCL specification section 4), unescaped like the official text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolmark.formats.render.schema_text import description_text, nested_schema, type_name


def render_xml_docs(docs: Sequence[Mapping[str, Any]]) -> str:
    """Write an element per function, with its parameters nested in it."""
    return "\n".join("".join(_function_lines(doc)) for doc in docs)


def _function_lines(doc: Mapping[str, Any]) -> Iterator[str]:
    schema = doc["parameters"]
    yield f'<function name="{doc["name"]}">\n  <desc>{doc.get("description", "")}</desc>\n'
    yield "  <params>\n"
    yield from _parameter_lines(schema, 4)
    yield "  </params>\n</function>\n"


def _parameter_lines(schema: Mapping[str, Any], indent: int) -> Iterator[str]:
    """Yield the lines of the parameters.

    Without a list of required ones all of them are required.
    """
    blank = " " * indent
    properties = schema.get("properties", {})
    listed = schema.get("required")
    required = listed if isinstance(listed, list) else properties
    for name, meta in properties.items():
        is_required = "true" if name in required else "false"
        opening = f'name="{name}" type="{_type_text(meta)}" required="{is_required}"'
        if "default" in meta:
            opening += f' default="{meta["default"]!r}"'
        # the official renderer removes every comma, in names and defaults as well
        yield f"{blank}<param {opening.replace(',', '')}>\n"
        yield f"{blank}  <desc>{description_text(meta)}</desc>\n"
        if "properties" in meta:
            yield f"{blank}  <params>\n"
            yield from _parameter_lines(meta, indent + 4)
            yield f"{blank}  </params>\n"
        yield f"{blank}</param>\n"


def _type_text(meta: Mapping[str, Any]) -> str:
    items = meta.get("items")
    if isinstance(items, Mapping) and "type" in items:
        return f"{type_name(meta)}[{type_name(items)}]"
    values = nested_schema(meta, "additionalProperties")
    return type_name(meta) if values is None else f"{type_name(meta)}[{type_name(values)}]"

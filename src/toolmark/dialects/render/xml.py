"""Tool docs as XML-like text (BFCL specification section 4); like the official, unescaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolmark.dialects.render.schema import described, inner, kind


def render(docs: Sequence[Mapping[str, Any]]) -> str:
    """Write an element per function, its parameters nested below it."""
    return "\n".join("".join(_function(doc)) for doc in docs)


def _function(doc: Mapping[str, Any]) -> Iterator[str]:
    schema = doc["parameters"]
    yield f'<function name="{doc["name"]}">\n  <desc>{doc.get("description", "")}</desc>\n'
    yield "  <params>\n"
    yield from _parameters(schema, 4)
    yield "  </params>\n</function>\n"


def _parameters(schema: Mapping[str, Any], indent: int) -> Iterator[str]:
    """Go through the parameters; without a list of required ones all of them are."""
    blank = " " * indent
    properties = schema.get("properties", {})
    listed = schema.get("required")
    required = listed if isinstance(listed, list) else properties
    for name, meta in properties.items():
        due = "true" if name in required else "false"
        opening = f'name="{name}" type="{_type(meta)}" required="{due}"'
        if "default" in meta:
            opening += f' default="{meta["default"]!r}"'
        # the official renderer removes every comma, in names and defaults as well
        yield f"{blank}<param {opening.replace(',', '')}>\n"
        yield f"{blank}  <desc>{described(meta)}</desc>\n"
        if "properties" in meta:
            yield f"{blank}  <params>\n"
            yield from _parameters(meta, indent + 4)
            yield f"{blank}  </params>\n"
        yield f"{blank}</param>\n"


def _type(meta: Mapping[str, Any]) -> str:
    items = meta.get("items")
    if isinstance(items, Mapping) and "type" in items:
        return f"{kind(meta)}[{kind(items)}]"
    values = inner(meta, "additionalProperties")
    return kind(meta) if values is None else f"{kind(meta)}[{kind(values)}]"

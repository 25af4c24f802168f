"""How alike two calls are: the texts that are compared, cosines, and plain equality."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolmark import codec
from toolmark.types import Tool

_NORM = 1e-8
_REFERENCES = 20
_write = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
).encode


def text(arguments: Any) -> str:
    """Return the text of a call as the reference compares it: its arguments alone, as JSON.

    Keys are sorted at all levels, without blanks; lists keep their order; text stays text, even
    where it holds JSON; no arguments are `null`.
    """
    return _write(arguments)


def texts(step: Mapping[str, Any], tools: Sequence[Tool] = ()) -> Iterator[str]:
    """Go through the texts of a step's calls that an encoder is asked for, in any reading."""
    told = paper_text(tools)
    for call in step.get("calls") or ():
        yield text(call.get("arguments"))
        yield told(call)


def cosine(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float32]:
    """Return the cosines of all rows of one with all of the other, as the reference computes them.

    In float32, each norm enlarged by 1e-8, clipped to [-1, 1].
    """
    left, right = (np.asarray(rows, dtype=np.float32) for rows in (one, other))
    left = left / (np.linalg.norm(left, axis=1, keepdims=True) + np.float32(_NORM))
    right = right / (np.linalg.norm(right, axis=1, keepdims=True) + np.float32(_NORM))
    found: NDArray[np.float32] = left @ right.T
    return np.clip(found, -1, 1, out=found)


# --- as the paper has it ----------------------------------------------------------------


def paper_text(tools: Sequence[Tool] = ()) -> Callable[[Mapping[str, Any]], str]:
    """Return what writes a call's text as the paper describes it (section 4.1).

    Tool name, required arguments, lists without order sorted. Of a tool that is not among
    `tools` all arguments are kept. Which lists have an order nobody says; taken as without are
    those of plain values, unless they lie in another list (rows of a table), or their schema
    fixes their length (colours, boxes) or names their places.
    """
    schemas = {tool.name: tool.parameters for tool in tools}

    def write(call: Mapping[str, Any]) -> str:
        name, arguments = str(call.get("name") or "").strip(), call.get("arguments")
        schema = schemas.get(name)
        if isinstance(arguments, dict):
            if schema is not None:
                required = _list(schema.get("required"))
                arguments = {key: arguments[key] for key in arguments if key in required}
            held = _properties(schema or {})
            arguments = {key: _sorted(value, held.get(key)) for key, value in arguments.items()}
        return f"{name} {_write(arguments)}"

    return write


def _sorted(value: Any, schema: Any) -> Any:
    match value:
        case dict():
            held = _properties(schema)
            return {key: _sorted(item, held.get(key)) for key, item in value.items()}
        case list() if not any(isinstance(item, (list, dict)) for item in value):
            return value if _places(schema) else sorted(value, key=_write)
        case list():
            return [_sorted(item, None) if isinstance(item, dict) else item for item in value]
        case _:
            return value


def _places(schema: Any) -> bool:
    """Tell whether a list's schema says that places in it have a meaning."""
    if not isinstance(schema, dict):
        return False
    least = schema.get("minItems")
    fixed = least is not None and least == schema.get("maxItems")
    return fixed or "prefixItems" in schema or isinstance(schema.get("items"), list)


def _properties(schema: Any) -> Mapping[str, Any]:
    held = schema.get("properties") if isinstance(schema, dict) else None
    return held if isinstance(held, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


# --- without an encoder -----------------------------------------------------------------


class Exact:
    """Similarity 1 of equal calls, 0 of others; a default left out is as good as given."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self.schemas = {tool.name: tool.parameters for tool in tools}

    def text(self, call: Mapping[str, Any]) -> str:
        """Return the canonical text: arguments as JSON, read where they are JSON text.

        Defaults of the tool's schema are filled in at all levels, none at all are an empty
        object, and whole numbers are written without a fraction: JSON knows no difference.
        """
        arguments = call.get("arguments")
        if isinstance(arguments, str):
            try:
                arguments = codec.loads(arguments)
            except codec.BadJson:
                return _write(arguments)
        schema = self.schemas.get(str(call.get("name") or "").strip(), {})
        return _write(_plain(_filled({} if arguments is None else arguments, schema, schema)))

    def __call__(self, one: Sequence[str], other: Sequence[str]) -> NDArray[np.float32]:
        """Return where the texts are equal, a row per text of one, a column per other text."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys((*one, *other)))}
        left, right = ([numbers[text] for text in texts] for texts in (one, other))
        return np.equal.outer(left, right).astype(np.float32)


def exact(tools: Sequence[Tool] = ()) -> Exact:
    """Return the similarity that needs no encoder: canonical JSON equality with these schemas."""
    return Exact(tools)


def _filled(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, root)
    match value:
        case dict():
            held = _properties(schema)
            given = {key: _filled(item, held.get(key), root) for key, item in value.items()}
            for key, inner in held.items():
                if key not in given and isinstance(inner, dict) and "default" in inner:
                    given[key] = _filled(inner["default"], inner, root)
            return given
        case list():
            inner = schema.get("items") if isinstance(schema, dict) else None
            return [_filled(item, inner, root) for item in value]
        case _:
            return value


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """Follow references within the schema; one that leads nowhere or in a circle says nothing."""
    for _ in range(_REFERENCES):
        target = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(target, str):
            return schema
        schema = root
        for name in target.removeprefix("#/").split("/"):
            name = name.replace("~1", "/").replace("~0", "~")
            schema = schema.get(name) if isinstance(schema, dict) else None
    return None


def _plain(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value

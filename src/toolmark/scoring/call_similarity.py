"""Similarity of calls: the compared texts, cosines of their embeddings, and exact equality."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolmark.core import json_codec
from toolmark.core.records import Tool

_NORM_EPSILON = 1e-8
_MAX_REFERENCES = 20
_canonical_json = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
).encode


def arguments_text(arguments: Any) -> str:
    """Return the text of a call that the reference compares: only its arguments, as JSON.

    Keys are sorted at all levels, and there are no blanks. Lists stay in their order. Text stays
    text, even if it is JSON. Without arguments the text is `null`.
    """
    return _canonical_json(arguments)


def step_call_texts(step: Mapping[str, Any], tools: Sequence[Tool] = ()) -> Iterator[str]:
    """Yield the texts of a step's calls that any grading rule sends to an encoder."""
    write_paper_text = paper_text_writer(tools)
    for call in step.get("calls") or ():
        yield arguments_text(call.get("arguments"))
        yield write_paper_text(call)


def cosine_matrix(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float32]:
    """Return the cosines of all rows of one with all rows of the other, as in the reference.

    They are computed in float32, with 1e-8 added to each norm, and clipped to [-1, 1].
    """
    left, right = (np.asarray(rows, dtype=np.float32) for rows in (one, other))
    left = left / (np.linalg.norm(left, axis=1, keepdims=True) + np.float32(_NORM_EPSILON))
    right = right / (np.linalg.norm(right, axis=1, keepdims=True) + np.float32(_NORM_EPSILON))
    found: NDArray[np.float32] = left @ right.T
    return np.clip(found, -1, 1, out=found)


# --- texts of the paper -----------------------------------------------------------------


def paper_text_writer(tools: Sequence[Tool] = ()) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that writes a call's text as the paper describes it (section 4.1).

    The text has the tool name and the required arguments, with unordered lists sorted. For a tool
    that is not in `tools` it has all arguments. The paper does not define which lists are ordered.
    Here a list of plain values is unordered, unless it is inside another list (rows of a table), or
    its schema fixes its length (colours, boxes) or describes its positions.
    """
    schemas = {tool.name: tool.parameters for tool in tools}

    def write(call: Mapping[str, Any]) -> str:
        name, arguments = str(call.get("name") or "").strip(), call.get("arguments")
        schema = schemas.get(name)
        if isinstance(arguments, dict):
            if schema is not None:
                required = _as_sequence(schema.get("required"))
                arguments = {key: arguments[key] for key in arguments if key in required}
            properties = _schema_properties(schema or {})
            arguments = {
                key: _sort_unordered_lists(value, properties.get(key))
                for key, value in arguments.items()
            }
        return f"{name} {_canonical_json(arguments)}"

    return write


def _sort_unordered_lists(value: Any, schema: Any) -> Any:
    match value:
        case dict():
            properties = _schema_properties(schema)
            return {
                key: _sort_unordered_lists(item, properties.get(key)) for key, item in value.items()
            }
        case list() if not any(isinstance(item, (list, dict)) for item in value):
            return value if _is_position_significant(schema) else sorted(value, key=_canonical_json)
        case list():
            return [
                _sort_unordered_lists(item, None) if isinstance(item, dict) else item
                for item in value
            ]
        case _:
            return value


def _is_position_significant(schema: Any) -> bool:
    """Tell whether a list's schema gives a meaning to positions in it."""
    if not isinstance(schema, dict):
        return False
    least = schema.get("minItems")
    fixed = least is not None and least == schema.get("maxItems")
    return fixed or "prefixItems" in schema or isinstance(schema.get("items"), list)


def _schema_properties(schema: Any) -> Mapping[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _as_sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


# --- without an encoder -----------------------------------------------------------------


class ExactSimilarity:
    """Similarity 1 for equal calls, 0 for others; a missing default equals a given one."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self.schemas = {tool.name: tool.parameters for tool in tools}

    def canonical_text(self, call: Mapping[str, Any]) -> str:
        """Return the canonical text of a call: its arguments as JSON, parsed if they are JSON text.

        Defaults of the tool's schema are filled in at all levels. Missing arguments are an empty
        object. Whole numbers are written without a fraction, since JSON does not distinguish them.
        """
        arguments = call.get("arguments")
        if isinstance(arguments, str):
            try:
                arguments = json_codec.parse_json(arguments)
            except json_codec.InvalidJson:
                return _canonical_json(arguments)
        schema = self.schemas.get(str(call.get("name") or "").strip(), {})
        return _canonical_json(
            _normalise_numbers(
                _fill_defaults({} if arguments is None else arguments, schema, schema)
            )
        )

    def __call__(self, one: Sequence[str], other: Sequence[str]) -> NDArray[np.float32]:
        """Return 1 for equal texts, 0 for others: a row per text of `one`, a column per `other`."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys((*one, *other)))}
        left, right = ([numbers[text] for text in texts] for texts in (one, other))
        return np.equal.outer(left, right).astype(np.float32)


def exact_similarity(tools: Sequence[Tool] = ()) -> ExactSimilarity:
    """Return the similarity without an encoder: canonical JSON equality with these schemas."""
    return ExactSimilarity(tools)


def _fill_defaults(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    schema = _resolve_references(schema, root)
    match value:
        case dict():
            properties = _schema_properties(schema)
            filled = {
                key: _fill_defaults(item, properties.get(key), root) for key, item in value.items()
            }
            for key, inner in properties.items():
                if key not in filled and isinstance(inner, dict) and "default" in inner:
                    filled[key] = _fill_defaults(inner["default"], inner, root)
            return filled
        case list():
            inner = schema.get("items") if isinstance(schema, dict) else None
            return [_fill_defaults(item, inner, root) for item in value]
        case _:
            return value


def _resolve_references(schema: Any, root: Mapping[str, Any]) -> Any:
    """Follow references within the schema; return None for a dangling or circular one."""
    for _ in range(_MAX_REFERENCES):
        target = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(target, str):
            return schema
        schema = root
        for name in target.removeprefix("#/").split("/"):
            name = name.replace("~1", "/").replace("~0", "~")
            schema = schema.get(name) if isinstance(schema, dict) else None
    return None


def _normalise_numbers(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _normalise_numbers(item) for key, item in value.items()}
        case list():
            return [_normalise_numbers(item) for item in value]
        case _:
            return value

"""Selection of a tool for a purpose, and its call, only from words and schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolmark.baselines.text_spans import word_stems
from toolmark.core.records import Call, Tool

_MIN_LIKENESS = 0.5
_DEPRECATED_MARKS = ("DEPRECATED", "deprecated")


class Toolkit:
    """The offered tools, without deprecated ones."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = [
            tool for tool in tools if not any(old in tool.description for old in _DEPRECATED_MARKS)
        ]

    def best_call(self, purpose: str, **known: Any) -> Call | None:
        """Return a call of the tool that is nearest to a purpose and takes all known values."""
        found = self.ranked_calls(purpose, **known)
        return found[0] if found else None

    def ranked_calls(self, purpose: str, **known: Any) -> list[Call]:
        """Return calls of the tools that fit the purpose, the nearest first.

        A tool fits if its likeness to the purpose is at least 0.5, if all its required parameters
        are known, and if every known value has a parameter.
        """
        purpose_stems = word_stems(purpose)
        ranked: list[tuple[float, int, Call]] = []
        for index, tool in enumerate(self._tools):
            arguments = _fill_arguments(tool, known)
            likeness = _tool_likeness(purpose_stems, tool)
            if arguments is not None and likeness >= _MIN_LIKENESS:
                text = json.dumps(arguments, ensure_ascii=False)
                ranked.append((-likeness, index, Call(name=tool.name, arguments=text)))
        return [call for *_, call in sorted(ranked, key=lambda one: one[:2])]


def _tool_likeness(purpose_stems: set[str], tool: Tool) -> float:
    """Return the share of the purpose's words in the tool; other words in its name reduce it."""
    name = word_stems(tool.name)
    purpose = word_stems(tool.description.partition(". ")[0][:300])
    weight = sum(1.0 if word in name else 0.6 if word in purpose else 0.0 for word in purpose_stems)
    return weight / len(purpose_stems) - 0.08 * len(name - purpose_stems)


def _fill_arguments(tool: Tool, known: Mapping[str, Any]) -> dict[str, Any] | None:
    """Assign each known value to the parameter of its name, else to the only open required one."""
    properties = tool.parameters.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = [key for key in tool.parameters.get("required") or [] if key in properties]
    arguments: dict[str, Any] = {}
    for role, value in known.items():
        key = _parameter_for_role(
            role, value, properties, [k for k in required if k not in arguments], arguments
        )
        if key is None:
            return None
        arguments[key] = value
    return arguments if all(key in arguments for key in required) else None


def _parameter_for_role(
    role: str,
    value: Any,
    properties: Mapping[str, Any],
    needed: Sequence[str],
    filled: Mapping[str, Any],
) -> str | None:
    matching = [
        key for key in properties if key not in filled and _has_type(value, properties[key])
    ]
    if role in matching:
        return role
    words = word_stems(role)
    similar = [key for key in matching if words & word_stems(key)]
    if similar:
        return max(similar, key=lambda key: (key in needed, -len(word_stems(key) - words)))
    open_required = [key for key in needed if key in matching]
    return open_required[0] if len(open_required) == 1 else None


def _has_type(value: Any, spec: Any) -> bool:
    """Return whether the value has the schema's type; a schema without a type accepts any."""
    kind = spec.get("type") if isinstance(spec, dict) else None
    kinds = {str: "string", list: "array", int: "integer", float: "number", dict: "object"}
    return kind is None or kind == kinds.get(type(value))

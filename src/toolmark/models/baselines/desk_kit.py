"""Which of the offered tools serves a purpose, and its call: by words and schemas alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolmark.models.baselines.spans import stems
from toolmark.types import Call, Tool

_FLOOR = 0.5
_OLD = ("DEPRECATED", "deprecated")


class Kit:
    """The tools on offer."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = [tool for tool in tools if not any(old in tool.description for old in _OLD)]

    def call(self, purpose: str, **known: Any) -> Call | None:
        """Return a call of the tool that is nearest to a purpose and takes all that is known."""
        found = self.calls(purpose, **known)
        return found[0] if found else None

    def calls(self, purpose: str, **known: Any) -> list[Call]:
        """Return calls of the tools that serve the purpose, the nearest first.

        A tool serves where its words are those of the purpose to half at least, what it requires
        is known, and everything that is known has a parameter.
        """
        asked = stems(purpose)
        ranked: list[tuple[float, int, Call]] = []
        for at, tool in enumerate(self._tools):
            given = _fill(tool, known)
            likeness = _likeness(asked, tool)
            if given is not None and likeness >= _FLOOR:
                text = json.dumps(given, ensure_ascii=False)
                ranked.append((-likeness, at, Call(name=tool.name, arguments=text)))
        return [call for *_, call in sorted(ranked, key=lambda one: one[:2])]


def _likeness(asked: set[str], tool: Tool) -> float:
    """Weigh how much of the purpose the tool's words hold; foreign words in its name count down."""
    name = stems(tool.name)
    purpose = stems(tool.description.partition(". ")[0][:300])
    held = sum(1.0 if word in name else 0.6 if word in purpose else 0.0 for word in asked)
    return held / len(asked) - 0.08 * len(name - asked)


def _fill(tool: Tool, known: Mapping[str, Any]) -> dict[str, Any] | None:
    """Put each known value into the parameter of its name, else into the only one left open."""
    properties = tool.parameters.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = [key for key in tool.parameters.get("required") or [] if key in properties]
    given: dict[str, Any] = {}
    for role, value in known.items():
        key = _parameter(role, value, properties, [k for k in required if k not in given], given)
        if key is None:
            return None
        given[key] = value
    return given if all(key in given for key in required) else None


def _parameter(
    role: str,
    value: Any,
    properties: Mapping[str, Any],
    needed: Sequence[str],
    given: Mapping[str, Any],
) -> str | None:
    fits = [key for key in properties if key not in given and _typed(value, properties[key])]
    if role in fits:
        return role
    words = stems(role)
    alike = [key for key in fits if words & stems(key)]
    if alike:
        return max(alike, key=lambda key: (key in needed, -len(stems(key) - words)))
    lone = [key for key in needed if key in fits]
    return lone[0] if len(lone) == 1 else None


def _typed(value: Any, spec: Any) -> bool:
    """Tell whether a schema's type, where it names one, is that of the value."""
    kind = spec.get("type") if isinstance(spec, dict) else None
    kinds = {str: "string", list: "array", int: "integer", float: "number", dict: "object"}
    return kind is None or kind == kinds.get(type(value))

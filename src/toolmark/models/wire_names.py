"""The names of the wires: the provider protocols that toolmark speaks itself."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from toolmark.core.errors import UsageError, suggest_names

WireName: TypeAlias = Literal["chat", "responses", "anthropic", "gemini"]
"""Chat completions, OpenAI Responses, Anthropic Messages, Gemini generateContent."""
WIRE_NAMES: tuple[WireName, ...] = get_args(WireName)


def check_wire_name(name: str) -> WireName:
    """Return the name of a wire. Raises UsageError for an unknown one, naming the nearest."""
    for known in WIRE_NAMES:
        if name == known:
            return known
    raise UsageError(f"no wire {name!r}{suggest_names(name, WIRE_NAMES)}")

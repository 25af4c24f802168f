"""The tools for answers in the form `tool`, one for each kind of answer space.

| space | tool | arguments |
|---|---|---|
| Choice | choose | option: its number |
| Choice of Overcooked | act | player_0, player_1: the names of their actions |
| Distribution | distribution | probabilities: one for each option |
| ActionVector | move | vector: one number for each dimension |
| FreeText | answer | text |
| FunctionCalls | the functions in the official docs | |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolmark.core.records import Tool
from toolmark.suites.multinet.frame_records import (
    ACT_TOOL,
    ACTIONS,
    ANSWER_TOOL,
    CHOOSE_TOOL,
    DISTRIBUTION_TOOL,
    MOVE_TOOL,
    PLAYER_ARGUMENTS,
    ActionVector,
    Choice,
    Distribution,
    Frame,
    FreeText,
    FunctionCalls,
)


def answer_tools(frame: Frame, functions: Sequence[Tool] = ()) -> tuple[Tool, ...]:
    """Return the tools that answer a row; for FunctionCalls these are `functions`."""
    match frame.space:
        case FunctionCalls():
            return tuple(functions)
        case Choice() if frame.family == "overcooked":
            action_schema = {"type": "string", "enum": list(ACTIONS)}
            description = "Say what both players do in the next step."
            return (
                _build_tool(ACT_TOOL, description, dict.fromkeys(PLAYER_ARGUMENTS, action_schema)),
            )
        case Choice(options=options):
            index_schema = {"type": "integer", "minimum": 0, "maximum": len(options) - 1}
            return (
                _build_tool(
                    CHOOSE_TOOL,
                    "Choose one of the options by its number.",
                    {"option": index_schema},
                ),
            )
        case Distribution(options=options):
            description = "Say how likely each option is: in their order, adding up to 1."
            probability_schema = {"type": "number", "minimum": 0, "maximum": 1}
            return (
                _build_tool(
                    DISTRIBUTION_TOOL,
                    description,
                    {"probabilities": _list_schema(probability_schema, len(options))},
                ),
            )
        case ActionVector(names=names):
            description = f"Make one action; its numbers are, in this order: {', '.join(names)}."
            return (
                _build_tool(
                    MOVE_TOOL, description, {"vector": _list_schema({"type": "number"}, len(names))}
                ),
            )
        case FreeText():
            description = "Give the answer, in as few words as will do."
            return (_build_tool(ANSWER_TOOL, description, {"text": {"type": "string"}}),)


def _list_schema(item: dict[str, Any], n: int) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": n, "maxItems": n}


def _build_tool(name: str, description: str, properties: dict[str, Any]) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return Tool(name=name, description=description, parameters=schema)

"""The tools by which an answer is given as an action, one for each kind of space.

| space | tool | arguments |
|---|---|---|
| Choice | choose | option: its number |
| Choice of Overcooked | act | player_0, player_1: the names of their actions |
| Odds | distribution | probabilities: one for each option |
| Motion | move | vector: one number for each dimension |
| Words | answer | text |
| Calls | the functions' own docs | |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolmark.suites.multinet.frame import (
    ACT,
    ACTIONS,
    ANSWER,
    CHOOSE,
    MOVE,
    ODDS,
    PLAYERS,
    Calls,
    Choice,
    Frame,
    Motion,
    Odds,
    Words,
)
from toolmark.types import Tool


def offered(frame: Frame, functions: Sequence[Tool] = ()) -> tuple[Tool, ...]:
    """Return the tools by which a row can be answered; those of Calls are the `functions`."""
    match frame.space:
        case Calls():
            return tuple(functions)
        case Choice() if frame.family == "overcooked":
            doing = {"type": "string", "enum": list(ACTIONS)}
            said = "Say what both players do in the next step."
            return (_tool(ACT, said, dict.fromkeys(PLAYERS, doing)),)
        case Choice(options=options):
            number = {"type": "integer", "minimum": 0, "maximum": len(options) - 1}
            return (_tool(CHOOSE, "Choose one of the options by its number.", {"option": number}),)
        case Odds(options=options):
            said = "Say how likely each option is: in their order, adding up to 1."
            one = {"type": "number", "minimum": 0, "maximum": 1}
            return (_tool(ODDS, said, {"probabilities": _list(one, len(options))}),)
        case Motion(names=names):
            said = f"Make one action; its numbers are, in this order: {', '.join(names)}."
            return (_tool(MOVE, said, {"vector": _list({"type": "number"}, len(names))}),)
        case Words():
            said = "Give the answer, in as few words as will do."
            return (_tool(ANSWER, said, {"text": {"type": "string"}}),)


def _list(item: dict[str, Any], n: int) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": n, "maxItems": n}


def _tool(name: str, description: str, properties: dict[str, Any]) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return Tool(name=name, description=description, parameters=schema)

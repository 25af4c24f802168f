"""Checks JSON against the types of Anthropic's package; run in an environment that has it.

Reads a list of [kind, value] and writes a list of faults, "" for none. Kinds are `request`,
`response` and `event`. The types of the package's beta are those of all members that toolmark
sends. Settings that the newest version refuses are none of them: they are set aside first.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent
from anthropic.types.beta.message_create_params import (
    MessageCreateParamsNonStreaming,
    MessageCreateParamsStreaming,
)
from openai_types import find_fault
from pydantic import TypeAdapter, ValidationError

_EVENT: TypeAdapter[Any] = TypeAdapter(BetaRawMessageStreamEvent)
_OLDER = ("temperature", "top_p")
_UNTYPED = ("ping",)  # events that the package passes over


def _find_fault(kind: str, value: Any) -> str:
    if kind == "request":
        body = {name: each for name, each in value.items() if name not in _OLDER}
        is_stream = body.get("stream")
        params = MessageCreateParamsStreaming if is_stream else MessageCreateParamsNonStreaming
        return str(find_fault(body, params))
    try:
        if kind == "response":
            BetaMessage.model_validate(value)
        elif value["type"] not in _UNTYPED:
            _EVENT.validate_python(value)
    except ValidationError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    json.dump([_find_fault(*job) for job in json.load(sys.stdin)], sys.stdout)

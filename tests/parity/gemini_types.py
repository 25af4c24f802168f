"""Checks JSON against the types of Google's package; run in an environment that has it.

Reads a list of [kind, value] and writes a list of faults, "" for none. Kinds are `request`,
`response` and `event`, which is a whole response too. The types forbid unknown members.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from google.genai import types
from google.genai._common import BaseModel
from pydantic import ValidationError, create_model

# the body of a request, of which the package has only the parts as types
_MEMBERS: dict[str, Any] = {
    "contents": (list[types.Content], ...),
    "system_instruction": (types.Content | None, None),
    "tools": (list[types.Tool] | None, None),
    "tool_config": (types.ToolConfig | None, None),
    "generation_config": (types.GenerationConfig | None, None),
}
_Request: Any = create_model("_Request", __base__=BaseModel, **_MEMBERS)


def _find_fault(kind: str, value: Any) -> str:
    model = _Request if kind == "request" else types.GenerateContentResponse
    try:
        model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        return str(error)
    snake = next((name for name in _member_names(value) if "_" in name), "")
    return f"{snake} is not as the API writes it" if snake else ""


def _member_names(value: Any) -> list[str]:
    """Return the names of members, but for those of a user's own schemas, arguments, results."""
    if isinstance(value, list):
        return [name for each in value for name in _member_names(each)]
    if not isinstance(value, dict):
        return []
    own = ("args", "response", "parametersJsonSchema")
    return [*value, *(n for k, v in value.items() if k not in own for n in _member_names(v))]


if __name__ == "__main__":
    json.dump([_find_fault(*job) for job in json.load(sys.stdin)], sys.stdout)

"""Checks requests of chat completions against the types of other providers' packages.

Run in an environment that has them. Reads a list of [provider, value] and writes a list of faults,
"" for none.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from groq.types.chat.completion_create_params import CompletionCreateParams
from mistralai.client.models import (
    ChatCompletionRequestTypedDict,
    ChatCompletionStreamRequestTypedDict,
)
from openai_types import find_fault
from openrouter.components import ChatRequestTypedDict

# of each provider: the type of a whole request, and that of a streamed one
_REQUESTS: dict[str, tuple[Any, Any]] = {
    "groq": (CompletionCreateParams, CompletionCreateParams),
    "mistral": (ChatCompletionRequestTypedDict, ChatCompletionStreamRequestTypedDict),
    "openrouter": (ChatRequestTypedDict, ChatRequestTypedDict),
}


def _find_fault(provider: str, value: Any) -> str:
    whole, streamed = _REQUESTS[provider]
    fault: str = find_fault(value, streamed if value.get("stream") else whole)
    return fault


if __name__ == "__main__":
    json.dump([_find_fault(*job) for job in json.load(sys.stdin)], sys.stdout)

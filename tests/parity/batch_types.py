"""Checks what is said of batches against the types of OpenAI's and Anthropic's packages.

Run in an environment that has both. Reads a list of [kind, value], a kind being one of `KINDS`, and
writes a list of faults, "" for none.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from anthropic.types.messages import (
    MessageBatch,
    MessageBatchIndividualResponse,
    batch_create_params,
)
from openai.types import Batch, FileObject
from openai.types import batch_create_params as openai_params
from openai_types import find_fault
from pydantic import BaseModel, ValidationError

KINDS: dict[str, Any] = {
    "openai request": openai_params.BatchCreateParams,
    "openai batch": Batch,
    "openai file": FileObject,
    "anthropic request": batch_create_params.BatchCreateParams,
    "anthropic batch": MessageBatch,
    "anthropic result": MessageBatchIndividualResponse,
}


def fault_of(kind: str, value: Any) -> str:
    """Return why a value is not of a kind, "" if it is."""
    found = KINDS[kind]
    if not (isinstance(found, type) and issubclass(found, BaseModel)):
        return str(find_fault(value, found))
    try:
        found.model_validate(value, strict=False)
    except ValidationError as error:
        return str(error)
    unknown = sorted(value.keys() - found.model_fields.keys())
    return f"unknown members: {unknown}" if unknown else ""


print(json.dumps([fault_of(kind, value) for kind, value in json.load(sys.stdin)]))

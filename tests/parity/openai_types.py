"""Checks JSON against the types of OpenAI's package; run in an environment that has it.

Reads a list of [kind, value] and writes a list of faults, "" for none. Kinds are `request`,
`response` and `event` of the Responses API, and `chat_request`, `chat_response` and `chat_chunk` of
chat completions. The package's own parsing ignores unknown members, and reads lists lazily,
so requests are checked here member by member.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from openai._types import SequenceNotStr
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter, ValidationError
from typing_extensions import get_type_hints, is_typeddict

_LISTS = (list, Iterable, Sequence, SequenceNotStr)
_EVENT = TypeAdapter(ResponseStreamEvent)


def find_fault(value: Any, kind: Any, place: str = "body") -> str:
    """Return why a value is not of a type, "" if it is."""
    if named := getattr(kind, "__value__", None):  # of a name for a type, which may have parameters
        kind = named[get_args(kind)] if get_args(kind) else named
    if is_typeddict(kind):
        return _fault_of_object(value, kind, place)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Union or str(origin) == "<class 'types.UnionType'>":
        faults = [find_fault(value, each, place) for each in arguments]
        # the deepest fault is that of the alternative that was meant
        return "" if "" in faults else max(faults, key=lambda fault: fault.count(".") * 1000)
    if origin is Literal:
        return "" if value in arguments else f"{place}: {value!r} is none of {arguments}"
    if any(origin is each for each in _LISTS) or str(origin).endswith(".Iterable'>"):
        if not isinstance(value, list):
            return f"{place}: no list"
        found = (find_fault(v, arguments[0], f"{place}.{i}") for i, v in enumerate(value))
        return next(filter(None, found), "")
    if origin is dict:
        if not isinstance(value, dict):
            return f"{place}: no object"
        found = (find_fault(v, arguments[1], f"{place}.{k}") for k, v in value.items())
        return next(filter(None, found), "")
    if kind in (Any, object):
        return ""
    kind = (int, float) if kind is float else origin or kind
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return f"{place}: {value!r} is no {kind}"
    return ""


def _fault_of_object(value: Any, kind: Any, place: str) -> str:
    if not isinstance(value, dict):
        return f"{place}: no object"
    # words of Python have an underscore after them, which is not sent
    hints = get_type_hints(kind)
    value = {f"{name}_" if f"{name}_" in hints else name: each for name, each in value.items()}
    marked = get_type_hints(kind, include_extras=True)
    # written as text, a member's mark does not count for the keys that the class has for required
    marks = {name: str(get_origin(hint)).rpartition(".")[2] for name, hint in marked.items()}
    optional = {name for name, mark in marks.items() if mark == "NotRequired"}
    required = {name for name, mark in marks.items() if mark == "Required"}
    for name in sorted((kind.__required_keys__ | required) - optional - value.keys()):
        return f"{place}: lacks {name} of {kind.__name__}"
    for name in value.keys() - hints.keys():
        return f"{place}: {name} is unknown to {kind.__name__}"
    found = (find_fault(item, hints[name], f"{place}.{name}") for name, item in value.items())
    return next(filter(None, found), "")


# of requests: the type of a whole one, and that of a streamed one
_REQUESTS: dict[str, tuple[Any, Any]] = {
    "request": (ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming),
    "chat_request": (CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming),
}
_ANSWERS: dict[str, Any] = {
    "response": Response.model_validate,
    "event": _EVENT.validate_python,
    "chat_response": ChatCompletion.model_validate,
    "chat_chunk": ChatCompletionChunk.model_validate,
}


def _find_fault(kind: str, value: Any) -> str:
    if kind in _REQUESTS:
        whole, streamed = _REQUESTS[kind]
        return find_fault(value, streamed if value.get("stream") else whole)
    try:
        _ANSWERS[kind](value)
    except ValidationError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    json.dump([_find_fault(*job) for job in json.load(sys.stdin)], sys.stdout)

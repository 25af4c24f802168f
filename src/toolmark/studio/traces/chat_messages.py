"""Messages of every provider in one shape: that of OpenAI's chat completions, text only.

A history is a list of `{"role", "content", "tool_calls", "tool_call_id"}`. Call ids are numbered
in their order, so that equal histories of different traces are equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from toolmark.core.json_kinds import kind_of
from toolmark.studio.traces.trace_faults import Malformed, Unusable

ChatMessage: TypeAlias = dict[str, Any]

_TEXT_PARTS = ("text", "input_text", "output_text")
_REASONING_PARTS = ("thinking", "redacted_thinking", "reasoning", "refusal")
_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def chat_messages(messages: Any) -> list[ChatMessage]:
    """Return messages of chat completions. Raises Malformed or Unusable."""
    return [_chat_message(each) for each in list_of_objects(messages, "messages")]


def _chat_message(message: Mapping[str, Any]) -> ChatMessage:
    role = role_of(message)
    found: ChatMessage = {"role": role, "content": content_text(message.get("content"))}
    if role == "assistant":
        add_calls(found, list(_chat_calls(message)))
    if role == "tool":
        found["tool_call_id"] = str(message.get("tool_call_id") or message.get("id") or "")
    return found


def _chat_calls(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for call in list_of_objects(message.get("tool_calls") or [], "tool_calls"):
        function = call.get("function")
        if not isinstance(function, Mapping):
            raise Unusable(f"a call of type {call.get('type')!r}")
        yield make_call(function.get("name"), function.get("arguments"), call.get("id"))
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        yield make_call(legacy.get("name"), legacy.get("arguments"), "")


def make_call(name: Any, arguments: Any, id: Any) -> dict[str, Any]:
    """Return a call in the shape of chat completions; its arguments become JSON text."""
    if not isinstance(name, str) or not name:
        raise Malformed("a call without a name; give each call its `name`")
    if arguments is None or arguments == "":
        arguments = {}
    text = arguments if isinstance(arguments, str) else json_text(arguments)
    function = {"name": name, "arguments": text}
    return {"id": str(id or ""), "type": "function", "function": function}


def add_calls(message: ChatMessage, calls: Sequence[dict[str, Any]]) -> None:
    """Add calls to an assistant's message; one without calls has no such field."""
    if calls and message["role"] != "assistant":
        raise Malformed(f"a call in a message of the {message['role']}; only the assistant calls")
    if calls:
        message["tool_calls"] = list(calls)


def tool_message(content: Any, id: Any) -> ChatMessage:
    """Return the message of a tool's result."""
    return {"role": "tool", "content": result_text(content), "tool_call_id": str(id or "")}


def result_text(content: Any) -> str:
    """Return a tool's result as text; a value that is not text becomes JSON."""
    is_parts = isinstance(content, list) and all(
        isinstance(each, Mapping) and "type" in each for each in content
    )
    if content is None or isinstance(content, str) or is_parts:
        return content_text(content)
    return json_text(content)


def content_text(content: Any) -> str:
    """Return the text of a message's content: text, or a list of text parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in list_of_objects(content, "content"):
        kind = part.get("type")
        if kind in _TEXT_PARTS:
            texts.append(str(part.get("text", part.get("content", ""))))
        elif kind not in _REASONING_PARTS:
            raise Unusable(f"a message with a part of type {str(kind)[:40]!r}")
    return "".join(texts)


def role_of(message: Mapping[str, Any]) -> str:
    """Return the role: system, user, assistant or tool. Raises Malformed."""
    role = message.get("role")
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        raise Malformed(f"role is {str(role)[:40]!r}; it must be system, user, assistant or tool")
    return known


def list_of_objects(value: Any, name: str) -> list[Mapping[str, Any]]:
    """Return a list of JSON objects. Raises Malformed, which names the field."""
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise Malformed(f"{name} is {json_type(value)}; it must be a list of objects")
    return value


def json_type(value: Any) -> str:
    """Return what a JSON value of a trace is, for messages; null is no value."""
    return "missing" if value is None else kind_of(value)


def json_text(value: Any) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


# --- tools ------------------------------------------------------------------------------


def offered_tools(tools: Any) -> list[dict[str, Any]] | None:
    """Return tools in the shape of chat completions, None where none were recorded.

    Reads the shapes of OpenAI, Anthropic and MCP, and the plain one. Tools that the provider runs
    itself are left out. Raises Malformed.
    """
    if tools is None:
        return None
    return [
        tool
        for each in list_of_objects(tools, "tools")
        if (tool := _offered_tool(each)) is not None
    ]


def _offered_tool(tool: Mapping[str, Any]) -> dict[str, Any] | None:
    function = tool.get("function")
    given = function if isinstance(function, Mapping) else tool
    schemas = [given.get(n) for n in ("parameters", "input_schema", "inputSchema")]
    schema = next((each for each in schemas if each is not None), None)
    if schema is None and given is tool and tool.get("type") not in (None, "function", "custom"):
        return None
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise Malformed("a tool without a name; give each tool its `name`")
    if schema is not None and not isinstance(schema, Mapping):
        raise Malformed(f"the schema of tool {name[:60]!r} is {json_type(schema)}, not an object")
    described = {"name": name, "description": str(given.get("description") or "")}
    return {"type": "function", "function": described | {"parameters": dict(schema or {})}}


def tool_names(tools: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of tools in the shape of chat completions."""
    return {tool["function"]["name"] for tool in tools}


# --- histories --------------------------------------------------------------------------


def number_call_ids(
    history: Sequence[ChatMessage], results: Mapping[str, str] | None = None
) -> list[ChatMessage]:
    """Return a history whose calls are `call_1`, `call_2`, ..., each with its result after it.

    `results` are tool results by their original call id, for calls without one in the history.
    Raises Unusable for a result of no call and for a call without result.
    """
    found: list[ChatMessage] = []
    waiting: dict[str, str] = {}  # the new id by the old one, of calls without result
    n_calls = 0
    for message in history:
        if message["role"] == "tool":
            found.append(
                {**message, "tool_call_id": _take_id(waiting, message.get("tool_call_id", ""))}
            )
            continue
        found += _recorded_results(waiting, results or {})
        message = dict(message)
        if "tool_calls" in message:
            message["tool_calls"], waiting = _numbered_calls(message["tool_calls"], n_calls)
            n_calls += len(waiting)
        found.append(message)
    found += _recorded_results(waiting, results or {})
    return found


def _numbered_calls(
    calls: Sequence[dict[str, Any]], n_before: int
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    numbered, ids = [], {}
    for n, call in enumerate(calls, n_before + 1):
        new_id = f"call_{n}"
        old_id = call["id"]
        ids[old_id if old_id and old_id not in ids else new_id] = new_id
        numbered.append({**call, "id": new_id})
    return numbered, ids


def _take_id(waiting: dict[str, str], old_id: str) -> str:
    """Return the new id of the call that a result belongs to; without an id the next one."""
    if old_id in waiting:
        return waiting.pop(old_id)
    if old_id or not waiting:
        raise Unusable("a tool result of no call in the history")
    return waiting.pop(next(iter(waiting)))


def _recorded_results(waiting: dict[str, str], results: Mapping[str, str]) -> Iterator[ChatMessage]:
    for old_id, new_id in list(waiting.items()):
        if old_id not in results:
            raise Unusable("a call without a recorded result in the history")
        del waiting[old_id]
        yield {"role": "tool", "content": results[old_id], "tool_call_id": new_id}

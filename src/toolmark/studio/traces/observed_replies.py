"""One reply of a model as a trace recorded it, and the row that it proposes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolmark.core import json_codec
from toolmark.core.records import Record
from toolmark.studio.traces import chat_messages
from toolmark.studio.traces.chat_messages import ChatMessage
from toolmark.studio.traces.foreign_json import parse_foreign_json
from toolmark.studio.traces.trace_faults import Unusable

NO_CALL = "no call"
MAX_ROW_BYTES = 4 * 2**20
_ID_DIGITS = 16
_CONVERSATION = "conversation-"  # before the digest of one that its log does not name
_TRACE_ID_DIGITS = 32


class ObservedReply(Record, frozen=True, kw_only=True):
    """A reply, the history before it and the tools that were offered.

    `history` and `reply` are in the shape of chat completions. `tools` is None where none were
    recorded. `results` are tool results recorded elsewhere, by call id. `group` names the
    conversation; "" for the digest of its beginning. `source` says where the reply is.
    """

    history: list[ChatMessage]
    reply: ChatMessage
    tools: list[dict[str, Any]] | None
    source: dict[str, str]
    results: dict[str, str] = {}
    group: str = ""


def propose_row(
    observed: ObservedReply, default_tools: Sequence[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Return the row that a reply proposes, without `id`. Raises Unusable, which says why not.

    `default_tools` stand for tools that the trace does not record.
    """
    messages = chat_messages.number_call_ids(observed.history, observed.results)
    tools = observed.tools if observed.tools is not None else default_tools
    expected = [_expected_call(call) for call in observed.reply.get("tool_calls", ())]
    if not messages:
        raise Unusable("no messages recorded")
    if messages[-1]["role"] not in ("user", "tool"):
        raise Unusable("the history does not end with the user or a tool")
    if tools is None:
        raise Unusable("no tools recorded (give them with --tools)")
    if not {call["name"] for call in expected} <= chat_messages.tool_names(tools):
        raise Unusable("a call of a tool that was not offered")
    return {
        "messages": messages,
        "tools": list(tools),
        "expected": expected,
        "category": "+".join(dict.fromkeys(call["name"] for call in expected)) or NO_CALL,
        "group": observed.group or _conversation_digest(messages),
        "review": "proposed",
        "source": observed.source,
    }


def _expected_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        arguments = parse_foreign_json(function["arguments"])
    except json_codec.InvalidJson:
        raise Unusable("a call whose arguments are not JSON") from None
    if not isinstance(arguments, dict):
        raise Unusable("a call whose arguments are not a JSON object")
    return {"name": function["name"], "arguments": arguments}


def _conversation_digest(messages: Sequence[ChatMessage]) -> str:
    """Return a name for the conversation: the digest of its messages up to the first user's."""
    first = next((n for n, each in enumerate(messages) if each["role"] == "user"), 0)
    return f"{_CONVERSATION}{_content_id(messages[: first + 1])}"


def is_digest(group: str) -> bool:
    """Return whether a group is named by a digest, or by the id of a trace: neither is a secret."""
    digits = group.removeprefix(_CONVERSATION)
    n_digits = _TRACE_ID_DIGITS if digits == group else _ID_DIGITS
    return len(digits) == n_digits and not digits.strip("0123456789abcdef")


def identify_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with its id first: a digest of the messages, the tools and the calls."""
    content = {name: row[name] for name in ("messages", "tools", "expected")}
    return {"id": f"trace-{_content_id(content)}", **row}


def duplicate_key(row: Mapping[str, Any]) -> str:
    """Return what equal rows have in common: messages without white space, tool names, calls.

    The order of keys in arguments does not count.
    """
    return _content_id(
        [
            [_normalised_message(message) for message in row["messages"]],
            sorted(chat_messages.tool_names(row["tools"])),
            row["expected"],
        ]
    )


def history_key(row: Mapping[str, Any]) -> str:
    """Return what rows of the same history have in common; their calls may differ."""
    return _content_id([_normalised_message(message) for message in row["messages"]])


def _normalised_message(message: Mapping[str, Any]) -> list[Any]:
    calls = [
        [call["function"]["name"], _normalised_arguments(call["function"]["arguments"])]
        for call in message.get("tool_calls", ())
    ]
    content = " ".join(message["content"].split())
    return [message["role"], content, calls, message.get("tool_call_id", "")]


def _normalised_arguments(text: str) -> Any:
    try:
        return parse_foreign_json(text)
    except json_codec.InvalidJson:
        return " ".join(text.split())


def _content_id(value: Any) -> str:
    data = msgspec.json.encode(value, order="sorted")
    return hashlib.sha256(data).hexdigest()[:_ID_DIGITS]

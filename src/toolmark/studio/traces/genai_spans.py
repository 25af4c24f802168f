"""Replies in spans of the GenAI conventions: messages in attributes, or in the older events.

Calls of tools are spans of their own; they give results that the messages lack. Tools that only the
agent's span records are those of the span's nearest ancestor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from toolmark.core import json_codec
from toolmark.core.records import Record
from toolmark.studio.traces import chat_messages
from toolmark.studio.traces import conventions as names
from toolmark.studio.traces.chat_messages import ChatMessage
from toolmark.studio.traces.foreign_json import parse_foreign_json
from toolmark.studio.traces.observed_replies import ObservedReply
from toolmark.studio.traces.otlp_records import SpanEvent, SpanRecord
from toolmark.studio.traces.trace_faults import Malformed, Unusable
from toolmark.studio.traces.trace_store import SpanKind

_CONTENT_ATTRIBUTES = (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES)
_DROPPED_PARTS = ("reasoning", "server_tool_call", "server_tool_call_response")


class TraceContext(Record, frozen=True, kw_only=True):
    """What the spans of a trace share: results by call id, and what ancestors record.

    `parents`, `tools` and `conversations` are by span id.
    """

    results: dict[str, str] = {}
    parents: dict[str, str] = {}
    tools: dict[str, Any] = {}
    conversations: dict[str, str] = {}


def span_kind(span: SpanRecord) -> SpanKind:
    """Return what a span is for this import."""
    operation = span.attributes.get(names.OPERATION_NAME)
    if operation == names.EXECUTE_TOOL:
        return "tool"
    events = {event.name for event in span.events}
    has_events = not events.isdisjoint((*names.ROLE_BY_MESSAGE_EVENT, names.CHOICE_EVENT))
    if operation in names.INFERENCE_OPERATIONS or (not operation and has_events):
        return "inference"
    if not operation and names.OUTPUT_MESSAGES in span.attributes:
        return "inference"
    return "agent" if any(n.startswith(names.PREFIX) for n in span.attributes) else "other"


def make_context(spans: Sequence[SpanRecord]) -> TraceContext:
    """Return what spans of agents and tools say to the others."""
    found = TraceContext()
    for span in spans:
        found.parents[span.span] = span.parent
        attributes = span.attributes
        call_id, result = (attributes.get(n) for n in (names.TOOL_CALL_ID, names.TOOL_CALL_RESULT))
        if isinstance(call_id, str) and result is not None:
            found.results.setdefault(call_id, chat_messages.result_text(result))
        if (tools := attributes.get(names.TOOL_DEFINITIONS)) is not None:
            found.tools[span.span] = tools
        if isinstance(conversation := attributes.get(names.CONVERSATION_ID), str):
            found.conversations[span.span] = conversation
    return found


def ancestor_ids(span: SpanRecord, context: TraceContext) -> list[str]:
    """Return the ids of a span's ancestors, nearest first; a missing parent ends them.

    Raises Malformed where the parents form a cycle.
    """
    found: list[str] = []
    parent = span.parent
    while parent:
        if parent in found or parent == span.span:
            raise Malformed("the parents of the span form a cycle; correct its parentSpanId")
        found.append(parent)
        parent = context.parents.get(parent, "")
    return found


def span_replies(
    span: SpanRecord, log_events: Sequence[SpanEvent], context: TraceContext, source: dict[str, str]
) -> Iterator[ObservedReply]:
    """Yield the replies of a span, one for each choice. Raises Malformed or Unusable."""
    events = (*span.events, *log_events)
    attributes = dict(span.attributes)
    for event in events:
        if event.name == names.INFERENCE_DETAILS_EVENT:
            attributes |= event.attributes
    if any(name in attributes for name in _CONTENT_ATTRIBUTES):
        history, replies = _attribute_messages(attributes)
    else:
        history, replies = _event_messages(events)
    if not replies:
        raise Unusable("no messages recorded")
    ancestors = ancestor_ids(span, context)
    tools = attributes.get(names.TOOL_DEFINITIONS)
    if tools is None:
        tools = next((context.tools[a] for a in ancestors if a in context.tools), None)
    group = attributes.get(names.CONVERSATION_ID) or next(
        (context.conversations[a] for a in ancestors if a in context.conversations), span.trace
    )
    for reply in replies:
        yield ObservedReply(
            history=history,
            reply=reply,
            tools=chat_messages.offered_tools(_decode_json_text(tools, names.TOOL_DEFINITIONS)),
            source=source,
            results=context.results,
            group=str(group),
        )


# --- messages in attributes -------------------------------------------------------------


def _attribute_messages(
    attributes: Mapping[str, Any],
) -> tuple[list[ChatMessage], list[ChatMessage]]:
    instructions = _decode_json_text(
        attributes.get(names.SYSTEM_INSTRUCTIONS), names.SYSTEM_INSTRUCTIONS
    )
    history: list[ChatMessage] = []
    if instructions:
        text = chat_messages.content_text(instructions)
        history.append({"role": "system", "content": text})
    for message in _message_list(attributes, names.INPUT_MESSAGES):
        history += _part_messages(message, chat_messages.role_of(message))
    replies = []
    for message in _message_list(attributes, names.OUTPUT_MESSAGES):
        found = _part_messages(message, "assistant")
        if len(found) != 1 or found[0]["role"] != "assistant":
            raise Unusable("a reply with results of tools in it")
        replies += found
    return history, replies


def _message_list(attributes: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = _decode_json_text(attributes.get(name), name)
    return [] if value is None else chat_messages.list_of_objects(value, name)


def _part_messages(message: Mapping[str, Any], role: str) -> list[ChatMessage]:
    """Return one message of parts as messages: results of tools are messages of their own."""
    parts = message.get("parts")
    if parts is None:
        return [{"role": role, "content": chat_messages.content_text(message.get("content"))}]
    results: list[ChatMessage] = []
    calls: list[dict[str, Any]] = []
    texts: list[Mapping[str, Any]] = []
    for part in chat_messages.list_of_objects(parts, "parts"):
        match part.get("type"):
            case "tool_call":
                given = part.get("name"), part.get("arguments"), part.get("id")
                calls.append(chat_messages.make_call(*given))
            case "tool_call_response":
                result = part["response"] if "response" in part else part.get("result")
                results.append(chat_messages.tool_message(result, part.get("id")))
            case kind if kind not in _DROPPED_PARTS:
                texts.append(part)
    if role == "tool" or (results and not texts and not calls):
        return results
    found: ChatMessage = {"role": role, "content": chat_messages.content_text(texts)}
    chat_messages.add_calls(found, calls)
    return [*results, found]


# --- messages in events -----------------------------------------------------------------


def _event_messages(
    events: Sequence[SpanEvent],
) -> tuple[list[ChatMessage], list[ChatMessage]]:
    history: list[ChatMessage] = []
    replies: list[ChatMessage] = []
    for event in events:
        content = _event_content(event)
        if event.name == names.CHOICE_EVENT:
            message = _decode_json_text(content.get("message"), "message")
            if not isinstance(message, dict):  # the text alone
                message = {} if message is None else {"content": message}
            replies.append(_event_message(content | message, "assistant"))
        elif role := names.ROLE_BY_MESSAGE_EVENT.get(event.name):
            history.append(_event_message(content, role))
    return history, replies


def _event_message(content: Mapping[str, Any], role: str) -> ChatMessage:
    text = content.get("content")
    parts = _decode_json_text(text, "content")
    is_parts = isinstance(parts, list) and all(
        isinstance(part, Mapping) and "type" in part for part in parts
    )
    if is_parts or not isinstance(text, str):
        text = chat_messages.result_text(parts)
    if role == "tool":
        return chat_messages.tool_message(text, content.get("id"))
    calls = _decode_json_text(content.get("tool_calls"), "tool_calls")
    return chat_messages.chat_messages([{"role": role, "content": text, "tool_calls": calls}])[0]


def _event_content(event: SpanEvent) -> dict[str, Any]:
    """Return the fields of an event: of its body, else of its attributes."""
    if isinstance(event.body, dict):
        return event.body
    for name in (names.EVENT_CONTENT, "body"):
        content = _decode_json_text(event.attributes.get(name), name)
        if isinstance(content, dict):
            return content
    return dict(event.attributes)


def _decode_json_text(value: Any, name: str) -> Any:
    """Return a value that may be recorded as JSON text; other text is returned unchanged.

    Raises Malformed for text that begins as a list or an object and is not JSON.
    """
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return parse_foreign_json(value)
    except json_codec.InvalidJson as error:
        if name == "content":
            return value
        raise Malformed(f"{name} is not JSON: {error}; record it whole") from None


def encode_span(span: SpanRecord) -> bytes:
    """Return a span's content as JSON."""
    return msgspec.json.encode(span)

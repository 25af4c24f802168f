"""Logs of requests and responses, and of whole conversations, of three providers' protocols.

A pair is `{"request": ..., "response": ...}`, each the body, or an object with the body in `body`,
or the body as JSON text; or one object with the fields of both. It holds one reply per choice. A
conversation has no response: each of its assistant messages is a reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from toolmark.core import json_codec
from toolmark.studio.traces import anthropic_messages, chat_messages, responses_items
from toolmark.studio.traces.chat_messages import ChatMessage
from toolmark.studio.traces.foreign_json import parse_foreign_json
from toolmark.studio.traces.observed_replies import ObservedReply
from toolmark.studio.traces.responses_items import ResponseChain
from toolmark.studio.traces.trace_faults import Malformed, Unusable

CHAT, RESPONSES, ANTHROPIC = (
    "OpenAI chat completions",
    "OpenAI Responses",
    "Anthropic Messages",
)
Body: TypeAlias = Mapping[str, Any]
_REQUEST_FIELDS = ("request", "request_body", "input_body")
_RESPONSE_FIELDS = ("response", "response_body", "output_body")
_ID_FIELDS = ("conversation_id", "session_id", "thread_id", "conversation")
_ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "thinking")


def log_form(value: Any) -> str:
    """Return whose form a record has, "" for none."""
    if not isinstance(value, Mapping):
        return ""
    request, response = _bodies(value)
    if response is not None:
        if "choices" in response:
            return CHAT
        if isinstance(response.get("output"), list):
            return RESPONSES
        if isinstance(response.get("content"), list) and "role" in response:
            return ANTHROPIC
    if "messages" in request:
        return ANTHROPIC if _is_anthropic(request) else CHAT
    return RESPONSES if "input" in request else ""


def read_log_record(
    value: Body, form: str, source: Mapping[str, str], chain: ResponseChain
) -> Iterator[ObservedReply]:
    """Yield the replies of a record of this form. Raises Malformed or Unusable.

    `chain` stores the histories of responses that later requests may name.
    """
    request, response = _bodies(value)
    if response is not None and not _has_reply(response):
        raise Unusable("a response without a reply")
    group = next((str(value[n]) for n in _ID_FIELDS if isinstance(value.get(n), str)), "")
    replies = None if response is None else _response_messages(response, form)
    if form == CHAT:
        history = chat_messages.chat_messages(request.get("messages"))
    elif form == ANTHROPIC:
        history = anthropic_messages.request_messages(request)
    else:
        history, first_id = chain.request_history(request)
        if response is not None and replies:
            id = str(response.get("id") or "")
            group = group or first_id or id
            chain.store_reply(id, history, replies[0], group)
        history = [*responses_items.instruction_messages(request), *history]
    tools = chat_messages.offered_tools(request.get("tools", request.get("functions")))
    pairs = _conversation_replies(history) if replies is None else _replies_to(history, replies)
    for before, reply in pairs:
        yield ObservedReply(
            history=before, reply=reply, tools=tools, source=dict(source), group=group
        )


def _bodies(value: Body) -> tuple[Body, Body | None]:
    """Return the bodies of the request and of the response, None for no response."""
    request = next((value[name] for name in _REQUEST_FIELDS if name in value), None)
    response = next((value[name] for name in _RESPONSE_FIELDS if name in value), None)
    if request is not None:
        return _body(request, "request"), None if response is None else _body(response, "response")
    if "choices" in value or isinstance(value.get("output"), list):
        return value, value
    if response is not None:
        return value, _body(response, "response")
    return value, None


def _body(value: Any, name: str) -> Body:
    if isinstance(value, Mapping) and "body" in value:
        value = value["body"]
    if isinstance(value, str):
        try:
            value = parse_foreign_json(value)
        except json_codec.InvalidJson:
            raise Malformed(f"the {name} is text that is not JSON; log its JSON body") from None
    if not isinstance(value, Mapping):
        kind = chat_messages.json_type(value)
        raise Malformed(f"the {name} is {kind}; it must be the body, an object")
    return value


def _has_reply(response: Body) -> bool:
    return any(isinstance(response.get(name), list) for name in ("choices", "output", "content"))


def _is_anthropic(request: Body) -> bool:
    tools, messages = request.get("tools"), request.get("messages")
    if "system" in request:
        return True
    if isinstance(tools, list) and any("input_schema" in t for t in tools if isinstance(t, dict)):
        return True
    if not isinstance(messages, list):
        return False
    contents = [m.get("content") for m in messages if isinstance(m, Mapping)]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return any(isinstance(b, Mapping) and b.get("type") in _ANTHROPIC_BLOCKS for b in blocks)


def _response_messages(response: Body, form: str) -> list[ChatMessage]:
    if form == CHAT:
        return _choice_messages(response)
    if form == RESPONSES:
        return responses_items.reply_messages(response)
    return anthropic_messages.block_messages("assistant", response.get("content"))


def _choice_messages(response: Body) -> list[ChatMessage]:
    choices = chat_messages.list_of_objects(response.get("choices"), "choices")
    given = [choice.get("message") for choice in choices]
    messages = chat_messages.list_of_objects(given, "choices[].message")
    return chat_messages.chat_messages([{"role": "assistant", **each} for each in messages])


def _replies_to(
    history: list[ChatMessage], replies: Sequence[ChatMessage]
) -> Iterator[tuple[list[ChatMessage], ChatMessage]]:
    for reply in replies:
        yield history, reply


def _conversation_replies(
    messages: Sequence[ChatMessage],
) -> Iterator[tuple[list[ChatMessage], ChatMessage]]:
    """Yield each assistant message with the messages before it."""
    for n, message in enumerate(messages):
        if message["role"] == "assistant":
            yield list(messages[:n]), message

"""Messages of Anthropic's Messages protocol in the shape of chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolmark.studio.traces import chat_messages
from toolmark.studio.traces.chat_messages import ChatMessage


def request_messages(request: Mapping[str, Any]) -> list[ChatMessage]:
    """Return the messages of a request, the system prompt first. Raises Malformed or Unusable."""
    system = chat_messages.content_text(request.get("system"))
    found: list[ChatMessage] = [{"role": "system", "content": system}] if system else []
    for message in chat_messages.list_of_objects(request.get("messages"), "messages"):
        role = chat_messages.role_of(message)
        found += block_messages(role, message.get("content"))
    return found


def block_messages(role: str, content: Any) -> list[ChatMessage]:
    """Return one message of content blocks as messages: tool results come before the user's text.

    Raises Malformed or Unusable.
    """
    if content is None or isinstance(content, str):
        return [{"role": role, "content": content or ""}]
    blocks = chat_messages.list_of_objects(content, "content")
    calls = [
        chat_messages.make_call(block.get("name"), block.get("input"), block.get("id"))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    results = [
        chat_messages.tool_message(block.get("content"), block.get("tool_use_id"))
        for block in blocks
        if block.get("type") == "tool_result"
    ]
    others = [block for block in blocks if block.get("type") not in ("tool_use", "tool_result")]
    text = chat_messages.content_text(others)
    if results and not text and not calls:
        return results
    message: ChatMessage = {"role": role, "content": text}
    chat_messages.add_calls(message, calls)
    return [*results, message]

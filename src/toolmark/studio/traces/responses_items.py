"""Items of OpenAI's Responses protocol in the shape of chat completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolmark.studio.traces import chat_messages
from toolmark.studio.traces.chat_messages import ChatMessage
from toolmark.studio.traces.trace_faults import Unusable
from toolmark.studio.traces.trace_store import TraceStore


def item_messages(items: Any) -> list[ChatMessage]:
    """Return items as messages; calls that follow each other are one reply.

    Text is a message of the user. Raises Malformed or Unusable.
    """
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    found: list[ChatMessage] = []
    for item in chat_messages.list_of_objects(items, "input"):
        match item.get("type", "message"):
            case "message":
                role = chat_messages.role_of(item)
                text = chat_messages.content_text(item.get("content"))
                found.append({"role": role, "content": text})
            case "function_call":
                _add_call(found, item)
            case "function_call_output":
                found.append(chat_messages.tool_message(item.get("output"), item.get("call_id")))
            case "reasoning":
                continue
            case kind:
                raise Unusable(f"an item of type {str(kind)[:40]!r}")
    return found


def _add_call(messages: list[ChatMessage], item: Mapping[str, Any]) -> None:
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": ""})
    call = chat_messages.make_call(item.get("name"), item.get("arguments"), item.get("call_id"))
    messages[-1].setdefault("tool_calls", []).append(call)


def reply_messages(response: Mapping[str, Any]) -> list[ChatMessage]:
    """Return the one reply of a response. Raises Malformed or Unusable."""
    messages = item_messages(response.get("output"))
    if any(message["role"] != "assistant" for message in messages):
        raise Unusable("a response that runs tools itself")
    reply: ChatMessage = {
        "role": "assistant",
        "content": "".join(message["content"] for message in messages),
    }
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    chat_messages.add_calls(reply, calls)
    return [reply]


class ResponseChain:
    """Histories of the responses that were read, for requests with `previous_response_id`."""

    def __init__(self, store: TraceStore) -> None:
        self._store = store

    def request_history(self, request: Mapping[str, Any]) -> tuple[list[ChatMessage], str]:
        """Return the messages of a request with those before it, and the conversation's name.

        The instructions are not among them. Raises Malformed; Unusable where the response before it
        was not read.
        """
        messages = item_messages(request.get("input"))
        previous_id = request.get("previous_response_id")
        if not previous_id:
            return messages, ""
        stored = self._store.response(str(previous_id))
        if stored is None:
            raise Unusable("previous_response_id of a response that is not before it")
        previous, group = msgspec.json.decode(stored, type=tuple[list[ChatMessage], str])
        return [*previous, *messages], group

    def store_reply(
        self, id: str, history: Sequence[ChatMessage], reply: ChatMessage, group: str
    ) -> None:
        """Store the messages up to a response."""
        if id:
            self._store.add_response(id, msgspec.json.encode(([*history, reply], group)))


def instruction_messages(request: Mapping[str, Any]) -> list[ChatMessage]:
    """Return the instructions of a request; they hold for its response only."""
    instructions = request.get("instructions")
    is_text = isinstance(instructions, str) and instructions
    return [{"role": "system", "content": instructions}] if is_text else []

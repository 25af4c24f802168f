"""An endpoint's own state in the assistant's messages that are sent back to it."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from toolmark.core.records import Adaptation, AdaptationKind, Message
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wires import chat_state
from toolmark.models.wires.chat_state import ChatState, splice
from toolmark.models.wires.request_parts import encode_json

Json = dict[str, Any]

_DETAILS = "reasoning_details"
_SAME_TEXT_MEMBERS = ("reasoning", "reasoning_content")
_FILLED_CONTENT = " "


class StateSplicer:
    """Encodes the assistant's messages of one request, by the rules of the endpoint.

    What is left out or added is appended to `changes`, once for each kind.
    """

    def __init__(
        self,
        profile: EndpointProfile,
        origin: str,
        messages: tuple[Message, ...],
        changes: list[Adaptation],
    ) -> None:
        self._profile = profile
        self._origin = origin
        self._changes = changes
        last_user = max((i for i, each in enumerate(messages) if each.role == "user"), default=-1)
        self._current = {id(each) for each in messages[last_user + 1 :]}

    def encode_message(self, message: Message, sent: Json) -> bytes:
        """Return an assistant's message as it is sent; `sent` is its neutral form."""
        state = self._fitting_state(message)
        members = {} if state is None else dict(state.message)
        content = members.get("content")
        if content is not None and state is not None:
            if state.text == chat_state.digest_text(message.text):
                sent.pop("content", None)
            else:
                del members["content"]
                self._note("state_dropped", "the text of a message was changed")
        if self._profile.drops_unsigned_text and _DETAILS in members:
            members[_DETAILS] = chat_state.signed_details(members[_DETAILS])
        self._add_required(message, members)
        if self._profile.fills_empty_content and not sent.get("content", _FILLED_CONTENT):
            sent["content"] = _FILLED_CONTENT
            self._note("content", "an empty text is sent as a space")
        calls = sent.get("tool_calls")
        if calls and state is not None and (state.calls or state.functions):
            del sent["tool_calls"]
            members["tool_calls"] = Raw(_encode_calls(calls, state))
        return splice(encode_json(sent), members)

    def _fitting_state(self, message: Message) -> ChatState | None:
        """Return the state that goes back with a message, None for the neutral form."""
        found, history = message.provider_state, self._profile.history
        if found is None or history == "none":
            return None
        if history == "turn" and id(message) not in self._current:
            return None
        if found.wire != "chat" or found.origin != self._origin:
            self._note("state_dropped", "the state is of another endpoint or model")
            return None
        state = chat_state.decode_state(found)
        if state is None or state.digest != chat_state.digest_calls(message.calls):
            self._note("state_dropped", "the calls of a message were changed")
            return None
        return state

    def _add_required(self, message: Message, members: dict[str, Raw]) -> None:
        """Add the member that messages with calls must have, with the thoughts of another name."""
        name = self._profile.required_member
        if not name or not message.calls or name in members:
            return
        same = (members[other] for other in _SAME_TEXT_MEMBERS if other in members)
        value = next(same, None)
        if value is None:
            value = Raw(encode_json(self._profile.required_value))
        members[name] = value
        self._note("state_patched", f"{name} added to messages with calls that lack it")

    def _note(self, kind: AdaptationKind, detail: str) -> None:
        adaptation = Adaptation(kind=kind, detail=detail)
        if adaptation not in self._changes:
            self._changes.append(adaptation)


def _encode_calls(calls: list[Json], state: ChatState) -> bytes:
    """Return calls with the members that the endpoint gave them."""
    encoded: list[bytes] = []
    for index, call in enumerate(calls):
        members = dict(state.calls[index]) if index < len(state.calls) else {}
        if index < len(state.functions) and state.functions[index]:
            function = splice(encode_json(call.pop("function")), state.functions[index])
            members["function"] = Raw(function)
        encoded.append(splice(encode_json(call), members))
    return b"[" + b",".join(encoded) + b"]"

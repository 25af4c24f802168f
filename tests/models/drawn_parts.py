"""What a model may say on each wire, drawn by Hypothesis: thoughts, texts and calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st
from tests.models.wire_samples import SAMPLES

from toolmark.models.wire_names import WireName

Json = dict[str, Any]
Parts = st.SearchStrategy[list[Json]]
TEXTS = st.text(max_size=20)
_NAMES = st.text("abcdef_-", min_size=1, max_size=9)
_THOUGHT, _SAID, _CALL = SAMPLES["anthropic"].said

# --- responses --------------------------------------------------------------------------

THOUGHTS = st.builds(
    lambda id, text: {"type": "reasoning", "id": id, "encrypted_content": "g" + text,
                      "summary": [{"type": "summary_text", "text": text}]},
    TEXTS, TEXTS,
)  # fmt: skip
MESSAGES = st.builds(
    lambda text, phase: {"type": "message", "id": "m", "role": "assistant", "status": "completed",
                         "phase": phase,
                         "content": [{"type": "output_text", "text": text, "annotations": []}]},
    TEXTS, st.sampled_from(["commentary", "final_answer"]),
)  # fmt: skip
FUNCTION_CALLS = st.builds(
    lambda name, text: {"type": "function_call", "id": "fc", "status": "completed",
                        "name": name, "arguments": json.dumps({"a": text})},
    _NAMES, TEXTS,
)  # fmt: skip

# --- gemini -----------------------------------------------------------------------------

SPOKEN_PARTS = st.builds(
    lambda text, more: {"text": text, **more}, st.text(min_size=1, max_size=20),
    st.sampled_from([{}, {"thought": True}, {"thoughtSignature": "c2ln"},
                     {"thought": True, "thoughtSignature": "c2ln"}]),
)  # fmt: skip
CALL_PARTS = st.builds(
    lambda name, text, id, more: {
        "functionCall": {"name": name, "args": {"a": text}, **({"id": id} if id else {})}, **more},
    st.text("abcdef_-:.", min_size=1, max_size=9).map("f".__add__), TEXTS,
    st.text("ab", max_size=2), st.sampled_from([{}, {"thoughtSignature": "c2ln"}]),
)  # fmt: skip

# --- anthropic --------------------------------------------------------------------------

BLOCKS = st.sampled_from([
    _THOUGHT, {"type": "redacted_thinking", "data": "e30="}, _SAID, _CALL,
    _SAID | {"citations": None},
    {"type": "server_tool_use", "id": "s", "name": "x", "input": {}},
    {"type": "hologram", "beam": [1, None]},
])  # fmt: skip

# --- chat -------------------------------------------------------------------------------

CHAT_MESSAGES = st.builds(
    lambda text, thought, calls: {
        "role": "assistant", "content": text,
        **({"reasoning_content": thought} if thought else {}),
        **({"tool_calls": calls} if calls else {}),
    },
    st.text(min_size=1, max_size=20), TEXTS,
    st.lists(st.builds(
        lambda name, text: {"type": "function", "function": {
            "name": name, "arguments": json.dumps({"a": text})}},
        _NAMES, TEXTS), max_size=3),
)  # fmt: skip


class DrawnConversation(NamedTuple):
    """What one reply says; how its parts are compared; what each result has in a request.

    `neutral` leaves out of a part what a reply without a state does not send back.
    """

    parts: Parts
    neutral: Callable[[Json], Json]
    result_mark: str


def _give_ids(parts: list[Json], kind: str, member: str) -> list[Json]:
    """Return parts of which each of a kind has an id of its own."""
    return [
        each | ({member: f"call_{n}"} if each["type"] == kind else {})
        for n, each in enumerate(parts)
    ]


def _identified_calls(message: Json) -> list[Json]:
    calls = [{"id": f"c{n}", **call} for n, call in enumerate(message.get("tool_calls", ()))]
    return [message | ({"tool_calls": calls} if calls else {})]


def _without_ids_of_items(item: Json) -> Json:
    if item["type"] != "function_call":
        return item
    return {name: value for name, value in item.items() if name not in ("id", "status")}


def _without_nulls(block: Json) -> Json:
    return {name: value for name, value in block.items() if name != "citations" or value}


CONVERSATIONS: dict[WireName, DrawnConversation] = {
    "chat": DrawnConversation(
        CHAT_MESSAGES.map(_identified_calls), lambda message: message, '"role": "tool"'),
    "responses": DrawnConversation(
        st.lists(THOUGHTS | MESSAGES | FUNCTION_CALLS, min_size=1, max_size=6).map(
            lambda items: _give_ids(items, "function_call", "call_id")),
        _without_ids_of_items, '"function_call_output"'),
    "anthropic": DrawnConversation(  # no answer follows a thought at the end, which is left out
        st.lists(BLOCKS, min_size=1, max_size=6).map(
            lambda blocks: [*_give_ids(blocks, "tool_use", "id"), _SAID]),
        _without_nulls, '"tool_result"'),
    "gemini": DrawnConversation(
        st.lists(SPOKEN_PARTS | CALL_PARTS, min_size=1, max_size=6), lambda part: part,
        '"functionResponse"'),
}  # fmt: skip

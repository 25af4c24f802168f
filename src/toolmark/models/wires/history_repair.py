"""A history as servers take it that refused it: without calls that nobody answered.

BFCL's official loop leaves such calls, which most servers refuse. What the endpoint wants back with
a reply stays with the rest of it: its thoughts are not left out with a call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

from msgspec.structs import replace

from toolmark.core.records import Adaptation, AdaptationKind, Call, Message, ProviderState
from toolmark.models.wire_names import WireName

DropCalls: TypeAlias = Callable[[str, tuple[Call, ...], Collection[int]], str | None]
"""Returns the data of a state with only some of its calls, None where that cannot be."""


def repair_messages(
    messages: tuple[Message, ...],
    changes: list[Adaptation],
    wire: WireName,
    drop_calls: DropCalls,
) -> tuple[Message, ...]:
    """Return the messages without the calls that no tool message right after them answers.

    What is left out is added to `changes`. `drop_calls` is that of the wire.
    """
    found: list[Message] = []
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "tool":
            answered.add(message.call_id)
        elif message.calls:
            chosen = [index for index, call in enumerate(message.calls) if call.id in answered]
            if len(chosen) < len(message.calls):
                _add_note(changes, "content", "calls without a result are left out of the history")
                message = _choose_calls(message, chosen, changes, wire, drop_calls)
        if message.role != "tool":
            answered = set()
        if message.role != "assistant" or message.calls or message.parts:
            found.append(message)
    return tuple(reversed(found))


def _choose_calls(
    message: Message,
    chosen: list[int],
    changes: list[Adaptation],
    wire: WireName,
    drop_calls: DropCalls,
) -> Message:
    calls = tuple(message.calls[index] for index in chosen)
    state = message.provider_state
    if state is not None and state.wire == wire and (calls or message.parts):
        state = _choose_state(state, message.calls, chosen, drop_calls)
        if state is None:
            _add_note(changes, "state_dropped", "the thoughts of calls without a result")
        else:
            _add_note(changes, "state_patched", "a reply goes back without its unanswered calls")
    return replace(message, calls=calls, provider_state=state)


def _choose_state(
    state: ProviderState, calls: tuple[Call, ...], chosen: list[int], drop_calls: DropCalls
) -> ProviderState | None:
    data = drop_calls(state.data, calls, chosen)
    return None if data is None else replace(state, data=data)


def _add_note(changes: list[Adaptation], kind: AdaptationKind, detail: str) -> None:
    note = Adaptation(kind=kind, detail=detail)
    if note not in changes:
        changes.append(note)

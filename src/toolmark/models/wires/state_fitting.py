"""Whether what an endpoint stored with a reply may go back to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from toolmark.core.json_codec import restore_surrogates
from toolmark.core.records import Adaptation, Message, ProviderState
from toolmark.models.wire_names import WireName
from toolmark.models.wires.tool_names import ToolNamer, ToolNames


class StoredCalls(Protocol):
    """A state that was read: the id, name and arguments of each of its calls, in order."""

    @property
    def calls(self) -> tuple[tuple[str, str, str], ...]:
        """The calls as sent."""
        ...


State = TypeVar("State", bound=StoredCalls)


class StateFitter(NamedTuple, Generic[State]):
    """Finds the states of replies that fit the messages of one endpoint.

    `noun` is the endpoint's word for what it stored. `compares_ids` is for wires on which each call
    has an id that the endpoint gave.
    """

    wire: WireName
    origin: str
    namer: ToolNamer
    read_state: Callable[[str], State | None]
    noun: str = "content"
    compares_ids: bool = False

    def find_state(
        self, message: Message, state: ProviderState, names: ToolNames, changes: list[Adaptation]
    ) -> State | None:
        """Return the state that a message repeats; None, added to `changes`, if it does not fit."""
        if state.wire != self.wire or state.origin != self.origin:
            changes.append(dropped_state(f"the {self.noun} of another endpoint"))
            return None
        found = self.read_state(state.data)
        if found is None or not self._has_calls(found, message, names):
            changes.append(dropped_state(f"the {self.noun} of a reply whose calls were changed"))
            return None
        return found

    def _has_calls(self, found: State, message: Message, names: ToolNames) -> bool:
        sent_name = self.namer.sent_name
        calls = [  # a list is faster than a generator
            (
                restore_surrogates(call.id),
                sent_name(call.name, names),
                restore_surrogates(call.arguments),
            )
            for call in message.calls
        ]
        if self.compares_ids:
            return found.calls == tuple(calls)
        return [call[1:] for call in found.calls] == [call[1:] for call in calls]


def dropped_state(detail: str) -> Adaptation:
    """Return the note that a state does not go back."""
    return Adaptation(kind="state_dropped", detail=detail)

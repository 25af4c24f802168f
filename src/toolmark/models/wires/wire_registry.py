"""The wires by name."""

from __future__ import annotations

from toolmark.core.errors import UsageError
from toolmark.models.wire_names import WireName
from toolmark.models.wires.anthropic_messages import MESSAGES_WIRE
from toolmark.models.wires.chat_completions import CHAT_WIRE
from toolmark.models.wires.gemini import GEMINI_WIRE
from toolmark.models.wires.responses import RESPONSES_WIRE
from toolmark.models.wires.wire import Wire

_WIRES: dict[WireName, Wire] = {
    wire.name: wire for wire in (CHAT_WIRE, RESPONSES_WIRE, MESSAGES_WIRE, GEMINI_WIRE)
}


def wire_by_name(name: WireName) -> Wire:
    """Return a wire."""
    if name not in _WIRES:
        raise UsageError(f"the wire {name!r} is not available")
    return _WIRES[name]

"""Native tool calling: tools go with the request, calls come back parsed by the endpoint."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from toolmark.types import Call, Message, Part, Reading, Reply, Result, Text, Tool


class Native:
    """Passes everything through; the work is done by the endpoint."""

    name = "native"

    def open(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Send messages and tools as they are."""
        return messages, tools

    def more(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Send messages and tools as they are."""
        return messages, tools

    def read(self, reply: Reply, tools: tuple[Tool, ...], /) -> Reading:
        """Return the reply's own calls."""
        return Reading(calls=reply.calls)

    def answer(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the assistant's message, then one tool message per result, paired by call id.

        Missing and repeated ids are replaced by fresh ones, so every result has one call.
        """
        parts: tuple[Part, ...] = (Text(reply.text),) if reply.text else ()
        named = _named(calls)
        said = Message(role="assistant", parts=parts, calls=named)
        heard = [
            Message(role="tool", parts=result.parts, call_id=call.id)
            for call, result in zip(named, results, strict=False)
        ]
        return said, *heard

    def write(self, calls: Sequence[Call], /) -> Reply:
        """Return a reply that holds the calls."""
        return Reply(calls=tuple(calls))


def _named(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    ids = {call.id for call in calls}
    if len(ids) == len(calls) and "" not in ids:
        return calls
    taken = ids - {""}
    used: set[str] = set()
    named: list[Call] = []
    for index, call in enumerate(calls):
        if not call.id or call.id in used:
            fresh = f"call_{index}"
            while fresh in taken:
                fresh += "_"
            taken.add(fresh)
            call = msgspec.structs.replace(call, id=fresh)
        used.add(call.id)
        named.append(call)
    return tuple(named)


NATIVE = Native()

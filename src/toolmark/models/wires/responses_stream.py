"""The events of a streamed response, joined to the body that would have come whole."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from toolmark.core.errors import TornReply
from toolmark.models.wires.request_parts import encode_json
from toolmark.models.wires.wire import StreamAssembler, StreamMark

_ENDINGS = ("response.completed", "response.incomplete", "response.failed")
_DELTAS = (
    "response.output_text.delta", "response.refusal.delta", "response.reasoning_text.delta",
    "response.reasoning_summary_text.delta", "response.function_call_arguments.delta",
)  # fmt: skip
_DONE = b"[DONE]"


class _Event(Struct):
    type: str = ""
    output_index: int = 0
    delta: Raw = Raw(b"")
    item: Raw = Raw(b"")
    response: Raw = Raw(b"")
    error: Raw = Raw(b"")


class _Item(Struct):
    type: str = ""
    id: str | None = None
    name: str = ""


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_item = msgspec.json.Decoder(_Item).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_raw_items = msgspec.json.Decoder(list[Raw]).decode


class ResponsesAssembler(StreamAssembler):
    """Takes each item as its `done` event holds it, and all else from the last event.

    An item of `added` may lack its ciphertext. Deltas only show when the output began.
    """

    def __init__(self) -> None:
        self._items: dict[tuple[int, str], bytes] = {}
        self._last: bytes = b""
        self._error: bytes = b""
        self.size_bytes: int = 0

    def add_event(self, name: str, data: bytes) -> StreamMark:
        """Take one event; its type is in its data, or else its name."""
        if self.has_ended or data.strip() == _DONE:
            return ""
        try:
            event = _decode_event(data)
            kind = event.type or name
            if kind in _DELTAS:
                return "token" if bytes(event.delta) not in (b"", b'""') else ""
            if kind in _ENDINGS:
                self._last = bytes(event.response) if _is_given(event.response) else b""
                self.size_bytes += len(self._last)
            elif kind == "error" or _is_given(event.error):
                self._error = bytes(event.error) if _is_given(event.error) else data
            elif event.item:
                return self._add_item(kind, event)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise TornReply("an event of the stream is garbled") from None
        return ""

    @property
    def has_ended(self) -> bool:
        """Whether the response was said to be complete, cut, or failed."""
        return bool(self._last or self._error)

    def whole_body(self) -> bytes:
        """Return the response with its items. Raises TornReply where its end is missing."""
        if self._error:
            return b'{"error":' + self._error + b"}"
        if not self._last:
            raise TornReply("the stream ended before the response did")
        try:
            members = _decode_members(self._last)
            whole = _decode_raw_items(members.get("output", Raw(b"[]")))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise TornReply("the last event of the stream is garbled") from None
        if self._items and len(self._items) >= len(whole):
            ordered = sorted(self._items, key=lambda key: key[0])
            items = b",".join(self._items[key] for key in ordered)
            members["output"] = Raw(b"[" + items + b"]")
        return encode_json(members)

    def _add_item(self, kind: str, event: _Event) -> StreamMark:
        item = _decode_item(event.item)
        if kind == "response.output_item.done":
            # another item at the same index is another item: a proxy may send 0 for all
            self._items[event.output_index, item.id or ""] = raw = bytes(event.item)
            self.size_bytes += len(raw)
        elif kind != "response.output_item.added":
            return ""
        if item.type == "function_call" and item.name:
            return "call"
        return "token" if item.type == "message" and kind.endswith("done") else ""


def _is_given(value: Raw) -> bool:
    return bytes(value) not in (b"", b"null")

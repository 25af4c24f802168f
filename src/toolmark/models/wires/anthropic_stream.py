"""The events of a streamed Anthropic message, joined to the body that would have come whole."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from toolmark.core.errors import TornReply
from toolmark.models.wires.reply_parts import MAX_CALLS
from toolmark.models.wires.request_parts import encode_json
from toolmark.models.wires.wire import StreamAssembler, StreamMark

_MAX_BLOCKS = 10 * MAX_CALLS
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""The member of a delta that holds a piece of a text."""


class _Delta(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    signature: Raw = Raw(b"")
    citation: Raw = Raw(b"")


class _Event(Struct):
    type: str = ""
    index: int = 0
    delta: Raw = Raw(b"")
    content_block: Raw = Raw(b"")
    message: Raw = Raw(b"")
    usage: Raw = Raw(b"")
    error: Raw = Raw(b"")
    input_transformations: Raw = Raw(b"")


class _Start(Struct):
    type: str = ""
    name: str = ""


_NONE = Raw(b"")
_decode_event = msgspec.json.Decoder(_Event).decode
_decode_delta = msgspec.json.Decoder(_Delta).decode
_decode_start = msgspec.json.Decoder(_Start).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


class _Block:
    """One block so far: how it began, and the pieces of its text."""

    def __init__(self, kind: str, start: bytes) -> None:
        self.kind = kind
        self.start = start
        self.texts: dict[str, list[str]] = {}
        self.signature = Raw(b"")
        self.citations: list[Raw] = []

    def finish(self) -> bytes:
        """Return the block as it would have come whole."""
        if not self.texts and not self.citations and not self.signature:
            return self.start
        members = _decode_members(self.start)
        for name, pieces in self.texts.items():
            text = "".join(pieces)
            if name == "partial_json":
                members["input"] = _as_input(text)
            else:
                before = members.get(name)
                first = _decode_text(before) if before and bytes(before) != b"null" else ""
                members[name] = Raw(encode_json(first + text))
        if self.signature:
            members["signature"] = self.signature
        if self.citations:
            before = members.get("citations")
            found = _decode_list(before) if before and bytes(before) != b"null" else []
            members["citations"] = Raw(encode_json([*found, *self.citations]))
        return encode_json(members)


class MessagesAssembler(StreamAssembler):
    """Joins the blocks by their index; see `StreamAssembler`.

    A stream that does not say why the message stopped is torn. A piece of a block that never began
    is the model's fault: the content of such a body has the wrong shape.
    """

    def __init__(self) -> None:
        self.size_bytes: int = 0
        self._message: dict[str, Raw] | None = None
        self._usage: dict[str, Raw] = {}
        self._blocks: dict[int, _Block] = {}
        self._unjoinable: list[Raw] = []
        self._error = b""
        self._has_ended = self._is_stopped = False

    @property
    def has_ended(self) -> bool:
        """Whether the message was said to be complete, or an error came."""
        return self._has_ended

    @property
    def is_finished(self) -> bool:
        """Whether the message said why it stopped."""
        return self._is_stopped or self._has_ended

    def add_event(self, name: str, data: bytes) -> StreamMark:
        """Take one event; its type is in its data, or else its name."""
        if self._has_ended:
            return ""
        try:
            event = _decode_event(data)
            match event.type or name:
                case "content_block_delta":
                    return self._add_delta(event, data)
                case "content_block_start":
                    return self._begin_block(event)
                case "message_start":
                    self._begin_message(event)
                case "message_delta":
                    self._change_message(event)
                case "message_stop":
                    self._has_ended = True
                case "error":
                    self._error = b"" if self._is_stopped else data
                    self._has_ended = True
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise TornReply("an event of the stream is garbled") from None
        return ""

    def whole_body(self) -> bytes:
        """Return the message with its blocks. Raises TornReply where its end is missing."""
        if self._error:
            return self._error
        if not self.is_finished or self._message is None:
            raise TornReply("the stream ended before the message did")
        members = dict(self._message)
        if self._usage:
            members["usage"] = Raw(encode_json(self._usage))
        try:
            blocks = [Raw(self._blocks[index].finish()) for index in sorted(self._blocks)]
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise TornReply("a block of the stream is garbled") from None
        content = {"not joinable": self._unjoinable, "joined": blocks}
        members["content"] = Raw(encode_json(content if self._unjoinable else blocks))
        return encode_json(members)

    def _begin_message(self, event: _Event) -> None:
        if self._message is not None:
            return
        self._message = _own_members(event.message)
        usage = self._message.get("usage")
        if usage is not None and bytes(usage) != b"null":
            self._usage = _own_members(usage)
        self.size_bytes += len(bytes(event.message))

    def _change_message(self, event: _Event) -> None:
        """Take the end of the message; counts are totals, of which absent ones stay."""
        if self._message is None:
            return
        if _is_given(event.delta):
            self._message |= _given_members(event.delta)
        if _is_given(event.usage):
            self._usage |= _given_members(event.usage)
        if _is_given(event.input_transformations):
            self._message["input_transformations"] = event.input_transformations.copy()
        self._is_stopped = _is_given(self._message.get("stop_reason", _NONE))

    def _begin_block(self, event: _Event) -> StreamMark:
        if len(self._blocks) >= _MAX_BLOCKS:
            raise TornReply(f"the stream has more than {_MAX_BLOCKS} blocks")
        start = bytes(event.content_block)
        found = _decode_start(start)
        self._blocks[event.index] = _Block(found.type, start)
        self.size_bytes += len(start) + 200
        return "call" if found.type == "tool_use" and found.name else ""

    def _add_delta(self, event: _Event, data: bytes) -> StreamMark:
        block = self._blocks.get(event.index)
        delta = _decode_delta(event.delta)
        self.size_bytes += len(bytes(event.delta))
        if block is None:
            self._unjoinable.append(event.delta.copy())
            return "token"
        if delta.type == "signature_delta":
            block.signature = delta.signature.copy()
        elif delta.type == "citations_delta":
            block.citations.append(delta.citation.copy())
        elif delta.type in _PIECES:
            name = _PIECES[delta.type]
            piece = delta.text or delta.thinking or delta.partial_json
            if piece:
                block.texts.setdefault(name, []).append(piece)
                return "token"
        return ""


def _as_input(text: str) -> Raw:
    """Return the input of a call; a text that is no JSON goes on as a text."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return Raw(encode_json(text))
    return Raw(text.encode())


def _own_members(value: Raw) -> dict[str, Raw]:
    """Return the members of an object out of a copy: those of an event refer to all of it."""
    return _decode_members(bytes(value))


def _given_members(value: Raw) -> dict[str, Raw]:
    return {name: each for name, each in _own_members(value).items() if _is_given(each)}


def _is_given(value: Raw) -> bool:
    return bytes(value) not in (b"", b"null")

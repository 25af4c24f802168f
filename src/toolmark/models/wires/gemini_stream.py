"""The events of a streamed Gemini response, joined to the body that would have come whole."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from toolmark.core.errors import TornReply
from toolmark.models.wires.request_parts import encode_json
from toolmark.models.wires.wire import StreamAssembler, StreamMark

_ABSENT = (b"", b"null")
_NONE = Raw(b"")


class _Content(Struct):
    parts: list[Raw] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: Raw = Raw(b"")


class _Event(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: Raw = Raw(b"")
    model_version: Raw = Raw(b"")
    response_id: Raw = Raw(b"")
    prompt_feedback: Raw = Raw(b"")
    error: Raw = Raw(b"")


class _Feedback(Struct, rename="camel"):
    block_reason: str | None = None


class _TextPiece(Struct, forbid_unknown_fields=True):
    """A part that is nothing but text: the next of its kind may go on with it."""

    text: str
    thought: bool = False


class _Call(Struct):
    name: str = ""


class _Part(Struct, rename="camel"):
    text: str = ""
    function_call: _Call | None = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_feedback = msgspec.json.Decoder(_Feedback | None).decode
_decode_piece = msgspec.json.Decoder(_TextPiece).decode
_decode_part = msgspec.json.Decoder(_Part).decode


class GeminiAssembler(StreamAssembler):
    """Takes parts in their order; each other member is that of the last event which has it.

    Each event is a whole response. Texts are joined with the text before them, but no part is
    joined with one that has a signature or anything else.
    """

    size_bytes: int = 0

    def __init__(self) -> None:
        self._members: dict[str, Raw] = {}
        self._error: Raw = _NONE
        self._has_candidate = False
        self._finish: str | None = None
        self._finish_message: Raw = Raw(b"")
        self._parts: list[Raw] = []
        self._texts: list[str] = []
        self._is_thought = False
        self._has_ended = False

    def add_event(self, name: str, data: bytes) -> StreamMark:
        """Take one event."""
        if self._has_ended:
            return ""
        try:
            event = _decode_event(data)
            self._note_members(event)
            if bytes(event.error) not in _ABSENT:
                self._error, self._has_ended = event.error.copy(), True
            elif event.candidates:
                return self._add_candidate(event.candidates[0])
            elif event.prompt_feedback:
                feedback = _decode_feedback(event.prompt_feedback)
                self._has_ended = feedback is not None and bool(feedback.block_reason)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise TornReply("an event of the stream is garbled") from None
        return ""

    @property
    def has_ended(self) -> bool:
        """Whether the response was said to be finished or blocked, or failed."""
        return self._has_ended

    def whole_body(self) -> bytes:
        """Return the response with all parts. Raises TornReply where its end is missing."""
        if bytes(self._error):
            return b'{"error":' + bytes(self._error) + b"}"
        if not self._has_ended:
            raise TornReply("the stream ended before the response did")
        body: dict[str, Any] = {**self._members}
        if self._has_candidate:
            self._end_text()
            candidate: dict[str, Any] = {
                "content": {"parts": self._parts, "role": "model"},
                "finishReason": self._finish,
            }
            if bytes(self._finish_message):
                candidate["finishMessage"] = self._finish_message
            body["candidates"] = [candidate]
        return encode_json(body)

    def _note_members(self, event: _Event) -> None:
        """Note what stands outside the candidates, by the last event that has it.

        Copies are stored, because each value refers to the whole event.
        """
        for name, value in (
            ("usageMetadata", event.usage_metadata),
            ("modelVersion", event.model_version),
            ("responseId", event.response_id),
            ("promptFeedback", event.prompt_feedback),
        ):
            if bytes(value) not in _ABSENT:
                self._members[name] = value.copy()

    def _add_candidate(self, candidate: _Candidate) -> StreamMark:
        self._has_candidate = True
        self._finish, self._finish_message = candidate.finish_reason, candidate.finish_message
        mark: StreamMark = ""
        if candidate.content is not None:
            for part in candidate.content.parts or ():
                mark = self._add_part(part) or mark
        self._has_ended = bool(candidate.finish_reason)
        return mark

    def _add_part(self, raw: Raw) -> StreamMark:
        self.size_bytes += len(bytes(raw))
        try:
            piece = _decode_piece(raw)
        except msgspec.ValidationError:
            self._end_text()
            self._parts.append(raw.copy())
            part = _decode_part(raw)
            if part.function_call is not None:
                return "call" if part.function_call.name else ""
            return "token" if part.text else ""
        if not piece.text and (self._texts or self._parts):
            return ""  # the end of a stream, with no text
        if piece.thought != self._is_thought:
            self._end_text()
            self._is_thought = piece.thought
        self._texts.append(piece.text)
        return "token" if piece.text else ""

    def _end_text(self) -> None:
        """Make one part of the texts that came one after the other."""
        if self._texts:
            part = {"text": "".join(self._texts), **({"thought": True} if self._is_thought else {})}
            self._parts.append(Raw(encode_json(part)))
            self._texts = []

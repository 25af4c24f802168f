"""The chunks of a streamed chat completion, joined to the body of a whole one.

Texts are appended, lists extended, objects merged, whatever the names of the members are: so what a
provider adds to a message comes back as it would have come whole. Tool calls and details of
reasoning are joined by rules of their own.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import Struct

from toolmark.core.errors import TornReply
from toolmark.models.wires import reply_parts
from toolmark.models.wires.chat_arguments import quote_arguments
from toolmark.models.wires.joined_values import (
    JoinedText,
    UnjoinableDelta,
    finish_value,
    merge_member,
)
from toolmark.models.wires.request_parts import encode_json
from toolmark.models.wires.stream_calls import StreamedCalls
from toolmark.models.wires.wire import StreamAssembler, StreamMark

Json = dict[str, Any]

_DONE = b"[DONE]"
_IGNORED_MEMBERS = frozenset({"role", "tool_calls"})
_FACTS = ("id", "model", "system_fingerprint", "provider", "service_tier")
_BODY_MEMBERS = (*_FACTS, "usage")
_CUT_REASONS = frozenset({"length", "max_tokens", "model_length", "content_filter"})
_MAX_UNJOINABLE = 100
_MAX_UNUSUAL = 8  # chunks in a row, after which no further one is expected to be usual
_CALL_BYTES = 200  # about what a piece of a call takes, in addition to its text
_decode = msgspec.json.Decoder().decode


class _Function(Struct, forbid_unknown_fields=True):
    arguments: str


class _Call(Struct, forbid_unknown_fields=True):
    index: int
    function: _Function
    id: None = None
    type: str | None = None


class _Delta(Struct, forbid_unknown_fields=True):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Call] | None = None
    role: str | None = None
    refusal: None = None


class _Choice(Struct, forbid_unknown_fields=True):
    delta: _Delta
    index: int = 0
    finish_reason: None = None
    logprobs: None = None


class _Chunk(Struct):
    """A usual chunk: the next piece of a text, or of the arguments of one call."""

    choices: tuple[_Choice]
    id: str | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    provider: str | None = None
    service_tier: str | None = None
    usage: None = None
    error: None = None


_decode_usual = msgspec.json.Decoder(_Chunk).decode


class ChatAssembler(StreamAssembler):
    """Joins the chunks of the first choice; see `StreamAssembler`.

    A stream without a finish reason is torn. One that has finished, but whose chunks do not fit
    together, becomes a body whose message has the wrong shape: the model's fault.
    """

    def __init__(self) -> None:
        self.size_bytes: int = 0
        self._body: Json = {}
        self._choice: Json = {}
        self._message: Json = {}
        self._calls = StreamedCalls()
        self._unjoinable: list[Any] = []
        self._error: Json | None = None
        self._finish: str | None = None
        self._last_finish_data = b""
        self._choice_index: object = None
        self._has_ended = False
        self._n_unusual = 0  # chunks in a row
        self._last_facts: tuple[str | None, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether [DONE] came."""
        return self._has_ended

    @property
    def is_finished(self) -> bool:
        """Whether a finish reason or [DONE] came."""
        return self._finish is not None or self._has_ended

    def add_event(self, name: str, data: bytes) -> StreamMark:
        """Take one chunk; see `StreamAssembler.add_event`."""
        if data == _DONE or data.strip() == _DONE:
            self._has_ended = True
            return ""
        if data == self._last_finish_data:  # some proxies send the last chunk twice
            return ""
        if self._n_unusual < _MAX_UNUSUAL and name != "error":
            mark = self._add_usual(data)
            if mark is not None:
                self._n_unusual = 0
                return mark
            self._n_unusual += 1
        chunk = _decode_chunk(data)
        error = chunk.get("error")
        if error or name == "error":
            if self._finish is None:
                self._error = {"error": error or chunk}
            return ""
        for member in _BODY_MEMBERS:
            if chunk.get(member) is not None:
                self._body[member] = chunk[member]
        choice = self._own_choice(chunk.get("choices"))
        return "" if choice is None else self._add_choice(choice, data)

    def whole_body(self) -> bytes:
        """Return the whole body; see `StreamAssembler.whole_body`."""
        if self._error is not None:
            return encode_json(self._error)
        if self._finish is None:
            raise TornReply("the stream ended before the reply did")
        message = {name: finish_value(value) for name, value in self._message.items()}
        calls = self._calls.finish()
        if self._unjoinable:
            message["tool_calls"] = {"not joinable": self._unjoinable, "joined": calls}
        elif calls:
            message["tool_calls"] = calls
        choice = {"index": 0, **self._choice, "message": {"role": "assistant", **message}}
        choice["finish_reason"] = self._finish
        return encode_json({**self._body, "choices": [choice]})

    def _add_usual(self, data: bytes) -> StreamMark | None:
        """Take a chunk that continues a text or one call; None, with nothing taken, for others."""
        try:
            chunk = _decode_usual(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        (choice,) = chunk.choices
        if choice.index != self._choice_index:
            return None
        delta = choice.delta
        found: list[tuple[JoinedText, str]] = []
        for name, piece in (
            ("content", delta.content),
            ("reasoning_content", delta.reasoning_content),
            ("reasoning", delta.reasoning),
        ):
            if piece:
                text = self._message.get(name)
                if not isinstance(text, JoinedText):
                    return None
                found.append((text, piece))
        calls = delta.tool_calls
        if calls:
            arguments = calls[0].function.arguments
            if found or len(calls) > 1:
                return None
            if not self._calls.continue_call(calls[0].index, arguments):
                return None
            self.size_bytes += 2 * len(arguments) + _CALL_BYTES
        for text, piece in found:
            text.add(piece)
            self.size_bytes += len(piece) + 8
        self._note_facts(chunk)
        return "token" if found or calls else ""

    def _note_facts(self, chunk: _Chunk) -> None:
        facts = (
            chunk.id, chunk.model, chunk.system_fingerprint, chunk.provider, chunk.service_tier,
        )  # fmt: skip
        if facts != self._last_facts:  # all chunks mostly have the same
            self._last_facts = facts
            named = zip(_FACTS, facts, strict=True)
            self._body |= {name: value for name, value in named if value is not None}

    def _own_choice(self, choices: object) -> Json | None:
        """Return the chunk's part of the first choice; others were not asked for."""
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                index = choice.get("index", 0)
                if self._choice_index is None:
                    self._choice_index = index
                if index == self._choice_index:
                    return choice
        return None

    def _add_choice(self, choice: Json, data: bytes) -> StreamMark:
        finish = choice.get("finish_reason")
        delta = choice.get("delta")
        mark: StreamMark = ""
        if isinstance(delta, dict):
            if not _has_quoted_arguments(delta):
                delta = _requote_delta(data, delta)
            mark = self._add_delta(delta)
        elif delta is None and isinstance(message := choice.get("message"), dict):
            if not self._message and not self._calls.n_calls:  # a whole message in place of chunks
                mark = self._add_delta(message)
        elif delta is not None:
            self._refuse(delta)
        if finish:
            self.size_bytes += len(data) - len(self._last_finish_data)
            self._last_finish_data = data
            if isinstance(finish, str) and (self._finish is None or finish in _CUT_REASONS):
                self._finish = finish
            native = choice.get("native_finish_reason")
            if isinstance(native, str):
                self._choice["native_finish_reason"] = native
        return mark

    def _add_delta(self, delta: Json) -> StreamMark:
        mark: StreamMark = ""
        for name, value in delta.items():
            if value is None or value == "" or value == [] or name in _IGNORED_MEMBERS:
                if value == "" and name not in _IGNORED_MEMBERS and name not in self._message:
                    self._message[name] = JoinedText()
                continue
            mark = "token"
            try:
                self._message[name] = merge_member(self._message.get(name), value, name)
            except UnjoinableDelta:
                self._refuse({name: value})
            else:
                self.size_bytes += _size_of(value)
        calls = delta.get("tool_calls")
        if calls:
            mark = self._add_calls(calls) or mark
        return mark

    def _add_calls(self, calls: object) -> StreamMark:
        n_named = self._calls.n_named
        try:
            self._calls.add(calls)
        except UnjoinableDelta:
            self._refuse({"tool_calls": calls})
            return "token"
        self.size_bytes += _size_of(calls)
        return "call" if self._calls.n_named > n_named else "token"

    def _refuse(self, value: object) -> None:
        if len(self._unjoinable) < _MAX_UNJOINABLE:
            self._unjoinable.append(value)
            self.size_bytes += _size_of(value)


def _decode_chunk(data: bytes) -> Json:
    reply_parts.check_size(data)
    try:
        chunk = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return reply_parts.parse_object(data, quote_arguments)
    if not isinstance(chunk, dict):
        raise TornReply("a chunk of the stream is not a JSON object")
    return chunk


def _has_quoted_arguments(delta: Json) -> bool:
    """Return whether all arguments are text, as documented."""
    calls = delta.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, dict | list):
            return False
    return True


def _requote_delta(data: bytes, delta: Json) -> Json:
    """Return the delta with arguments that were sent as an object as their JSON text."""
    try:
        chunk = reply_parts.parse_object(data, quote_arguments)
        found = next(each["delta"] for each in chunk["choices"] if each["delta"]["tool_calls"])
    except (TornReply, StopIteration, LookupError, TypeError):
        return delta
    return found if isinstance(found, dict) else delta


def _size_of(value: object) -> int:
    """Return about how many bytes a value takes."""
    if isinstance(value, str):
        return len(value) + 8
    try:
        return 2 * len(encode_json(value)) + 200
    except (TypeError, ValueError, RecursionError):
        return len(json.dumps(str(type(value))))

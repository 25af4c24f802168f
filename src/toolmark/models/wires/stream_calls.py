"""Tool calls that come in pieces: which piece belongs to which call."""

from __future__ import annotations

from typing import Any

from toolmark.core.errors import TornReply
from toolmark.models.wires import reply_parts
from toolmark.models.wires.joined_values import (
    JoinedText,
    UnjoinableDelta,
    merge_objects,
)

Json = dict[str, Any]

_MAX_STREAMED_CALLS = 10 * reply_parts.MAX_CALLS


class _StreamedCall:
    """One call so far; `others` are the members that are no text in pieces."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments = JoinedText()
        self.others: Json = {}
        self.function_others: Json = {}

    def to_json(self) -> Json:
        """Return the call as it would have come whole."""
        function: Json = {**self.function_others, "arguments": str(self.arguments) or "{}"}
        if self.name:
            function["name"] = self.name
        call: Json = {"id": self.id, "type": "function", **self.others}
        call["function"] = function
        return call


class StreamedCalls:
    """The calls of one message.

    Pieces belong together by their index, else by their id, else to the last call. A new id with a
    name on a used index begins a new call: some proxies send index 0 for all. A new id without a
    name does not: some servers draw one for each piece.
    """

    def __init__(self) -> None:
        self._calls: list[_StreamedCall] = []
        self._by_index: dict[int, _StreamedCall] = {}
        self._by_id: dict[str, _StreamedCall] = {}
        self.n_named = 0

    @property
    def n_calls(self) -> int:
        """How many calls there are so far."""
        return len(self._calls)

    def add(self, pieces: object) -> None:
        """Take the calls of one chunk. Raises UnjoinableDelta, TornReply for too many calls."""
        if not isinstance(pieces, list):
            raise UnjoinableDelta
        for piece in pieces:
            if not isinstance(piece, dict):
                raise UnjoinableDelta
            self._add_piece(piece)

    def continue_call(self, index: int, arguments: str) -> bool:
        """Append arguments to the call with an index; return False where there is none."""
        call = self._by_index.get(index)
        if call is None:
            return False
        if arguments:
            call.arguments.add(arguments)
        return True

    def finish(self) -> list[Json]:
        """Return the calls by index, where each has one of its own, else as they came."""
        indices = [call.index for call in self._calls if call.index is not None]
        calls = self._calls
        if len(set(indices)) == len(calls):
            calls = sorted(calls, key=lambda call: call.index or 0)
        return [call.to_json() for call in calls]

    def _add_piece(self, piece: Json) -> None:
        function = piece.get("function")
        if function is None:
            function = {}
        index, id = piece.get("index"), piece.get("id")
        if not isinstance(function, dict):
            raise UnjoinableDelta
        name, arguments = function.get("name"), function.get("arguments")
        if not all(text is None or isinstance(text, str) for text in (name, arguments)):
            raise UnjoinableDelta
        if isinstance(index, bool) or not isinstance(index, int):
            index = None
        id = id if isinstance(id, str) else "" if id is None else reply_parts.dump_json(id)
        call = self._find(index, id, name or "")
        if id and not call.id:
            call.id = id
            self._by_id[id] = call
        if name:
            self.n_named += not call.name
            if call.name != name and len(call.name) <= reply_parts.MAX_NAME_CHARS:
                call.name += name
        if arguments:
            call.arguments.add(arguments)
        _keep_others(call.others, piece, ("index", "id", "function", "type"))
        _keep_others(call.function_others, function, ("name", "arguments"))

    def _find(self, index: int | None, id: str, name: str) -> _StreamedCall:
        """Return the call that a piece belongs to, a new one where it begins one."""
        if index is not None:
            call = self._by_index.get(index)
        elif id:
            call = self._by_id.get(id)
            if call is None and not name and self._calls and not self._calls[-1].id:
                call = self._calls[-1]
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or self._begins_new(call, id, name):
            call = self._new_call(index)
        return call

    def _begins_new(self, call: _StreamedCall, id: str, name: str) -> bool:
        if not name or not call.name:
            return False
        if id and call.id:
            return id != call.id
        return bool(call.arguments.pieces)

    def _new_call(self, index: int | None) -> _StreamedCall:
        if len(self._calls) >= _MAX_STREAMED_CALLS:
            raise TornReply(f"the stream has more than {_MAX_STREAMED_CALLS} calls")
        call = _StreamedCall(index)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call


def _keep_others(others: Json, piece: Json, known: tuple[str, ...]) -> None:
    unknown = {name: value for name, value in piece.items() if name not in known}
    if unknown:
        merge_objects(others, unknown)

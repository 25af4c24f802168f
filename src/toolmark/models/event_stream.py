"""The events of a text/event-stream, out of bytes that are cut anywhere.

Bytes stay bytes: a character that is cut between two chunks is whole again in its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"
_FIELD_STARTS = (b":", b"data", b"event", b"id", b"retry")
_MAX_NAME_BYTES = 200
MIN_SNIFFED_BYTES = max(map(len, _FIELD_STARTS))
"""How many bytes, white space at the beginning aside, tell a stream from a plain body."""


class ServerEvent(NamedTuple):
    """One event: its name, "" for none, and its data."""

    name: str
    data: bytes


def looks_like_events(start: bytes) -> bool:
    """Return whether a body that starts so is a stream of events, and not JSON or a page."""
    return start.removeprefix(_BOM).lstrip().startswith(_FIELD_STARTS)


class EventStreamParser:
    """Joins chunks to lines, and lines to events.

    Lines end with LF, CR or CRLF. Comments, ids and waits are skipped. What follows the last empty
    line is no event, as the standard says. The time is proportional to the bytes. `size_bytes` is
    how many bytes of incomplete events are stored.
    """

    def __init__(self) -> None:
        self._is_start = True
        self._ended_by_cr = False
        self._line_parts: list[bytes] = []
        self._name = b""
        self._data: list[bytes] = []
        self.size_bytes = 0

    def add_chunk(self, chunk: bytes) -> Iterable[ServerEvent]:
        """Take the next bytes; return the events that are complete with them."""
        event = self._whole_event(chunk)
        return self._split_chunk(chunk) if event is None else (event,)

    def _whole_event(self, chunk: bytes) -> ServerEvent | None:
        """Return the event of a chunk that is one, as most are; None for any other chunk."""
        is_between = not (self._line_parts or self._data or self._name or self._ended_by_cr)
        if not is_between or not chunk.endswith(b"\n\n") or b"\r" in chunk:
            return None
        lines = chunk[:-2].split(b"\n")
        if len(lines) > 2 or not lines[-1].startswith(b"data: ") or len(lines[-1]) == 6:
            return None
        name = ""
        if len(lines) == 2:
            if not lines[0].startswith(b"event: "):
                return None
            name = lines[0][7 : 7 + _MAX_NAME_BYTES].decode("utf-8", "replace")
        self._is_start = False
        return ServerEvent(name, lines[-1][6:])

    def _split_chunk(self, chunk: bytes) -> Iterator[ServerEvent]:
        if self._ended_by_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
            self._ended_by_cr = False
        if not chunk:
            return
        self._ended_by_cr = chunk.endswith(b"\r")
        for line in chunk.splitlines(keepends=True):
            content = line.rstrip(b"\r\n")
            if len(content) == len(line):
                self._line_parts.append(line)
                self.size_bytes += len(line)
                return
            if self._line_parts:
                self._line_parts.append(content)
                content = b"".join(self._line_parts)
                self._line_parts = []
            if self._is_start:
                self._is_start = False
                content = content.removeprefix(_BOM)
            if content:
                self._add_line(content)
            elif any(self._data):
                yield self._take_event()
            else:
                self._name, self._data = b"", []

    def _add_line(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
            self.size_bytes += len(value)
        elif field == b"event":
            self._name = value.removeprefix(b" ")[:_MAX_NAME_BYTES]

    def _take_event(self) -> ServerEvent:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        event = ServerEvent(self._name.decode("utf-8", "replace"), data)
        self._name, self._data = b"", []
        self.size_bytes = 0
        return event

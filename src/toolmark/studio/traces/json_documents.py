"""JSON values of a file, one after the other: lines, a list, printed objects, one huge object.

At most one value of 16 MiB is in memory. Of an object that is larger, only the elements of its
arrays `spans` and `logRecords` are read, one by one; so is a list at the top.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from toolmark.core import json_codec
from toolmark.core.files import open_regular_file
from toolmark.studio.traces.foreign_json import parse_foreign_json
from toolmark.studio.traces.trace_faults import TraceFaults

MAX_VALUE_BYTES = json_codec.MAX_JSON_CHARS
ELEMENT_ARRAYS = (b"spans", b"logRecords", b"log_records")
_BLOCK_BYTES = 2**18
_MAX_KEY_BYTES = max(map(len, ELEMENT_ARRAYS))
_BRACKET_OR_QUOTE = re.compile(rb'["{}\[\]]')
_QUOTE_OR_BACKSLASH = re.compile(rb'["\\]')
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JsonDocument(NamedTuple):
    """One value of a file and its place there, such as `line 3`."""

    place: str
    value: Any


def read_documents(path: Path, faults: TraceFaults) -> Iterator[JsonDocument]:
    """Yield the JSON values of a file. What is not JSON is noted as malformed and left out.

    Raises DataError for what is not a regular file.
    """
    with open_regular_file(path, _BLOCK_BYTES) as file:
        if file.read(len(_BYTE_ORDER_MARK)) != _BYTE_ORDER_MARK:
            file.seek(0)
        found = _read_lines if _has_a_value_per_line(file) else _read_stream
        yield from found(file, path.name, faults)


def _has_a_value_per_line(file: BinaryIO) -> bool:
    """Return whether lines are values: the first one is, or the second begins like an object."""
    start = file.tell()
    lines: list[bytes] = []
    while len(lines) < 2 and (line := file.readline(MAX_VALUE_BYTES + 1)):
        if len(line) > MAX_VALUE_BYTES:
            lines.append(b"")
            break
        if line.strip():
            lines.append(line.strip())
    file.seek(start)
    if not lines or lines[0] in (b"", b"["):
        return False
    return len(lines) == 1 or lines[1].startswith(b"{") or _is_json(lines[0])


def _is_json(line: bytes) -> bool:
    try:
        json_codec.parse_json(line.decode())
    except ValueError:  # UnicodeDecodeError among them
        return False
    return True


def _read_lines(file: BinaryIO, name: str, faults: TraceFaults) -> Iterator[JsonDocument]:
    number = 0
    while True:
        start = file.tell()
        line = file.readline(MAX_VALUE_BYTES + 1)
        if not line:
            return
        number += 1
        if len(line) > MAX_VALUE_BYTES:
            file.seek(start)
            yield from _read_elements(file, name, faults)
            file.readline()
        elif line.strip():
            yield from _parse_value(line, f"line {number}", name, faults)


def _read_stream(file: BinaryIO, name: str, faults: TraceFaults) -> Iterator[JsonDocument]:
    """Yield the values of a file whose values are longer than a line."""
    while True:
        start = file.tell()
        value = _JsonScanner(file, is_whole_value=True)
        found = next(iter(value), None)
        if found is None:
            if value.fault:
                faults.add_malformed(name, f"byte {value.position}", value.fault)
            return
        file.seek(start)
        if found.data is None or found.data.startswith(b"["):
            yield from _read_elements(file, name, faults)
        else:
            yield from _parse_value(found.data, f"byte {found.offset}", name, faults)
            file.seek(found.offset + len(found.data))


def _read_elements(file: BinaryIO, name: str, faults: TraceFaults) -> Iterator[JsonDocument]:
    """Yield the elements of one large value; the file is then after it."""
    scanner = _JsonScanner(file, is_whole_value=False)
    for offset, data in scanner:
        place = f"byte {offset}"
        if data is None:
            text = f"a record of more than {MAX_VALUE_BYTES >> 20} MiB; shorten or remove it"
            faults.add_malformed(name, place, text)
        else:
            yield from _parse_value(data, place, name, faults)
    file.seek(scanner.position)
    if scanner.fault:
        faults.add_malformed(name, f"byte {scanner.position}", scanner.fault)
    elif not scanner.n_elements:
        text = (
            f"one object of more than {MAX_VALUE_BYTES >> 20} MiB without spans; "
            "write one record per line"
        )
        faults.add_malformed(name, f"byte {scanner.start}", text)


def _parse_value(data: bytes, place: str, name: str, faults: TraceFaults) -> Iterator[JsonDocument]:
    try:
        yield JsonDocument(place, parse_foreign_json(data.decode()))
    except UnicodeDecodeError as error:
        text = f"not UTF-8 ({error.reason} at byte {error.start}); save the file as UTF-8"
        faults.add_malformed(name, place, text)
    except json_codec.InvalidJson as error:
        faults.add_malformed(name, place, f"not JSON: {error}; correct or remove it")


class _Element(NamedTuple):
    """A part of the file; `data` is None if it is larger than a value may be."""

    offset: int
    data: bytes | None


class _JsonScanner:
    """Finds the next value in a file, or its elements, by brackets and quotes alone.

    After the iteration `position` is the end of the value, or where `fault` was found.
    """

    def __init__(self, file: BinaryIO, *, is_whole_value: bool) -> None:
        self.start = self.position = file.tell()
        self.fault = ""
        self.n_elements = 0
        self._is_complete = False
        self._file = file
        self._is_whole_value = is_whole_value
        self._arrays: list[bytes | None] = []  # of open brackets: the array's key, None: an object
        self._in_string = False
        self._string = b""  # the last string, if it is short
        self._element_depth = 0  # brackets that were open where the element began
        self._element_offset: int | None = None
        self._element: bytearray | None = bytearray()

    def __iter__(self) -> Iterator[_Element]:
        """Yield the elements, in order."""
        skipped = 0
        while block := self._file.read(_BLOCK_BYTES):
            block_start = self.position
            at = skipped
            while (at := self._next_mark(block, at)) < len(block):
                at += 1
                yield from self._read_mark(block, at, block_start)
                if self.fault or self._is_complete:
                    self.position = block_start + at
                    return
                if block[at - 1 : at] == b"\\":
                    at += 1
            skipped = at - len(block)
            self.position = block_start + len(block)
            if self._element_offset is not None:
                self._extend_element(block[max(0, self._element_offset - block_start) :])
                if self._is_whole_value and self._element is None:
                    yield _Element(self._element_offset, None)
                    return
        if self._arrays or self._in_string:
            self.fault = "the file ends inside a value: it is cut off; write it again"
        self._note_other_text()

    def _note_other_text(self) -> None:
        if not self.fault and not self._is_complete and self.position > self.start:
            self._file.seek(self.start)
            if self._file.read(_BLOCK_BYTES).strip():
                self.fault = "text that is not JSON; remove it"

    def _next_mark(self, block: bytes, at: int) -> int:
        """Return the place of the next bracket or quote; the block's length, or more, for none."""
        if at >= len(block):
            return at
        pattern = _QUOTE_OR_BACKSLASH if self._in_string else _BRACKET_OR_QUOTE
        found = pattern.search(block, at)
        end = found.start() if found else len(block)
        if self._in_string and len(self._string) <= _MAX_KEY_BYTES:
            self._string += block[at : min(end, at + _MAX_KEY_BYTES + 1)]
        return end

    def _read_mark(self, block: bytes, at: int, block_start: int) -> Iterator[_Element]:
        """Read the mark that ends at `at`."""
        mark = block[at - 1 : at]
        if mark == b'"':
            self._in_string = not self._in_string
            if self._in_string:
                self._string = b""
        elif mark in (b"{", b"["):
            self._open_bracket(mark, block_start + at - 1)
        elif mark in (b"}", b"]"):
            yield from self._close_bracket(block, at, block_start)

    def _open_bracket(self, mark: bytes, offset: int) -> None:
        if len(self._arrays) >= json_codec.MAX_JSON_DEPTH:
            self.fault = f"nested deeper than {json_codec.MAX_JSON_DEPTH}; remove the value"
        if self._element_offset is None and self._is_element(mark):
            self._element_offset = offset
            self._element_depth = len(self._arrays)
            self._element = bytearray()
        in_object = bool(self._arrays) and self._arrays[-1] is None
        self._arrays.append(None if mark == b"{" else self._string if in_object else b"")

    def _is_element(self, mark: bytes) -> bool:
        if self._is_whole_value:
            return not self._arrays
        if mark != b"{" or not self._arrays:
            return False
        return self._arrays[-1] in ELEMENT_ARRAYS or self._arrays == [b""]

    def _close_bracket(self, block: bytes, at: int, block_start: int) -> Iterator[_Element]:
        if not self._arrays:
            self.fault = "a closing bracket without its opening one; remove it"
            return
        self._arrays.pop()
        if self._element_offset is not None and len(self._arrays) == self._element_depth:
            self._extend_element(block[max(0, self._element_offset - block_start) : at])
            data = None if self._element is None else bytes(self._element)
            yield _Element(self._element_offset, data)
            self._element_offset = None
            self.n_elements += 1
        self._is_complete = not self._arrays

    def _extend_element(self, data: bytes) -> None:
        if self._element is not None:
            self._element += data
            if len(self._element) > MAX_VALUE_BYTES:
                self._element = None

"""`tf.train.Example` without TensorFlow: named lists of bytes or of floats.

Only the parts of the protobuf wire format that these messages use are read. Nothing is unpacked
before it is requested, so that memory stays near the size of the record. Counts are bounded, so
that a record of many empty values takes neither memory nor time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from toolmark.core.number_format import format_count

MAX_FEATURES = 4096
MAX_VALUES = 10**5
"""The most list values that are stored one by one; packed numbers are bounded by the data."""

ListKind: TypeAlias = Literal["bytes", "floats", "ints", "none"]
_KINDS: Mapping[int, ListKind] = {1: "bytes", 2: "floats", 3: "ints"}
_LENGTH_DELIMITED, _FIXED32 = 2, 5  # wire types


class BadExample(ValueError):
    """Bytes that are not a `tf.train.Example`, or an Example beyond the limits."""


class Feature(NamedTuple):
    """A named list, not yet unpacked: its place in the record."""

    data: bytes
    kind: ListKind
    start: int
    stop: int

    def floats(self) -> npt.NDArray[np.float32]:
        """Return the numbers, packed or not. Raises BadExample for another kind."""
        chunks = [np.frombuffer(b"", "<f4")]
        for wire, start, stop in self._values("floats"):
            if wire not in (_LENGTH_DELIMITED, _FIXED32) or (stop - start) % 4:
                raise BadExample("floats of a wrong length")
            chunks.append(np.frombuffer(self.data, "<f4", (stop - start) // 4, start))
        return np.concatenate(chunks)

    def chunks(self) -> list[memoryview]:
        """Return the byte strings without a copy. Raises BadExample for another kind."""
        view = memoryview(self.data)
        found = []
        for wire, start, stop in self._values("bytes"):
            if wire != _LENGTH_DELIMITED:
                raise BadExample("bytes of a wrong wire type")
            found.append(view[start:stop])
        return found

    def _values(self, kind: ListKind) -> Iterator[tuple[int, int, int]]:
        if self.kind not in (kind, "none"):
            raise BadExample(f"holds {self.kind}, not {kind}")
        for number, wire, start, stop in _iterate_fields(
            self.data, self.start, self.stop, MAX_VALUES
        ):
            if number == 1:
                yield wire, start, stop


def parse_features(data: bytes) -> dict[str, Feature]:
    """Return the features of a serialised Example by name. Raises BadExample."""
    found: dict[str, Feature] = {}
    for start, stop in _iterate_messages(data, 0, len(data), 1, MAX_FEATURES):
        for entry in _iterate_messages(data, start, stop, 1, MAX_FEATURES):
            name, feature = _parse_entry(data, *entry)
            if name in found:
                raise BadExample(f"two features {name[:80]!r}")
            found[name] = feature
            if len(found) > MAX_FEATURES:
                raise BadExample(f"more than {format_count(MAX_FEATURES)} features")
    return found


def _parse_entry(data: bytes, start: int, stop: int) -> tuple[str, Feature]:
    name, feature = "", Feature(data, "none", 0, 0)
    for number, wire, at, end in _iterate_fields(data, start, stop, MAX_FEATURES):
        if number not in (1, 2) or wire != _LENGTH_DELIMITED:
            raise BadExample("an entry that is not a name and feature")
        if number == 1:
            try:
                name = data[at:end].decode()
            except UnicodeDecodeError:
                raise BadExample("a feature whose name is not UTF-8") from None
        else:
            feature = _parse_feature(data, at, end)
    return name, feature


def _parse_feature(data: bytes, start: int, stop: int) -> Feature:
    lists = [
        (number, wire, at, end)
        for number, wire, at, end in _iterate_fields(data, start, stop, MAX_FEATURES)
        if number in _KINDS
    ]
    if not lists:
        return Feature(data, "none", 0, 0)
    if len(lists) > 1 or lists[0][1] != _LENGTH_DELIMITED:
        raise BadExample("a feature with several lists, or none that can be read")
    number, _, at, end = lists[0]
    return Feature(data, _KINDS[number], at, end)


def _iterate_messages(
    data: bytes, start: int, stop: int, number: int, max_fields: int
) -> Iterator[tuple[int, int]]:
    """Yield the messages in one field of a message."""
    for found, wire, at, end in _iterate_fields(data, start, stop, max_fields):
        if found == number:
            if wire != _LENGTH_DELIMITED:
                raise BadExample("a message of a wrong wire type")
            yield at, end


def _iterate_fields(
    data: bytes, at: int, stop: int, max_fields: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the fields of a message as (number, wire type, first byte, one past the last)."""
    n = 0
    while at < stop:
        key, at = _parse_varint(data, at, stop)
        match wire := key & 7:
            case 0:
                _, end = _parse_varint(data, at, stop)
            case 1:
                end = at + 8
            case 2:
                length, at = _parse_varint(data, at, stop)
                end = at + length
            case 5:
                end = at + 4
            case _:
                raise BadExample(f"wire type {wire}")
        n += 1
        if key < 8 or end > stop:
            raise BadExample("a field that ends beyond its message" if key >= 8 else "field 0")
        if n > max_fields:
            raise BadExample(f"more than {format_count(max_fields)} values in one list")
        yield key >> 3, wire, at, end
        at = end


def _parse_varint(data: bytes, at: int, stop: int) -> tuple[int, int]:
    value = 0
    for k in range(10):  # 64 bits, 7 in each byte
        if at >= stop:
            raise BadExample("a number that ends beyond its message")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << 7 * k
        if byte < 0x80:
            return value, at
    raise BadExample("a number of more than ten bytes")

"""`tf.train.Example` without TensorFlow: named lists of bytes or of floats.

Of the protobuf wire format only what these messages use is read. Nothing is unpacked before it is
asked for, so that memory stays near the size of the record, and counts are bounded, so that a
record made of empty values takes neither memory nor time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

MOST_FEATURES = 4096
MOST_VALUES = 10**5
"""The most values of a list that are written one by one; packed numbers are bounded by the data."""

Kind: TypeAlias = Literal["bytes", "floats", "ints", "none"]
_KINDS: Mapping[int, Kind] = {1: "bytes", 2: "floats", 3: "ints"}
_CHUNK, _FIXED32 = 2, 5  # wire types


class BadExample(ValueError):
    """Bytes that are no `tf.train.Example`, or one beyond the limits."""


class Feature(NamedTuple):
    """A named list, not yet unpacked: where it lies in the record."""

    data: bytes
    kind: Kind
    start: int
    stop: int

    def floats(self) -> npt.NDArray[np.float32]:
        """Return the numbers, packed or not. Raises BadExample for another kind."""
        chunks = [np.frombuffer(b"", "<f4")]
        for wire, start, stop in self._values("floats"):
            if wire not in (_CHUNK, _FIXED32) or (stop - start) % 4:
                raise BadExample("floats of a wrong length")
            chunks.append(np.frombuffer(self.data, "<f4", (stop - start) // 4, start))
        return np.concatenate(chunks)

    def chunks(self) -> list[memoryview]:
        """Return the byte strings, uncopied. Raises BadExample for another kind."""
        view = memoryview(self.data)
        found = []
        for wire, start, stop in self._values("bytes"):
            if wire != _CHUNK:
                raise BadExample("bytes of a wrong wire type")
            found.append(view[start:stop])
        return found

    def _values(self, kind: Kind) -> Iterator[tuple[int, int, int]]:
        if self.kind not in (kind, "none"):
            raise BadExample(f"holds {self.kind}, not {kind}")
        for number, wire, start, stop in _fields(self.data, self.start, self.stop, MOST_VALUES):
            if number == 1:
                yield wire, start, stop


def features(data: bytes) -> dict[str, Feature]:
    """Return the features of a serialised Example by name. Raises BadExample."""
    found: dict[str, Feature] = {}
    for start, stop in _inner(data, 0, len(data), 1, MOST_FEATURES):
        for entry in _inner(data, start, stop, 1, MOST_FEATURES):
            name, feature = _entry(data, *entry)
            if name in found:
                raise BadExample(f"two features {name[:80]!r}")
            found[name] = feature
            if len(found) > MOST_FEATURES:
                raise BadExample(f"more than {MOST_FEATURES:,} features")
    return found


def _entry(data: bytes, start: int, stop: int) -> tuple[str, Feature]:
    name, feature = "", Feature(data, "none", 0, 0)
    for number, wire, at, end in _fields(data, start, stop, MOST_FEATURES):
        if number not in (1, 2) or wire != _CHUNK:
            raise BadExample("an entry that is no name and feature")
        if number == 1:
            try:
                name = data[at:end].decode()
            except UnicodeDecodeError:
                raise BadExample("a feature whose name is not UTF-8") from None
        else:
            feature = _feature(data, at, end)
    return name, feature


def _feature(data: bytes, start: int, stop: int) -> Feature:
    lists = [
        (number, wire, at, end)
        for number, wire, at, end in _fields(data, start, stop, MOST_FEATURES)
        if number in _KINDS
    ]
    if not lists:
        return Feature(data, "none", 0, 0)
    if len(lists) > 1 or lists[0][1] != _CHUNK:
        raise BadExample("a feature with several lists, or none that can be read")
    number, _, at, end = lists[0]
    return Feature(data, _KINDS[number], at, end)


def _inner(data: bytes, start: int, stop: int, number: int, most: int) -> Iterator[tuple[int, int]]:
    """Go through the messages that one field of a message holds."""
    for found, wire, at, end in _fields(data, start, stop, most):
        if found == number:
            if wire != _CHUNK:
                raise BadExample("a message of a wrong wire type")
            yield at, end


def _fields(data: bytes, at: int, stop: int, most: int) -> Iterator[tuple[int, int, int, int]]:
    """Go through the fields of a message as (number, wire type, first byte, one past the last)."""
    n = 0
    while at < stop:
        key, at = _varint(data, at, stop)
        match wire := key & 7:
            case 0:
                _, end = _varint(data, at, stop)
            case 1:
                end = at + 8
            case 2:
                length, at = _varint(data, at, stop)
                end = at + length
            case 5:
                end = at + 4
            case _:
                raise BadExample(f"wire type {wire}")
        n += 1
        if key < 8 or end > stop:
            raise BadExample("a field that ends beyond its message" if key >= 8 else "field 0")
        if n > most:
            raise BadExample(f"more than {most:,} values in one list")
        yield key >> 3, wire, at, end
        at = end


def _varint(data: bytes, at: int, stop: int) -> tuple[int, int]:
    value = 0
    for k in range(10):  # of 64 bits, 7 a byte
        if at >= stop:
            raise BadExample("a number that ends beyond its message")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << 7 * k
        if byte < 0x80:
            return value, at
    raise BadExample("a number of more than ten bytes")

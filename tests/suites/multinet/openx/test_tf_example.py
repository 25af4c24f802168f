"""`tf.train.Example`: what was written is read, and nothing else than BadExample can happen."""

from __future__ import annotations

import struct
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.suites.multinet.openx.openx_files import chunk, example, varint

from toolmark.suites.multinet.openx import tf_example
from toolmark.suites.multinet.openx.tf_example import BadExample

floats = st.lists(st.floats(width=32, allow_nan=False), max_size=8)
texts = st.lists(st.binary(max_size=20), min_size=1, max_size=5)


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=12), floats | texts, max_size=5))
def test_what_was_written_is_read(written: dict[str, list[float] | list[bytes]]) -> None:
    found = tf_example.parse_features(example(written))
    assert found.keys() == written.keys()
    for name, values in written.items():
        if values and isinstance(values[0], bytes):
            assert [bytes(each) for each in found[name].chunks()] == values
        else:
            assert found[name].floats().tolist() == values


def test_floats_are_read_packed_one_by_one_and_mixed() -> None:
    one = b"".join(varint(1 << 3 | 5) + struct.pack("<f", x) for x in (1.5, 2.5))
    mixed = one + chunk(1, struct.pack("<2f", 3.5, 4.5)) + one
    entry = chunk(1, b"x") + chunk(2, chunk(2, mixed))
    found = tf_example.parse_features(chunk(1, chunk(1, entry)))["x"].floats()
    assert found.tolist() == [1.5, 2.5, 3.5, 4.5, 1.5, 2.5]
    assert found.dtype == np.float32


def test_fields_of_later_versions_are_passed_over() -> None:
    later = varint(9 << 3) + varint(7) + varint(10 << 3 | 1) + bytes(8) + chunk(11, b"new")
    assert list(tf_example.parse_features(later + example({"x": [1.0]}) + later)) == ["x"]


def test_other_kinds_are_distinguished_and_an_empty_feature_is_an_empty_list() -> None:
    found = tf_example.parse_features(example({"bytes": [b"a"], "ints": [1], "none": []}))
    for name, call in (("bytes", "floats"), ("ints", "floats"), ("ints", "chunks")):
        with pytest.raises(BadExample, match=f"holds {name}"):
            getattr(found[name], call)()
    assert not found["none"].floats().size
    empty = tf_example.parse_features(chunk(1, chunk(1, chunk(1, b"x"))))["x"]
    assert not empty.floats().size
    assert empty.chunks() == []


@settings(max_examples=150)
@given(st.data())
def test_no_bytes_do_more_than_be_refused(data: st.DataObject) -> None:
    whole = bytearray(example({"steps/action": [1.0, 2.0], "steps/image": [b"abc", b""]}))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at:at] = data.draw(st.binary(max_size=3))
        whole[at] = data.draw(st.integers(0, 255))
    _all(bytes(whole[: data.draw(st.integers(0, len(whole)))]))


@settings(max_examples=150)
@given(st.binary(max_size=60))
def test_noise_does_no_more_than_be_refused(data: bytes) -> None:
    _all(data)


def _all(data: bytes) -> None:
    try:
        for feature in tf_example.parse_features(data).values():
            for values in (feature.floats, feature.chunks):
                with suppress(BadExample):
                    values()
    except BadExample:
        pass


def test_a_bomb_of_empty_values_takes_no_memory() -> None:
    n = 2 * tf_example.MAX_VALUES
    empty = b"\n\x00"  # an empty value, an empty entry, an empty message: all are two bytes
    value = chunk(1, chunk(1, chunk(1, b"x") + chunk(2, chunk(1, empty * n))))
    bombs = (empty * n, chunk(1, empty * n))
    tracemalloc.start()
    try:
        for bomb in bombs:
            with pytest.raises(BadExample, match=r"two features|more than"):
                tf_example.parse_features(bomb)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()
    with pytest.raises(BadExample, match="more than 100\u202f000 values"):
        tf_example.parse_features(value)["x"].chunks()


def test_names_beyond_the_limit_are_refused() -> None:
    many = (chunk(1, chunk(1, f"{k}".encode())) for k in range(tf_example.MAX_FEATURES + 1))
    with pytest.raises(BadExample, match="more than"):
        tf_example.parse_features(chunk(1, b"".join(many)))
    with pytest.raises(BadExample, match="two features"):
        tf_example.parse_features(example({"x": [1.0]}) + example({"x": [2.0]}))
    with pytest.raises(BadExample, match="not UTF-8"):
        tf_example.parse_features(chunk(1, chunk(1, chunk(1, b"\xff"))))

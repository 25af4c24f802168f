"""The store keeps bytes under their hash, and nothing leads out of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.errors import DataError
from toolmark.media import Media
from toolmark.types import Image, Part, Text


@given(data=st.binary())
def test_what_is_kept_is_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    store = Media(tmp_path_factory.mktemp("media"))
    part = store.image(data, "image/png")
    assert store.read(part) == data
    assert part.size_bytes == len(data)


def test_equal_bytes_are_kept_once(tmp_path: Path) -> None:
    store = Media(tmp_path)
    assert store.audio(b"x", "audio/wav").sha256 == store.image(b"x", "image/png").sha256
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_copies_are_whole_and_what_is_missing_is_named(tmp_path: Path) -> None:
    one, other = Media(tmp_path / "one"), Media(tmp_path / "other")
    parts: list[Part] = [one.image(b"x", "image/png"), Text("y"), one.audio(b"z", "audio/wav")]
    other.take(one, parts)
    other.take(Media(tmp_path / "none"), parts)  # what is there need not be read again
    assert [other.read(part) for part in parts if not isinstance(part, Text)] == [b"x", b"z"]
    with pytest.raises(DataError, match="cannot read media"):
        Media(tmp_path / "third").take(Media(tmp_path / "none"), parts)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "", "A" * 64, "0" * 63])
def test_a_reference_cannot_lead_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="not a SHA-256"):
        Media(tmp_path).read(Image(sha256=name, mime="image/png", size_bytes=1))


def test_changed_and_missing_bytes_are_noticed(tmp_path: Path) -> None:
    store = Media(tmp_path)
    part = store.image(b"right", "image/png")
    path = next(path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(b"wrong")
    with pytest.raises(DataError, match="does not match its name"):
        store.read(part)
    path.unlink()
    with pytest.raises(DataError, match="cannot read media"):
        store.read(part)

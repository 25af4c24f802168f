"""The store keeps bytes under their hash, and nothing leads out of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.records import Image, Part, Text


@given(data=st.binary())
def test_what_is_stored_is_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    store = MediaStore(tmp_path_factory.mktemp("media"))
    part = store.add_image(data, "image/png")
    assert store.read(part) == data
    assert part.size_bytes == len(data)


def test_equal_bytes_are_stored_once(tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    assert store.add_audio(b"x", "audio/wav").sha256 == store.add_image(b"x", "image/png").sha256
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_copies_are_whole_and_what_is_missing_is_named(tmp_path: Path) -> None:
    one, other = MediaStore(tmp_path / "one"), MediaStore(tmp_path / "other")
    parts: list[Part] = [
        one.add_image(b"x", "image/png"),
        Text("y"),
        one.add_audio(b"z", "audio/wav"),
    ]
    other.copy_from(one, parts)
    other.copy_from(MediaStore(tmp_path / "none"), parts)  # what is there need not be read again
    assert [other.read(part) for part in parts if not isinstance(part, Text)] == [b"x", b"z"]
    with pytest.raises(DataError, match="cannot read media"):
        MediaStore(tmp_path / "third").copy_from(MediaStore(tmp_path / "none"), parts)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "", "A" * 64, "0" * 63])
def test_a_reference_cannot_lead_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="not a SHA-256"):
        MediaStore(tmp_path).read(Image(sha256=name, mime="image/png", size_bytes=1))


def test_torn_files_are_not_found_and_are_stored_anew(tmp_path: Path) -> None:
    store, other = MediaStore(tmp_path / "one"), MediaStore(tmp_path / "other")
    part = store.add_audio(b"whole", "audio/wav")
    other.copy_from(store, [part])
    for torn in (b"", b"who", b"whole and more"):
        for folder in ("one", "other"):
            next(path for path in (tmp_path / folder).rglob("*") if path.is_file()).write_bytes(
                torn
            )
        assert not store.has_file(part)
        assert store.add_audio(b"whole", "audio/wav") == part and store.read(part) == b"whole"
        other.copy_from(store, [part])
        assert other.read(part) == b"whole"


def test_threads_may_keep_the_same_bytes_at_once(tmp_path: Path) -> None:
    data = b"x" * 2_000_000
    for n in range(20):
        store = MediaStore(tmp_path / str(n))
        gate = Barrier(4)

        def keep(store: MediaStore = store, gate: Barrier = gate) -> Image:
            gate.wait()
            return store.add_image(data, "image/png")

        with ThreadPoolExecutor(4) as pool:
            parts = [each.result() for each in [pool.submit(keep) for _ in range(4)]]
        assert {store.read(part) for part in parts} == {data}
        assert len([path for path in store.folder.rglob("*") if path.is_file()]) == 1


def test_changed_and_missing_bytes_are_noticed(tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    part = store.add_image(b"right", "image/png")
    path = next(path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(b"wrong")
    with pytest.raises(DataError, match=path.name):
        store.read(part)
    path.unlink()
    with pytest.raises(DataError, match="cannot read media"):
        store.read(part)

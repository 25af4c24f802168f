"""A folder that somebody else filled: only its own files, and of each no more than is wanted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolmark.core import files
from toolmark.core.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of two files, and of what is none of its own."""
    made = tmp_path / "made"
    (made / "sub" / "host.txt").mkdir(parents=True)
    (made / "a.TXT").write_text("a")
    (made / "sub" / "host.txt" / "b.txt").write_text("b")
    (made / "other.bin").write_text("other")
    (tmp_path / "secret.txt").write_text("secret")
    (made / "out.txt").symlink_to(tmp_path / "secret.txt")
    (made / "gone.txt").symlink_to(made / "nowhere")
    (made / "loop.txt").symlink_to("loop.txt")
    (made / "zero.txt").symlink_to("/dev/zero")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "c.txt").write_text("c")
    (made / "folder").symlink_to(tmp_path / "linked")
    os.mkfifo(made / "pipe.txt")
    return made


def test_only_regular_files_that_lie_inside_are_found(folder: Path) -> None:
    assert files.list_files(folder, (".txt",)) == [folder / "a.TXT", folder / "sub/host.txt/b.txt"]


@pytest.mark.parametrize(
    ("name", "is_inside"),
    [("a.TXT", True), ("not/there", True), ("pipe.txt", True), ("out.txt", False),
     ("folder/c.txt", False), ("../secret.txt", False), ("loop.txt", False), ("x\0", False)],
)  # fmt: skip
def test_what_leads_out_is_reported(folder: Path, name: str, is_inside: bool) -> None:
    assert files.is_inside(folder, folder / name) == is_inside


def test_no_more_is_read_than_is_wanted(folder: Path) -> None:
    assert files.read_head(folder / "other.bin", 3) == b"oth"
    for name in ("pipe.txt", "zero.txt", "sub", "gone.txt", "loop.txt"):
        with pytest.raises(DataError, match=name):
            files.read_head(folder / name, 3)


def test_a_digest_hangs_on_names_and_contents_and_on_nothing_else(folder: Path) -> None:
    def digest(most: int = 9) -> str:
        return files.folder_sha256(folder, (".txt",), most)

    first = digest()
    (folder / "other.bin").write_text("changed")
    (folder.parent / "secret.txt").write_text("changed")
    assert digest() == first
    path = folder / "a.TXT"
    path.write_text("aaa")
    second = digest()
    assert second not in (first, digest(2))
    path.write_text("a")
    assert digest() == first
    path.rename(folder / "c.txt")
    assert digest() not in (first, second)

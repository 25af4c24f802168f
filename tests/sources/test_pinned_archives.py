"""Fetching a pinned file: checked, atomic, offline once there, and never outside the cache."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from toolmark.core import files
from toolmark.core.errors import DataError
from toolmark.sources import pinned_archives

FILE = "tiny_data-1.0-py3-none-any.whl"


def wheel(folder: Path, members: dict[str, str]) -> bytes:
    folder.mkdir(parents=True, exist_ok=True)
    info = "tiny_data-1.0.dist-info"
    standard = {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny-data\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / FILE, "w") as bundle:
        for name, text in {**members, **standard}.items():
            bundle.writestr(zipfile.ZipInfo(name), text)
    return (folder / FILE).read_bytes()


def package(data: bytes, file: str = FILE) -> pinned_archives.Package:
    return pinned_archives.Package("tiny-data", "1.0", file, hashlib.sha256(data).hexdigest())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that pip takes for its index."""
    folder = tmp_path / "index"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def saved(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_fetched_package_needs_no_index_again(index: Path, tmp_path: Path) -> None:
    wanted = package(wheel(index, {"tiny/a.txt": "A"}))
    home = tmp_path / "cache"
    found = pinned_archives.fetch_package(wanted, home)
    assert (found / "tiny/a.txt").read_text() == "A"
    (index / FILE).unlink()
    assert pinned_archives.fetch_package(wanted, home) == found


def test_an_interrupted_fetch_goes_on_from_the_archive(index: Path, tmp_path: Path) -> None:
    data = wheel(index, {"tiny/a.txt": "A"})
    (index / FILE).unlink()
    home = tmp_path / "cache"
    (home / "archives").mkdir(parents=True)
    (home / "archives" / FILE).write_bytes(data)
    assert (pinned_archives.fetch_package(package(data), home) / "tiny/a.txt").read_text() == "A"


def test_a_wrong_sum_is_refused_and_nothing_else_is_touched(index: Path, tmp_path: Path) -> None:
    wheel(index, {"tiny/a.txt": "forged"})
    home = tmp_path / "cache"
    (home / "archives").mkdir(parents=True)
    (home / "archives/other.whl").write_text("other")
    with pytest.raises(DataError, match="sha256"):
        pinned_archives.fetch_package(package(b"the real one"), home)
    assert saved(home) == {"archives/other.whl"}
    (home / "archives" / FILE).write_text("torn")
    with pytest.raises(DataError, match="sha256"):
        pinned_archives.fetch_package(package(b"the real one"), home)
    assert saved(home) == {"archives/other.whl", f"archives/{FILE}"}


def test_an_index_without_the_file_says_so(index: Path, tmp_path: Path) -> None:
    index.mkdir()
    with pytest.raises(DataError, match="could not download"):
        pinned_archives.fetch_package(package(b""), tmp_path / "cache")
    assert saved(tmp_path / "cache") == set()


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "a/../../out.txt", "c:out.txt"])
def test_an_archive_cannot_write_outside_the_cache(tmp_path: Path, name: str) -> None:
    home = tmp_path / "cache"
    data = wheel(home / "archives", {name: "out"})
    with pytest.raises(DataError, match="refused"):
        pinned_archives.fetch_package(package(data), home)
    assert saved(tmp_path) == {f"cache/archives/{FILE}"}


def test_a_source_archive_is_unpacked_without_its_links(tmp_path: Path) -> None:
    home = tmp_path / "cache"
    path = home / "archives/tiny-data-1.0.tar.gz"
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as bundle:
        entry = tarfile.TarInfo("tiny-data-1.0/a.txt")
        entry.size = 1
        bundle.addfile(entry, io.BytesIO(b"A"))
        link = tarfile.TarInfo("tiny-data-1.0/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        bundle.addfile(link)
    found = pinned_archives.fetch_package(package(path.read_bytes(), path.name), home)
    assert saved(found) == {"tiny-data-1.0/a.txt"}


SOURCE = "tiny_data-1.0.tar.gz"


def source(index: Path, members: dict[str, str]) -> bytes:
    with tarfile.open(index / SOURCE, "w:gz") as bundle:
        for name, text in members.items():
            entry = tarfile.TarInfo(f"tiny_data-1.0/{name}")
            entry.size = len(text)
            bundle.addfile(entry, io.BytesIO(text.encode()))
    return (index / SOURCE).read_bytes()


@pytest.mark.parametrize("project", ["", '[build-system]\nrequires = ["setuptools"]\n'])
def test_no_set_up_script_of_a_source_archive_runs_and_no_build_tools_are_fetched(
    index: Path, tmp_path: Path, project: str
) -> None:
    index.mkdir()
    mark = tmp_path / "ran"
    reported = {
        "setup.py": f"open({str(mark)!r}, 'w')",
        **({"pyproject.toml": project} if project else {}),
    }
    found = pinned_archives.fetch_package(
        package(source(index, reported), SOURCE), tmp_path / "cache"
    )
    assert saved(found) == {f"tiny_data-1.0/{name}" for name in reported}
    with pytest.raises(DataError, match="HASHES"):
        pinned_archives.fetch_package(package(b"the real one", SOURCE), tmp_path / "other")
    assert not mark.exists() and saved(tmp_path / "other") == set()


IMPORTED = ("pathlib", "json", "setuptools", "setup")


@pytest.mark.parametrize("path", [":", "", ".", "own:", ":.:own"])
def test_nothing_in_a_source_archive_is_imported_whatever_paths_are_set(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """An empty path is the folder that a program works in: for pip the archive's own."""
    index.mkdir()
    mark = tmp_path / "ran"
    reported = {f"{name}.py": f"open({str(mark)!r}, 'w')" for name in IMPORTED}
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.chdir(index.parent)
    pinned_archives.fetch_package(package(source(index, reported), SOURCE), tmp_path / "cache")
    assert not mark.exists()


def test_a_backend_in_the_tree_of_another_file_than_the_pinned_one_does_not_run(
    index: Path, tmp_path: Path
) -> None:
    index.mkdir()
    mark = tmp_path / "ran"
    project = '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
    source(index, {"pyproject.toml": project, "own.py": f"open({str(mark)!r}, 'w')"})
    with pytest.raises(DataError, match="HASHES"):
        pinned_archives.fetch_package(package(b"the real one", SOURCE), tmp_path / "cache")
    assert not mark.exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_has_no_digest_and_is_not_waited_for(tmp_path: Path, make: Any) -> None:
    make(tmp_path / "x")
    with pytest.raises(DataError, match="not a file"):
        files.file_sha256(tmp_path / "x")


def test_fetching_at_once_gives_one_folder(tmp_path: Path) -> None:
    home = tmp_path / "cache"
    data = wheel(home / "archives", {f"tiny/{i}.txt": str(i) for i in range(50)})
    with ThreadPoolExecutor(4) as pool:
        found = set(
            pool.map(lambda _: pinned_archives.fetch_package(package(data), home), range(8))
        )
    assert len(found) == 1
    assert len(saved(found.pop())) == 53
    assert not list(home.rglob(".part-*"))


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLMARK_HOME", "/a/own")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert files.cache_folder() == Path("/a/own")
    monkeypatch.delenv("TOOLMARK_HOME")
    assert files.cache_folder() == Path("/b/toolmark")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/c")
    assert files.cache_folder() == Path("/c/.cache/toolmark")

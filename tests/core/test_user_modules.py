"""`FILE.py:NAME` is found from the working directory, wherever the file is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolmark.core import user_modules
from toolmark.core.errors import UsageError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory `work/here`, with a file in each of some folders around it."""
    here = tmp_path / "work" / "here"
    for n, folder in enumerate((here, here / "a" / "b", tmp_path / "work", tmp_path / "else")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"suites_{n}.py").write_text(f"VALUE = {n}\n")
    monkeypatch.chdir(here)
    before = list(sys.path)
    yield here
    sys.path[:] = before


@pytest.mark.parametrize(
    ("spec", "value", "normal"),
    [
        ("suites_0.py:VALUE", 0, "suites_0.py:VALUE"),
        ("./suites_0.py:VALUE", 0, "suites_0.py:VALUE"),
        ("a/b/suites_1.py:VALUE", 1, "a/b/suites_1.py:VALUE"),
        ("a/../a/b/suites_1.py:VALUE", 1, "a/b/suites_1.py:VALUE"),
        ("../suites_2.py:VALUE", 2, "../suites_2.py:VALUE"),
        ("../../else/suites_3.py:VALUE", 3, "../../else/suites_3.py:VALUE"),
    ],
)
def test_a_file_is_relative_to_the_working_directory(
    spec: str, value: int, normal: str, here: Path
) -> None:
    assert user_modules.import_attribute(spec) == value
    assert user_modules.normalize_spec(spec) == normal
    absolute = f"{(here / spec.partition(':')[0]).resolve()}:VALUE"
    assert user_modules.import_attribute(absolute) == value


def test_a_file_follows_the_working_directory(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "a" / "suites_0.py").write_text("VALUE = 'below'\n")
    assert user_modules.import_attribute("suites_0.py:VALUE") == 0
    monkeypatch.chdir(here / "a")
    assert user_modules.import_attribute("suites_0.py:VALUE") == "below"


def test_a_file_imports_its_neighbours_from_its_own_folder(here: Path) -> None:
    (here / "a" / "b" / "neighbour_of_b.py").write_text("VALUE = 'b'\n")
    (here / "a" / "b" / "main.py").write_text("from neighbour_of_b import VALUE\n")
    assert user_modules.import_attribute("a/b/main.py:VALUE") == "b"
    sys.modules.pop("neighbour_of_b")


@pytest.mark.parametrize(
    ("spec", "nearest"),
    [
        ("suites_1.py:VALUE", "did you mean: a/b/suites_1.py"),
        ("b/suites_1.py:VALUE", "did you mean: a/b/suites_1.py"),
        ("suites_2.py:VALUE", "did you mean: ../suites_2.py"),
        ("a/b/suite_1.py:VALUE", "did you mean: a/b/suites_1.py"),
        ("nowhere/other.py:VALUE", "there is no folder nowhere"),
        ("suites_3.py:VALUE", "did you mean: suites_0.py"),
    ],
)
def test_a_missing_file_is_answered_with_the_nearest(spec: str, nearest: str, here: Path) -> None:
    with pytest.raises(UsageError) as caught:
        user_modules.import_attribute(spec)
    assert str(caught.value).startswith(f"{spec.partition(':')[0]}: no such file")
    assert nearest in str(caught.value)


def test_environments_and_hidden_folders_are_not_searched(here: Path) -> None:
    for name in (".hidden", "environment"):
        (here / name / "deep").mkdir(parents=True)
        (here / name / "deep" / "mine.py").write_text("")
    (here / "environment" / "pyvenv.cfg").write_text("")
    with pytest.raises(UsageError) as caught:
        user_modules.import_attribute("mine.py:VALUE")
    assert "deep" not in str(caught.value)

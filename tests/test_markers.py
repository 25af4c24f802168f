"""What a test needs is what its marker says: a selection by marker leaves nothing out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests import conftest
from tests.conftest import HERE, MARKER_BY_FOLDER

# what only a file with the marker has in its text
SIGNS = {
    "speech": re.compile(r'"flite"|=flite|toolmark\.perturb\.(?:speech|hearing)\b'),
    "servers": re.compile(
        r"mcp_episodes import|McpServersFactory|mcp_(?:sdk|shell)\.py|mcp_fault import [A-Z]*[a-z]"
    ),
}
# who may start the browser; all others use the fixture, which gives the marker
STARTS_BROWSER = {"conftest.py", "servers/chromium.py"}


def place(path: Path) -> str:
    return path.relative_to(HERE).as_posix()


FILES = [path for path in sorted(HERE.rglob("*.py")) if path != Path(__file__)]


@pytest.mark.parametrize("marker", SIGNS)
def test_who_needs_something_has_its_marker(marker: str) -> None:
    folders = tuple(f"{folder}/" for folder, own in MARKER_BY_FOLDER.items() if own == marker)
    tests = {place(path): path.read_text() for path in FILES if path.name.startswith("test_")}
    needing = {name: text for name, text in tests.items() if SIGNS[marker].search(text)}
    assert any(name.startswith(folders) for name in needing), "the signs are still right"
    unmarked = [name for name, text in needing.items() if f"pytest.mark.{marker}" not in text]
    assert [name for name in unmarked if not name.startswith(folders)] == []


def test_the_browser_is_started_by_its_fixture_alone() -> None:
    starting = {place(path) for path in FILES if re.search(r"\blaunched\(", path.read_text())}
    assert starting == STARTS_BROWSER


def test_folders_and_fixtures_give_markers() -> None:
    class Item:
        def __init__(self, name: str, *fixturenames: str) -> None:
            self.path, self.fixturenames = HERE / name, fixturenames
            self.found: list[str] = []

        def add_marker(self, name: str) -> None:
            self.found.append(name)

    items: list[Any] = [
        Item("parity/test_bfcl.py", "official"), Item("studio/test_x.py", "browser"),
        Item("perturb/speech/test_x.py"), Item("perturb/text/test_x.py"),
    ]  # fmt: skip
    conftest.pytest_collection_modifyitems(items)
    assert [item.found for item in items] == [["parity"], ["browser"], ["speech"], []]


def test_folders_that_give_markers_exist() -> None:
    for folder in MARKER_BY_FOLDER:
        assert list((HERE / folder).glob("test_*.py")), folder

"""Suites of the user's own on the command line: whose scorer judges what, and its faults."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.mind import Command

ROOT = Path(__file__).parents[2]
OTHER = (
    "from dataclasses import replace\nimport shop\n"
    "SCORER = replace(shop.SCORER, readings=('official',))\n"
    "def load(*, n: int = 3):\n    return replace(shop.load(n=n), name='other', scorer=SCORER)\n"
)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the example of docs/new-suite.md in it, in which the commands are given."""
    page = (ROOT / "docs" / "new-suite.md").read_text()
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "shop.py").write_text(next(each for each in code if "def load" in each))
    (tmp_path / "other.py").write_text(OTHER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("shop", "other"):
        sys.modules.pop(name, None)


def folder(runs: Path, stem: str) -> str:
    [found] = [path for path in runs.iterdir() if path.name.startswith(stem)]
    return str(found)


def test_a_scorer_judges_its_own_suite_only(shop: Path, toolmark: Command) -> None:
    knobs = ("-T", "core=3", "-T", "depth=2", "-T", "connected=2", "-T", "graphs=2", "--seed", "7")
    assert toolmark("run", "funcbench", "-m", "test/oracle", *knobs).code == 0
    assert toolmark("run", "shop:load", "-m", "test/oracle", "-T", "n=3").code == 0
    built, own = folder(shop / "runs", "funcbench"), folder(shop / "runs", "shop")
    before = (Path(built) / "scores.jsonl").read_bytes()

    for wrong in ("shop:load", "other:load"):  # the second has readings of the same name
        found = toolmark("score", built, "--suite", wrong)
        assert found.code == 2, found.err
        assert (Path(built) / "scores.jsonl").read_bytes() == before
    assert "leave it out" in toolmark("score", built, "--suite", "shop:load").err
    found = toolmark("report", own, "--suite", "other:load")
    assert (found.code, "scored in exact" in found.err) == (2, True)

    page = shop / "page.html"
    found = toolmark("report", built, own, "--suite", "shop:load", "-o", str(page))
    assert found.code == 0, found.err
    assert "2 runs on funcbench, shop" in page.read_text()


def test_a_scorers_fault_is_told_with_what_to_do_and_is_on_the_page(
    shop: Path, toolmark: Command
) -> None:
    text = (shop / "shop.py").read_text()
    start = "def score(task, trajectory):\n"
    assert start in text
    broken = text.replace(start, f"{start}    if task.id == 'shop-1': 1 / 0\n")
    (shop / "shop.py").write_text(broken)
    found = toolmark("run", "shop:load", "-m", "test/oracle", "-T", "n=3")
    run = folder(shop / "runs", "shop")
    assert found.code == 1
    assert "not scored, 1 episode: ZeroDivisionError" in found.out
    assert f"toolmark score runs/{Path(run).name} --suite module:load" in found.out
    assert "give the same command again" not in found.out

    page = shop / "page.html"
    found = toolmark("report", run, "--suite", "shop:load", "-o", str(page))
    assert found.code == 0, found.err
    assert "score: ZeroDivisionError" in page.read_text()

    (shop / "shop.py").write_text(text)
    sys.modules.pop("shop", None)
    found = toolmark("score", run, "--suite", "shop:load")
    assert "n=3, not run 0" in found.out

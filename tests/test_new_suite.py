"""The worked example of docs/new-suite.md runs as it stands, and is short."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import toolmark as tm
from toolmark.errors import UsageError
from toolmark.types import Call, Reply, Request

PAGE = Path(__file__).parents[1] / "docs" / "new-suite.md"


def _code(holds: str = "def load") -> str:
    found: list[str] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return next(code for code in found if holds in code)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tm.Suite:
    (tmp_path / "shop.py").write_text(_code())
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    return tm.load("shop:load", n=6, seed=3)


class Clerk:
    """Asks both prices, then adds them up; or guesses."""

    name = "clerk"

    def __init__(self, answer: Callable[[int], int]) -> None:
        self.answer = answer

    async def __call__(self, request: Request) -> Reply:
        results = [int(m.text) for m in request.messages if m.role == "tool"]
        if results:
            return Reply(text=f"{self.answer(sum(results))}")
        words = re.findall(r"\w+", request.messages[-1].text)
        calls = [
            Call(name="price", arguments=json.dumps({"item": words[i]})) for i in (3 - 1, 5 - 1)
        ]
        return Reply(calls=tuple(calls))


def test_the_example_is_under_100_lines() -> None:
    assert len(_code().splitlines()) < 100


def test_the_example_scores_right_and_wrong(shop: tm.Suite, tmp_path: Path) -> None:
    right = tm.run(shop, model=Clerk(lambda total: total), log_dir=tmp_path / "runs")
    wrong = tm.run(shop, model=Clerk(lambda total: -1), log_dir=tmp_path / "runs")
    assert right.summary()["score"]["value"] == 1.0
    assert wrong.summary()["score"]["value"] == 0.0
    assert [score.task for score in right.scores()] != []


def test_the_example_is_listed_and_reported(shop: tm.Suite, tmp_path: Path) -> None:
    run = tm.run(shop, model=Clerk(lambda total: total), log_dir=tmp_path / "runs")
    with pytest.raises(UsageError, match="shop"):
        tm.write_report(run)
    page = tm.write_report(run, scorer=sys.modules["shop"].SCORER)
    assert "shop" in page.read_text()


def test_runs_beside_each_other_are_ranked_as_the_page_shows(
    shop: tm.Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ranking.py").write_text(_code("def across"))
    monkeypatch.delitem(sys.modules, "ranking", raising=False)
    scorer = replace(shop.scorer, across=importlib.import_module("ranking").across)
    runs = [tm.run(shop, f"test/{name}", log_dir=tmp_path) for name in ("null", "oracle")]
    page = tm.write_report(*runs, path=tmp_path / "r.html", scorer=scorer).read_text()
    shown = page[page.index("<h3>Ranking</h3>") :]
    assert shown.index("test/<wbr>oracle") < shown.index("test/<wbr>null")
    assert re.findall(r"<bdi>([\d.]+)\u00a0%</bdi>", shown)[:2] == ["100.0", "0.0"]

"""The worked example of docs/how-to/suite-from-parts.md runs as it stands, and is short."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from tests.reports.page_reader import read_page

import toolmark as tm
from toolmark.core import user_modules
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Score, Verdict
from toolmark.statistics import metric_formulas
from toolmark.statistics.score_columns import gather_columns

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "how-to/suite-from-parts.md"
PARTS_PAGE = DOCS / "reference/suite-parts.md"


def _code(holds: str = "def load") -> str:
    found: list[str] = re.findall(
        r"```python\n(.*?)```", PAGE.read_text() + PARTS_PAGE.read_text(), re.DOTALL
    )
    return next(code for code in found if holds in code)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tm.Suite:
    (tmp_path / "shop.py").write_text(_code())
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    return tm.load("shop:load", n=6, seed=3)


class Clerk(Model):
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


def test_the_example_is_reported_without_its_code(shop: tm.Suite, tmp_path: Path) -> None:
    runs = [tm.run(shop, f"control/{name}", log_dir=tmp_path) for name in ("null", "oracle")]
    result = read_page(tm.write_report(*runs, path=tmp_path / "r.html")).section("result")
    assert any(row[0] == "accuracy" for table in result.find("table") for row in table.rows)
    assert tm.compare(*runs).paired.value_b == 1.0


def test_the_page_names_all_formulas_and_its_metrics_measure(tmp_path: Path) -> None:
    named = {*re.findall(r"(?m)^\| `(\w+)\(", PARTS_PAGE.read_text())}
    known = {each.__name__ for each in get_args(metric_formulas.Formula)}
    assert known - named == {"PassRate"}, "that one is added by toolmark itself"
    assert named <= known
    (tmp_path / "metrics.py").write_text(_code("METRICS"))
    scores = [
        Score(task=f"t{n}", item=f"t{n}", category=category, verdicts={"r": verdict})
        for n, category in enumerate(("easy", "hard", "hard"))
        for verdict in [Verdict(outcome="correct", value=1.0, parts={"seconds": 2.0 + n})]
    ]
    found = user_modules.import_attribute(f"{tmp_path / 'metrics.py'}:METRICS")
    measured = [metric.measure(gather_columns(scores, "r")) for metric in found]
    assert [(each.name, each.n, each.value) for each in measured] == [
        ("accuracy", 3, 1.0), ("hard", 2, 1.0), ("seconds", 3, 3.0),
    ]  # fmt: skip

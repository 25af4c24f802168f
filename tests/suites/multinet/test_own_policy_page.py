"""The example of docs/suites/multinet.md, a policy of one's own, works as it stands there."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import toolmark as tm

PAGE = Path(__file__).parents[3] / "docs/suites/multinet.md"


def example() -> str:
    found: list[str] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return next(code for code in found if "class Policy" in code)


def test_the_policy_sees_the_pictures_and_its_vectors_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(example())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    suite = tm.load("multinet-openx", items=5, seed=7)
    run = tm.run(suite, "mine:Policy", log_dir=tmp_path / "runs")
    assert run.summary()["n_not_run"] == 0
    scores = list(run.scores())
    assert [each.verdicts["paper"].parts["valid"] for each in scores] == [1] * 5
    said = [json.loads(each.steps[0].reply.text) for each in run.trajectories()]
    assert len({vector[0] for vector in said}) > 1, "other pictures, other vectors"


def test_the_example_is_short() -> None:
    assert 15 <= len(re.sub(r"\n\s*(?=\n)", "", example()).strip().splitlines()) <= 25

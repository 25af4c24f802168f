"""Every built-in suite runs, small, from task to summary; `make quick` has these."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

import toolmark as tm
from toolmark.suites import suite_registry

SMALL: dict[str, dict[str, Any]] = {
    "bfcl": {"category": "simple_python"},
    "funcbench": {"core": 3, "depth": 2, "graphs": 1, "seed": 1},
    "m3-local": {"family": "clock", "instances": 1, "seed": 1},
    "mfcl-transcripts": {
        "category": "simple_python", "items": 1, "conditions": "clean", "engines": "flite",
        "recognisers": "simulated:a", "seed": 1,
    },
    "mfcl-speech": {
        "category": "simple_python", "items": 1, "conditions": "clean", "engines": "flite",
        "seed": 1,
    },
    "mfcl-vision": {"items": 1, "seed": 1},
    "multinet-bfcl": {"items": 1},
    "multinet-overcooked": {"data": "synthetic", "items": 1, "seed": 1},
    **{f"multinet-{family}": {"data": "synthetic", "items": 20, "seed": 1}
       for family in ("piqa", "sqa3d", "robovqa", "odinw", "openx")},
}  # fmt: skip
ELSEWHERE = {"m3"}  # its files are the user's: tests/suites/m3


def test_every_suite_is_here() -> None:
    assert {*SMALL} | ELSEWHERE == {*suite_registry.SUITES}


def _marked(name: str) -> ParameterSet:
    marks = [pytest.mark.speech] if "engines" in SMALL[name] else []
    return pytest.param(name, marks=[pytest.mark.servers] if name == "m3-local" else marks)


@pytest.mark.parametrize("name", [*map(_marked, SMALL)])
def test_a_suite_runs_from_task_to_summary(name: str, tmp_path: Path) -> None:
    if "engines" in SMALL[name] and not shutil.which("flite"):
        pytest.skip("no flite: apt-get install flite")
    suite = tm.load(name, **SMALL[name])
    right = tm.run(suite, "control/oracle", limit=1, log_dir=tmp_path)
    silent = tm.run(suite, "control/null", limit=1, log_dir=tmp_path)
    for run in (right, silent):
        assert run.summary()["n_run"] >= 1 and run.summary()["n_not_run"] == 0
    assert right.summary()["score"]["value"] == 1.0
    assert silent.summary()["score"]["value"] == 0.0

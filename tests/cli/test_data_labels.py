"""What the tasks are where they are no published data stands on every screen with a number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import toolmark as tm
from toolmark.cli.app import app

LABELS: Mapping[str, tuple[dict[str, Any], str]] = {
    "multinet-piqa": ({"items": 2}, "MultiNet-style, synthetic"),
    "multinet-sqa3d": ({"items": 2}, "MultiNet-style, synthetic"),
    "multinet-robovqa": ({"items": 2}, "MultiNet-style, synthetic"),
    "multinet-odinw": ({"items": 2}, "MultiNet-style, synthetic"),
    "multinet-overcooked": ({"items": 2, "data": "synthetic"}, "MultiNet-style, synthetic"),
    "multinet-openx": ({"items": 5}, "MultiNet-style, synthetic"),
    "mfcl-transcripts": ({"items": 1, "conditions": ("text",)}, "MFCL-style, generated"),
    "mfcl-speech": ({"items": 1, "conditions": ("text",)}, "MFCL-style, generated"),
    "mfcl-vision": ({"items": 1, "variations": ("base",)}, "MFCL-style, generated"),
    "m3-local": ({"instances": 1, "family": ("clock",)}, "M3-style, generated"),
}
LABEL = "MultiNet-style, synthetic"


@pytest.mark.parametrize("name", LABELS)
def test_every_suite_whose_tasks_are_not_published_says_so(name: str) -> None:
    parameters, label = LABELS[name]
    assert tm.load(name, **parameters, seed=1).provenance.data_label == label


def invoke(*arguments: object) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


def test_every_screen_with_a_number_has_the_label(tmp_path: Path) -> None:
    suite = tm.load("multinet-piqa", items=12, seed=3)
    folder = tmp_path / "runs"
    a, b = (
        tm.run(suite, f"baseline/{name}", log_dir=folder).path for name in ("uniform", "majority")
    )
    markdown, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
    asked = ("run", "multinet-piqa", "-T", "items=12", "--seed", 3, "-m", "control/null")
    page, both = tmp_path / "one.html", tmp_path / "two.html"
    tm.write_report(tm.open_run(a), path=page)
    tm.write_report(tm.open_run(a), tm.open_run(b), path=both)
    screens = {
        "run": invoke(*asked, "--log-dir", folder, "--markdown", markdown, "--junit", junit),
        "run --json": invoke(*asked, "--log-dir", folder, "--json"),
        "score": invoke("score", a),
        "score --json": invoke("score", a, "--json"),
        "show": invoke("show", a),
        "show --json": invoke("show", a, "--json"),
        "compare": invoke("compare", a, b),
        "compare --json": invoke("compare", a, b, "--json"),
        "rank": invoke("rank", a, b),
        "rank --json": invoke("rank", a, b, "--json"),
        "logbook": invoke("logbook", folder),
        "logbook --json": invoke("logbook", folder, "--json"),
        "page": page.read_text(),
        "page of two": both.read_text(),
        "markdown": markdown.read_text(),
        "junit": junit.read_text(),
        "summary.json": (a / "summary.json").read_text(),
    }
    assert [name for name, text in screens.items() if LABEL not in text] == []


def test_published_tasks_have_no_label_anywhere(tmp_path: Path) -> None:
    suite = tm.load("funcbench", graphs=2, core=3, depth=2, connected=0, seed=1)
    run = tm.run(suite, "baseline/planner", log_dir=tmp_path)
    assert "data_label" not in run.summary()
    assert "data_label" not in json.loads(invoke("show", run.path, "--json"))
    assert '"data_label"' not in (tmp_path / "logbook.jsonl").read_text()

"""Every suite from end to end by its baselines: asked, answered, scored, reported, told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.cli import app
from toolmark.core import worker_processes
from toolmark.core.errors import UsageError
from toolmark.core.task_data import read_task_data
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite
from toolmark.suites.multinet.answer_parsing import GRADING_RULES
from toolmark.suites.multinet.frame_records import Truth
from toolmark.suites.multinet.multinet_families import BASELINES_BY_FAMILY, FAMILIES, Family

SYNTHETIC = tuple(family for family in FAMILIES if family != "bfcl")
FEW: dict[Family, str] = {"odinw": "12", "bfcl": "6"}
SHAPES = {"openx": {"morphology": "bimanual,wheeled"}}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_processes, "available_cores", lambda: 1)


@cache
def load(family: Family, mode: str = "") -> Suite:
    parameters: dict[str, Any] = {"items": FEW.get(family, "8"), "form": "both"}
    parameters |= {} if family == "bfcl" else {"data": "synthetic", "seed": 7}
    parameters |= {} if family in ("piqa", "bfcl") else {"pictures": False}
    parameters |= {"mode": mode} if mode else {}
    return tm.load(f"multinet-{family}", **parameters, **SHAPES.get(family, {}))


def value(truth: Truth, name: str, parts: dict[str, float]) -> float:
    """Return what a baseline's guess is worth, by the parts of anyone's verdict."""
    if f"guess.{name}.mae" in parts:
        return float(parts[f"guess.{name}.mae"] < parts["base_mae"])
    if isinstance(truth.truth, int):
        return float(parts[f"guess.{name}"] == truth.truth)
    return parts.get(f"guess.{name}", float(truth.baseline_answers[name] == truth.truth))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_baseline_that_plays_is_worth_what_its_guesses_are(
    family: Family, tmp_path: Path
) -> None:
    suite = load(family)
    oracle = tm.run(suite, "control/oracle", log_dir=tmp_path)
    truths = {task.id: read_task_data(task, Truth) for task in oracle.tasks()}
    parts = {each.task: each.verdicts["paper"].parts for each in oracle.scores()}
    assert {each.form for each in truths.values()} == {"text", "tool"}
    for name in BASELINES_BY_FAMILY[family]:
        run = tm.run(suite, f"baseline/{name}", log_dir=tmp_path)
        assert run.summary()["n_not_run"] == 0
        found = {each.task: each.verdicts["paper"] for each in run.scores()}
        assert found.keys() == truths.keys()
        for id, truth in truths.items():
            assert found[id].value == value(truth, name, parts[id]), (name, id)
            assert found[id].parts["valid"] == 1, (name, id)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_oracle_is_always_right_and_silence_never(family: Family, tmp_path: Path) -> None:
    suite = load(family)
    for model, worth in (("control/oracle", 1), ("control/null", 0)):
        run = tm.run(suite, model, log_dir=tmp_path)
        for reading in GRADING_RULES:
            values = {each.verdicts[reading].value for each in run.scores()}
            assert values == {worth}, (model, reading)
        assert run.summary()["n_run"] == len(suite)


@pytest.mark.parametrize("mode", ["action", "probs"])
def test_both_modes_of_overcooked_are_played(mode: str, tmp_path: Path) -> None:
    suite = load("overcooked", mode)
    run = tm.run(suite, "baseline/uniform", log_dir=tmp_path)
    for each in run.scores():
        parts = each.verdicts["paper"].parts
        assert parts["valid"] == 1
        if mode == "probs":
            assert parts["brier"] == pytest.approx(2 * 35 / 36)
            assert parts["brier_sq"] == pytest.approx(35 / 36)


def test_a_baseline_of_another_family_ends_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"multinet-piqa has no baseline 'stay'.*majority"):
        tm.run(load("piqa"), "baseline/stay", log_dir=tmp_path)
    assert not list(tmp_path.iterdir()), "no run is left behind"


# --- what is synthetic says so -----------------------------------------------------------


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Family], Run]]:
    made: dict[Family, Run] = {}

    def run(family: Family) -> Run:
        if family not in made:
            home = tmp_path_factory.mktemp("runs")
            name = BASELINES_BY_FAMILY[family][0]
            made[family] = tm.run(load(family), f"baseline/{name}", log_dir=home)
        return made[family]

    yield run


@pytest.mark.parametrize("family", FAMILIES)
def test_the_header_of_the_report_says_what_is_synthetic(
    family: Family, ran: Callable[[Family], Run]
) -> None:
    page = tm.write_report(ran(family)).read_text(encoding="utf-8")
    header = page.partition("<h1>")[2].partition("<h2")[0]
    assert ("synthetic" in header.lower()) == (family in SYNTHETIC)


def test_reports_of_several_suites_say_which_are_synthetic(
    ran: Callable[[Family], Run], tmp_path: Path
) -> None:
    runs = [ran("bfcl"), ran("piqa")]
    page = tm.write_report(*runs, path=tmp_path / "r.html").read_text(encoding="utf-8")
    header = page.partition("<h1>")[2].partition("<h2")[0].lower()
    assert "synthetic" in header and "multinet-piqa" in header


@pytest.mark.parametrize("family", FAMILIES)
def test_the_terminal_says_what_is_synthetic(
    family: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    data = [] if family == "bfcl" else ["-T", "data=synthetic", "--seed", "7"]
    words = ["run", f"multinet-{family}", "-m", f"baseline/{BASELINES_BY_FAMILY[family][0]}", *data,
             "-T", "items=5", "--log-dir", str(tmp_path)]  # fmt: skip
    words += [] if family in ("piqa", "bfcl") else ["-T", "pictures=no"]
    words += [word for parameter, value in SHAPES.get(family, {}).items()
              for word in ("-T", f"{parameter}={value}")]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["toolmark", *words])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        app.main()
    said = capsys.readouterr()
    assert not ended.value.code, said.err
    assert ("synthetic" in (said.out + said.err).lower()) == (family in SYNTHETIC)

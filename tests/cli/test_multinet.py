"""MultiNet on the command line: what is listed, refused in time, announced once."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from toolmark.cli.app import app
from toolmark.errors import UsageError
from toolmark.suites.multinet import source
from toolmark.suites.multinet.families import BASELINES, FAMILIES, suite


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_suite_lists_its_own_baselines_and_instruments(family: str) -> None:
    lines = said("list", suite(family)).output.splitlines()  # type: ignore[arg-type]
    told = next(line for line in lines if line.startswith("baselines: "))
    names = [f"baseline/{name}" for name in BASELINES[family]]  # type: ignore[index]
    assert told == f"baselines: {', '.join(names)}"
    assert any(line.startswith("test instruments: test/oracle") for line in lines)
    assert "baselines: " not in said("list", "funcbench").output


def test_a_baseline_that_a_suite_has_not_is_refused_before_data_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read(*given: object) -> None:
        raise AssertionError("data are read")

    monkeypatch.setattr(source, "rows", read)
    done = said("run", "multinet-openx", "-m", "baseline/majority")
    assert isinstance(done.exception, UsageError)
    for name in ("no baseline 'majority'", *BASELINES["openx"]):
        assert name in str(done.exception)
    done = said("run", "funcbench", "-m", "baseline/majority")
    assert "plays MultiNet's suites and nothing else" in str(done.exception)


def test_a_stand_in_is_announced_once_and_a_set_not_by_another() -> None:
    knobs = ("-T", "items=3", "--seed", "7")
    done = said("run", "multinet-piqa", "-m", "baseline/majority", *knobs)
    assert done.exit_code == 0 and done.output.count("SYNTHETIC rows") == 1
    assert said("make", "multinet-piqa", *knobs, "-o", "set").exit_code == 0
    again = said("run", "multinet-piqa", "-m", "baseline/majority", "--tasks", "set")
    assert again.exit_code == 0 and "SYNTHETIC rows" not in again.output


def test_a_data_card_counts_many_groups_and_lists_few() -> None:
    done = said("make", "multinet-piqa", "-T", "items=160", "--seed", "7", "-o", "set")
    assert done.exit_code == 0, done.output
    card = Path("set/README.md").read_text()
    (line,) = [line for line in card.splitlines() if line.startswith("| group |")]
    assert line.endswith(" of them | 160 | 160 |")
    assert "| form | text | 160 | 160 |" in card

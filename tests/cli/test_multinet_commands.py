"""MultiNet on the command line: what is listed, refused in time, announced once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from toolmark.cli.app import app
from toolmark.cli.console_output import MAX_TEXT_CHARS
from toolmark.core.errors import UsageError
from toolmark.suites.multinet import row_sources
from toolmark.suites.multinet.multinet_families import BASELINES_BY_FAMILY, FAMILIES, suite_name


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_suite_lists_its_own_baselines_and_controls(family: str) -> None:
    lines = said("list", suite_name(family)).output.splitlines()  # type: ignore[arg-type]
    reported = next(line for line in lines if line.startswith("baselines: "))
    names = [f"baseline/{name}" for name in BASELINES_BY_FAMILY[family]]  # type: ignore[index]
    assert reported == f"baselines: {', '.join(names)}"
    assert any(line.startswith("controls: control/oracle") for line in lines)
    assert "baselines: " not in said("list", "funcbench").output


def test_a_baseline_that_a_suite_has_not_is_refused_before_data_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read(*given: object) -> None:
        raise AssertionError("data are read")

    monkeypatch.setattr(row_sources, "load_rows", read)
    done = said("run", "multinet-openx", "-m", "baseline/majority")
    assert isinstance(done.exception, UsageError)
    for name in ("no baseline 'majority'", *BASELINES_BY_FAMILY["openx"]):
        assert name in str(done.exception)
    done = said("run", "funcbench", "-m", "baseline/majority")
    assert "and no other suite" in str(done.exception)


def test_a_stand_in_is_announced_once_and_a_set_not_by_another() -> None:
    parameters = ("-T", "items=3", "--seed", "7")
    done = said("run", "multinet-piqa", "-m", "baseline/majority", *parameters)
    assert done.exit_code == 0 and done.output.count("SYNTHETIC rows") == 1
    assert said("make", "multinet-piqa", *parameters, "-o", "set").exit_code == 0
    again = said("run", "multinet-piqa", "-m", "baseline/majority", "--tasks", "set")
    assert again.exit_code == 0 and "SYNTHETIC rows" not in again.output


def test_a_data_card_counts_many_groups_and_lists_few() -> None:
    done = said("make", "multinet-piqa", "-T", "items=160", "--seed", "7", "-o", "set")
    assert done.exit_code == 0, done.output
    card = Path("set/README.md").read_text()
    (line,) = [line for line in card.splitlines() if line.startswith("| group |")]
    assert line.endswith(" of them | 160 | 160 |")
    assert "| form | text | 160 | 160 |" in card


def test_a_set_of_stand_ins_says_so_when_it_is_asked_and_scored() -> None:
    parameters = ("-T", "items=3", "--seed", "7")
    assert said("make", "multinet-piqa", *parameters, "-o", "set").exit_code == 0
    done = said("run", "multinet-piqa", "-m", "baseline/majority", "--tasks", "set/tasks.jsonl")
    assert done.exit_code == 0 and "SYNTHETIC: the rows are generated" in done.output
    (run,) = Path("runs").glob("*/")
    assert "SYNTHETIC: the rows are generated" in said("score", str(run)).output


def test_a_preview_shows_the_first_row_in_both_forms_and_that_it_has_a_picture() -> None:
    words = (
        "multinet-odinw",
        "-m",
        "control/null",
        "-T",
        "items=3",
        "--seed",
        "7",
        "-T",
        "form=both",
    )
    shown = said("run", *words, "--dry-run").output
    first = shown.partition("The first one, ")[2].partition(":")[0]
    assert first.endswith("@text") and f"otherwise, {first[:-5]}@tool:" in shown
    assert len(re.findall(r"^user: \[image/png \d+x\d+, ", shown, re.MULTILINE)) == 2
    assert shown.count("Its tools:") == 1 and "at most 6 requests" in shown
    blind = said("run", *words, "-T", "pictures=no", "--dry-run").output
    assert "[image" not in blind


def test_the_request_at_the_end_of_a_long_prompt_is_shown_and_all_of_it_by_all() -> None:
    parameters = ("-T", "data=synthetic", "-T", "items=1", "--seed", "7", "-T", "mode=probs")
    done = said(
        "run", "multinet-overcooked", "-m", "baseline/uniform", *parameters, "-T", "history=40"
    )
    assert done.exit_code == 0, done.output
    (run,) = Path("runs").glob("*/")
    (task,) = (run / "tasks.jsonl").read_text().splitlines()
    found = json.loads(task)
    asked = "".join(part.get("text", "") for part in found["turns"][0]["messages"][-1]["parts"])
    assert len(asked) > MAX_TEXT_CHARS
    shown = said("show", str(run), found["id"]).output
    assert asked[-300:] in shown and asked not in shown
    assert "characters; --all tells them all)" in shown
    assert asked in said("show", str(run), found["id"], "--all").output


@pytest.mark.parametrize("n", ["0", "101"])
def test_an_impossible_number_of_frames_is_named_by_its_parameter(n: str) -> None:
    done = said("run", "multinet-overcooked", "-m", "control/null", "-T", f"frames={n}",
                "-T", "data=synthetic")  # fmt: skip
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == (
        "suite 'multinet-overcooked': parameter frames: "
        f"expected a whole number >= 1 and <= 100, got {n!r}"
    )

"""Gates and files for continuous integration, as commands: exit codes, JSON, what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from defusedxml import ElementTree
from tests.servers.planning_endpoint import Command, Mind, Said

from toolmark import api
from toolmark.cli import exit_codes, run_command

SMALL = ("-T", "graphs=8", "-T", "core=3", "-T", "depth=2", "-T", "connected=1", "--seed", "7")
FUNCBENCH = ("run", "funcbench", *SMALL, "-m")


def reasons(ended: Said) -> list[str]:
    return [line for line in ended.err.splitlines() if line.startswith("toolmark: ")]


def run_dir(toolmark: Command, model: str, *words: str) -> str:
    found: dict[str, Any] = json.loads(toolmark(*FUNCBENCH, model, *words, "--json").out)
    return str(found["run_dir"])


@pytest.mark.parametrize(
    ("flags", "passed"),
    [
        (("--fail-under", "100%"), [True]),
        (("--fail-under-low", "0.6"), [True]),
        (("--fail-under-low", "0.9"), [False]),
        (("--fail-under", "0.9", "--fail-under-low", "90%"), [True, False]),
    ],
)
def test_a_gate_on_the_interval_is_stricter_than_one_on_the_value(
    toolmark: Command, flags: tuple[str, ...], passed: list[bool]
) -> None:
    ended = toolmark(*FUNCBENCH, "baseline/planner", *flags, "--json")
    gates = json.loads(ended.out)["gates"]
    assert [gate["passed"] for gate in gates] == passed
    assert ended.code == (0 if all(passed) else exit_codes.GATE_FAILED)
    assert len(reasons(ended)) == (not all(passed))
    for gate in gates:
        assert gate["passed"] != (gate.get("reason", "") != "")


def test_a_stored_run_is_scored_against_a_gate(toolmark: Command) -> None:
    path = run_dir(toolmark, "control/null")
    failed = toolmark("score", path, "--fail-under", "10%", "--json")
    assert failed.code == exit_codes.GATE_FAILED and len(reasons(failed)) == 1
    assert not json.loads(failed.out)["gates"][0]["passed"]
    assert toolmark("score", path, "--fail-under", "0").code == 0
    assert "gates" not in json.loads(toolmark("score", path, "--json").out)


def test_wrong_usage_wins_over_a_gate_and_asks_nothing(toolmark: Command, mind: Mind) -> None:
    for flags in (("--fail-under", "85"), ("--fail-under-low", "x"), ("--replay-only",)):
        ended = toolmark(*FUNCBENCH, mind.model, *flags)
        assert ended.code == exit_codes.USAGE_ERROR and len(reasons(ended)) == 1
    assert not mind.asked and not list(Path("runs").glob("*"))


@pytest.mark.parametrize(
    ("conditions", "better", "worse", "same"),
    [
        ("worse", 0, 1, 0),
        ("changed", 1, 1, 0),
        ("undecided", 0, 0, 1),
        ("worse,undecided", 0, 1, 1),
    ],
)
def test_compare_fails_on_what_was_asked_for(
    toolmark: Command, conditions: str, better: int, worse: int, same: int
) -> None:
    good, bad = (run_dir(toolmark, name) for name in ("baseline/planner", "control/null"))
    pairs = {(bad, good): better, (good, bad): worse, (good, good): same}
    for (old, new), code in pairs.items():
        ended = toolmark("compare", old, new, "--fail-if", conditions)
        assert ended.code == code, (conditions, old, new)
        assert len(reasons(ended)) == code
        found = json.loads(toolmark("compare", old, new, "--fail-if", conditions, "--json").out)
        assert found["gates"][0]["passed"] == (code == 0)
    plain = toolmark("compare", good, bad)
    assert plain.code == 0 and not reasons(plain)
    assert "gates" not in json.loads(toolmark("compare", good, bad, "--json").out)


def test_a_margin_decides_what_is_undecided(toolmark: Command) -> None:
    path = run_dir(toolmark, "baseline/planner")
    words = ("compare", path, path, "--fail-if", "undecided", "--margin")
    assert toolmark(*words, "1%").code == exit_codes.GATE_FAILED
    assert toolmark(*words, "0.5").code == 0
    for wrong in (
        ("--margin", "0.1"),
        ("--fail-if", "better"),
        ("--fail-if", "worse", "--margin", "9"),
    ):
        assert toolmark("compare", path, path, *wrong).code == exit_codes.USAGE_ERROR


def test_files_are_written_also_where_the_gate_fails_or_nothing_ran(toolmark: Command) -> None:
    flags = ("--fail-under", "50%", "--junit", "out/junit.xml", "--markdown", "out/summary.md")
    for model, tag in (("control/null", "failure"), ("control/dead", "error")):
        ended = toolmark(*FUNCBENCH, model, *flags)
        assert ended.code == exit_codes.GATE_FAILED
        cases = ElementTree.fromstring(Path("out/junit.xml").read_bytes()).findall("*/testcase")
        assert [[child.tag for child in case] for case in cases] == [[tag]] * 8
    assert Path("out/summary.md").read_text("utf-8").count("## ") == 2


def test_a_stored_run_is_written_by_report_and_by_score(toolmark: Command) -> None:
    path = run_dir(toolmark, "control/null")
    files = ("--junit", "junit.xml", "--markdown", "summary.md")
    assert toolmark("report", path, *files).code == 0
    written = Path("junit.xml").read_bytes()
    assert toolmark("score", path, *files).code == 0
    assert Path("junit.xml").read_bytes() == written
    assert toolmark("report", path, path, *files).code == exit_codes.USAGE_ERROR


def test_a_run_that_was_stopped_is_code_130_and_no_gate_is_checked(
    toolmark: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run_dir(toolmark, "control/null")
    monkeypatch.setattr(
        run_command, "_run_with_progress", lambda *_: (api.open_run(path), True, None)
    )
    flags = ("--fail-under", "90%", "--junit", "junit.xml", "--json")
    ended = toolmark(*FUNCBENCH, "control/null", *flags)
    assert ended.code == exit_codes.INTERRUPTED
    assert not any("--fail-under" in line for line in reasons(ended))
    assert "gates" not in json.loads(ended.out) and Path("junit.xml").exists()


def test_a_file_that_cannot_be_written_hides_no_result(toolmark: Command) -> None:
    Path("file").write_text("")
    for flag in ("--junit", "--markdown"):
        ended = toolmark(*FUNCBENCH, "baseline/planner", flag, "file/below", "--json")
        assert ended.code == exit_codes.USAGE_ERROR and len(reasons(ended)) == 1
        assert json.loads(ended.out)["n_run"] == 8

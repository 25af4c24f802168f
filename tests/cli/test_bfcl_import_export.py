"""BFCL from the command line: a dead endpoint, and official files in and out."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from tests.servers.planning_endpoint import Command

from toolmark.official_bfcl import official_data
from toolmark.runs.run_store import Run


@pytest.fixture
def dead() -> str:
    """Return the address of a port that nothing listens on."""
    with socket.socket() as collected:
        collected.bind(("127.0.0.1", 0))
        port = collected.getsockname()[1]
    return f"http://127.0.0.1:{port}/v1#dead"


@pytest.mark.parametrize("category", ["irrelevance", "live_irrelevance", "all"])
def test_a_dead_endpoint_scores_nothing(toolmark: Command, dead: str, category: str) -> None:
    known = "irrelevance,live_relevance,simple_java,multi_turn_base,memory_kv,format_sensitivity"
    chosen = known if category == "all" else category
    said = toolmark(
        "run", "bfcl", "-m", dead, "-T", f"category={chosen}", "--tool-format", "prompt",
        "--sample", "30", "--max-retries", "0", "--json",
    )  # fmt: skip
    assert said.code == 3, said.err
    summary = json.loads(said.out)
    assert summary["n_run"] == 0 and summary["n_not_run"] == 30
    assert summary["score"]["value"] is None
    assert not {k: part for k, part in summary["parts"].items() if part["value"] is not None}
    scores = list(Run(Path(summary["run_dir"])).scores())
    assert len(scores) == 30 and not any(score.verdicts for score in scores)


def test_results_come_in_and_go_out_by_command(toolmark: Command, tmp_path: Path) -> None:
    path = official_data.fetch_wheel() / "bfcl_eval/data/BFCL_v4_live_relevance.json"
    folder = tmp_path / "result/some_model/live"
    folder.mkdir(parents=True)
    rows = [json.loads(line)["id"] for line in path.read_text().splitlines()]
    file = folder / "BFCL_v4_live_relevance_result.json"
    file.write_text("".join(json.dumps({"id": id_, "result": "[f()]"}) + "\n" for id_ in rows))
    said = toolmark("import", "bfcl", str(tmp_path / "result"), "--json")
    assert said.code == 0, said.err
    summary = json.loads(said.out)
    assert summary["parts"]["live_relevance"]["value"] == 1.0
    again = toolmark("score", summary["run_dir"], "--json")
    assert json.loads(again.out)["parts"] == summary["parts"]
    said = toolmark("export", "bfcl", summary["run_dir"], "-o", "out")
    assert said.code == 0 and "16 entries" in said.out
    back = tmp_path / "out/result/some_model/live" / file.name
    assert [json.loads(line)["id"] for line in back.read_text().splitlines()] == rows
    file.write_text("{")
    said = toolmark("import", "bfcl", str(tmp_path / "result"))
    assert said.code == 2 and "line 1: not JSON" in said.err and "17 rows" in said.err


def test_twins_are_asked_by_command_and_are_in_no_official_file(toolmark: Command) -> None:
    asked = (
        "run", "bfcl", "-m", "control/oracle", "-T", "category=simple_python", "--limit", "12",
    )  # fmt: skip
    said = toolmark(*asked, "--vary", "names,values", "--json")
    assert said.code == 0, said.err
    summary = json.loads(said.out)
    assert [each["kind"] for each in summary["variations"]] == ["names", "values"]
    assert summary["score"]["n"] == 12 < summary["n_run"] == summary["n_planned"] < 36
    out = toolmark("export", "bfcl", summary["run_dir"], "-o", "out")
    assert out.code == 0 and "12 entries" in out.out
    (file,) = Path("out/result").rglob("*_result.json")
    assert len(file.read_text().splitlines()) == 12
    refused = toolmark(*asked, "--vary", "named")
    assert refused.code == 2 and len(refused.err.strip().splitlines()) == 1
    none = toolmark("run", "funcbench", "-m", "control/oracle", "--limit", "2", "--vary", "values")
    assert none.code == 2 and "applies to no task of this run" in none.err

"""`import traces` and `export traces` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.reports.made_runs import Maker
from tests.servers.planning_endpoint import Command

DATA = Path(__file__).parents[1] / "data" / "traces"


def test_the_form_of_each_file_and_every_count_are_said(toolmark: Command, tmp_path: Path) -> None:
    files = (str(DATA / "spans.json"), str(DATA / "anthropic_pairs.jsonl"))
    said = toolmark("import", "traces", *files, "-o", "rows.jsonl")
    assert said.code == 0, said.err
    assert "spans.json: OpenTelemetry spans (OTLP JSON), 1 record" in said.out
    assert "anthropic_pairs.jsonl: Anthropic Messages, 2 records" in said.out
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 1
    counted = toolmark("import", "traces", *files, "-o", "rows.jsonl", "--json")
    summary = json.loads(counted.out)
    assert summary["n_replies"] == 4 and summary["n_silent"] == 2
    assert summary["n_rows"] == 1 and summary["n_duplicates"] == 1
    assert summary["rows_by_tool"] == {"get_weather": 1}


def test_malformed_records_end_the_command_with_3(toolmark: Command, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text((DATA / "chat_conversations.jsonl").read_text() + "{\n")
    said = toolmark("import", "traces", str(path), "-o", "rows.jsonl")
    assert said.code == 3 and "x.jsonl, line 2: not JSON" in said.err
    assert (tmp_path / "rows.jsonl").exists()


def test_nothing_to_propose_is_one_error(toolmark: Command, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n")
    said = toolmark("import", "traces", "x.jsonl", "-o", "rows.jsonl")
    assert said.code == 2 and "x.jsonl" in said.err
    assert not (tmp_path / "rows.jsonl").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("import", "traces", "x.jsonl"),
        ("import", "traces", "x.jsonl", "-o", "x.jsonl"),
        ("import", "traces", "gone.jsonl", "-o", "rows.jsonl"),
        ("import", "traces", "x.jsonl", "-o", "rows.jsonl", "--truths", "x.jsonl"),
        ("import", "traces", "x.jsonl", "-o", "rows.jsonl", "--lenient"),
        ("import", "traces", "x.jsonl", "-o", "rows.jsonl", "--redact-pattern", "("),
        ("import", "traces", "x.jsonl", "-o", "rows.jsonl", "--tools", "gone.json"),
        ("import", "traces", "x.jsonl", "-o", "rows.jsonl", "--per-tool", "0"),
        ("import", "bfcl", "x.jsonl", "--per-tool", "3"),
        ("import", "m3", "x.jsonl", "x.jsonl"),
        ("import", "spans", "x.jsonl"),
        ("export", "traces", "gone", "-o", "x"),
        ("export", "bfcl", "gone", "-o", "x", "--no-content"),
    ],
)
def test_wrong_words_are_refused(toolmark: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "x.jsonl").write_text((DATA / "chat_conversations.jsonl").read_text())
    said = toolmark(*words)
    assert said.code == 2 and said.err.startswith("toolmark: ") and said.out == ""
    assert not (tmp_path / "rows.jsonl").exists()


def test_a_run_goes_out_and_comes_back(toolmark: Command, make_run: Maker, tmp_path: Path) -> None:
    run = make_run(n=6, absent=1)
    said = toolmark("export", "traces", str(run.path), "-o", "spans.jsonl")
    assert said.code == 0 and "5 traces, 1 not run left out" in said.out
    said = toolmark("import", "traces", "spans.jsonl", "-o", "rows.jsonl")
    assert said.code == 0, said.err
    bare = toolmark("export", "traces", str(run.path), "-o", "bare.jsonl", "--no-content")
    assert bare.code == 0
    said = toolmark("import", "traces", "bare.jsonl", "-o", "none.jsonl")
    assert said.code == 2 and "no messages recorded" in said.err


def test_a_file_of_rows_is_reviewed_alone(toolmark: Command, tmp_path: Path) -> None:
    toolmark("import", "traces", str(DATA / "spans.json"), "-o", "rows.jsonl")
    said = toolmark("review", "rows.jsonl", "--pairs")
    assert said.code == 2 and "rows" in said.err
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    done = [json.dumps({**row, "review": "accepted"}) for row in rows]
    (tmp_path / "rows.jsonl").write_text("\n".join(done) + "\n")
    assert toolmark("review", "rows.jsonl").code == 2

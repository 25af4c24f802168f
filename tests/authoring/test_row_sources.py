"""Files that other programs write are read as they are laid out, and the run says how."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest
from tests.authoring.malformed_rows import GOOD, lines, row
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.official_bfcl import official_data
from toolmark.runs.run_store import Run

HEAD = ("question", "tools", "expected")


def only_run() -> Run:
    [path] = Path("runs").glob("*/")
    return tm.open_run(path)


def table(delimiter: str) -> str:
    """Return a good row as a table of one line, with this between its cells."""
    cells = [each if isinstance(each, str) else json.dumps(each) for each in
             (GOOD[name] for name in HEAD)]  # fmt: skip
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    return f"{delimiter.join(HEAD)}\n{delimiter.join(quoted)}\n"


@pytest.mark.parametrize("category", ["simple_python", "live_relevance", "irrelevance"])
def test_bfcls_own_files_are_read_where_its_package_lays_them(
    category: str, toolmark: Command
) -> None:
    root = official_data.fetch_wheel()
    name = f"BFCL_v4_{category}.json"
    data = root / "bfcl_eval/data"
    Path(name).write_bytes((data / name).read_bytes())
    answers = data / "possible_answer" / name
    if answers.is_file():
        Path("possible_answer").mkdir()
        (Path("possible_answer") / name).write_bytes(answers.read_bytes())
    assert toolmark("check", name, "--limit", "5").code == 0
    said = toolmark("run", name, "-m", "control/oracle", "--sample", "10")
    assert said.code == 0
    assert only_run().summary()["score"]["value"] == 1
    assert "BFCL" in said.err and "one JSON object for each line" in said.err
    assert ("possible_answer" in said.err) == answers.is_file()


def test_other_answers_are_another_suite(tmp_path: Path) -> None:
    path, folder = tmp_path / "simple.json", tmp_path / "possible_answer"
    folder.mkdir()
    function = {"name": "f", "parameters": {"type": "dict", "properties": {}, "required": []}}
    ask = {"id": "simple_0", "question": [[{"role": "user", "content": "?"}]]}
    path.write_bytes(lines({**ask, "function": [function]}))
    found = []
    for name in ("f", "g"):
        truth = {"id": "simple_0", "ground_truth": [{name: {}}]}
        (folder / path.name).write_bytes(lines(truth))
        found.append(tm.read_jsonl(path).source_hashes())
    assert found[0] != found[1]


def test_json_may_hold_one_list_or_one_object_in_each_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    rows = [row(id=at) for at in range(3)]
    for content in (json.dumps(rows), json.dumps(rows, indent=2), lines(*rows).decode()):
        path.write_text(content)
        assert [task.id for task in tm.read_jsonl(path)] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("name", "delimiter"),
    [("rows.tsv", "\t"), ("rows.csv", ";"), ("rows.csv", "\t"), ("rows.csv", ",")],
)
def test_tables_of_text_are_read_by_what_separates_their_cells(
    name: str, delimiter: str, toolmark: Command
) -> None:
    Path(name).write_text(table(delimiter))
    said = toolmark("run", name, "-m", "control/oracle")
    assert said.code == 0
    assert only_run().summary()["score"]["value"] == 1
    assert ("cells between" in said.err) == (delimiter != ",")


def saved_sets(**splits: list[dict[str, Any]]) -> str:
    """Save a set with these splits; return its folder."""
    texts = {
        name: [{key: json.dumps(each[key]) if key != "question" else each[key] for key in HEAD}
               for each in rows]
        for name, rows in splits.items()
    }  # fmt: skip
    made = {name: datasets.Dataset.from_list(rows) for name, rows in texts.items()}
    datasets.DatasetDict(made).save_to_disk("saved")
    return "saved"


def test_a_saved_set_with_one_split_is_that_split(toolmark: Command) -> None:
    said = toolmark("run", saved_sets(train=[GOOD, GOOD]), "-m", "control/oracle")
    assert said.code == 0
    assert only_run().summary()["score"]["n"] == 2


def test_of_a_saved_set_with_several_splits_one_is_named(toolmark: Command) -> None:
    folder = saved_sets(train=[GOOD], test=[GOOD, GOOD])
    said = toolmark("run", folder, "-m", "control/oracle")
    assert said.code == 2
    assert f"{folder}/train" in said.err and f"{folder}/test" in said.err
    assert toolmark("run", f"{folder}/test", "-m", "control/oracle").code == 0
    assert only_run().summary()["score"]["n"] == 2


@pytest.mark.parametrize("name", ["rows.txt", "rows.xlsx", "rows"])
def test_a_file_of_another_kind_says_which_are_read(name: str, toolmark: Command) -> None:
    Path(name).write_bytes(lines(GOOD))
    for words in (("run", name, "-m", "control/oracle"), ("check", name)):
        said = toolmark(*words)
        [line] = [each for each in said.err.splitlines() if each.startswith("toolmark: ")]
        assert said.code == 2 and name in line
        for ending in (".jsonl", ".csv", ".parquet"):
            assert ending in line
    with pytest.raises(UsageError, match=r"\.jsonl"):
        tm.read_jsonl(name)


def test_an_empty_table_says_that_it_has_no_rows(toolmark: Command) -> None:
    Path("rows.csv").write_text("")
    said = toolmark("check", "rows.csv")
    assert said.code == 1
    assert "no rows" in said.out and "columns" in said.out and "JSON object" not in said.out


def test_a_set_of_a_hub_that_is_not_reached_is_refused_without_repeated_tries(
    tmp_path: Path,
) -> None:
    paths = os.pathsep.join([str(Path(tm.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    said = subprocess.run(
        [sys.executable, "-m", "toolmark", "run", "hf:nobody/nothing", "-m", "control/null"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths, "HF_HOME": str(tmp_path / "hub"),
             "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert said.returncode == 2
    [line] = said.stderr.strip().splitlines()
    assert "hf:nobody/nothing" in line and "HF_HUB_OFFLINE" in line
    assert "Retry" not in said.stderr
    assert not (tmp_path / "runs").exists()

"""The same four tasks in other packages: their rows, their sizes on the page, and that they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.authoring import count_lines

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "benchmarks/authoring"
PAGE = ROOT / "docs/explanation/authoring-compared.md"
PLAIN_FIELDS = {"id", "category", "question", "tools", "expected"}
FLOOR_BY_TASK = {"rows": 3 / 11, "calendar": 0, "metric_and_table": 0, "simulated_user": 0}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_peers_are_asked_the_plain_rows_of_the_examples() -> None:
    plain = [
        row
        for row in read_rows(ROOT / "examples/support_rows.jsonl")
        if row.keys() == PLAIN_FIELDS and not any("accepted" in call for call in row["expected"])
    ]
    assert read_rows(PEERS / "rows.jsonl") == plain
    opened = [
        row for row in read_rows(ROOT / "examples/simulated_user.jsonl") if "question" not in row
    ]
    assert read_rows(PEERS / "simulated_user_rows.jsonl") == opened


def test_the_page_shows_the_sizes_that_are_measured() -> None:
    assert count_lines.format_table() in PAGE.read_text()


def test_the_page_names_the_versions_that_were_run() -> None:
    text = PAGE.read_text()
    for line in (PEERS / "requirements.txt").read_text().split():
        package, version = line.split("==")
        assert f"`{package.partition('[')[0]}` {version}" in text


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the packages of the peers."""
    folder = tmp_path_factory.mktemp("peers")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    found = folder / "bin/python"
    requirements = str(PEERS / "requirements.txt")
    command = [str(found), "-m", "pip", "install", "--quiet", "-r", requirements]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "ERROR" in line), done.stderr)
        pytest.fail(f"the packages of the peers cannot be installed from PyPI: {reason}")
    return found


def run_peers(python: Path, script: str, control: str) -> dict[str, dict[str, Any]]:
    """Return what a script printed of each task, by the task's name."""
    environment = {key: each for key, each in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, PEERS / script, control],
        capture_output=True, text=True, env=environment, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    prefix = script.removeprefix("run_").removesuffix(".py") + "_"
    return {each["task"].partition(".")[0].removeprefix(prefix): each for each in printed}


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("control", ["oracle", "null"])
def test_the_tasks_of_inspect_run_on_its_own_mock_model(python: Path, control: str) -> None:
    found = run_peers(python, "run_inspect.py", control)
    assert found.keys() == FLOOR_BY_TASK.keys()
    for task, each in found.items():
        (value,) = (v for k, v in each["metrics"].items() if k.endswith("/accuracy"))
        assert value == pytest.approx(1.0 if control == "oracle" else FLOOR_BY_TASK[task])
    measured = found["metric_and_table"]["metrics"]
    assert measured["calls/mean"] == pytest.approx(1.4 if control == "oracle" else 0)
    by_day = [measured[f"right/grouped_{day}"] for day in WEEKDAYS]
    assert by_day == [float(control == "oracle")] * 5


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("control", ["oracle", "null"])
def test_the_data_sets_of_pydantic_evals_run_on_a_function(python: Path, control: str) -> None:
    found = run_peers(python, "run_pydantic.py", control)
    assert found.keys() == FLOOR_BY_TASK.keys()
    for task, each in found.items():
        value = 1.0 if control == "oracle" else FLOOR_BY_TASK[task]
        assert each["metrics"]["right"] == pytest.approx(value)
    measured = found["metric_and_table"]
    # an episode without calls is left out of its mean, and no episode is left with control null
    assert measured["metrics"].get("calls") == (1.4 if control == "oracle" else None)
    right = 3 if control == "oracle" else 0
    assert measured["tables"] == [[[day, 3, right] for day in WEEKDAYS]]

"""The GitHub Action: valid metadata, no input in shell text, and what its script does and returns.

GitHub itself is not part of these tests: the script runs with the variables that GitHub would set.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
SMALL = ("-T", "graphs=8", "-T", "core=3", "-T", "depth=2", "-T", "connected=1", "--seed", "7")


def read_yaml(text: str) -> Any:
    return YAML(typ="safe").load(text)


ACTION = read_yaml((ROOT / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]


def check_schema(schema: str, path: Path) -> int:
    words = ["-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    return subprocess.run([sys.executable, *words], capture_output=True, check=False).returncode


def test_the_metadata_are_those_that_github_takes(tmp_path: Path) -> None:
    assert check_schema("vendor.github-actions", ROOT / "action.yml") == 0
    broken = tmp_path / "action.yml"
    broken.write_text((ROOT / "action.yml").read_text("utf-8").replace("composite", "compsite"))
    assert check_schema("vendor.github-actions", broken) != 0


def test_no_input_becomes_shell_text() -> None:
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert scripts and not any("${{" in script for script in scripts)


def test_every_input_is_used_and_described() -> None:
    used = "".join(str(step) for step in STEPS)
    for name, each in ACTION["inputs"].items():
        assert f"inputs.{name} " in used
        assert each["description"]
        assert ("default" in each) != each.get("required", False)


def test_every_variable_of_the_script_is_an_input() -> None:
    (step,) = (step for step in STEPS if step.get("id") == "run")
    script = (ROOT / "scripts" / "github_action.sh").read_text("utf-8")
    for variable in step["env"]:
        assert variable in script


@dataclass
class Job:
    """What the script returned, and the files that GitHub would read."""

    code: int
    outputs: dict[str, str]
    summary: str
    results: Path
    err: str


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "toolmark").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolmark "$@"\n')
    (tools / "toolmark").chmod(0o755)
    (tmp_path / "work").mkdir()

    def start(suite: str, model: str, *arguments: str, **inputs: str) -> Job:
        files = {name: tmp_path / name.lower() for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        for path in files.values():
            path.write_text("")
        environment = {
            **{name: value for name, value in os.environ.items() if "TOOLMARK" not in name},
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "RUNNER_TEMP": str(tmp_path / "temp"),
            **{name: str(path) for name, path in files.items()},
            "INPUT_SUITE": suite,
            "INPUT_MODEL": model,
            "INPUT_ARGS": "\n".join(arguments),
            **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
        }
        done = subprocess.run(
            ["bash", str(ROOT / "scripts" / "github_action.sh")],
            env=environment, cwd=tmp_path / "work", capture_output=True, text=True, check=False,
        )  # fmt: skip
        outputs = dict(
            line.partition("=")[::2] for line in files["GITHUB_OUTPUT"].read_text().splitlines()
        )
        summary = files["GITHUB_STEP_SUMMARY"].read_text()
        return Job(done.returncode, outputs, summary, tmp_path / "temp" / "toolmark", done.stderr)

    return start


def test_a_gate_that_holds_is_a_green_job_with_its_files(job: Callable[..., Job]) -> None:
    done = job("funcbench", "baseline/planner", *SMALL, fail_under="85%", fail_under_low="0.5")
    assert (done.code, done.outputs["exit-code"]) == (0, "0")
    assert Path(done.outputs["run-dir"], "summary.json").is_file()
    assert (done.results / "report.html").is_file() and (done.results / "junit.xml").is_file()
    assert done.summary.count("passed") == 2


def test_a_gate_that_fails_is_code_1_and_the_files_are_written(job: Callable[..., Job]) -> None:
    done = job("funcbench", "control/null", *SMALL, fail_under="85%")
    assert (done.code, done.outputs["exit-code"]) == (1, "1")
    assert "**failed**" in done.summary and (done.results / "report.html").is_file()


@pytest.mark.long
def test_a_baseline_is_compared_with_as_a_folder_and_as_an_artifact(
    job: Callable[..., Job], tmp_path: Path
) -> None:
    first = job("funcbench", "baseline/planner", *SMALL)
    artifact = tmp_path / "downloaded"
    first.results.rename(artifact)
    (run_dir,) = (artifact / "runs").glob("*/")
    for baseline in (artifact, run_dir):
        worse = job("funcbench", "control/null", *SMALL, baseline=str(baseline))
        assert worse.code == 1 and "--fail-if worse failed" in worse.err
        assert "## Comparison" in worse.summary
    same = job("funcbench", "baseline/planner", *SMALL, baseline=str(artifact))
    assert same.code == 0
    undecided = job(
        "funcbench", "baseline/planner", *SMALL, baseline=str(artifact), fail_if="undecided"
    )
    assert undecided.code == 1


@pytest.mark.long
def test_what_was_not_run_is_code_3_and_wrong_usage_code_2(job: Callable[..., Job]) -> None:
    assert job("funcbench", "control/dead", *SMALL).code == 3
    wrong = job("funcbench", "control/dead", *SMALL, fail_under="85")
    assert wrong.code == 2 and wrong.outputs["run-dir"] == ""


@pytest.mark.long
@pytest.mark.parametrize(
    "text", ["$(touch pwned)", "`touch pwned`", "x; touch pwned", '"; touch pwned; "', "--help"]
)
def test_an_input_is_never_run(job: Callable[..., Job], tmp_path: Path, text: str) -> None:
    for inputs in (
        {"suite": text, "model": "control/null"},
        {"suite": "funcbench", "model": text},
        {"suite": "funcbench", "model": "control/null", "fail_under": text},
    ):
        suite, model = inputs.pop("suite"), inputs.pop("model")
        assert job(suite, model, *SMALL, **inputs).code == 2
    assert not list(tmp_path.rglob("pwned"))


def test_the_documented_workflow_is_valid_and_names_inputs_of_the_action(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "ci.md").read_text("utf-8")
    (source,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    path = tmp_path / "workflow.yml"
    path.write_text(source)
    assert check_schema("vendor.github-workflows", path) == 0
    (job,) = read_yaml(source)["jobs"].values()
    (step,) = (step for step in job["steps"] if "toolmark" in step["uses"])
    assert step["with"].keys() <= ACTION["inputs"].keys()

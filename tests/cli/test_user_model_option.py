"""`--user-model` names who speaks for the simulated user; a run without it is one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.servers import fake
from tests.servers.planning_endpoint import Command

EXAMPLE = f"{Path(__file__).parents[2] / 'examples/simulated_user.py'}:appointments"


def test_a_run_without_it_is_refused_in_one_line(toolmark: Command) -> None:
    ended = toolmark("run", EXAMPLE, "-m", "http://127.0.0.1:9/v1#none")
    (line,) = [each for each in ended.err.splitlines() if each.startswith("toolmark: ")]
    assert ended.code == 2 and "--user-model" in line
    assert not [*Path("runs").glob("*")]


def test_a_suite_without_a_user_refuses_it(toolmark: Command) -> None:
    ended = toolmark("run", "funcbench", "-m", "control/null", "--user-model", "scripted")
    assert ended.code == 2 and "no simulated user" in ended.err


def test_controls_need_none(toolmark: Command) -> None:
    ended = toolmark("run", EXAMPLE, "-m", "control/oracle", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["score"]["value"] == 1.0


@pytest.mark.parametrize("by_variable", [False, True])
def test_the_scripted_user_serves_any_model(
    toolmark: Command, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    words = ["run", EXAMPLE, "-m", "tests.test_simulated_user_example:Assistant", "--json"]
    words += ["--limit", "3"]
    if by_variable:
        monkeypatch.setenv("TOOLMARK_USER_MODEL", "scripted")
    else:
        words += ["--user-model", "scripted"]
    ended = toolmark(*words)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["score"]["value"] == 1.0


def test_an_endpoint_that_is_down_is_the_users_failure_and_its_key_is_written_nowhere(
    toolmark: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-proj-0123456789abcdefghijklmnopqrstuv"
    monkeypatch.setenv("TOOLMARK_API_KEY", key)
    address = f"http://127.0.0.1:{fake.unused()}/v1#speaker"
    ended = toolmark("run", EXAMPLE, "-m", "control/oracle", "--user-model", address,
                     "--max-retries", "0", "--limit", "1")  # fmt: skip
    assert ended.code == 3
    (folder,) = Path("runs").glob("*/")
    written = "".join(path.read_text() for path in folder.iterdir() if path.suffix != ".lock")
    assert key not in written + ended.out + ended.err
    assert '"stage":"user","kind":"user"' in written and address in ended.out


def test_the_dry_run_shows_what_the_user_reads(toolmark: Command) -> None:
    ended = toolmark("run", EXAMPLE, "-m", "control/null", "--dry-run")
    assert ended.code == 0
    assert "Have your visit to the dentist" in ended.out and "B12" not in ended.out
    asked = json.loads(toolmark("run", EXAMPLE, "-m", "x", "--dry-run", "--json").out)
    assert asked["max_user_requests"] == asked["n_tasks"] * 5
    assert "Have your visit to the dentist" in asked["tasks"][0]["user_prompt"]

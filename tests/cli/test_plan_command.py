"""`toolmark plan`: numbers, a file, the next command, and one line for what makes no sense."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.servers.planning_endpoint import Command

SUITE = ("funcbench", "-T", "core=3", "-T", "depth=2", "-T", "graphs=80", "--seed", "7")
MODEL = "control/faulty?class=incorrect&rate=0.5"


def _run_pilot(toolmark: Command, *more: str) -> str:
    said = toolmark("run", *SUITE, "-m", MODEL, "--sample", "20", "--json", *more)
    assert said.code == 0, said.err
    return str(json.loads(said.out)["run_dir"])


def test_the_next_command_runs_the_plan(toolmark: Command) -> None:
    pilot = _run_pilot(toolmark, "--repeats", "2")
    said = toolmark(
        "plan", *SUITE, "--pilot", pilot, "--half-width", "0.15", "-o", "plan.json"
    )  # fmt: skip
    assert said.code == 0 and "without 20 of the pilot" in said.out
    words = said.out.strip().splitlines()[-1].removeprefix("next: toolmark ")
    ran = toolmark(*shlex.split(words), "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    plan = json.loads(Path("plan.json").read_text())
    assert found["n_planned"] == plan["n_episodes"]
    assert found["series"]["position"] == 1 and found["plan_sha256"] in said.out
    text = toolmark("run", *SUITE, "-m", MODEL, "--plan", "plan.json", "--fresh")
    assert "run 2 of 2 of this plan and model: " in text.out
    dry = toolmark("run", *SUITE, "-m", MODEL, "--plan", "plan.json", "--dry-run")
    assert f"{plan['n_items']} tasks of funcbench" in dry.out


@pytest.mark.parametrize("seed", [("-T", "seed=3"), ("--seed", "3"), ()])
def test_the_next_command_has_the_seed_once(toolmark: Command, seed: tuple[str, ...]) -> None:
    said = toolmark(
        "plan", "funcbench", *seed, "--expect", "0.5", "--half-width", "0.3", "-o", "plan.json"
    )
    words = said.out.strip().splitlines()[-1].removeprefix("next: toolmark ")
    ran = toolmark(*shlex.split(words.replace("MODEL", MODEL)), "--json")
    assert ran.code == 0, ran.err


def test_the_next_command_asks_as_the_pilot_was_asked(toolmark: Command) -> None:
    asked = ("--tool-format", "prompt", "--temperature", "0.5", "--extra-body", '{"a": 1}')
    pilot = _run_pilot(toolmark, *asked)
    said = toolmark(
        "plan", *SUITE, "--pilot", pilot, "--half-width", "0.2", "-o", "plan.json"
    )  # fmt: skip
    words = said.out.strip().splitlines()[-1].removeprefix("next: toolmark ")
    ran = toolmark(*shlex.split(words), "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["tool_format"] == "prompt"
    assert all(word in shlex.split(words) for word in asked)


def test_costs_follow_from_prices_and_tokens(toolmark: Command) -> None:
    words = ("plan", *SUITE, "--expect", "0.6", "--half-width", "0.2", "--json")
    price = ("-m", "http://127.0.0.1:1/v1#m", "--price", "2,10", "--tokens", "1000,100")
    plain, priced = (json.loads(toolmark(*words, *more).out) for more in ((), price))
    assert plain["plan"].get("cost_usd") is None and "--price" in plain["cost_note"]
    n = priced["plan"]["n_episodes"]
    assert priced["plan"]["cost_usd"] == pytest.approx(n * (1000 * 2 + 100 * 10) / 1e6)
    assert priced["plan"]["n_items"] == plain["plan"]["n_items"]


@pytest.mark.parametrize(
    "words",
    [
        (), ("--expect", "0.5"), ("--expect", "0.5", "--half-width", "0"),
        ("--expect", "0.5", "--half-width", "0.6"), ("--expect", "0.5", "--difference", "0"),
        ("--expect", "1", "--half-width", "0.1"), ("--expect", "nan", "--half-width", "0.1"),
        ("--expect", "0.5", "--half-width", "0.1", "--tokens", "1,1"),
        ("--expect", "0.5", "--half-width", "0.1", "--price", "1,2"),
        ("--expect", "0.5", "--half-width", "0.1", "-m", "openai/no-such-model",
         "--tokens", "9,9"),
        ("--expect", "0.5", "--half-width", "0.1", "-m", "openai/gpt-5", "--tokens", "x"),
        ("--expect", "0.5", "--half-width", "0.1", "-m", "openai/gpt-5"),
        ("--pilot", "nowhere", "--half-width", "0.1"),
        ("--pilot", "a", "--pilot", "b", "--half-width", "0.1"),
        ("--pilot", "a", "--pilot", "b", "--difference", "0.1", "--correlation", "0.5"),
        ("--pilot", "a", "--expect", "0.5", "--half-width", "0.1"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_with_the_next_step(
    toolmark: Command, words: tuple[str, ...]
) -> None:
    said = toolmark("plan", *SUITE, *words)
    lines = said.err.strip().splitlines()
    assert said.code == 2 and len(lines) == 1, said.err
    assert "next:" in lines[0] or "nowhere" in lines[0]


def test_a_plan_is_never_overwritten(toolmark: Command) -> None:
    words = ("plan", *SUITE, "--expect", "0.6", "--half-width", "0.2", "-o", "plan.json")
    assert toolmark(*words).code == 0
    before = Path("plan.json").read_bytes()
    again = toolmark(*words)
    assert again.code == 2 and "exists already" in again.err
    assert Path("plan.json").read_bytes() == before


def test_the_logbook_command_tells_a_broken_chain(toolmark: Command) -> None:
    assert toolmark("logbook").code == 2
    for _ in range(2):
        toolmark("run", *SUITE, "-m", "control/oracle", "--limit", "2", "--fresh")
    whole = toolmark("logbook", "--json")
    assert whole.code == 0 and len(json.loads(whole.out)["runs"]) == 2
    assert json.loads(whole.out)["faults"] == []
    path = Path("runs/logbook.jsonl")
    path.write_text(path.read_text().replace('"value":1.0', '"value":0.5', 1))
    broken = toolmark("logbook")
    assert broken.code == 1 and "line 3: does not follow" in broken.out
    assert toolmark("report", *map(str, Path("runs").glob("*"))).code == 0

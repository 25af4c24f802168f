"""Every exit code that is not 0 has a line on stderr that says why."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
import typer
from tests.servers.planning_endpoint import Command, Mind

from toolmark.cli import app, exit_codes

SMALL = ("-T", "graphs=2", "-T", "core=3", "-T", "depth=2", "-T", "connected=1",
         "-T", "disconnected=1", "--seed", "7")  # fmt: skip
CLI = Path(app.__file__).parent

WRONG = [
    ("run", "funcbench"),
    ("run", "funcbench", "-m", "control/null", "--limit", "none"),
    ("run", "funcbench", "-m", "control/null", "--fresh", "--continue"),
    ("list", "nothing"),
    ("doctor",),
    ("make", "nothing", "-o", "x"),
    ("fetch", "nothing"),
    ("score", "nowhere"),
    ("report", "nowhere"),
    ("compare", "nowhere", "here"),
    ("show", "nowhere"),
    ("review", "nowhere"),
    ("calibrate", "nowhere.jsonl"),
    ("judge", "nowhere", "-j", "openai/x"),
    ("author", "m3", "-m", "openai/x", "-j", "openai/y", "-o", "x", "-T", "truths=nowhere.json"),
    ("tune", "nothing", "-o", "x"),
    ("serve", "nothing"),
    ("import", "nothing", "x"),
    ("export", "nothing", "x", "-o", "y"),
    ("replay", "nowhere"),
    ("perturb", "nothing"),
    ("perturb", "speech", "x", "--stages", "nothing"),
    ("perturb", "image", "nowhere", "-o", "x"),
    ("nothing",),
    (),
]


def said_why(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("toolmark: ")]


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_a_wrong_command_is_one_line_and_code_2(toolmark: Command, words: tuple[str, ...]) -> None:
    ended = toolmark(*words)
    assert ended.code == exit_codes.USAGE_ERROR
    assert len(said_why(ended.err)) == 1 and "Traceback" not in ended.err


def test_every_command_ends_by_the_function_that_says_why() -> None:
    ends = {
        path.name
        for path in CLI.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) == "typer.Exit"
    }
    assert ends == {"exit_codes.py"}


def test_what_was_not_run_is_code_3_with_how_much(toolmark: Command) -> None:
    ended = toolmark("run", "funcbench", "-m", "control/dead", *SMALL)
    assert ended.code == exit_codes.NOT_RUN
    assert said_why(ended.err) == ["toolmark: 2 of 2 episodes not run"]


def test_a_gate_on_no_score_fails_and_wins_over_what_was_not_run(toolmark: Command) -> None:
    ended = toolmark("run", "funcbench", "-m", "control/dead", *SMALL, "--fail-under", "0")
    assert ended.code == exit_codes.GATE_FAILED
    assert said_why(ended.err) == [
        "toolmark: --fail-under 0 % failed: there is no score",
        "toolmark: 2 of 2 episodes not run",
    ]


def test_a_gate_that_holds_is_silent(toolmark: Command) -> None:
    words = ("run", "funcbench", "-m", "baseline/planner", *SMALL, "--fail-under", "1")
    ended = toolmark(*words)
    assert ended.code == 0 and said_why(ended.err) == []


def test_a_failed_check_of_the_doctor_is_named(toolmark: Command, mind: Mind) -> None:
    mind.status, mind.body = 500, {"error": {"message": "broken"}}
    ended = toolmark("doctor", "-m", mind.model, "--json")
    failed = [each["name"] for each in json.loads(ended.out) if each["status"] == "fail"]
    assert ended.code == exit_codes.GATE_FAILED and failed
    assert said_why(ended.err) == [f"toolmark: failed: {', '.join(failed)}"]


SUITE = '''
from dataclasses import replace
from tests.runs import mini

def broken(episode):
    if episode.task.id != "sum-0":
        raise RuntimeError("no score")
    return mini.score(episode)

SCORER = replace(mini.SCORER, score=broken)

def load(n: int = 3):
    """Sums, of which the scorer can score one."""
    return replace(mini.load(n=n), scorer=SCORER)
'''


def test_what_could_not_be_scored_is_code_3_with_how_much(toolmark: Command) -> None:
    Path("unscored.py").write_text(SUITE)
    run = toolmark("run", "unscored.py:load", "-m", "control/null", "--json")
    assert run.code == exit_codes.NOT_RUN
    assert said_why(run.err)[-1] == "toolmark: 2 of 3 episodes not run"
    ended = toolmark("score", json.loads(run.out)["run_dir"])
    assert ended.code == exit_codes.NOT_RUN
    assert said_why(ended.err) == ["toolmark: 2 episodes not scored"]


@pytest.mark.parametrize(
    ("reasons", "code"),
    [
        ({}, 0),
        ({"not_run": "a"}, 3),
        ({"failed_gate": "b"}, 1),
        ({"not_run": "a", "failed_gate": "b"}, 1),
        ({"not_run": "a", "failed_gate": "b", "interrupted": True}, 130),
    ],
)
def test_interrupted_wins_over_a_gate_and_a_gate_over_what_was_not_run(
    reasons: dict[str, str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        exit_codes.end_command(**reasons)  # type: ignore[arg-type]
    assert ended.value.exit_code == code
    lines = [text for name, text in sorted(reasons.items()) if name != "interrupted"]
    assert capsys.readouterr().err.splitlines() == [f"toolmark: {text}" for text in lines]


def test_an_interruption_is_code_130_and_says_what_is_stored(
    toolmark: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*words: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("toolmark.api.open_run", interrupt)
    ended = toolmark("show", "anything")
    assert ended.code == exit_codes.INTERRUPTED
    assert said_why(ended.err) == ["toolmark: interrupted; what was done is stored"]


def test_a_dry_run_prints_json_where_it_is_asked_for(toolmark: Command) -> None:
    words = ("run", "funcbench", "-m", "control/null", *SMALL, "--dry-run")
    text, found = toolmark(*words), json.loads(toolmark(*words, "--json").out)
    assert text.out.startswith("2 tasks of funcbench, seed 7\n")
    assert (found["suite"], found["seed"], found["n_tasks"]) == ("funcbench", 7, 2)
    assert sum(found["categories"].values()) == 2 and found["max_requests"] > 0
    (first,) = found["tasks"]
    assert first["task"] in text.out
    for message in first["messages"]:
        assert message in text.out
    assert [tool["name"] for tool in first["tools"]]
    assert not Path("runs").exists()

"""What the author of rows and scorers reads: one line, in plain words, with the author's file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.authoring.faulty_suites import play
from tests.authoring.malformed_rows import GOOD, RIGHT_CALL, WEATHER, lines, row
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.runs.run_store import Run

HERE = Path(__file__).name
SUITE = '''
"""A suite."""

import toolmark as tm


@tm.suite
def shop() -> tm.Suite:
    """Greetings."""
    return tm.Suite(
        tasks=tm.read_tasks([{"question": "Hello?", "solution": ["7"]}]),
        scorer=lambda episode: episode.answer == "7",
    )
'''


def only_run(folder: str = "runs") -> Run:
    [path] = Path(folder).glob("*/")
    return tm.open_run(path)


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [lines("{"), lines(GOOD, {"question": "?"}), b""])
def test_a_refused_file_leaves_no_folder_and_says_one_line(
    content: bytes, toolmark: Command
) -> None:
    Path("rows.jsonl").write_bytes(content)
    said = toolmark("run", "rows.jsonl", "-m", "control/null")
    assert said.code == 2
    assert not Path("runs").exists()
    [line] = said.err.strip().splitlines()
    assert line.startswith("toolmark: ")


def test_a_refused_file_leaves_the_runs_of_others(toolmark: Command) -> None:
    Path("rows.jsonl").write_bytes(lines(GOOD))
    assert toolmark("run", "rows.jsonl", "-m", "control/null").code == 0
    Path("rows.jsonl").write_bytes(lines(GOOD, {"question": "?"}))
    assert toolmark("run", "rows.jsonl", "-m", "control/null").code == 2
    assert only_run().is_finished


@pytest.mark.parametrize("field", ["data", "turns", "goal"])
def test_rows_of_a_suite_with_an_environment_are_said_to_need_it(
    field: str, toolmark: Command
) -> None:
    Path("shop.jsonl").write_bytes(lines({"question": "?", field: {"a": 1}, "expected": []}))
    said = toolmark("check", "shop.jsonl")
    assert said.code == 1
    assert f"{field}: " in said.out and "FILE.py:NAME" in said.out


def test_an_expected_answer_is_said_to_need_a_suite(toolmark: Command) -> None:
    Path("shop.jsonl").write_bytes(lines(row(expected="Rome")))
    said = toolmark("check", "shop.jsonl")
    assert "expected: " in said.out and "FILE.py:NAME" in said.out


@pytest.mark.parametrize("field", ["question", "id"])
def test_an_empty_text_is_called_empty(field: str, toolmark: Command) -> None:
    Path("rows.jsonl").write_bytes(lines(row(**{field: "  "})))
    said = toolmark("check", "rows.jsonl")
    assert f"{field}: it is empty" in said.out


def test_choices_are_listed_once(toolmark: Command) -> None:
    Path("rows.jsonl").write_bytes(lines(GOOD))
    said = toolmark("run", "rows.jsonl", "-m", "control/null", "-T", "order=random")
    assert said.code == 2 and said.err.count("strict") == 1
    said = toolmark("run", "rows.jsonl", "-m", "control/null", "-T", "order=stric")
    assert "did you mean: strict" in said.err


# --- names ----------------------------------------------------------------------------------------


def test_a_file_with_one_suite_needs_no_name(toolmark: Command) -> None:
    Path("shop.py").write_text(SUITE)
    assert toolmark("check", "shop.py").code == 0
    said = toolmark("run", "shop.py", "-m", "control/oracle")
    assert said.code == 0
    found = only_run()
    assert found.info.plan.spec == "shop.py:shop" and found.summary()["score"]["value"] == 1
    again = toolmark("run", "shop.py:shop", "-m", "control/oracle", "--continue")
    assert "differs" not in again.err


def test_a_file_with_several_suites_names_them(toolmark: Command) -> None:
    Path("two.py").write_text(SUITE + SUITE.replace("def shop", "def market"))
    said = toolmark("run", "two.py", "-m", "control/oracle")
    assert said.code == 2
    assert "two.py:shop" in said.err and "two.py:market" in said.err


def test_a_file_that_cannot_be_imported_is_refused_in_one_line(toolmark: Command) -> None:
    Path("torn.py").write_text("def (:\n")
    said = toolmark("run", "torn.py", "-m", "control/oracle")
    assert said.code == 2 and len(said.err.strip().splitlines()) == 1 and "torn.py" in said.err


def test_another_ending_alone_is_one_difference(toolmark: Command) -> None:
    Path("rows.jsonl").write_bytes(lines(GOOD))
    assert toolmark("run", "rows.jsonl", "-m", "control/null").code == 0
    shutil.copy("rows.jsonl", "rows.json")
    said = toolmark("run", "rows.json", "-m", "control/null")
    [line] = [each for each in said.err.splitlines() if "differs" in each]
    assert "rows.jsonl" in line and "rows.json" in line


# --- what runs store ----------------------------------------------------------------------------


class Caller:
    def __init__(self, *calls: tm.Call) -> None:
        self._calls = calls

    async def __call__(self, request: tm.Request) -> tm.Reply:
        return tm.Reply(calls=self._calls, text="" if self._calls else "no")


CALLS: dict[str, tuple[tm.Call, ...]] = {
    "none": (),
    "two": (tm.Call(name="weather", arguments='{"city": "Rome"}'),) * 2,
    "another tool": (tm.Call(name="rain", arguments="{}"),),
    "another value": (tm.Call(name="weather", arguments='{"city": "Oslo"}'),),
    "another type": (tm.Call(name="weather", arguments='{"city": 7}'),),
    "a further argument": (tm.Call(name="weather", arguments='{"city": "Rome", "days": 3}'),),
    "no argument": (tm.Call(name="weather", arguments="{}"),),
}


@pytest.mark.parametrize("name", CALLS)
def test_classes_of_bfcl_do_not_appear_in_verdicts_on_own_rows(name: str, tmp_path: Path) -> None:
    run = tm.run(tm.expected_calls([GOOD]), Caller(*CALLS[name]), log_dir=tmp_path)
    [score] = run.scores()
    [label] = score.verdicts["score"].labels
    assert label.suite_cause == "" and label.cause
    assert ":" not in label.cause


def test_a_value_that_a_comparator_refused_names_the_comparator(tmp_path: Path) -> None:
    given: dict[str, Any] = {**GOOD, "compare": {"city": "place"}, "tools": [WEATHER]}
    given["expected"] = [RIGHT_CALL]
    run = tm.run(tm.expected_calls([given]), Caller(*CALLS["another value"]), log_dir=tmp_path)
    [score] = run.scores()
    [label] = score.verdicts["score"].labels
    assert (label.cause, label.suite_cause) == ("wrong_value", "compared as place")


def returns_text(episode: tm.Episode) -> Any:
    return "yes"


def returns_two(episode: tm.Episode) -> float:
    return 2


@pytest.mark.parametrize("scorer", [returns_text, returns_two])
def test_what_a_scorer_returns_wrongly_names_the_authors_file_alone(
    scorer: Any, tmp_path: Path
) -> None:
    run = play(tmp_path, scorer=scorer)
    score = next(iter(run.stored_scores()))
    assert score.failure is not None
    assert HERE in score.failure.first_line and "toolmark/" not in score.failure.first_line


def test_a_metric_that_returns_no_number_names_the_authors_file_alone(tmp_path: Path) -> None:
    run = play(tmp_path, metrics=[tm.mean("calls", returns_text)])
    score = next(iter(run.stored_scores()))
    assert score.failure is not None
    assert HERE in score.failure.first_line and "toolmark/" not in score.failure.first_line


def test_a_field_that_no_row_has_is_no_fault_in_a_file_of_toolmark(tmp_path: Path) -> None:
    run = play(tmp_path, scorer=tm.state_equals("expcted"))
    score = next(iter(run.stored_scores()))
    assert score.failure is not None
    assert "expcted" in score.failure.first_line and ".py" not in score.failure.first_line

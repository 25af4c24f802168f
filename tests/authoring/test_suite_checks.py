"""What `check` says of a suite is true of what it looked at, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.authoring.malformed_rows import GOOD, WEATHER, lines, row
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.core.records import Check

ROOT = Path(__file__).parents[2]


def of_name(checks: list[Check], name: str) -> list[Check]:
    return [each for each in checks if each.name == name]


def answers_seven(episode: tm.Episode) -> bool:
    return episode.answer == "7"


def suite_of(rows: list[dict[str, Any]]) -> tm.Suite:
    @tm.suite
    def made() -> tm.Suite:
        """Questions whose answer is 7."""
        return tm.Suite(tasks=tm.read_tasks(rows), scorer=answers_seven)

    return made()


# --- oracles ------------------------------------------------------------------------------------


def test_rows_without_a_solution_are_a_warning_and_no_fault() -> None:
    checks = tm.check(suite_of([{"question": f"{at}?"} for at in range(3)]))
    [oracle] = of_name(checks, "oracle")
    assert oracle.status == "warn" and oracle.detail.startswith("no oracle: ")
    assert "fail" not in {each.status for each in checks}


def test_a_row_without_a_solution_among_others_is_counted_and_the_others_are_played() -> None:
    rows = [{"question": f"{at}?", "solution": ["7"]} for at in range(3)]
    checks = tm.check(suite_of([*rows, {"id": "open", "question": "?"}]))
    warning, played = of_name(checks, "oracle")
    assert warning.status == "warn" and "1 task of 4" in warning.detail and "open" in warning.detail
    assert played.status == "ok" and "3 of 4" in played.detail


def test_a_wrong_solution_among_rows_without_one_is_a_fault() -> None:
    checks = tm.check(suite_of([{"id": "bad", "question": "?", "solution": ["8"]},
                                {"question": "?"}]))  # fmt: skip
    assert [each.status for each in of_name(checks, "oracle")] == ["warn", "fail"]


def test_a_suite_that_a_judge_scores_passes_without_one(toolmark: Command) -> None:
    said = toolmark("check", f"{ROOT / 'examples' / 'judged_answers.py'}:replies")
    assert said.code == 0
    assert "no oracle: " in said.out and "--judge-model" in said.out


# --- how much was looked at ----------------------------------------------------------------------


def test_a_check_of_a_part_says_of_how_many(toolmark: Command) -> None:
    Path("rows.jsonl").write_bytes(lines(*(row(id=at) for at in range(1200))))
    said = toolmark("check", "rows.jsonl", "--limit", "20", "--json")
    found = {each["name"]: each["detail"] for each in json.loads(said.out)["checks"]}
    for name in ("oracle", "null", "always-call", "tasks repeat"):
        assert "20 of 1" in found[name] and "200" in found[name] and "every" not in found[name]
    assert "1" in found["rows"] and "200" in found["rows"]


def test_a_check_of_all_says_so() -> None:
    checks = tm.check(suite_of([{"question": "?", "solution": ["7"]}]))
    assert [each.detail for each in of_name(checks, "oracle")] == ["right in every task"]


# --- shortcuts -----------------------------------------------------------------------------------


def shortcut(rows: list[dict[str, Any]], name: str) -> Check:
    [found] = of_name(tm.check(suite_of(rows)), name)
    return found


def test_answers_that_similar_questions_share_are_found() -> None:
    topics = ("lamp colour", "chair height", "door width", "table price")
    rows: list[dict[str, Any]] = [
        {"question": f"{topic} number {at}", "expected": topic}
        for topic in topics
        for at in range(4)
    ]
    assert shortcut(rows, "question only").status == "warn"
    assert shortcut(rows, "most frequent answer").status == "ok"
    for at, each in enumerate(rows):
        each["expected"] = at
    assert shortcut(rows, "question only").status == "ok"


def test_a_frequent_answer_is_found_in_a_suite_of_the_user() -> None:
    rows = [{"question": f"{at}", "expected": "yes" if at % 4 else "no"} for at in range(16)]
    assert shortcut(rows, "most frequent answer").status == "warn"


def test_the_cost_is_estimated_with_and_without_an_oracle() -> None:
    for more in ({}, {"solution": ["7"]}):
        [cost] = of_name(tm.check(suite_of([{"question": "?", **more}])), "cost")
        assert "1 request " in cost.detail and "tokens" in cost.detail


# --- rows ----------------------------------------------------------------------------------------


def test_tools_of_rows_in_which_any_call_is_right_are_not_called_unexpected(
    toolmark: Command,
) -> None:
    tool = {"type": "function", "function": WEATHER}
    request = {"messages": [{"role": "user", "content": "?"}], "tools": [tool]}
    Path("k2.jsonl").write_bytes(
        lines(*({"request": request, "finish_reason": each} for each in ("tool_calls", "stop")))
    )
    said = toolmark("check", "k2.jsonl")
    assert said.code == 0
    assert "never expected" not in said.out


def test_one_of_a_thing_is_no_plural(toolmark: Command) -> None:
    other = {"name": "other", "description": "Other", "parameters": {}}
    Path("rows.jsonl").write_bytes(lines(row(tools=[WEATHER, other])))
    said = toolmark("check", "rows.jsonl")
    for words in ("1 tools", "1 rows", "1 requests", "1 tool are", "1 tasks"):
        assert words not in said.out
    assert "1 tool is offered and never expected: other" in said.out
    assert "about 1 request " in said.out


def test_rows_are_shown_as_a_reader_reads_them(toolmark: Command) -> None:
    call = {"name": "weather", "accepted": {"city": ["Rome", "Roma"], "days": [2, ""]}}
    Path("rows.jsonl").write_bytes(
        lines(row(id="a", system="Be brief.", expected=[call]), row(id="b", expected=[]), "{")
    )
    said = toolmark("check", "rows.jsonl", "--show", "3")
    shown = [line.strip() for line in said.out.splitlines()]
    for line in (
        "system: Be brief.",
        f"user: {GOOD['question']}",
        'tool: weather(city: string, days?: integer, unit?: "C" | "F") - Weather forecast',
        'expected: weather(city="Rome" | "Roma", days=2 | left out)',
        "expected: no call",
    ):
        assert line in shown
    assert "parts" not in said.out and "sha256" not in said.out


def test_the_tools_and_the_shape_that_parameters_name_are_checked_too(toolmark: Command) -> None:
    Path("tools.json").write_text(json.dumps([WEATHER]))
    Path("rows.jsonl").write_bytes(lines(row(tools=None)))
    said = toolmark("check", "rows.jsonl", "-T", "tools=tools.json", "--show", "1")
    assert said.code == 0 and "tool: weather(" in said.out


@pytest.mark.parametrize(
    ("comparator", "value"),
    [("date", "x"), ("regex", "(x"), ("set", "Rome"), ("number", "many"), ("time", "late")],
)
@pytest.mark.parametrize("field", ["arguments", "accepted"])
def test_an_expected_value_of_another_kind_than_its_comparator_is_refused_when_it_is_read(
    comparator: str, value: str, field: str, toolmark: Command
) -> None:
    given: Any = value if field == "arguments" else [value]
    call = {"name": "weather", field: {"city": given}}
    Path("rows.jsonl").write_bytes(
        lines(GOOD, row(expected=[call], compare={"weather.city": comparator}))
    )
    for words in (("run", "rows.jsonl", "-m", "control/null"), ("check", "rows.jsonl")):
        said = toolmark(*words)
        assert said.code == (2 if words[0] == "run" else 1)
        text = said.err if words[0] == "run" else said.out
        assert "rows.jsonl, line 2" in text
        assert f"expected[0].{field}.city: " in text and value in text
    assert not [*Path("runs").glob("*")]

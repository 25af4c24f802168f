"""The suites of examples/ are proven, short and listed; those of the design run as printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import toolmark as tm
from toolmark.core import user_modules

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


class Example(NamedTuple):
    """A suite with its bars: how many lines that are not blank, and what doing nothing scores."""

    suite: str
    max_lines: int
    floor: float


EXAMPLE_BY_FILE = {
    "support.py": Example("support", 6, 3 / 15),
    "calendar_suite.py": Example("calendar", 50, 0.0),
    "simulated_user.py": Example("appointments", 40, 1 / 11),
    "metric_and_table.py": Example("measured_calendar", 45, 0.0),
}
# needs a judge model, with which its own test runs it
JUDGED = "judged_answers.py"
ROW_FILES = ("support_rows.jsonl", "calendar_rows.jsonl", "simulated_user.jsonl")
NAMES = [
    "examples/support_rows.jsonl",
    *(f"examples/{file}:{each.suite}" for file, each in EXAMPLE_BY_FILE.items()),
]


@pytest.fixture(autouse=True)
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def n_lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def value_of(suite: tm.Suite | str, control: str, folder: Path) -> float:
    loaded = tm.load(suite) if isinstance(suite, str) else suite
    run = tm.run(loaded, f"control/{control}", log_dir=folder)
    summary = run.summary()
    assert summary["score"]["n"] == len(list(run.tasks()))
    return float(summary["score"]["value"])


def test_every_file_is_an_example_with_bars() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*EXAMPLE_BY_FILE, JUDGED}
    assert JUDGED in (ROOT / "tests/judging/test_judged_example.py").read_text()


@pytest.mark.parametrize("file", EXAMPLE_BY_FILE)
def test_an_example_is_as_short_as_it_must_be(file: str) -> None:
    assert n_lines((EXAMPLES / file).read_text()) <= EXAMPLE_BY_FILE[file].max_lines


@pytest.mark.parametrize("file", ROW_FILES)
def test_rows_are_ten_to_twenty(file: str) -> None:
    assert 10 <= n_lines((EXAMPLES / file).read_text()) <= 20


@pytest.mark.parametrize("name", NAMES)
def test_check_finds_no_fault(name: str) -> None:
    checks = tm.check(name)
    assert "oracle" in {each.name for each in checks}
    assert [each for each in checks if each.status != "ok"] == []


@pytest.mark.parametrize("file", EXAMPLE_BY_FILE)
def test_the_oracle_is_right_and_doing_nothing_scores_its_floor(file: str, tmp_path: Path) -> None:
    name = f"examples/{file}:{EXAMPLE_BY_FILE[file].suite}"
    assert value_of(name, "oracle", tmp_path) == 1.0
    assert value_of(name, "null", tmp_path) == pytest.approx(EXAMPLE_BY_FILE[file].floor)


def test_rows_alone_score_as_their_suite(tmp_path: Path) -> None:
    assert value_of(NAMES[0], "oracle", tmp_path) == 1.0
    assert value_of(NAMES[0], "null", tmp_path) == pytest.approx(3 / 15)


def test_the_metric_and_the_table_are_in_the_report(tmp_path: Path) -> None:
    suite = tm.load("examples/metric_and_table.py:measured_calendar")
    run = tm.run(suite, "control/oracle", log_dir=tmp_path)
    assert run.summary()["parts"]["calls"]["value"] == pytest.approx(21 / 15)
    page = tmp_path / "page.html"
    tm.write_report(run, path=page)
    cells = re.sub(r"<[^>]+>", " ", page.read_text())
    assert re.search(r"Success by weekday\s+weekday\s+episodes\s+right\s+Monday\s+3\s+3\s", cells)


def test_the_readme_names_every_file_with_its_lines_and_its_commands() -> None:
    text = (EXAMPLES / "README.md").read_text()
    for file in (*EXAMPLE_BY_FILE, JUDGED):
        (shown,) = re.findall(rf"^\| `{file}`.*\| (\d+) \|$", text, re.MULTILINE)
        assert int(shown) == n_lines((EXAMPLES / file).read_text())
    for command in ("check", "run"):
        assert re.findall(rf"^toolmark {command} (\S+)", text, re.MULTILINE) == NAMES


# The two suites as the public face of the design prints them.
DESIGN_CODE = '''
import toolmark as tm

@tm.suite
def support(path: str = "rows.jsonl") -> tm.Suite:
    """Calls that a support bot must make."""
    return tm.expected_calls(tm.read_jsonl(path))   # question | messages, tools, expected; id, category, group optional


class Calendar(tm.Environment):
    """A calendar of one week."""

    def __init__(self, task: tm.Task) -> None:
        self.events = list(task.data["events"])

    @tm.tool
    def add_event(self, day: str, hour: int, title: str) -> str:
        """Add an event.

        Args:
            day: Weekday, in English.
            hour: Full hour, 0 to 23.
            title: What it is.
        """
        self.events.append([day, hour, title])
        return "added"

    def final_state(self) -> object:
        return sorted(self.events)


@tm.suite
def calendar(path: str = "calendar.jsonl") -> tm.Suite:
    """Appointments by request."""
    return tm.Suite(
        tasks=tm.read_tasks(path),                   # id, question | messages | turns, data, expected
        environment=Calendar,
        scorer=tm.state_equals("expected"),          # or any (episode) -> bool | float | Verdict
        user=tm.simulated_user("{goal}", max_turns=5),
        metrics=[tm.mean("calls", lambda episode: len(episode.calls))],
    )
'''  # noqa: E501
DESIGN_ROW = {
    "id": "dentist",
    "question": "Please add my dentist.",
    "goal": "Have the dentist on Monday at 9 in your calendar.",
    "data": {"events": [["Friday", 10, "Review"]]},
    "expected": [["Friday", 10, "Review"], ["Monday", 9, "Dentist"]],
    "solution": [
        {"name": "add_event", "arguments": {"day": "Monday", "hour": 9, "title": "Dentist"}}
    ],
}


@pytest.fixture
def design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the file of the design and its rows."""
    opened = {**DESIGN_ROW, "id": "opened by the user"}
    del opened["question"]
    write_rows(tmp_path / "calendar.jsonl", DESIGN_ROW, opened)
    (tmp_path / "rows.jsonl").write_text((EXAMPLES / "support_rows.jsonl").read_text())
    (tmp_path / "my_suites.py").write_text(DESIGN_CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_rows(path: Path, *rows: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(("suite", "floor"), [("support", 3 / 15), ("calendar", 0.0)])
def test_a_suite_of_the_design_runs_by_name(design: Path, suite: str, floor: float) -> None:
    name = f"my_suites.py:{suite}"
    assert value_of(name, "oracle", design / "runs") == 1.0
    assert value_of(name, "null", design / "runs") == pytest.approx(floor)
    assert [each for each in tm.check(name) if each.status == "fail"] == []


def test_the_suites_of_the_design_run_from_python(design: Path) -> None:
    support, calendar = (
        user_modules.import_attribute(f"my_suites.py:{name}") for name in ("support", "calendar")
    )
    assert value_of(support(), "oracle", design / "runs") == 1.0
    run = tm.run(calendar(path="calendar.jsonl"), "control/oracle", log_dir=design / "runs")
    assert run.summary()["score"]["value"] == 1.0
    assert run.summary()["parts"]["calls"]["value"] == 1.0

"""The pages on a user's own suites are run as they stand."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolmark as tm
from toolmark.core.records import Chart, Table
from toolmark.runs.stored_presentation import read_presentation

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = (DOCS / "tutorial/new-suite.md").read_text()
SCORERS = (DOCS / "how-to/scorers.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a language, "" for those that name none."""
    return [text for name, text in re.findall(r"```(\w*)\n(.*?)```", page, re.DOTALL)
            if name == language]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files that the tutorial has its reader write."""
    rows, events = blocks(TUTORIAL, "json")
    suites, _ = blocks(TUTORIAL, "python")
    texts = {"support.jsonl": rows, "calendar.jsonl": events, "my_suites.py": suites}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("_toolmark_file_my_suites")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["support.jsonl", "my_suites.py:calendar"])
def test_check_finds_no_fault_and_the_oracle_is_right(name: str, folder: Path) -> None:
    checks = tm.check(name)
    assert [each for each in checks if each.status == "fail"] == []
    assert [each.status for each in checks if each.name == "oracle"] == ["ok"]


def test_check_warns_of_the_row_for_which_nothing_need_be_done(folder: Path) -> None:
    (null,) = (each for each in tm.check("my_suites.py:calendar") if each.name == "null")
    assert (null.status, null.detail.rpartition(": ")[2]) == ("warn", "ask")
    (null,) = (each for each in tm.check("support.jsonl") if each.name == "null")
    assert null.status == "ok"


def test_the_commands_of_the_page_are_commands_of_the_program(folder: Path) -> None:
    lines = [line for block in blocks(TUTORIAL, "") for line in block.splitlines()]
    starts = ("toolmark check", "toolmark run")
    named = {line.split()[2] for line in lines if line.startswith(starts)}
    assert named == {"support.jsonl", "my_suites.py:calendar"}


def test_the_second_scorer_of_the_page_fails_silence(folder: Path) -> None:
    _, scorer = blocks(TUTORIAL, "python")
    code = (folder / "my_suites.py").read_text()
    code = code.replace('tm.state_equals("expected")', "right_state_and_answer")
    (folder / "my_suites.py").write_text(f"import toolmark as tm\n\n{scorer}\n{code}")
    suite = tm.load("my_suites.py:calendar")
    assert tm.run(suite, "control/null").summary()["score"]["value"] == 0
    assert tm.run(suite, "control/oracle").summary()["score"]["value"] == 1


def test_the_scorers_metrics_and_tables_of_the_page_measure(folder: Path) -> None:
    code = "\n".join(blocks(SCORERS, "python"))
    (folder / "page.py").write_text(
        f"{code}\n\nfrom my_suites import Calendar\n\n@tm.suite\ndef page() -> tm.Suite:\n"
        "    return tm.Suite(tasks=tm.read_tasks('calendar.jsonl'), environment=Calendar,\n"
        "        scorer=polite_and_right, metrics=metrics, tables=[by_category])\n"
    )
    run = tm.run(tm.load("page.py:page"), "control/oracle")
    summary = run.summary()
    assert summary["score"]["name"] == "mean score"
    assert summary["score"]["value"] == pytest.approx(0.8)
    assert summary["parts"]["calls"]["value"] == pytest.approx(4 / 3)
    shown = read_presentation(run)
    assert shown is not None
    table, chart = shown.tables
    assert isinstance(table, Table) and isinstance(chart, Chart)
    assert table.rows == (("", 0.0, 4.0),)
    assert json.loads((run.path / "summary.json").read_text())["n_run"] == 3


@pytest.mark.parametrize("page", ["simulated-users", "judges"])
def test_the_code_of_a_page_is_that_of_the_example(page: str) -> None:
    text = (DOCS / f"how-to/{page}.md").read_text()
    (name,) = re.findall(r"This is `(examples/\w+\.py)`, in whole:", text)
    assert blocks(text, "python")[0] == (DOCS.parent / name).read_text()

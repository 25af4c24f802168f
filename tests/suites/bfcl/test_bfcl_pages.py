"""The page and the terminal of real runs: several beside each other, and one that is partial."""

from __future__ import annotations

import itertools
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tests.reports.page_reader import read_page

from toolmark import api
from toolmark.cli import console_output
from toolmark.core import number_format
from toolmark.official_bfcl import prompt_formats
from toolmark.runs.run_store import Run
from toolmark.statistics.score_columns import gather_columns
from toolmark.suites.bfcl import format_sensitivity_tables

FAULTY = "control/faulty?class=wrong_value&rate=0.5"
PARTIAL = "– (1 of 4 categories run)"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Return two players of the prompt formats, and one that was asked live items alone."""
    folder = tmp_path_factory.mktemp("runs")
    asked = api.load("bfcl", category=("format_sensitivity",))
    ids = [task.id for task in itertools.islice(asked, 10 * 26)]
    live = api.load("bfcl", category=("live_simple",))
    return [
        api.run(asked, "control/oracle", ids=ids, log_dir=folder),
        api.run(asked, FAULTY, ids=ids, log_dir=folder),
        api.run(live, "control/faulty?class=missing_call", limit=20, log_dir=folder),
    ]


def test_a_page_of_three_runs_has_one_heat_map_of_those_with_formats(
    runs: list[Run], tmp_path: Path
) -> None:
    page = read_page(api.write_report(*runs, path=tmp_path / "r.html"))
    title = f"{format_sensitivity_tables.HEAT_MAP_TITLE}, run by run (official)"
    assert page.root.headings.count(title) == 1
    (card,) = (each for each in page.root.find("div", "card") if title in each.headings)
    head, *rows = card.find("table")[0].rows
    assert len(rows) == 26
    cells = [cell for row in rows for cell in row if cell.endswith("%")]
    asked = [
        prompt_formats.accuracy_by_format(gather_columns(run.scores(), "official"))
        for run in runs[:2]
    ]
    assert cells == [
        number_format.format_percent(found[name].value or 0.0).replace("\u00a0", " ")
        for name in prompt_formats.official_format_names()
        for found in asked
    ]
    assert len(set(cells[::2])) > 1 and len(set(cells[1::2])) > 1
    full = [each for each in card.find("td") if each.attributes.get("style") == "--heat:100%"]
    assert len(full) == cells.count("100.0 %") > 0
    assert [name.partition("?")[0] for name in head[-2:]] == ["control/oracle", "control/faulty"]
    assert any("control/faulty?class=missing_call" in note for note in card.notes), (
        "not in the table"
    )


def test_page_and_terminal_say_that_a_sample_was_drawn_in_proportion(tmp_path: Path) -> None:
    suite = api.load("bfcl", category=("live",))
    reported = "a sample of 9, every category in proportion"
    for sample, limit, shown in ((9, None, True), (9, 3, False), (None, 9, False)):
        folder = tmp_path / f"{sample}-{limit}"
        run = api.run(suite, "control/oracle", sample=sample, limit=limit, log_dir=folder)
        console = Console(file=StringIO(), width=200)
        console_output.print_summary(console, run.summary())
        assert isinstance(console.file, StringIO)
        page = read_page(api.write_report(run, path=folder / "r.html"))
        assert (reported in console.file.getvalue()) is (reported in page.root.text) is shown


def test_a_partial_group_reads_alike_on_page_and_terminal_and_keeps_its_official_value(
    runs: list[Run], tmp_path: Path
) -> None:
    run = runs[-1]
    found = run.summary()
    part = found["parts"]["live"]
    assert part["partial"] == "1 of 4 categories run"
    share = found["parts"]["live_simple"]["value"]
    assert part["value"] is None and part["low"] is None
    assert part["leaderboard_value"] == pytest.approx(share * 20 / (20 + 1053 + 16 + 24))
    assert "partial" not in found["parts"]["live_simple"]
    console = Console(file=StringIO(), width=200)
    console_output.print_summary(console, found)
    assert isinstance(console.file, StringIO)
    lines = console.file.getvalue().splitlines()
    (reported,) = (line.split(maxsplit=1)[1] for line in lines if line.split()[:1] == ["live"])
    assert reported == f"{PARTIAL}  n=20"
    page = read_page(api.write_report(run, path=tmp_path / "r.html"))
    scores = page.root.tables["Scores"]
    assert " ".join(PARTIAL.split()) in {cell for row in scores for cell in row}

"""What is stored for readers: data of bounded size and formulas of a closed list, checked."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reports.made_runs import SCORER, make, presented
from tests.reports.page_reader import read_page
from tests.suites.multinet import made_tasks

import toolmark as tm
from toolmark.core.errors import DataError, ToolmarkError
from toolmark.core.records import Chart, Drawing, Series, Table
from toolmark.core.svg import Markup
from toolmark.reports import html_report, run_comparison
from toolmark.runs import presentation_writer, run_scoring, stored_presentation
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import (
    PRESENTATION_FILE,
    VIEWS_FILE,
    StoredViews,
    read_presentation,
)
from toolmark.scoring.episode import Episode
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites import suite_registry
from toolmark.suites.multinet.multinet_suites import SCORER as MULTINET


def stored(run: Run) -> stored_presentation.StoredPresentation:
    found = read_presentation(run)
    assert found is not None
    return found


def changed(run: Run, change: Callable[[Any], None]) -> Run:
    """Edit what is stored of a run."""
    path = run.path / PRESENTATION_FILE
    collected = json.loads(path.read_text())
    change(collected)
    path.write_text(json.dumps(collected))
    return Run(run.path)


# --- what is stored is what the suite measures ------------------------------------------


@pytest.mark.parametrize("family", ["openx", "odds", "overcooked"])
def test_numbers_and_tables_are_read_as_the_suite_gave_them(family: str, tmp_path: Path) -> None:
    run = made_tasks.make(tmp_path, family, 40)
    found = stored(run)
    by_reading = {name: gather_columns(run.scores(), name) for name in MULTINET.rules}
    assert found.rules == MULTINET.rules
    for name, table in by_reading.items():
        own = run_scoring.summary_metrics(MULTINET, table)
        assert found.metrics[name] == tuple(own)
        assert [m.measure(table) for m in found.metrics[name]] == [m.measure(table) for m in own]
    made = MULTINET.presentation.tables(by_reading)
    assert [each.title for each in found.tables] == [each.title for each in made]
    assert [each.note for each in found.tables] == [each.note for each in made]
    for one, other in zip(found.tables, made, strict=True):
        if isinstance(one, Chart) and isinstance(other, Chart):
            assert [each.name for each in one.series] == [each.name for each in other.series]
            for a, b in zip(one.series, other.series, strict=True):
                assert np.array_equal(a.y, b.y, equal_nan=True)
        elif isinstance(one, Table) and isinstance(other, Table):
            assert [[str(x) for x in row] for row in one.rows] == [
                [str(None if x != x else x) for x in row] for row in other.rows
            ]


def test_views_are_read_as_the_suite_gave_them(tmp_path: Path) -> None:
    run = made_tasks.make(tmp_path, "openx", 8)
    views = StoredViews(run)
    assert MULTINET.presentation.views is not None
    for trajectory in run.trajectories():
        own = MULTINET.presentation.views(Episode(run.task(trajectory.task), trajectory))
        found = views[trajectory.task, trajectory.repeat]
        assert [each.title for each in found if not hasattr(each, "sha256")] == [
            each.title for each in own if not hasattr(each, "sha256")
        ]
        assert len(found) == len(own) > 0
    assert views["nobody", 0] == ()


def odd_tables(by_reading: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    numbers: Any = (np.float64(0.25), np.int64(7), np.nan, np.inf, True, None, np.str_("a"))
    series = Series(name=Markup("<i>"), x=(0.0, 1.0), y=(float("nan"), np.float64(0.5)))
    return [
        Table(title=Markup("odd"), head=tuple("abcdefg"), rows=(numbers,)),
        Chart(title="odd", kind="line", series=(series,)),
    ]


def test_cells_of_every_kind_are_stored(tmp_path: Path) -> None:
    run = presented(
        make(tmp_path, n=4),
        replace(SCORER, presentation=replace(SCORER.presentation, tables=odd_tables)),
    )
    table, chart = stored(run).tables
    assert isinstance(table, Table) and isinstance(chart, Chart)
    assert table.rows == ((0.25, 7, None, None, True, None, "a"),)
    assert np.isnan(chart.series[0].y[0]) and chart.series[0].y[1] == 0.5
    html_report.write_report([run], tmp_path / "r.html")


def failing(*given: object) -> Any:
    raise ZeroDivisionError("no table today")


def test_a_fault_in_tables_or_views_ends_no_run_and_is_shown(tmp_path: Path) -> None:
    run = presented(
        make(tmp_path, n=4),
        replace(SCORER, presentation=replace(SCORER.presentation, tables=failing, views=failing)),
    )
    assert run.summary()["n_run"] == 4
    page = read_page(html_report.write_report([run], tmp_path / "r.html"))
    assert "no table today" in page.section("tables").text
    assert all("no table today" in json.dumps(page.blocks[f"e{i}"]["views"]) for i in range(4))


def test_views_are_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    run = presented(make(tmp_path, n=4), SCORER)
    before = (run.path / VIEWS_FILE).read_bytes()

    def interrupted(episode: Episode) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        presentation_writer.write_views(
            run, replace(SCORER, presentation=replace(SCORER.presentation, views=interrupted))
        )
    assert (run.path / VIEWS_FILE).read_bytes() == before
    assert not [each for each in run.path.iterdir() if each.name.startswith(f".{VIEWS_FILE}")]
    presentation_writer.write_views(
        run, replace(SCORER, presentation=replace(SCORER.presentation, views=None))
    )
    assert not (run.path / VIEWS_FILE).exists()


def large(episode: Episode) -> list[Drawing]:
    return [Drawing(title="large", svg="x" * stored_presentation.MAX_VIEWS_BYTES)]


def test_what_is_too_large_is_left_out_and_said(tmp_path: Path) -> None:
    rows = tuple(("y" * 1000,) for _ in range(stored_presentation.MAX_PRESENTATION_BYTES // 1000))
    wide = Table(title="wide", head=("x",), rows=rows)
    run = presented(
        make(tmp_path, n=4),
        replace(
            SCORER, presentation=replace(SCORER.presentation, tables=lambda _: [wide], views=large)
        ),
    )
    (left,) = stored(run).tables
    assert left.note.startswith("Left out: they take ")
    key = next((each.task, each.repeat) for each in run.trajectories())
    (view,) = StoredViews(run)[key]
    assert isinstance(view, Table) and view.note.startswith("Left out")


# --- what is foreign is refused ----------------------------------------------------------


def test_a_formula_outside_the_list_is_named_with_the_file(tmp_path: Path) -> None:
    def other(collected: Any) -> None:
        collected["metrics"]["fair"][1]["formula"] = {"type": "os.system", "command": "true"}

    run = changed(make(tmp_path, n=4), other)
    for act in (lambda: tm.write_report(run), lambda: tm.compare(run, run)):
        with pytest.raises(DataError, match=r"presentation\.json: .*os\.system") as caught:
            act()
        assert "toolmark score" in str(caught.value)


@pytest.mark.parametrize("column", ["__class__", "axes", "task", "categoryx"])
def test_a_filter_reads_known_columns_alone(column: str, tmp_path: Path) -> None:
    def other(collected: Any) -> None:
        collected["metrics"]["fair"][0]["filters"] = [{"column": column, "values": ["a"]}]

    with pytest.raises(DataError, match="no column"):
        stored(changed(make(tmp_path, n=4), other))


@pytest.mark.parametrize("name", ["os:system", "toolmark.cli.app:main", "lab"])
def test_an_overview_outside_the_list_is_refused(name: str, tmp_path: Path) -> None:
    runs = [
        changed(make(tmp_path, n=4, model=model), lambda collected: collected.update(overview=name))
        for model in ("a", "b")
    ]
    tm.write_report(runs[0])
    with pytest.raises(DataError, match=r"presentation\.json: no overview"):
        tm.write_report(*runs)


def test_a_stored_truth_that_is_no_class_is_one_line(tmp_path: Path) -> None:
    run = made_tasks.make(tmp_path, "overcooked", 12)
    path = run.path / "scores.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for verdict in lines[3]["verdicts"].values():
        verdict["parts"]["truth"] = 99
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reported = (
        r"\Athe scores.*|.*do not fit together: .*1 of 12 truths are not in 0\.\.\d+, first in row"
    )
    with pytest.raises(DataError, match=reported) as caught:
        tm.write_report(Run(run.path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", suite_registry.OVERVIEWS)
def test_scores_that_an_overview_does_not_fit_are_one_line_at_most(
    name: str, tmp_path: Path
) -> None:
    runs = [
        changed(make(tmp_path, n=4, model=model), lambda collected: collected.update(overview=name))
        for model in ("a", "b")
    ]
    try:
        tm.write_report(*runs)
    except DataError as error:
        assert "do not fit" in str(error) and "\n" not in str(error)


def test_a_file_beyond_the_limit_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make(tmp_path, n=4)
    monkeypatch.setattr(stored_presentation, "MAX_PRESENTATION_BYTES", 1000)
    with pytest.raises(DataError, match="larger than 1\u202f000 bytes"):
        read_presentation(run)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    run = make(tmp_path, n=4)
    text = (run.path / PRESENTATION_FILE).read_text()
    deep = '{"type":"of","rows":[],"formula":' * 20_000
    (run.path / PRESENTATION_FILE).write_text(
        text.replace('"formula": {', f'"formula": {deep}{{', 1)
    )
    with pytest.raises(DataError, match="presentation"):
        read_presentation(run)


def test_another_run_s_presentation_is_none_of_an_unfinished_run(tmp_path: Path) -> None:
    run = make(tmp_path, n=4)
    (run.path / "summary.json").unlink()
    assert read_presentation(run) is None
    page = read_page(html_report.write_report([run], tmp_path / "r.html"))
    assert "toolmark score" in page.root.text
    with pytest.raises(ToolmarkError, match="toolmark score"):
        run_comparison.compare_runs(run, run)


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    -1e308,
    10**18,
    "",
    "nan",
    "inf",
    [],
    {},
    ["a"],
    "mean",
    "parts.x",
    {"type": "mean"},
    {"type": "passes", "k": -3, "all_attempts": True},
    "heat",
    "bar",
    "\x1b[31m<b>",
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key, each in inner:
            found += [(*path, key)] if not isinstance(each, dict | list) else []
            found += paths(each, (*path, key)) if isinstance(each, dict | list) else []
    return found


def damaged(lines: list[Any], rng: random.Random) -> list[Any]:
    """Put something odd in a place or two of a line."""
    line = rng.choice(lines)
    for _ in range(rng.choice((1, 1, 2))):
        *way, last = rng.choice(paths(line))
        place = line
        for key in way:
            place = place[key]
        place[last] = rng.choice(ODD)
    return lines


@pytest.mark.parametrize("n_cases", [6, pytest.param(80, marks=pytest.mark.long)])
@pytest.mark.parametrize("file", [PRESENTATION_FILE, VIEWS_FILE, "scores.jsonl"])
def test_no_damage_of_what_is_stored_gets_further_than_one_line(
    file: str, n_cases: int, tmp_path: Path
) -> None:
    a, b = (made_tasks.make(tmp_path / name, "openx", 6, model=name) for name in ("a", "b"))
    text = (a.path / file).read_text()
    shown_pages = 0
    for n in range(n_cases):
        rng = random.Random(f"{file}{n}")
        lines = (
            [json.loads(text)]
            if file == PRESENTATION_FILE
            else [*map(json.loads, text.splitlines())]
        )
        (a.path / file).write_text("".join(json.dumps(line) + "\n" for line in damaged(lines, rng)))
        try:
            html_report.write_report([Run(a.path), Run(b.path)], tmp_path / "r.html")
            str(run_comparison.compare_runs(Run(a.path), Run(b.path)))
            shown_pages += 1
        except ToolmarkError as error:
            assert str(a.path) in str(error)
    assert shown_pages < n_cases

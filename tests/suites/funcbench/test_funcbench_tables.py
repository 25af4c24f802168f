"""Tables and charts show what the run has data for, with the paper's figures beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import pytest

import toolmark as tm
from toolmark.baselines.backward_planner import BackwardPlanner
from toolmark.core.failure import NOT_REACHED
from toolmark.core.model import Model
from toolmark.core.records import (
    Chart,
    EpisodeFilter,
    Reply,
    Request,
    Score,
    Table,
    Task,
    Trajectory,
)
from toolmark.scoring.episode import Episode
from toolmark.statistics.score_columns import gather_columns
from toolmark.suites.funcbench import funcbench_paper_results, success_charts
from toolmark.suites.funcbench.funcbench_suite import SCORER

Play = Callable[[Iterable[Task], Callable[[Task], Model]], list[tuple[Task, Trajectory]]]
Shown = dict[str, Table | Chart]


class Mute(Model):
    """Solves nothing."""

    async def __call__(self, request: Request, /) -> Reply:
        return Reply()


def skill(task: Task) -> Model:
    """Solve what has no irrelevant functions, and what is restated or thought about."""
    capable = (
        task.axes["irrelevant"] == "0"
        or task.axes.get("protocol") == "restate"
        or task.axes.get("effort") == "medium"
    )
    return BackwardPlanner() if capable else Mute()


def scores(play: Play, tasks: Iterable[Task]) -> list[Score]:
    return [
        Score(task=t.id, item=t.item, axes=t.axes, verdicts=dict(SCORER.score(Episode(t, x))))
        for t, x in play(tasks, skill)
    ]


def shown(made: Iterable[Score]) -> Shown:
    tables = SCORER.presentation.tables({"official": gather_columns(made, "official")})
    return {table.title: table for table in tables}


def table(found: Shown, start: str) -> Table:
    (chosen,) = [x for title, x in found.items() if title.startswith(start)]
    assert isinstance(chosen, Table)
    assert all(len(row) == len(chosen.head) for row in chosen.rows)
    return chosen


def chart(found: Shown, start: str) -> Chart:
    (chosen,) = [x for title, x in found.items() if title.startswith(start)]
    assert isinstance(chosen, Chart)
    return chosen


@pytest.fixture(scope="module")
def main(play: Play) -> list[Score]:
    return scores(play, tm.load("funcbench", preset="main", graphs=1, seed=1))


def test_the_papers_results_have_tables_of_their_own(main: list[Score]) -> None:
    found = shown(main)
    success = table(found, "The paper's models, asked with other words")
    assert success.rows[:2] == (
        ("GPT-5", 5, "72.5\u00a0%", "80.0\u00a0%", 5.4, 7.6),
        ("GPT-5", 10, "38.2\u00a0%", "28.9\u00a0%", 11.5, 13.0),
    )
    assert len(success.rows) == 3 * len(funcbench_paper_results.success_rates())
    assert success.rows[-1][4:] == (None, 18.9)
    errors = table(found, "Bad calls of the paper's models, asked with other words")
    assert list(errors.rows[0][:2]) == ["GPT-5", 6054]
    for title, other in found.items():
        if isinstance(other, Table) and "asked with other words" not in title:
            assert not any("GPT" in str(cell) for row in other.rows for cell in row)


def test_success_is_shown_by_core_size(main: list[Score]) -> None:
    found = table(shown(main), "Success by number of core functions (paper: Table")
    assert found.head == ("model", "core 5", "core 10", "core 20")
    assert str(found.rows[0][1]).startswith("10.0\u00a0% [")
    assert len(found.rows) == 1


def test_calls_are_split_by_outcome(main: list[Score]) -> None:
    found = table(shown(main), "Calls per trial")
    assert found.rows[0] == ("this run", 5.0, 0.0, 10.0, 0.0, 20.0, 0.0)


def test_no_success_gives_a_dash(play: Play) -> None:
    made = scores(play, tm.load("funcbench", core=5, depth=2, connected=3, graphs=2, seed=1))
    assert table(shown(made), "Calls per trial").rows[0] == ("this run", None, 0.0)


def test_bare_success_counts_only_tasks_without_irrelevant_functions(main: list[Score]) -> None:
    found = table(shown(main), "Success without irrelevant")
    assert all(str(cell).startswith("100.0") for cell in found.rows[0][1:])


def test_failures_are_counted_over_all_trials(main: list[Score]) -> None:
    found = table(shown(main), "Bad calls by class")
    assert list(found.rows[0]) == ["this run", 0, "-", "-", "-", "-"]
    shares = [
        row.not_found + row.wrong_inputs + row.not_known + row.incorrect
        for row in funcbench_paper_results.error_shares()
    ]
    assert shares == pytest.approx([100.0] * 7, abs=0.25)


def test_every_setting_has_its_row(main: list[Score]) -> None:
    found = table(shown(main), "Success by setting")
    assert len(found.rows) == 3 * 10
    assert sum(int(str(row[4])) for row in found.rows) == 230


def test_kinds_share_the_point_without_irrelevant_functions(main: list[Score]) -> None:
    found = chart(shown(main), "Success by kind of irrelevant functions, core 10")
    assert {series.name for series in found.series} == {"connected", "disconnected", "half"}
    for series in found.series:
        assert list(series.x) == [0, 10, 20, 40]
        assert list(series.y) == [1, 0, 0, 0]
        assert all(low <= y <= high for low, y, high in zip(
            series.low, series.y, series.high, strict=True))  # fmt: skip


def test_depths_are_drawn_with_intervals(main: list[Score]) -> None:
    (series,) = chart(shown(main), "Success by depth, core 20").series
    assert series.x == tuple(range(1, 20, 2))
    assert series.y == pytest.approx((0.1,) * 10)
    assert all(low < 0.1 < high for low, high in zip(series.low, series.high, strict=True))


def test_every_number_of_a_table_links_to_its_episodes(main: list[Score]) -> None:
    """All but the paper's: a cell has a filter wherever it has a number."""
    for title, found in shown(main).items():
        if not isinstance(found, Table) or "other words" in title or "wrong values" in title:
            continue
        assert len(found.row_episodes) == len(found.rows) and None not in found.row_episodes, title
        columns = found.column_episodes or (EpisodeFilter(),) * len(found.head)
        not_linked = [
            name for name, episodes in zip(found.head, columns, strict=True) if episodes is None
        ]
        assert {*not_linked} <= {
            "model", "core", "irrelevant", "kind", "recovery", "difficulty", "class", "ways",
        }, title  # fmt: skip


def test_success_by_core_size_is_a_line(main: list[Score]) -> None:
    (series,) = chart(shown(main), "Success by number of core functions (paper: Fig. 6)").series
    assert list(series.x) == [5, 10, 20]
    assert series.y == pytest.approx((0.1, 0.1, 0.1))


def test_kinds_are_averaged_over_core_sizes_of_equal_weight(main: list[Score]) -> None:
    found = chart(shown(main), "Success by kind of irrelevant functions, all core sizes")
    assert {series.name for series in found.series} == {"connected", "disconnected", "half"}
    for series in found.series:
        assert list(series.x) == [0, 10, 20, 40]
        assert list(series.y) == pytest.approx([1, 0, 0, 0])


def test_several_runs_are_lines_in_one_chart(main: list[Score]) -> None:
    columns = gather_columns(main, "official")
    half = columns.where(columns.axis("core") != "20")
    charts = success_charts.tables_across_runs({"official": {"a": columns, "b": half}})
    by_title = {found.title: found for found in charts}
    core = by_title["Success by number of core functions (paper: Fig. 6)"]
    assert [(series.name, series.x) for series in core.series] == [
        ("a", (5, 10, 20)), ("b", (5, 10))
    ]  # fmt: skip
    depth = next(found for title, found in by_title.items() if "depth, core 20" in title)
    assert [series.name for series in depth.series] == ["a"]


def test_the_depth_of_even_odds_is_shown_with_its_interval(main: list[Score]) -> None:
    found = table(shown(main), "Where success falls to 50")
    rows = {row[1]: row for row in found.rows}
    assert list(rows) == ["depth", "core", "irrelevant"]
    assert 0 < float(str(rows["irrelevant"][2])) < 10
    assert rows["irrelevant"][5] == "within what was run"
    assert "\u221e" in str(rows["depth"][3])


def test_restated_and_plain_are_compared_in_pairs(play: Play) -> None:
    found = shown(scores(play, tm.load("funcbench", preset="restate5", graphs=2, seed=1)))
    (ours,) = table(found, "The same items asked in two ways").rows
    assert ours[:3] == ("this run, core 5", "plain → restate", 32)
    assert str(ours[3]).startswith("25.0\u00a0%")
    assert str(ours[4]).startswith("100.0\u00a0%")
    assert str(ours[5]).startswith("+75.0")
    assert ours[6] == "<\u00a00.0001"
    bars = chart(found, "Success by number of irrelevant functions, core 5")
    assert [series.name for series in bars.series] == ["plain", "restate"]
    assert bars.ticks == ("0", "10", "20", "40")


def test_wordings_are_compared_in_pairs(play: Play) -> None:
    suite = tm.load("funcbench", core=5, depth=2, graphs=6, wording="guided,plain", seed=1)
    (row,) = table(shown(scores(play, suite)), "The same items asked in two ways").rows
    assert row[:3] == ("this run, core 5", "plain wording → guided wording", 6)
    assert row[6] == "1.00"


def test_efforts_are_compared_in_pairs(play: Play) -> None:
    made = scores(play, tm.load("funcbench", preset="effort", graphs=2, seed=1))
    # the order in which episodes end is not an order of efforts
    (row,) = table(shown(reversed(made)), "The same items asked in two ways").rows
    assert row[:3] == ("this run, core 5", "minimal → medium", 80)
    assert str(row[3]).startswith("10.0\u00a0%")
    assert str(row[4]).startswith("100.0\u00a0%")
    assert str(row[5]).startswith("+90.0")


def test_every_two_ways_are_compared(play: Play) -> None:
    suite = tm.load("funcbench", preset="restate5", efforts=("high", "low"), graphs=1, seed=1)
    rows = table(shown(scores(play, suite)), "The same items asked in two ways").rows
    ways = ["low, plain", "low, restate", "high, plain", "high, restate"]
    assert [row[1] for row in rows] == [f"{a} → {b}" for a, b in combinations(ways, 2)]


def test_a_single_setting_has_no_charts(play: Play) -> None:
    found = shown(scores(play, tm.load("funcbench", core=7, depth=3, graphs=3, seed=1)))
    assert not any(isinstance(x, Chart) for x in found.values())
    assert [row[0] for row in table(found, "Success by number").rows] == ["this run"]


def test_a_run_without_an_episode_shows_nothing() -> None:
    assert shown([Score(task="t", item="t", failure=NOT_REACHED)]) == {}


def test_not_run_episodes_are_in_no_table(main: list[Score]) -> None:
    lost = [
        Score(task=x.task, item=x.item, repeat=1, axes=x.axes, failure=NOT_REACHED) for x in main
    ]
    mixed = shown(main + lost)
    for title in ("Calls per trial", "Success by setting"):
        assert table(mixed, title).rows == table(shown(main), title).rows


def test_metrics_begin_with_success(main: list[Score]) -> None:
    rows = gather_columns(main, "official")
    found = {metric.name: metric.measure(rows).value for metric in SCORER.metrics(rows)}
    assert list(found) == [
        "success", "derived", "success, core 5", "success, core 10", "success, core 20"
    ]  # fmt: skip
    assert found["success"] == found["derived"] == pytest.approx(0.1)

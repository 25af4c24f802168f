"""The leaderboard's weights, what is missing, the interval, and the cells of its files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import Estimate, Label, Reply, Score, Step, Trajectory, Usage, Verdict
from toolmark.official_bfcl import official_data
from toolmark.official_bfcl.official_models import ListedModel
from toolmark.statistics import weighted_means
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.studio.bfcl_interchange import leaderboard_files
from toolmark.suites.bfcl import leaderboard

WRONG = Label(cause="wrong_value", suite_cause="value_error:others", evidence="e", primary=True)
PRICED = ListedModel("Shown", "https://x", "Maker", "Free", "OpenAIResponses", True, True, 2.0, 8.0)


def made(shares: dict[str, tuple[int, int]], prefix: str = "") -> Columns:
    """Return columns with k of n right per category."""
    scores = []
    for category, (k, n) in shares.items():
        for i in range(n):
            verdict = Verdict(
                outcome="correct" if i < k else "incorrect",
                value=float(i < k),
                labels=() if i < k else (WRONG,),
            )
            id_ = f"{prefix}{category}_{i}"
            readings = {"official": verdict}
            scores.append(Score(task=id_, item=id_, category=category, verdicts=readings))
    return gather_columns(scores, "official")


def measured(cols: Columns) -> dict[str, Estimate]:
    return {metric.name: metric.measure(cols) for metric in leaderboard.leaderboard_metrics(cols)}


def full(k: int = 1, n: int = 2) -> dict[str, tuple[int, int]]:
    return {name: (k, n) for name in official_data.category_sizes()}


def test_the_published_sizes_add_up() -> None:
    assert sum(official_data.category_sizes().values()) == 2501 + 1140 + 800 + 665


def test_overall_is_ten_ten_ten_thirty_forty() -> None:
    weights = {"non_live": 10, "live": 10, "irrelevance_detection": 10}
    weights |= {"multi_turn": 30, "agentic": 40}
    groups = {group.name: group for group in leaderboard.GROUPS}
    for name, weight in weights.items():
        right = {leaf: (2, 2) for leaf in weighted_means.group_categories(groups[name])}
        assert measured(made(full(0) | right))["overall"].value == pytest.approx(weight / 100)


def test_the_verified_example_of_the_specification() -> None:
    parts = {name: 0.0 for name in official_data.category_sizes()}
    for group, value in zip(
        leaderboard.OVERALL.members, (0.9958, 0.997, 1.0, 0.88, 1.0), strict=True
    ):
        parts |= dict.fromkeys(weighted_means.group_categories(group), value)
    assert (
        round(
            100
            * weighted_means.weighted_total(
                leaderboard.OVERALL, parts, official_data.category_sizes()
            ),
            2,
        )
        == 96.33
    )


@pytest.mark.parametrize("group", leaderboard.GROUPS, ids=lambda group: group.name)
def test_the_weights_of_a_group_sum_to_one_and_give_its_value(group: weighted_means.Group) -> None:
    rng = np.random.default_rng(7)
    values = {name: float(rng.random()) for name in official_data.category_sizes()}
    spread = weighted_means.category_weights(group, official_data.category_sizes())
    assert math.fsum(spread.values()) == pytest.approx(1.0)
    assert set(spread) == set(weighted_means.group_categories(group))
    weighted = sum(spread[name] * values[name] for name in spread)
    assert weighted_means.weighted_total(
        group, values, official_data.category_sizes()
    ) == pytest.approx(weighted)


def test_live_counts_entries_and_the_other_groups_count_members_alike() -> None:
    found = measured(
        made(
            {
                "simple_python": (40, 40), "simple_java": (0, 10), "simple_javascript": (0, 10),
                "live_simple": (10, 10), "live_multiple": (0, 30), "live_parallel": (0, 5),
                "live_parallel_multiple": (0, 5),
            }
        )
    )  # fmt: skip
    assert found["simple_ast"].value == pytest.approx(1 / 3)
    assert found["live"].value == pytest.approx(10 / 50)


def test_what_is_missing_counts_as_zero_and_is_marked() -> None:
    cols = made({"multi_turn_base": (3, 4)})
    found = measured(cols)
    assert found["multi_turn"].value == pytest.approx(0.75 / 4)
    assert found["overall"].value == pytest.approx(0.3 * 0.75 / 4)
    assert found["memory_kv"].value is None and found["memory_kv"].n == 0
    assert found["agentic"].value is None
    assert (
        "multi_turn_base" not in leaderboard.missing_categories(cols)
        and len(leaderboard.missing_categories(cols)) == 21
    )


def test_a_group_says_how_much_of_it_ran() -> None:
    found = measured(made({"multi_turn_base": (3, 4), "multiple": (1, 2), "memory_kv": (1, 2)}))
    reported = {name: part.partial for name, part in found.items() if part.partial}
    assert reported == {
        "multi_turn": "1 of 4 categories run",
        "non_live": "1 of 6 categories run",
        "memory": "1 of 3 categories run",
        "agentic": "1 of 5 categories run",
        "overall": "3 of 21 categories run",
    }
    assert not any(part.partial for part in measured(made(full())).values())


def test_a_category_of_which_nothing_ran_leaves_its_groups_open() -> None:
    scores = [
        Score(
            task=f"{name}_0",
            item=f"{name}_0",
            category=name,
            failure=NOT_REACHED if name == "web_search_base" else None,
            verdicts={}
            if name == "web_search_base"
            else {"official": Verdict(outcome="correct", value=1.0)},
        )
        for name in official_data.category_sizes()
    ]
    found = measured(gather_columns(scores, "official"))
    assert next(iter(found)) == "accuracy"
    group = found["web_search"]
    assert (group.value, group.worst, group.best) == (0.5, 0.5, 1.0)
    assert group.partial == "1 of 2 categories run"
    assert found["web_search_base"].best is None
    assert found["overall"].worst == pytest.approx(0.9) and found["overall"].best == 1.0


def test_a_missing_live_category_weighs_its_published_entries() -> None:
    found = measured(made({"live_simple": (258, 258)}))
    assert found["live"].value == pytest.approx(258 / (258 + 1053 + 16 + 24))


def test_the_headline_is_overall_only_where_everything_is_there() -> None:
    assert next(iter(measured(made(full())))) == "overall"
    assert next(iter(measured(made({"multiple": (1, 2)})))) == "accuracy"


def test_the_headline_names_what_it_does_not_count() -> None:
    head = leaderboard.leaderboard_metrics(made(full()))[0]
    assert head.title == "overall (without live_relevance)"
    assert head.measure(made(full())).n == 2 * (len(official_data.category_sizes()) - 1)


def test_every_category_and_group_is_a_part() -> None:
    found = measured(made({"multiple": (1, 2)}))
    assert set(found) >= {
        *official_data.category_sizes(),
        *(group.name for group in leaderboard.GROUPS),
    }


def test_format_sensitivity_is_shown_and_not_counted() -> None:
    cols = made({"multiple": (1, 2), leaderboard.UNSCORED: (0, 50)})
    assert measured(cols)["accuracy"].value == 0.5
    assert measured(cols)[leaderboard.UNSCORED].value == 0.0
    assert measured(made({leaderboard.UNSCORED: (1, 4)}))["accuracy"].value == 0.25


def test_the_interval_of_overall_is_that_of_independent_strata() -> None:
    shares = full(600, 1000)
    found = measured(made(shares))["overall"]
    spread = weighted_means.category_weights(
        leaderboard.OVERALL, {name: 1000 for name in official_data.category_sizes()}
    )
    error = math.sqrt(sum(w * w * 0.6 * 0.4 / 1000 for w in spread.values()))
    assert found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.01)


def test_bounds_hold_what_was_not_run() -> None:
    cols = gather_columns(
        [
            Score(task=f"{name}_{i}", item=f"{name}_{i}", category=name, failure=NOT_REACHED)
            if i
            else Score(
                task=f"{name}_{i}",
                item=f"{name}_{i}",
                category=name,
                verdicts={"official": Verdict(outcome="correct", value=1.0)},
            )
            for name in official_data.category_sizes()
            for i in range(4)
        ],
        "official",
    )
    found = measured(cols)["overall"]
    assert found.value == pytest.approx(1.0)
    assert found.worst == pytest.approx(0.25) and found.best == pytest.approx(1.0)


# --- the files --------------------------------------------------------------------------


def entrant(
    name: str, shares: dict[str, tuple[int, int]], known: ListedModel | None
) -> leaderboard_files.LeaderboardModel:
    spent = leaderboard_files.RequestUsage.empty()
    for used in (Usage(input=1_000_000, output=500_000), Usage()):
        reply = Reply(usage=used, latency_s=2.0 if used.input else 0.0)
        spent.add_trajectory(Trajectory(task="t", steps=(Step(reply=reply),)))
    return leaderboard_files.LeaderboardModel(name, known, made(shares), spent)


def read(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().split("\n")]


def test_six_files_with_the_official_columns_the_best_model_first(tmp_path: Path) -> None:
    models = [entrant("a,b\nc", full(0), None), entrant("best", full(2), PRICED)]
    paths = {path.stem: read(path) for path in leaderboard_files.write_sheets(tmp_path, models)}
    assert {name: len(rows[0]) for name, rows in paths.items()} == {
        "data_overall": 36, "data_non_live": 12, "data_live": 10, "data_multi_turn": 7,
        "data_agentic": 10, "data_format_sensitivity": 30,
    }  # fmt: skip
    for rows in paths.values():
        assert [len(row) for row in rows] == [len(rows[0])] * 3
    _, first, second = paths["data_overall"]
    assert first[:8] == ["1", "100.00%", "Shown", "https://x", "6.0", "2.0", "N/A", "2.0"]
    assert second[:3] == ["2", "0.00%", "a b c"]
    assert first[-4:] == ["N/A", "N/A", "Maker", "Free"]


def test_a_missing_category_is_shown_and_counted_as_zero(tmp_path: Path) -> None:
    leaderboard_files.write_sheets(tmp_path, [entrant("one", {"multi_turn_base": (1, 2)}, None)])
    row = read(tmp_path / "data_multi_turn.csv")[1]
    assert row == ["1", "one", "12.50%", "50.00%", "N/A", "N/A", "N/A"]
    overall = read(tmp_path / "data_overall.csv")[1]
    assert overall[1] == "3.75%" and overall[8] == "N/A" and overall[13] == "0.00%"


def test_a_model_without_a_price_pays_for_its_time() -> None:
    spent = leaderboard_files.RequestUsage([1800.0] * 200, [], [])
    assert leaderboard_files.cost_and_latency(spent, None) == [23.92, 1800.0, 0.0, 1800.0]
    assert (
        leaderboard_files.cost_and_latency(leaderboard_files.RequestUsage.empty(), PRICED)
        == ["N/A"] * 4
    )


def test_formats_spread_as_officially() -> None:
    scores = []
    for config, right in (("a", 1), ("b", 3)):
        for i in range(4):
            verdict = Verdict(outcome="correct" if i < right else "incorrect", value=i < right)
            id_ = f"format_sensitivity_{i}:{config}:simple_python_{i}"
            scores.append(Score(task=id_, item=id_, verdicts={"official": verdict}))
    found = leaderboard_files.format_sensitivity(gather_columns(scores, "official"))
    assert found["accuracy_max_delta"] == 50.0
    assert found["accuracy_std"] == round(100 * math.sqrt(0.125), 2)
    assert found["accuracy_variance"] == 1250.0
    assert found["b"] == {"accuracy": 0.75, "correct_count": 3, "total_count": 4}
    assert leaderboard_files.format_sensitivity(gather_columns([], "official")) == {}

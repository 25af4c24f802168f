"""A plan says how much a run must ask, and its run asks that and nothing of the pilot."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs import mini

import toolmark as tm
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Task
from toolmark.reports import run_series
from toolmark.runs import run_logbook
from toolmark.runs.planning import (
    pilot_runs,
    planned_items,
    planned_prices,
    study_plan,
    study_planning,
)
from toolmark.runs.planning.pilot_runs import Pilot, read_pilot
from toolmark.runs.planning.study_plan import StudyGoal, StudyPlan
from toolmark.runs.planning.study_planning import StudyForecast, StudyRequest
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite
from toolmark.statistics.metric_formulas import Metric, StratifiedMean
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.weighted_means import WeightedGroup

SIZE = 150


def _fails_every(k: int) -> mini.Adder:
    return mini.Adder(lambda item, repeat: "no" if (item * 7 + repeat) % k == 0 else None)


def _pilot(folder: Path, suite: Suite, *, model: mini.Adder | None = None, **more: object) -> Run:
    settings = {"sample": 40, "log_dir": folder, **more}
    return tm.run(suite, model or _fails_every(3), **settings)  # type: ignore[arg-type]


def _forecast(
    suite: Suite, *pilots: Pilot, expected: float | None = None, **goal: float
) -> StudyForecast:
    request = StudyRequest(StudyGoal(**goal), pilots, expected)
    return study_planning.plan_study(suite, request)


def _written_plan(folder: Path, suite: Suite, **goal: float) -> tuple[Run, Path, StudyPlan]:
    pilot = _pilot(folder, suite)
    plan = _forecast(suite, read_pilot(pilot.path, suite), **goal).plan
    study_plan.write_study_plan(folder / "plan.json", plan)
    return pilot, folder / "plan.json", plan


def _items(run: Run) -> set[str]:
    return {task.item for task in run.tasks()}


def test_items_of_the_pilot_never_occur_in_the_confirmatory_run(tmp_path: Path) -> None:
    suite = mini.load(n=SIZE)
    pilot, path, plan = _written_plan(tmp_path, suite, half_width=0.1)
    run = tm.run(suite, _fails_every(3), log_dir=tmp_path, plan=path)
    assert not _items(run) & _items(pilot)
    assert len(_items(run)) == plan.n_items and plan.is_reached
    score = run.summary()["score"]
    assert (score["high"] - score["low"]) / 2 <= 0.1
    draw = run.info.plan.study
    assert draw is not None and set(draw.excluded_items) == _items(pilot)
    assert (run.path / "plan.json").read_bytes() == path.read_bytes()
    assert run.summary()["plan_sha256"] == draw.plan_sha256


def test_the_plan_is_entered_before_the_first_request_and_its_runs_are_counted(
    tmp_path: Path,
) -> None:
    suite = mini.load(n=SIZE)
    _, path, _ = _written_plan(tmp_path, suite, half_width=0.15)
    runs = [
        tm.run(suite, _fails_every(k), log_dir=tmp_path, plan=path, resume=False) for k in (3, 4)
    ]
    begun = [e for e in run_logbook.read_logbook(tmp_path).entries if e.event == "begun"]
    draw = runs[0].info.plan.study
    assert draw is not None
    assert [each.plan_sha256 for each in begun] == ["", draw.plan_sha256, draw.plan_sha256]
    series = run_series.find_series(runs[0])
    assert series is not None and (series.position, series.n_runs) == (1, 2)
    assert run_series.describe_series(series).startswith("run 1 of 2 of this plan and model: ")


def test_the_planned_number_of_repeats_is_asked(tmp_path: Path) -> None:
    suite = mini.load(n=30)
    pilot = read_pilot(_pilot(tmp_path, suite, sample=20, repeats=3).path, suite)
    forecast = _forecast(suite, pilot, half_width=0.12)
    assert "repeat" in forecast.separated and forecast.plan.repeats > 1
    path = tmp_path / "plan.json"
    study_plan.write_study_plan(path, forecast.plan)
    run = tm.run(suite, _fails_every(3), log_dir=tmp_path, plan=path)
    assert run.info.plan.repeats == forecast.plan.repeats
    assert run.info.n_episodes == forecast.plan.n_episodes


def test_the_cost_is_that_of_the_pilots_episodes(tmp_path: Path) -> None:
    suite = mini.load(n=SIZE)
    pilot = read_pilot(_pilot(tmp_path, suite, price="2,10").path, suite)
    usd = pilot.run.summary()["spent"]["cost"]["model"]["new_usd"]
    cost = planned_prices.find_episode_cost([pilot], None, None, None)
    assert cost.usd == pytest.approx(usd / 40)
    request = StudyRequest(StudyGoal(half_width=0.1), [pilot], usd_per_episode=cost.usd)
    plan = study_planning.plan_study(suite, request).plan
    assert plan.cost_usd == pytest.approx(plan.n_episodes * usd / 40)
    tokens = pilot_runs.tokens_of_episode(pilot)
    assert tokens is not None
    priced = planned_prices.find_episode_cost([pilot], "http://127.0.0.1:1/v1#m", ["4,20"], None)
    n_input, n_output = map(math.ceil, tokens)
    assert priced.usd == pytest.approx((4 * n_input + 20 * n_output) / 1e6)


def test_variations_of_a_pilot_do_not_make_an_episode_dearer(tmp_path: Path) -> None:
    suite = mini.load(n=SIZE)
    plain, varied = (
        read_pilot(_pilot(tmp_path, suite, price="2,10", vary=kinds).path, suite)
        for kinds in ((), ("wording",))
    )
    assert varied.run.info.n_tasks == 2 * plain.run.info.n_tasks
    for measure in (pilot_runs.usd_of_episode, pilot_runs.tokens_of_episode):
        assert measure(plain) is not None
        assert measure(varied) == pytest.approx(measure(plain))


def test_a_plan_beyond_the_suite_says_what_is_reachable(tmp_path: Path) -> None:
    suite = mini.load(n=SIZE)
    pilot = read_pilot(_pilot(tmp_path, suite).path, suite)
    forecast = _forecast(suite, pilot, half_width=0.02)
    plan = forecast.plan
    assert not plan.is_reached
    assert plan.n_items == plan.n_available == SIZE - 40
    assert plan.half_width is not None and plan.half_width > 0.02
    assert forecast.curve[-1].n_items == plan.n_items


def test_answers_that_never_differ_are_not_asked_again(tmp_path: Path) -> None:
    suite = mini.load(n=SIZE)
    models = {
        "fixed": mini.Adder(lambda item, repeat: "no" if item % 3 == 0 else None),
        "varying": _fails_every(3),
    }
    for goal in ({"half_width": 0.02}, {"difference": 0.03}):
        plans = {}
        for name, model in models.items():
            pilot = _pilot(tmp_path / name, suite, model=model, repeats=2)
            plans[name] = _forecast(suite, read_pilot(pilot.path, suite), **goal).plan
        assert not any(plan.is_reached for plan in plans.values())
        assert plans["fixed"].repeats == 1
        assert plans["fixed"].n_episodes == plans["fixed"].n_available
        assert plans["varying"].repeats > 1


def test_the_headline_of_the_planned_run_counts(tmp_path: Path) -> None:
    """A weighted mean of categories needs more items than the plain one, and all categories."""
    group = WeightedGroup("overall", ("odd", "even"), (0.95, 0.05))
    weighted = Metric("overall", StratifiedMean(group=group))

    def choose_metrics(columns: Columns) -> list[Metric]:
        return [weighted if len(set(columns.category)) == 2 else Metric("accuracy")]

    plain = mini.load(n=3000)
    suite = replace(plain, scorer=replace(plain.scorer, metrics=choose_metrics))
    plans = [_forecast(each, expected=0.5, half_width=0.05) for each in (plain, suite)]
    assert [each.metric for each in plans] == ["accuracy", "overall"]
    # the effective share of items is 1 / (.95^2 / .5 + .05^2 / .5)
    ratio = plans[1].plan.n_items / plans[0].plan.n_items
    assert ratio == pytest.approx((0.95**2 + 0.05**2) / 0.5, rel=0.03)
    pilot = read_pilot(_pilot(tmp_path, suite).path, suite)
    forecast = _forecast(suite, pilot, half_width=0.08)
    run_plan = tmp_path / "plan.json"
    study_plan.write_study_plan(run_plan, forecast.plan)
    score = tm.run(suite, _fails_every(3), log_dir=tmp_path, plan=run_plan).summary()["score"]
    assert score["name"] == "overall" and (score["high"] - score["low"]) / 2 <= 0.08


def test_two_pilots_say_more_than_one_where_the_runs_agree(tmp_path: Path) -> None:
    suite = mini.load(n=2000)
    one = mini.Adder(lambda item, repeat: "no" if item % 3 == 0 else None)
    two = mini.Adder(lambda item, repeat: "no" if item % 3 == 0 or item % 20 == 1 else None)
    a, b = (
        read_pilot(_pilot(tmp_path / name, suite, model=model, sample=100).path, suite)
        for name, model in (("a", one), ("b", two))
    )
    alone = _forecast(suite, a, difference=0.05)
    together = _forecast(suite, a, b, difference=0.05)
    assert together.plan.n_items < alone.plan.n_items / 2
    assert together.plan.power is not None and together.plan.power >= 0.8
    related = _forecast(suite, a, difference=0.05, correlation=0.5)
    assert related.plan.n_items < alone.plan.n_items


def test_a_higher_power_or_a_smaller_difference_needs_more_items() -> None:
    suite = mini.load(n=4000)
    counts = [
        _forecast(suite, expected=0.6, difference=difference, power=power).plan.n_items
        for difference, power in ((0.1, 0.8), (0.1, 0.9), (0.05, 0.9))
    ]
    assert counts == sorted(counts) and counts[0] < counts[2]
    # 2 * .24 * (1.96 + 0.84)^2 / .1^2 with McNemar's test at .6 and .7
    assert 330 <= counts[0] <= 380


def test_the_plan_of_an_expected_score_is_wilsons(tmp_path: Path) -> None:
    plan = _forecast(mini.load(n=5000), expected=0.5, half_width=0.05).plan
    assert plan.n_items == 381  # 1.96^2 * .25 / .05^2 less 1.96^2
    assert plan.excluded_items == ()


def test_another_suite_parameters_or_seed_is_refused(tmp_path: Path) -> None:
    suite = mini.load(n=SIZE)
    pilot, path, _ = _written_plan(tmp_path, suite, half_width=0.15)
    others = (
        mini.load(n=SIZE + 1),
        replace(suite, name="other"),
        replace(suite, provenance=replace(suite.provenance, seed=9)),
    )
    for other in others:
        with pytest.raises(UsageError, match=r"next:|not of"):
            tm.run(other, _fails_every(3), log_dir=tmp_path / "other", plan=path)
        with pytest.raises(UsageError, match="next:"):
            read_pilot(pilot.path, other)
    assert not (tmp_path / "other").exists()


def test_other_sampling_than_the_pilots_is_refused(tmp_path: Path) -> None:
    suite = mini.load(n=SIZE)
    pilot = _pilot(tmp_path, suite, temperature=0.5)
    path = tmp_path / "plan.json"
    plan = _forecast(suite, read_pilot(pilot.path, suite), half_width=0.15).plan
    study_plan.write_study_plan(path, plan)
    with pytest.raises(UsageError, match=r"temperature = 0\.5.*next: give the same"):
        tm.run(suite, _fails_every(3), log_dir=tmp_path / "other", plan=path)
    assert not (tmp_path / "other").exists()
    run = tm.run(suite, _fails_every(3), log_dir=tmp_path, plan=path, temperature=0.5)
    assert len(_items(run)) == plan.n_items


def test_a_plan_is_asked_at_the_address_and_by_the_agent_of_its_pilot(tmp_path: Path) -> None:
    _, path, plan = _written_plan(tmp_path, mini.load(n=SIZE), half_width=0.15)
    (record,) = plan.pilots
    asked = msgspec.structs.replace(record, model="m", base_url="http://a/v1")
    planned = msgspec.structs.replace(plan, pilots=(asked,))
    check = functools.partial(study_plan.check_asked_as_pilot, planned, path)
    for model, address in (("m", "http://a/v1"), ("another", "http://b/v1")):
        check(model, address, record.sampling, "")
    for address in ("http://b/v1", ""):
        with pytest.raises(UsageError, match=r"asked m at http://a/v1, not at .*next: ask there"):
            check("m", address, record.sampling, "")
    for agents, agent, said in (
        (("a.py:b",), "", "--agent a.py:b"),
        (("",), "a.py:b", "no --agent"),
    ):
        pilots = tuple(msgspec.structs.replace(record, agent=each) for each in agents)
        played = msgspec.structs.replace(plan, pilots=pilots)
        study_plan.check_asked_as_pilot(
            played, path, record.model, record.base_url, record.sampling, agents[0]
        )
        with pytest.raises(UsageError, match=f"another agent; next: {said},"):
            study_plan.check_asked_as_pilot(
                played, path, record.model, record.base_url, record.sampling, agent
            )


@pytest.mark.parametrize("n_items", [8, 19, 20, 40])
def test_a_plan_of_few_clusters_warns(n_items: int) -> None:
    width = 1.96 * (0.25 / n_items) ** 0.5
    forecast = _forecast(mini.load(n=n_items), expected=0.5, half_width=width * 0.9)
    assert forecast.plan.n_items == forecast.n_clusters
    warned = [text for text in forecast.warnings if "may be too narrow" in text]
    assert bool(warned) == (forecast.n_clusters < 20) == (n_items < 20)


@pytest.mark.parametrize(
    "chosen", [{"limit": 3}, {"ids": ("sum-1",)}, {"sample": 4}, {"repeats": 7}]
)
def test_a_plan_says_alone_what_is_asked(tmp_path: Path, chosen: dict[str, object]) -> None:
    suite = mini.load(n=SIZE)
    _, path, _ = _written_plan(tmp_path, suite, half_width=0.15)
    with pytest.raises(UsageError, match="leave out --"):
        tm.run(suite, _fails_every(3), log_dir=tmp_path, plan=path, **chosen)  # type: ignore[arg-type]


def test_an_edited_plan_is_another_plan(tmp_path: Path) -> None:
    suite = mini.load(n=SIZE)
    _, path, plan = _written_plan(tmp_path, suite, half_width=0.15)
    first = tm.run(suite, _fails_every(3), log_dir=tmp_path, plan=path)
    edited = msgspec.structs.replace(plan, n_items=plan.n_items - 5)
    study_plan.write_study_plan(tmp_path / "edited.json", edited)
    second = tm.run(suite, _fails_every(3), log_dir=tmp_path, plan=tmp_path / "edited.json")
    assert first.path != second.path
    series = run_series.find_series(second)
    assert series is not None and (series.position, series.n_runs) == (1, 1)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"format": 1}', b"\xff\xfe", b"null"])
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"plan\.json"):
        tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path / "runs", plan=path)
    assert not (tmp_path / "runs").exists()


def test_a_plan_of_another_format_is_refused(tmp_path: Path) -> None:
    _, path, _ = _written_plan(tmp_path, mini.load(n=SIZE), half_width=0.15)
    fields = json.loads(path.read_bytes())
    del fields["components"]  # other formats have other fields
    for number in (1, 99):
        path.write_text(json.dumps(fields | {"format": number}))
        with pytest.raises(DataError, match=f"format {number}, this version reads"):
            study_plan.read_study_plan(path)


def test_a_pilot_without_variance_or_items_is_refused(tmp_path: Path) -> None:
    suite = mini.load(n=SIZE)
    right = _pilot(tmp_path / "right", suite, model=mini.Adder())
    with pytest.raises(UsageError, match="no variance; next:"):
        read_pilot(right.path, suite)
    few = _pilot(tmp_path / "few", suite, sample=4)
    with pytest.raises(UsageError, match=r"4 items ran.*next:"):
        read_pilot(few.path, suite)
    every = read_pilot(_pilot(tmp_path / "every", suite, sample=SIZE).path, suite)
    with pytest.raises(UsageError, match="every item of the suite"):
        _forecast(suite, every, half_width=0.1)


@pytest.mark.parametrize(
    "goal",
    [
        {}, {"half_width": 0.0}, {"half_width": 0.51}, {"half_width": float("nan")},
        {"difference": 0.0}, {"difference": -0.1}, {"half_width": 0.1, "difference": 0.1},
        {"difference": 0.1, "power": 1.0}, {"difference": 0.1, "correlation": 1.0},
        {"difference": 0.1, "correlation": 0.99},
    ],
)  # fmt: skip
def test_a_goal_that_makes_no_sense_is_refused_with_the_next_step(goal: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="next:") as refused:
        _forecast(mini.load(n=100), expected=0.6, **goal)
    assert "\n" not in str(refused.value)


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    seed=st.integers(0, 9),
    data=st.data(),
)
def test_draws_are_nested_and_in_proportion(
    sizes: list[int], seed: int, data: st.DataObject
) -> None:
    tasks = [
        Task(id=f"{c}-{i}", suite="s", category=f"c{c}", turns=())
        for c, size in enumerate(sizes)
        for i in range(size)
    ]
    names = [task.id for task in tasks]
    excluded = data.draw(st.sets(st.sampled_from(names), max_size=len(names) - 1))
    ordered = planned_items.order_items(tasks, seed, excluded)
    n = data.draw(st.integers(1, len(names) - len(excluded)))
    drawn = planned_items.take_items(ordered, n)
    assert len(drawn) == n and not drawn & excluded
    for name, each in ordered.items():
        share = n * len(each) / (len(names) - len(excluded))
        taken = sum(1 for item in drawn if item in set(each))
        assert abs(taken - share) < 1, name
        assert set(each[:taken]) <= drawn
    with pytest.raises(UsageError, match="next:"):
        planned_items.take_items(ordered, len(names) - len(excluded) + 1)

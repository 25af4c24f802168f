"""What a run cost: paid and new, per task and per success; unknown is never 0; limits hold."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.runs import mini
from tests.runs.priced_runs import COST, PRICE, USAGE, ask, cost_of, endpoint
from tests.servers import fake

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.records import Reply, Request, Usage
from toolmark.core.token_counts import sum_usage
from toolmark.models.token_prices import ModelPrice, Rates
from toolmark.models.unrecorded_requests import OtherRequests
from toolmark.reports import cost_text
from toolmark.runs.costs import cost_estimates, run_costs, run_prices, run_usage
from toolmark.runs.costs.run_costs import CostMeter
from toolmark.runs.run_store import Run
from toolmark.scoring.episode import Episode
from toolmark.statistics.score_columns import Columns


def test_a_price_gives_costs_in_all_and_per_task_and_per_success(tmp_path: Path) -> None:
    with fake.in_thread(endpoint()) as server:
        run = ask(server, tmp_path, price=PRICE)
    cost = cost_of(run)
    assert cost.model.paid_usd == cost.model.new_usd == pytest.approx(20 * COST)
    assert cost.per_task is not None and cost.per_success is not None
    assert cost.per_task.value == pytest.approx(COST) and cost.per_task.n == 20
    assert cost.per_success.value == pytest.approx(2 * COST) and cost.per_success.n == 10
    low, high = cost.per_success.low, cost.per_success.high
    assert low is not None and high is not None and COST < low < 2 * COST < high
    assert (cost.source, cost.unknown) == ("--price", "")
    assert run.info.prices["model"].rates == (Rates(input=1000, output=2000, cached=100),)
    assert run.summary()["spent"]["cost"]["model"]["new_usd"] == cost.model.new_usd
    line = cost_text.summary_cost_line(run.summary())
    assert line.startswith("cost $0.328; $0.0164 per task; $0.0328 [") and "--price" in line
    spent = run.summary()["spent"]
    assert tm.rescore(run, mini.SCORER).summary()["spent"] == spent


def test_a_reply_from_the_cache_is_paid_for_once(tmp_path: Path) -> None:
    with fake.in_thread(endpoint()) as server:
        ask(server, tmp_path / "a", n=5, cache=tmp_path / "replies")
        run = ask(server, tmp_path / "b", price=PRICE, cache=tmp_path / "replies")
    cost = cost_of(run)
    assert cost.model.new_usd == pytest.approx(20 * COST)
    assert cost.model.paid_usd == pytest.approx(15 * COST)
    expected = (
        "cost $0.246 paid for this run, $0.328 if all were asked anew (5 replies came from the "
        "cache); "
    )
    assert cost_text.summary_cost_line(run.summary()).startswith(expected)


def test_without_a_price_there_is_a_dash_and_why(tmp_path: Path) -> None:
    with fake.in_thread(endpoint()) as server:
        run = ask(server, tmp_path)
    cost = cost_of(run)
    assert cost.model.new_usd is None and cost.per_task is None
    assert cost_text.summary_cost_line(run.summary()) == (
        "cost – (no list has prices of an address of your own; --price INPUT,OUTPUT sets one)"
    )


def test_a_model_in_this_process_has_no_cost_but_what_it_reports(tmp_path: Path) -> None:
    async def paid(request: Request) -> Reply:
        return Reply(text="1", usage=Usage(input=1, cost=0.25))

    plain = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path / "a")
    assert "cost" not in plain.summary()["spent"]
    reported = tm.run(mini.load(n=2), paid, log_dir=tmp_path / "b")
    assert cost_of(reported).model.new_usd == 0.5 and cost_of(reported).model.n_reported == 2


@pytest.mark.parametrize(
    ("usage", "usd"), [({"cost": 0.5}, 0.5), ({"cost_in_usd_ticks": 5 * 10**9}, 0.5)]
)
def test_what_the_endpoint_reports_wins(usage: dict[str, Any], usd: float, tmp_path: Path) -> None:
    with fake.in_thread(endpoint(**usage)) as server:
        run = ask(server, tmp_path, n=3, price=PRICE)
    cost = cost_of(run)
    assert (cost.model.new_usd, cost.model.n_reported) == (3 * usd, 3)
    assert cost_text.cost_line(run_usage.run_usage(run)).endswith("; as the endpoint reports")
    trajectory = next(run.trajectories())
    assert trajectory.usage.cost == usd


def test_a_scorer_sees_what_an_episode_cost(tmp_path: Path) -> None:
    seen: list[float | None] = []

    def score(episode: Episode) -> bool:
        seen.append(episode.cost)
        return True

    suite = tm.Suite(name="own", tasks=mini.Sums(2), scorer=score)
    with fake.in_thread(endpoint()) as server:
        tm.run(suite, f"{server.url}#m", log_dir=tmp_path, price=PRICE, floors="off")
        tm.run(suite, f"{server.url}#m", log_dir=tmp_path, resume=False, floors="off")
    assert seen == [pytest.approx(COST)] * 2 + [None] * 2


KNOWN = ModelPrice(source="list", rates=(Rates(input=1),))
REASONS: list[tuple[dict[str, ModelPrice], str, Usage, str, str]] = [
    ({"model": KNOWN}, "model", Usage(), "stop", run_costs.NO_COUNTS),
    ({"model": ModelPrice(unknown="no list")}, "model", Usage(), "stop", run_costs.NO_COUNTS),
    ({"model": ModelPrice(unknown="no list")}, "model", Usage(input=1), "stop", "no list"),
    ({"model": KNOWN}, "model", Usage(), "refused", run_costs.ONLY_REFUSALS),
    ({"model": KNOWN}, "user", Usage(input=1), "stop", "no price is known"),
    ({"model": KNOWN, "user": KNOWN}, "user", Usage(), "stop", run_costs.NO_COUNTS),
    ({"model": KNOWN}, "model", Usage(input=1), "stop", ""),
]


@pytest.mark.parametrize(("prices", "part", "usage", "stop", "reason"), REASONS)
def test_an_unknown_cost_has_the_one_reason_that_holds(
    prices: dict[str, ModelPrice], part: str, usage: Usage, stop: Any, reason: str
) -> None:
    meter = CostMeter(prices)
    meter.add_reply(part, part, usage, from_cache=False, stop=stop)
    cost = meter.measure()
    assert cost is not None
    assert (cost.unknown if part == "model" else cost.parts[part].unknown) == reason
    line = cost_text.cost_line(run_usage.RunUsage(cost=cost))
    is_price = reason not in ("", run_costs.NO_COUNTS, run_costs.ONLY_REFUSALS)
    assert ("INPUT,OUTPUT sets one" in line) == is_price and reason in line


def test_a_model_that_was_not_answered_has_no_cost_line_of_its_own() -> None:
    meter = CostMeter({"model": KNOWN})
    meter.add_reply("not_run", "model", Usage(input=1_000_000), from_cache=False)
    line = cost_text.cost_line(run_usage.RunUsage(cost=meter.measure()))
    assert line == "cost of episodes not run: $1.00"


def test_a_price_of_what_costs_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="costs nothing"):
        tm.run(mini.load(n=1), "control/null", log_dir=tmp_path / "runs", price="1,2")
    assert not (tmp_path / "runs").exists()


def test_two_runs_are_compared_by_cost(tmp_path: Path) -> None:
    with fake.in_thread(endpoint()) as server:
        a = ask(server, tmp_path / "a", price=PRICE)
        b = ask(server, tmp_path / "b")
    rows = [line for line in str(tm.compare(a, b)).splitlines() if "US$ per" in line]
    assert len(rows) == 2 and all("A $0.0" in row and "B –" in row for row in rows)


# --- the limit ----------------------------------------------------------------------------------


LIMITED: dict[str, Any] = {"price": "0,4000", "max_tokens": 20, "max_connections": 1}
WORST, EACH = 20 * 0.004, 5 * 0.004  # of one sum in US$: at the most, and what it costs


def test_a_run_stops_at_its_limit_and_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    with fake.in_thread(endpoint()) as server:
        first = ask(server, tmp_path, max_cost=WORST + 3.5 * EACH, **LIMITED)
        assert first.summary()["failures"] == {"budget": 16} and len(server.asked) == 4
        assert cost_of(first).paid_usd == pytest.approx(4 * EACH)
        # what was spent counts in the limit of the whole run
        again = ask(server, tmp_path, max_cost=WORST + 3.5 * EACH, **LIMITED)
        assert again.path == first.path and len(server.asked) == 4
        last = ask(server, tmp_path, max_cost=WORST + 19.5 * EACH, **LIMITED)
        assert last.path == first.path and last.summary()["n_not_run"] == 0
        assert len(server.asked) == 20
    assert cost_of(last).paid_usd == pytest.approx(20 * EACH)


def test_a_run_that_goes_on_has_the_price_that_it_began_with(tmp_path: Path) -> None:
    busy = fake.script(endpoint(), fake.answer(503, {}))
    with fake.in_thread(busy) as server:
        more: dict[str, Any] = {"n": 2, "max_connections": 1, "max_retries": 0}
        first = ask(server, tmp_path, price=PRICE, **more)
        with pytest.raises(UsageError, match="begun with another price of the model"):
            ask(server, tmp_path, price="1,2", **more)
        again = ask(server, tmp_path, price=PRICE, **more)
    assert again.path == first.path and again.info.prices == first.info.prices


def test_a_list_price_that_has_changed_is_noted_and_not_used() -> None:
    old, new = (
        ModelPrice(source="list", date=date, rates=(Rates(input=rate, output=9),))
        for rate, date in ((3, "2026-01-01"), (2, "2026-02-02"))
    )
    asked = run_prices.PricedModel("model", "openai/m", None, new)
    note = asked.describe_change(old)
    assert "2,9" in note and "3,9" in note and "2026-01-01" in note and "\n" not in note
    assert asked.with_recorded_price(old).price == old
    assert not any(map(asked.describe_change, (new, None, ModelPrice(unknown="no list"))))


def test_a_recorded_price_stays_where_none_is_known_when_the_run_goes_on(tmp_path: Path) -> None:
    busy = fake.script(endpoint(), fake.answer(503, {}))
    with fake.in_thread(busy) as server:
        first = ask(server, tmp_path, n=2, max_connections=1, max_retries=0, price=PRICE)
        again = ask(server, tmp_path, n=2, max_connections=1, max_retries=0)
    assert again.path == first.path
    assert again.info.prices == first.info.prices and first.info.prices["model"].is_known


def test_what_was_not_answered_counts_in_the_limit(tmp_path: Path) -> None:
    torn = fake.send(fake.raw(200, b'{"a"')[:-1], then="close")
    with fake.in_thread(torn) as server:
        for n_asked in (2, 2):
            run = ask(server, tmp_path, n=5, max_cost=2.5 * WORST, max_retries=0, **LIMITED)
            assert run.info.unrecorded.unanswered_usd == pytest.approx(2 * WORST)
            assert len(server.asked) == n_asked


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"max_cost": 1, "max_tokens": 9}, "--price INPUT,OUTPUT"),
    ({"max_cost": 1, "price": "1,2"}, "--max-tokens N"),
    ({"max_cost": 0}, "max_cost"),
    ({"max_cost": -1}, "max_cost"),
    ({"price": "1"}, "such as 3,15"),
    ({"price": "user=1,2"}, "asks no user"),
    ({"max_cost": 0.01, "price": "0,4000", "max_tokens": 20}, "fewer --max-tokens"),
    ({"price": ["1,2", "judge=1,2"]}, "asks no judge"),
]


@pytest.mark.parametrize(("settings", "step"), REFUSED)
def test_what_cannot_be_limited_is_refused_before_anything_is_asked(
    settings: dict[str, Any], step: str, tmp_path: Path
) -> None:
    with fake.in_thread(endpoint()) as server, pytest.raises(UsageError) as caught:
        ask(server, tmp_path / "runs", **settings)
    assert step in str(caught.value) and "\n" not in str(caught.value)
    assert not server.asked and not (tmp_path / "runs").exists()


def test_a_model_of_ones_own_cannot_be_limited_and_a_control_costs_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the model is code"):
        tm.run(mini.load(n=1), mini.Adder(), log_dir=tmp_path, max_cost=1)
    run = tm.run(mini.load(n=1), "control/null", log_dir=tmp_path, max_cost=1)
    assert run.summary()["n_run"] == 1


def test_users_and_judges_count_in_and_are_reported_apart(tmp_path: Path) -> None:
    bodies: list[Any] = []

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool | None:
        bodies.append(asked.json)
        text = "###DONE###" if asked.json["model"] == "user" else "hello"
        body = fake.says(text) | {"usage": USAGE}
        return await fake.answer(200, body)(asked, writer)

    user = tm.simulated_user("Say hello.", max_turns=2)
    tasks = [replace(task, data=None) for task in mini.Sums(2)]
    suite = tm.Suite(name="talk", tasks=tasks, scorer=lambda episode: True, user=user)
    with fake.in_thread(behave) as server:
        settings: dict[str, Any] = {
            "user_model": f"{server.url}#user", "log_dir": tmp_path, "max_tokens": 20,
            "max_cost": 1000.0,
        }  # fmt: skip
        with pytest.raises(UsageError, match="--price user=INPUT,OUTPUT"):
            tm.run(suite, f"{server.url}#m", price="1,2", **settings)
        run = tm.run(suite, f"{server.url}#m", price=["0,0", f"user={PRICE}"], **settings)
    cost = cost_of(run)
    n = sum(body["model"] == "user" for body in bodies)
    assert n and cost.user.paid_usd == pytest.approx(n * COST) and cost.model.paid_usd == 0
    assert all("max_tokens" in body for body in bodies)
    assert "in addition the simulated user: $" in cost_text.summary_cost_line(run.summary())


def test_judges_of_a_stored_run_get_prices_too(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=1), "control/null", log_dir=tmp_path)
    run_prices.record_judge_prices(
        run, {"A": "http://127.0.0.1:9/v1#m", "B": mini.Adder()}, base_url=None
    )
    prices = Run(run.path).info.prices
    assert prices.keys() == {"judge A"} and prices["judge A"].unknown


# --- sums and ratios ----------------------------------------------------------------------------


COSTS = st.none() | st.floats(0, 10)
USAGES = st.builds(Usage, input=st.integers(0, 9), output=st.integers(0, 9), cost=COSTS)


@given(st.lists(USAGES, max_size=6))
def test_a_sum_names_a_cost_only_where_every_part_with_tokens_does(used: list[Usage]) -> None:
    costs = [each.cost for each in used if each.cost is not None]
    lacking = any(each.cost is None and (each.input or each.output) for each in used)
    expected = None if lacking or not costs else pytest.approx(sum(costs))
    assert sum_usage(used).cost == expected


def columns(correct: list[bool], run: list[bool]) -> Columns:
    n = len(correct)
    names = np.array([f"t{i}" for i in range(n)], dtype=object)
    blank = np.full(n, "", dtype=object)
    value = np.where(run, np.array(correct, dtype=float), np.nan)
    return Columns(
        names, names, blank, np.zeros(n, dtype=np.int64), np.array(run), np.array(correct) & run,
        value, blank, blank, {}, {},
    )  # fmt: skip


@given(st.lists(st.tuples(st.booleans(), st.booleans(), COSTS), min_size=1, max_size=60))
def test_costs_per_task_and_success_are_ratios_over_known_episodes(
    rows: list[tuple[bool, bool, float | None]],
) -> None:
    table = columns([row[0] for row in rows], [row[1] for row in rows])
    costs = {(f"t{i}", 0): row[2] for i, row in enumerate(rows)}
    per_task, per_success = cost_estimates.estimate_costs(table, costs)
    known = [(right, usd) for right, run, usd in rows if run and usd is not None]
    if not known:
        assert per_task is None and per_success is None
        return
    total, n_right = sum(usd for _, usd in known), sum(right for right, _ in known)
    assert per_task is not None and per_success is not None
    assert per_task.value == pytest.approx(total / len(known), abs=1e-11)
    expected = pytest.approx(total / n_right, abs=1e-11) if n_right else None
    assert per_success.value == expected and per_success.n == n_right
    for each in (per_task, per_success):
        assert (each.low is None) == (each.high is None)


@pytest.mark.parametrize(
    ("usage", "reason"), [(Usage(input=5), "no price is known"), (Usage(), run_costs.NO_COUNTS)]
)
def test_requests_of_no_episode_lack_a_price_where_their_tokens_are_known(
    usage: Usage, reason: str
) -> None:
    meter = CostMeter({"model": ModelPrice(unknown="no list")})
    meter.add_others(OtherRequests(n_replies=2, usage=usage, n_unknown=2))
    cost = meter.measure()
    assert cost is not None and cost.others.unknown == reason


def test_unknown_replies_make_a_sum_a_least_value_and_refusals_cost_nothing() -> None:
    meter = CostMeter({"model": ModelPrice(source="--price", rates=(Rates(input=1e6),))})
    add: Callable[..., Any] = meter.add_reply
    assert add("model", "model", Usage(input=2), from_cache=False) == 2.0
    assert add("model", "model", Usage(), from_cache=False, stop="refused") == 0.0
    assert add("model", "model", Usage(), from_cache=False) is None
    cost = meter.measure()
    assert cost is not None
    assert (cost.model.new_usd, cost.model.n_replies, cost.model.n_unknown) == (2.0, 3, 1)
    line = cost_text.cost_line(run_usage.RunUsage(cost=cost))
    assert line == "cost at least $2.00 (1 reply without a known cost); prices: --price"
    judged = CostMeter({"judge A": ModelPrice(unknown="no list")})
    judged.add_reply("judges", "judge A", Usage(input=1), from_cache=False)
    line = cost_text.cost_line(run_usage.RunUsage(cost=judged.measure()))
    assert line == "cost of judges: – (no list; --price judge=INPUT,OUTPUT sets one)"
    fields = json.loads(json.dumps({"cost": run_costs.summary_fields(cost)}))
    assert run_usage.usage_from_summary({"spent": fields}).cost == cost

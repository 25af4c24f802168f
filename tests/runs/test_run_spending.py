"""All that a run asks is counted: what no step has, what has no answer, what is in no episode."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.judging import judged_sums
from tests.runs import mini
from tests.runs.priced_runs import COST, PRICE, USAGE, ask, cost_of, endpoint
from tests.servers import fake

import toolmark as tm
from toolmark.core.errors import ToolEnvironmentError
from toolmark.models.token_prices import usage_cost
from toolmark.reports import cost_text, usage_text
from toolmark.runs.costs import run_prices, run_usage
from toolmark.runs.run_store import Run

REFUSED = fake.answer(403, {"error": {"message": "no"}})


class Bill:
    """Answers by the name of the model that is asked, and counts what it charges for each."""

    def __init__(self, **behaviours: fake.Behaviour | str) -> None:
        self.behaviours = behaviours
        self.charged: Counter[str] = Counter()

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> bool | None:
        name = asked.json["model"]
        behave = self.behaviours[name]
        if isinstance(behave, str):
            self.charged[name] += 1
            behave = fake.answer(200, fake.says(behave) | {"usage": USAGE})
        return await behave(asked, writer)


def talk() -> tm.Suite:
    user = tm.simulated_user("Say hello.", max_turns=3)
    tasks = [replace(task, data=None, turns=()) for task in mini.Sums(1)]
    return tm.Suite(name="talk", tasks=tasks, scorer=lambda episode: True, user=user)


def usd(found: Run, part: str) -> float:
    return cost_of(found).parts[part].paid_usd or 0.0


def test_a_user_that_opened_a_conversation_in_vain_is_counted(tmp_path: Path) -> None:
    bill = Bill(user="hello", m=fake.answer(500, {}))
    with fake.in_thread(bill) as server:
        run = tm.run(
            talk(), f"{server.url}#m", user_model=f"{server.url}#user", log_dir=tmp_path,
            price=["1,1", f"user={PRICE}"], max_tokens=9, max_cost=99.0,
            max_retries=0,
        )  # fmt: skip
    (attempt,) = run.attempts()
    assert not attempt.steps and [each.by for each in attempt.unused] == ["user"]
    assert bill.charged == {"user": 1} and usd(run, "user") == pytest.approx(COST)
    assert run_prices.paid_so_far(run) == pytest.approx(COST)


def test_a_reply_whose_calls_break_the_environment_is_counted(tmp_path: Path) -> None:
    class Broken(tm.Environment):
        """A world whose tool fails as no tool may."""

        def __init__(self, task: tm.Task) -> None:
            pass

        @tm.tool
        def add(self) -> str:
            """Add."""
            raise ToolEnvironmentError("the world is gone")

    suite = tm.Suite(
        name="own", tasks=mini.Sums(1), scorer=lambda episode: True, environment=Broken
    )
    calls = fake.answer(200, fake.calls(("add", {})) | {"usage": USAGE})
    with fake.in_thread(calls) as server:
        run = tm.run(suite, f"{server.url}#m", log_dir=tmp_path, price=PRICE)
    (attempt,) = run.attempts()
    n_asked = len(server.asked)
    assert n_asked == len(attempt.steps) + len(attempt.unused) and attempt.unused
    assert usd(run, "not_run") == pytest.approx(n_asked * COST)


def test_a_judge_that_fails_after_a_reply_is_counted(tmp_path: Path) -> None:
    said = fake.answer(200, fake.says("no number") | {"usage": USAGE})
    judge = fake.script(said, REFUSED)
    with fake.in_thread(Bill(m="1", judge=judge)) as server:
        run = tm.run(
            judged_sums.suite(1), f"{server.url}#m", judge_model=f"{server.url}#judge",
            log_dir=tmp_path, price=[PRICE, f"judge={PRICE}"],
        )  # fmt: skip
    (judgement,) = [each for each in run.judgements() if each.usage.input]
    assert judgement.failure is not None and judgement.failure.kind.startswith("rejected")
    assert judgement.usage.input == USAGE["prompt_tokens"]
    assert usd(run, "judges") == pytest.approx(COST) and usd(run, "model") == pytest.approx(COST)


TORN = fake.send(fake.raw(200, b'{"a"' * 9)[:-5], then="close")
GARBLED = fake.answer(200, b"<html>")
FAILED = fake.answer(200, {"error": {"message": "overloaded", "code": 503}})
CLOSED = fake.send(b"", then="close")
LATE = fake.send(b"", then="stall")
NO_REPLY = [fake.answer(status, b"") for status in (204, 504, 524)]
FREE = [fake.answer(status, {"error": {"message": "no"}}) for status in (400, 429, 500, 502, 503)]
FATES: list[tuple[fake.Behaviour, bool]] = [
    *((each, True) for each in (TORN, GARBLED, FAILED, CLOSED, LATE, *NO_REPLY)),
    *((each, False) for each in FREE),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("fate", "may_be_charged"), FATES)
def test_what_was_sent_and_has_no_usable_answer_is_counted_by_one_rule(
    fate: fake.Behaviour, may_be_charged: bool, stream: bool, tmp_path: Path
) -> None:
    money: dict[str, Any] = {
        "price": "0,4000",
        "max_tokens": 20,
        "max_retries": 0,
        "timeout_s": 1.0,
    }
    with fake.in_thread(fate) as server:
        run = ask(server, tmp_path / "a", n=1, stream=stream, max_cost=9.0, **money)
        free = ask(server, tmp_path / "b", n=1, stream=stream, **money)
    n = int(may_be_charged)
    for each in (run, free):
        assert each.info.unrecorded.n_unanswered == n
        assert each.summary()["spent"].get("n_unanswered", 0) == n
        line = usage_text.summary_usage_line(each.summary())
        assert ("without a usable answer" in line) == may_be_charged
    assert run.info.unrecorded.unanswered_usd == pytest.approx(n * 20 * 0.004)
    assert free.info.unrecorded.unanswered_usd == 0.0


def test_a_retried_request_counts_once_as_a_reply_and_once_as_unanswered(tmp_path: Path) -> None:
    with fake.in_thread(fake.script(TORN, endpoint())) as server:
        run = ask(server, tmp_path, n=1, price=PRICE, max_tokens=20, max_cost=9.0, max_retries=1)
    assert (run.info.unrecorded.n_unanswered, cost_of(run).model.n_replies) == (1, 1)
    assert cost_of(run).paid_usd == pytest.approx(COST)
    worst = run.info.unrecorded.unanswered_usd
    assert run_prices.paid_so_far(run) == pytest.approx(COST + worst) and worst > 0
    assert "--max-cost counts $" in cost_text.summary_cost_line(run.summary())


def test_an_endpoint_that_is_not_there_charges_nothing(tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{fake.unused()}/v1#m"
    run = tm.run(mini.load(n=1), address, log_dir=tmp_path, max_retries=0)
    assert run.summary()["n_not_run"] == 1 and run.info.unrecorded.n_unanswered == 0


def test_what_is_not_recorded_adds_up_over_the_sessions_of_a_run(tmp_path: Path) -> None:
    with fake.in_thread(TORN) as server:
        for n in (1, 2):
            run = ask(server, tmp_path, n=1, max_retries=0)
            assert run.info.unrecorded.n_unanswered == n


def test_a_models_malformed_reply_with_usage_costs_what_it_says(tmp_path: Path) -> None:
    body = {"choices": [{"message": {"role": "assistant", "tool_calls": "x"}}], "usage": USAGE}
    with fake.in_thread(fake.answer(200, body)) as server:
        run = ask(server, tmp_path, n=2, price=PRICE)
    (first, _) = run.trajectories()
    assert first.steps[0].reply.stop == "malformed"
    assert usd(run, "model") == pytest.approx(2 * COST)
    price = run.info.prices["model"]
    assert usage_cost(price, run_usage.run_usage(run).tokens) == pytest.approx(2 * COST)

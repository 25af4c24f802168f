"""Endpoints that limit requests: waits are never shorter than asked, quotas end, ids are kept."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.runs import mini
from tests.servers import fake
from tests.servers.rate_limited import NAMINGS, REMAINING, LimitedEndpoint
from tests.virtual_clock import run_virtually

import toolmark as tm
from toolmark.core.errors import EndpointError, RateLimited, Rejected, TornReply, failure_of
from toolmark.core.failure import Failure, Subject, group_failures
from toolmark.core.model import Model
from toolmark.core.records import Message, Reply, Request, Text, Usage
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.model_resolver import resolve_model
from toolmark.models.rate_limits import RateLimitedModel
from toolmark.models.request_policies import PacedModel, RetryingModel
from toolmark.models.wait_headers import LimitState, ServerLimits
from toolmark.runs.circuit_breaker import CircuitBreaker

HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
KEY = "sk-limits-1234567890"


async def ask_all(url: str, n: int, **settings: Any) -> list[Reply]:
    model = resolve_model(f"{url}#m", **settings)
    try:
        return await asyncio.gather(*(model(HELLO) for _ in range(n)))
    finally:
        await model.close()


async def ask(behaviour: fake.Behaviour, key: str = "", **settings: Any) -> tuple[Reply, int]:
    """Ask once, retries included; return the reply and the number of requests."""
    async with fake.serve(behaviour) as server:
        paced = PacedModel(EndpointModel(server.url, "m", key=key), 4)
        model = RetryingModel(paced, settings.pop("retries", 5), sleep=lambda _: asyncio.sleep(0))
        try:
            return await model(HELLO), len(server.asked)
        except EndpointError as error:
            error.add_note(str(len(server.asked)))
            raise
        finally:
            await model.close()


# --- waits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("naming", NAMINGS)
def test_no_wait_is_shorter_than_asked(naming: str) -> None:
    endpoint = LimitedEndpoint(naming, limit=3, window_s=0.12)

    async def go() -> None:
        async with fake.serve(endpoint) as server:
            await ask_all(server.url, 8, max_connections=1)

    asyncio.run(go())
    assert (endpoint.n_answered, endpoint.n_early) == (8, 0)
    if naming in REMAINING:  # from the first refusal on, what is left is heeded
        assert endpoint.n_refused == 1
    assert endpoint.n_refused >= 1


def test_all_are_answered_with_many_in_flight() -> None:
    endpoint = LimitedEndpoint("openai", limit=10, window_s=0.1)

    async def go() -> list[Reply]:
        async with fake.serve(endpoint) as server:
            return await ask_all(server.url, 60, max_connections=8)

    assert len(asyncio.run(go())) == endpoint.n_answered == 60


class Refusing(Model):
    """Refuses the first requests with a wait; notes when each was asked."""

    def __init__(self, n_refused: int, wait_s: float) -> None:
        self.n_refused, self.wait_s = n_refused, wait_s
        self.asked_at: list[float] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.asked_at.append(asyncio.get_running_loop().time())
        if len(self.asked_at) <= self.n_refused:
            await asyncio.sleep(0.5)
            raise RateLimited("slow down", self.wait_s)
        await asyncio.sleep(1.0)
        return Reply()


def test_while_the_endpoint_asks_to_wait_no_request_begins() -> None:
    model = Refusing(1, 30.0)

    async def go() -> tuple[list[str], list[Reply]]:
        paced = PacedModel(model, 4)
        asking = RetryingModel(paced, 3)
        tasks = [asyncio.create_task(asking(HELLO)) for _ in range(9)]
        await asyncio.sleep(15.0)
        return [*asking.wait_reasons], await asyncio.gather(*tasks)

    reasons, replies = run_virtually(go())
    assert len(replies) == 9 and reasons == ["slow down"] * 6  # three were in flight, and answered
    in_flight, later = model.asked_at[:4], model.asked_at[4:]
    assert in_flight == [0.0] * 4 and len(later) == 6 and min(later) > 30.0


@pytest.mark.parametrize(
    ("limits", "limit", "is_waiting"),
    [
        (ServerLimits(LimitState(9, 1.0), LimitState()), 8.0, False),
        (ServerLimits(LimitState(3, 1.0), LimitState()), 3.0, False),
        (ServerLimits(LimitState(9, 1.0), LimitState(250, 5.0)), 2.0, False),
        (ServerLimits(LimitState(0, 20.0), LimitState(250, 5.0)), 1.0, True),
        (ServerLimits(LimitState(9, 1.0), LimitState(99, 20.0)), 1.0, True),
        # a limit of a day: the endpoint is asked, and says so
        (ServerLimits(LimitState(0, 80_000.0), LimitState()), 1.0, False),
        (ServerLimits(LimitState(0), LimitState()), 1.0, False),
    ],
)
def test_no_more_requests_are_in_flight_than_are_left(
    limits: ServerLimits, limit: float, is_waiting: bool
) -> None:
    model = Refusing(0, 0.0)

    async def go() -> float:
        paced = PacedModel(model, 8)
        paced.heed_limits(limits, Usage(input=60, output=40))
        found = paced.limit
        await paced(HELLO)
        return found

    assert run_virtually(go()) == limit
    assert (model.asked_at[0] > 20.0) == is_waiting


@pytest.mark.parametrize(
    ("status", "may_retry", "n_asked"),
    [(429, "false", 1), (503, "false", 1), (429, "true", 3), (418, "true", 3), (418, "", 1),
     (401, "true", 1)],
)  # fmt: skip
def test_what_the_endpoint_says_of_asking_again_is_obeyed(
    status: int, may_retry: str, n_asked: int
) -> None:
    headers = {"x-should-retry": may_retry} if may_retry else {}
    refusing = fake.answer(status, {"error": {"message": "no"}}, headers)
    with pytest.raises(EndpointError) as caught:
        asyncio.run(ask(refusing, retries=2))
    assert caught.value.__notes__ == [str(n_asked)]


def test_limits_cost_nothing_where_none_are_set() -> None:
    plain: Any = resolve_model("http://h/v1#m")
    assert [type(each) for each in (plain, plain.model, plain.model.model)] == [
        RetryingModel, PacedModel, EndpointModel,
    ]  # fmt: skip
    assert plain.model.model.before_repeat is None
    limits: list[dict[str, Any]] = [{"requests_per_minute": 5}, {"tokens_per_minute": 5}]
    for settings in limits:
        limited: Any = resolve_model("http://h/v1#m", **settings)
        inner: Any = limited.model.model
        assert [type(inner), inner.model.before_repeat is None] == [RateLimitedModel, False]


def test_a_request_in_another_form_counts_as_a_request() -> None:
    refusal = {"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature"}}
    behaviour = fake.script(fake.answer(400, refusal), fake.answer(200, fake.says("done")))

    async def go() -> int:
        n_counted = 0

        async def count() -> None:
            nonlocal n_counted
            n_counted += 1

        async with fake.serve(behaviour) as server:
            model = EndpointModel(server.url, "m")
            model.before_repeat = count
            warm = tm.Request(messages=HELLO.messages, sampling=tm.Sampling(temperature=0.5))
            assert (await model(warm)).text == "done"
            await model.close()
        return n_counted

    assert asyncio.run(go()) == 1


# --- quotas -----------------------------------------------------------------------------------


def test_a_wait_that_no_run_can_await_is_an_end() -> None:
    refusing = fake.answer(429, {"error": {"message": "slow down"}}, {"retry-after": "7200"})
    with pytest.raises(Rejected) as caught:
        asyncio.run(ask(refusing))
    assert (caught.value.kind, caught.value.subject) == ("rejected.billing", "quota")
    assert caught.value.__notes__ == ["1"]


def test_a_used_up_quota_stops_the_run_which_goes_on_the_next_day(tmp_path: Path) -> None:
    """The endpoint is asked once by each connection; the next day nothing is asked twice."""
    day_is_over = False
    left = 4
    message = "Rate limit reached on tokens per day (TPD): Limit 100, Used 97, Requested 36."

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        nonlocal left
        left -= not day_is_over
        if left < 0 and not day_is_over:
            error = {"error": {"message": message, "code": "rate_limit_exceeded"}}
            await fake.answer(429, error, {"retry-after": "400"})(asked, writer)
        else:
            await fake.answer(200, fake.says("no call"))(asked, writer)

    suite = mini.load(n=30)
    with fake.in_thread(behave) as server:
        settings: dict[str, Any] = {"log_dir": tmp_path, "max_connections": 2}
        with pytest.raises(Rejected) as caught:
            tm.run(suite, f"{server.url}#m", **settings)
        assert (caught.value.kind, caught.value.subject) == ("rejected.billing", "quota")
        stopped = tm.open_run(caught.value.run_dir)
        assert len(stopped.completed_episodes()) == 4
        assert len(server.asked) <= 4 + 2
        kinds = {attempt.failure.kind for attempt in stopped.attempts()}
        assert kinds == {"rejected.billing", "stopped"}
        day_is_over = True
        n_before = len(server.asked)
        whole = tm.run(suite, f"{server.url}#m", **settings)
        assert whole.path == stopped.path
        assert len(whole.completed_episodes()) == whole.info.n_episodes
        assert len(server.asked) - n_before == whole.info.n_episodes - 4


@pytest.mark.parametrize(("subject", "is_tripped"), [("quota", True), ("", False)])
def test_a_used_up_quota_of_the_simulated_user_stops_the_run(
    subject: Subject, is_tripped: bool
) -> None:
    breaker = CircuitBreaker(has_succeeded=True)
    breaker.record_failure(Failure(stage="user", kind="user", status=429, subject=subject))
    assert bool(breaker.trip_reason) == is_tripped


# --- ids of requests --------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["x-request-id", "request-id", "apim-request-id", "cf-ray", ""])
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_an_error_ends_with_the_id_of_its_request(header: str, status: int) -> None:
    members = {} if header else {"request_id": "req_7"}
    headers = {header: "req_7"} if header else {}
    refusing = fake.answer(status, {"error": {"message": "no"}, **members}, headers)
    with pytest.raises(EndpointError) as caught:
        asyncio.run(ask(refusing, retries=0))
    assert str(caught.value) == f"{caught.value.reason} (request id req_7)"
    failure = failure_of(caught.value, "model")
    assert failure.request_id == "req_7" and failure.message == caught.value.reason
    assert failure.summary.endswith("(request id req_7)")


def test_failures_of_one_cause_are_counted_together_whatever_their_ids() -> None:
    errors = [RateLimited("slow down") for _ in range(9)]
    for i, error in enumerate(errors):
        error.request_id = f"req_{i}"
    groups = group_failures(failure_of(error, "model") for error in errors)
    assert [(n, len(failures)) for n, failures in groups] == [(9, 1)]


def test_torn_and_refused_replies_have_their_id() -> None:
    headers = {"x-request-id": "req_7"}
    with pytest.raises(TornReply) as caught:
        asyncio.run(ask(fake.answer(200, b"no JSON", headers), retries=0))
    assert caught.value.request_id == "req_7"
    body = {"error": {"message": "no", "code": "content_filter"}}
    reply, _ = asyncio.run(ask(fake.answer(400, body, headers)))
    assert (reply.stop, reply.request_id) == ("refused", "req_7")


def test_an_id_shows_no_key_and_no_control_characters() -> None:
    for text, found in ((KEY, "***"), ("\x1b[31m", ""), ("r" * 200, "r" * 200), ("r" * 201, "")):
        body = json.dumps({"error": {"message": "no"}, "request_id": text}).encode()
        with pytest.raises(EndpointError) as caught:
            asyncio.run(ask(fake.answer(500, body), KEY, retries=0))
        assert KEY not in str(caught.value)
        assert caught.value.request_id == found or text == KEY

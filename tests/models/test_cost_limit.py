"""A limit of costs holds whatever the endpoint answers, and however many requests are in flight."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.servers import fake

from toolmark.core.errors import CostLimitReached, EndpointError, UsageError
from toolmark.core.model import FunctionModel, Model
from toolmark.core.records import Audio, Message, Reply, Request, Sampling, Text, Usage
from toolmark.models import cost_limit, run_spending
from toolmark.models.cost_limit import CostLimit, EndpointKey, LimitedModel
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.request_policies import PacedModel, RetryingModel
from toolmark.models.token_prices import ModelPrice, Rates, usage_cost

PRICE = ModelPrice(
    rates=(
        Rates(input=3, output=15, cached=0.3, cache_written=3.75, request=0.001),
        Rates(input=6, output=30, above_input=3_000),
    )
)
MAX_TOKENS = 100
TORN, GARBLED = 0, 1
SHARE = st.floats(0, 1)


def question(text: str = "?", **sampling: Any) -> Request:
    said = Message(role="user", parts=(Text(text),))
    return Request(messages=(said,), sampling=Sampling(**({"max_tokens": MAX_TOKENS} | sampling)))


class Answers:
    """Answers in turn: a status, and shares of the input and output that a request may have.

    Answers that are charged and end early or are garbled are statuses of their own.
    """

    def __init__(self, script: list[tuple[int, float, float]]) -> None:
        self.script = script
        self.n_asked = 0
        self.charged_usd = 0.0

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> bool | None:
        status, read, said = self.script[self.n_asked % len(self.script)]
        self.n_asked += 1
        await asyncio.sleep(0)
        n_input = int(read * (len(asked.body) + cost_limit.TEMPLATE_TOKENS))
        n_output = int(said * asked.json["max_tokens"])
        usage = {"prompt_tokens": n_input, "completion_tokens": n_output}
        if status in (200, TORN, GARBLED):
            self.charged_usd += usage_cost(PRICE, Usage(input=n_input, output=n_output)) or 0.0
        body = json.dumps(fake.reply({"role": "assistant", "content": "x"}, usage=usage)).encode()
        if status == GARBLED:
            return await fake.answer(200, b"{" + body)(asked, writer)
        if status == TORN:
            return await fake.send(fake.raw(200, body)[:-20], then="close")(asked, writer)
        return await fake.answer(status, body)(asked, writer)


async def ask_all(
    limit: CostLimit, answers: Answers, n: int, n_concurrent: int
) -> list[Reply | EndpointError]:
    async with fake.serve(answers) as server:
        endpoint = EndpointModel(server.url, "m")
        limited = cost_limit.limit_endpoint(endpoint, limit, PRICE)
        model = RetryingModel(
            PacedModel(limited, n_concurrent), 1, sleep=lambda s: asyncio.sleep(0)
        )
        asked = (model(question("word " * (i % 7) * 200)) for i in range(n))
        try:
            found = await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()
    for each in found:
        assert isinstance(each, Reply | EndpointError), each
    return found  # type: ignore[return-value]


@settings(max_examples=25, deadline=None)
@given(
    script=st.lists(
        st.tuples(st.sampled_from([200, 200, 200, TORN, GARBLED, 400, 429, 500]), SHARE, SHARE),
        min_size=1, max_size=6,
    ),
    limit_usd=st.floats(0.001, 0.5),
    n_concurrent=st.integers(1, 12),
)  # fmt: skip
def test_what_is_charged_never_exceeds_the_limit(
    script: list[tuple[int, float, float]], limit_usd: float, n_concurrent: int
) -> None:
    answers, limit = Answers(script), CostLimit(limit_usd, {})
    asyncio.run(ask_all(limit, answers, 20, n_concurrent))
    assert answers.charged_usd <= limit.spent_usd * (1 + 1e-9) <= limit_usd * (1 + 1e-9)
    assert limit.reserved_usd == 0.0


def test_requests_wait_for_those_in_flight_and_use_what_these_leave() -> None:
    answers = Answers([(200, 0.01, 0.01)])
    limit = CostLimit(0.1, {})
    found = asyncio.run(ask_all(limit, answers, 40, 40))
    assert sum(isinstance(each, Reply) for each in found) == 40
    assert 0.04 < limit.spent_usd == pytest.approx(answers.charged_usd)


def test_a_request_that_does_not_fit_is_not_sent() -> None:
    answers = Answers([(200, 1, 1)])
    limit = CostLimit(0.0001, {})
    (error,) = asyncio.run(ask_all(limit, answers, 1, 1))
    assert isinstance(error, CostLimitReached) and error.kind == "budget"
    assert answers.n_asked == 0 and "--max-cost" in str(error)


def test_a_reply_without_a_limit_gets_one_and_choices_count() -> None:
    bodies: list[Any] = []

    async def answer(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool | None:
        bodies.append(asked.json)
        return await fake.answer(200, fake.says("x"))(asked, writer)

    async def main() -> list[float]:
        reserved = []
        async with fake.serve(answer) as server:
            for sampling in ({"max_tokens": None}, {"extra": {"n": 3}}):
                limit = CostLimit(100, {})
                endpoint = EndpointModel(server.url, "m")
                reserve = limit.reserve_cost

                async def note(usd: float, reserve: Any = reserve) -> None:
                    reserved.append(usd)
                    await reserve(usd)

                limit.reserve_cost = note  # type: ignore[method-assign]
                price = ModelPrice(rates=(Rates(input=0, output=1),))
                limited = cost_limit.limit_endpoint(endpoint, limit, price)
                await limited(question(**sampling))
                await limited.close()
        return reserved

    reserved = asyncio.run(main())
    assert bodies[0]["max_tokens"] == cost_limit.DEFAULT_MAX_TOKENS
    assert reserved == [cost_limit.DEFAULT_MAX_TOKENS / 1e6, 3 * MAX_TOKENS / 1e6]


def test_the_limits_of_a_reply_are_found_wherever_a_body_has_them() -> None:
    nested = Sampling(extra={"generationConfig": {"maxOutputTokens": 60, "candidateCount": 4}})
    assert cost_limit.reply_limits(nested) == [60]
    assert cost_limit.reply_limits(Sampling(max_tokens=9, extra={"max_tokens": 7})) == [9, 7]
    assert cost_limit.reply_limits(Sampling(extra={"n": 2, "max_tokens": True})) == []
    limited = LimitedModel(Model(), CostLimit(1.0, {}), PRICE)
    request = Request(messages=(), sampling=nested)
    assert limited._limit_reply(request) == (request, 4 * 60)


def test_the_worst_case_of_sound_follows_from_its_length() -> None:
    second = Audio(sha256="0" * 64, mime="audio/wav", size_bytes=32_000)
    said = Message(role="user", parts=(Text("?"), second))
    request = Request(messages=(said,), sampling=Sampling(max_tokens=1))
    price = ModelPrice(rates=(Rates(input=1, output=0),))
    n_body = 4 * (32_002 // 3) + 200
    wav, other = (
        cost_limit._Reservation(price, request, 1, sends_wav=form).highest_cost(n_body) * 1e6
        for form in (True, False)
    )
    assert wav == pytest.approx(400 + 200 + cost_limit.TEMPLATE_TOKENS)
    assert other == pytest.approx(400 + n_body + cost_limit.TEMPLATE_TOKENS)


def test_only_priced_endpoints_can_be_limited() -> None:
    endpoint = EndpointModel("http://127.0.0.1:9/v1", "m")
    key = EndpointKey("http://127.0.0.1:9/v1", "m")

    async def own(request: Request) -> Reply:
        return Reply()

    assert run_spending.join_run(endpoint) is endpoint
    with run_spending.open_spending_scope() as spending:
        assert run_spending.join_run(endpoint) is endpoint
        spending.limit = CostLimit(1, {})
        for model in (endpoint, FunctionModel(own)):
            with pytest.raises(UsageError, match="--max-cost"):
                run_spending.join_run(model)
        spending.limit = CostLimit(1, {key: PRICE})
        assert isinstance(run_spending.join_run(endpoint), LimitedModel)
    assert run_spending.join_run(endpoint) is endpoint

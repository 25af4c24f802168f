"""What tokens cost: as the package of list prices counts, and never more than the worst case."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from genai_prices import Usage as ListedUsage
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmark.core.errors import UsageError
from toolmark.core.records import Usage
from toolmark.models import own_prices, price_list
from toolmark.models.token_prices import (
    ModelPrice,
    Rates,
    batch_price,
    highest_cost,
    unknown_price,
    usage_cost,
)

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta",
    "openrouter": "https://openrouter.ai/api/v1",
    "mistral": "https://api.mistral.ai/v1",
    "x-ai": "https://api.x.ai/v1",
}
LISTED = [
    (address, model.id)
    for provider in get_snapshot().providers
    if (address := ADDRESSES.get(provider.id))
    for model in provider.models
]
COUNT = st.integers(0, 500_000)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    cached, written, fresh, said, reasoning = (draw(COUNT) for _ in range(5))
    return Usage(
        input=cached + written + fresh, cached=cached, cache_written=written,
        output=said + reasoning, reasoning=reasoning,
    )  # fmt: skip


@settings(max_examples=60)
@given(st.sampled_from(LISTED), usages())
def test_list_prices_are_applied_as_their_package_does(
    listed: tuple[str, str], usage: Usage
) -> None:
    address, name = listed
    price = price_list.find_list_price(address, name, extra={}, on=NOW)
    if not price.is_known or price.note or usage == Usage():
        return
    provider, model = get_snapshot().find_provider_model(name, None, None, address)
    counts: dict[str, Any] = {
        "input_tokens": usage.input, "output_tokens": usage.output,
        "cache_read_tokens": usage.cached, "cache_write_tokens": usage.cache_written,
        "output_reasoning_tokens": usage.reasoning,
    }  # fmt: skip
    expected = model.calc_price(ListedUsage(**counts), provider, genai_request_timestamp=NOW)
    cost = usage_cost(price, usage)
    assert cost == pytest.approx(float(expected.total_price), rel=1e-9)
    assert cost is not None and cost <= highest_cost(price, usage.input, usage.output) * (1 + 1e-9)


def test_the_address_says_whose_price_counts() -> None:
    name = "gpt-5"
    assert price_list.find_list_price(ADDRESSES["openai"], name, extra={}, on=NOW).is_known
    for address in ("http://127.0.0.1:8000/v1", "http://gpu:8000/v1", "https://gpu.example.org/v1"):
        found = price_list.find_list_price(address, name, extra={}, on=NOW)
        assert found == unknown_price(found.unknown) and found.unknown


def test_a_service_tier_has_its_own_price() -> None:
    plain, flex = (
        price_list.find_list_price(ADDRESSES["openai"], "gpt-5", extra=extra, on=NOW)
        for extra in ({}, {"service_tier": "flex"})
    )
    assert flex.context == {"service_tier": "flex"} and plain.context == {}
    assert flex.rates[0].input == plain.rates[0].input / 2


def test_a_price_of_sound_that_is_not_that_of_text_makes_the_cost_unknown() -> None:
    model = "gpt-4o-audio-preview"
    text = price_list.find_list_price(ADDRESSES["openai"], model, extra={}, on=NOW)
    sound = price_list.find_list_price(
        ADDRESSES["openai"], model, extra={}, needs_sound=True, on=NOW
    )
    assert text.is_known and not sound.is_known and "sound" in sound.unknown


def test_the_list_has_a_version_and_a_day_that_is_not_in_the_future() -> None:
    found = price_list.find_list_price(ADDRESSES["openai"], "gpt-5", extra={}, on=NOW)
    assert found.source.startswith("genai-prices 0.") and "2026-10-01" < found.date <= "2026-11-28"


def test_rates_above_a_number_of_tokens_are_those_of_all_tokens() -> None:
    price = ModelPrice(rates=(Rates(input=1, output=2), Rates(input=3, output=4, above_input=100)))
    costs = [usage_cost(price, Usage(input=n, output=10)) for n in (100, 101)]
    assert costs == [(100 + 20) / 1e6, (303 + 40) / 1e6]
    assert highest_cost(price, 100, 10) == 120 / 1e6
    assert highest_cost(price, 101, 10) == 343 / 1e6


def test_a_reported_zero_does_not_hide_a_price() -> None:
    price = ModelPrice(rates=(Rates(input=1, output=2),))
    said = Usage(input=100, output=10, cost=0.0)
    assert usage_cost(price, said) == 120 / 1e6
    assert usage_cost(None, said) == usage_cost(unknown_price("why"), said) == 0.0
    assert usage_cost(price, Usage(cost=0.0)) == 0.0


@given(usages())
def test_tokens_in_a_batch_cost_half(usage: Usage) -> None:
    rates = Rates(input=3, output=15, cached=0.3, cache_written=3.75, reasoning=20)
    price = ModelPrice(rates=(rates, Rates(input=6, output=30, above_input=200_000)))
    whole, half = usage_cost(price, usage), usage_cost(batch_price(price), usage)
    assert (whole is None) == (half is None)
    assert half == pytest.approx((whole or 0.0) / 2) or whole is None
    assert batch_price(unknown_price("why")) == unknown_price("why")


def test_unknown_stays_unknown_and_what_the_endpoint_reports_wins() -> None:
    price = ModelPrice(rates=(Rates(input=1, output=1),))
    assert usage_cost(price, Usage()) is None
    assert usage_cost(None, Usage(input=1)) is None
    assert usage_cost(unknown_price("no list"), Usage(input=1)) is None
    assert usage_cost(price, Usage(input=1, cost=0.5)) == 0.5
    assert usage_cost(None, Usage(cost=0.0)) == 0.0


@pytest.mark.parametrize(
    ("given_price", "role", "rates"),
    [
        ("3,15", "model", Rates(input=3, output=15)),
        ("3,15,0.3", "model", Rates(input=3, output=15, cached=0.3)),
        ("judge=0,0", "judge", Rates(input=0, output=0)),
        ((3, 15, 0.3, 3.75), "model", Rates(input=3, output=15, cached=0.3, cache_written=3.75)),
        ({"user": (1, 2)}, "user", Rates(input=1, output=2)),
    ],
)
def test_own_prices(given_price: object, role: str, rates: Rates) -> None:
    texts = own_prices.price_texts(given_price)
    expected = ModelPrice(source="--price", date="2026-11-28", rates=(rates,))
    assert own_prices.parse_prices(texts, NOW.date()) == {role: expected}


@pytest.mark.parametrize(
    "wrong", ["", "3", "3,-1", "3,inf", "3,x", "1,2,3,4,5", "me=1,2", ["1,2", "3,4"], 7, [None]]
)
def test_wrong_prices_are_refused_in_one_line(wrong: object) -> None:
    with pytest.raises(UsageError) as caught:
        own_prices.parse_prices(own_prices.price_texts(wrong), NOW.date())
    assert "--price" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("-3,15", "not negative"), ("nan,15", "finite"), ("3,1e400", "finite"),
        ("3000000,15000000", "per million"), ("0.000003,0.000015", "3 is meant"),
        ("3,15,3.75,0.3", "read from the cache"),
    ],
)  # fmt: skip
def test_an_absurd_price_is_refused_with_what_is_wrong_with_it(wrong: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        own_prices.parse_prices([wrong], NOW.date())
    assert "\n" not in str(caught.value)

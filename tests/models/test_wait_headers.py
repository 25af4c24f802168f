"""How long to wait, and what is left, as each provider's headers say it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.models.wait_headers import (
    MAX_WAIT_S,
    HeaderReader,
    LimitState,
    ServerLimits,
    parse_wait,
    read_limits,
    read_may_retry,
    read_wait,
)

NOW_S = 1_800_000_000.0  # 2027-01-15T08:00:00Z
DATE = "Fri, 15 Jan 2027 08:00:00 GMT"
ANTHROPIC = "anthropic-ratelimit"


def reader(headers: Mapping[str, str]) -> HeaderReader:
    return lambda name: headers.get(name, "")


@pytest.mark.parametrize(
    ("text", "wait_s"),
    [
        ("7", 7.0), (" 0.5 ", 0.5), ("0", 0.0), ("6ms", 0.006), ("1s", 1.0), ("1m30s", 90.0),
        ("6m0s", 360.0), ("1h2m3.5s", 3723.5), ("2d", 172_800.0), ("7m12s", 432.0),
        ("2027-01-15T08:00:30Z", 30.0), ("2027-01-15T09:00:30.250+01:00", 30.25),
        ("Fri, 15 Jan 2027 08:01:00 GMT", 60.0), ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),
        ("1800000005", 5.0), ("1800000005500", 5.5), ("1700000000", 0.0),
        ("", None), ("soon", None), ("-3", None), ("nan", None), ("inf", None), ("1m 30s", None),
        ("s", None), ("1x", None), ("2027-01-15T08:00:30", 30.0), ("9" * 65, None),
        ("Wed, 99 Foo", None), ("\u0663s", None), ("\u0663", None),
    ],
)  # fmt: skip
def test_every_form_of_a_wait_is_read(text: str, wait_s: float | None) -> None:
    assert parse_wait(text, lambda: NOW_S) == (
        wait_s if wait_s is None else pytest.approx(wait_s, abs=1e-6)
    )


@given(st.text(max_size=80))
def test_any_text_is_a_wait_that_is_not_negative_or_none(text: str) -> None:
    found = parse_wait(text, lambda: NOW_S)
    assert found is None or 0 <= found < float("inf")


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "9", "x-ratelimit-reset-requests": "1m"}, 9.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:20 GMT", "date": DATE}, 20.0),
        ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-reset-tokens": "6ms"}, 90.0),
        ({"x-ratelimit-reset-requests": "6ms", "x-ratelimit-reset-tokens": "20"}, 20.0),
        # only what is used up has to be waited for
        ({"x-ratelimit-reset-requests": "2h", "x-ratelimit-remaining-requests": "14000",
          "x-ratelimit-reset-tokens": "7s", "x-ratelimit-remaining-tokens": "0"}, 7.0),
        ({"x-ratelimit-reset-requests": "2h", "x-ratelimit-reset-tokens": "7s"}, 7.0),
        ({"x-ratelimit-reset-requests": "2h", "x-ratelimit-remaining-requests": "0"}, 7200.0),
        ({"x-ratelimit-reset-requests": "5s", "x-ratelimit-remaining-requests": "0",
          "x-ratelimit-reset-tokens": "7s", "x-ratelimit-remaining-tokens": "0"}, 7.0),
        # Azure writes -1 for what it does not count
        ({"x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "0"}, None),
        ({f"{ANTHROPIC}-requests-reset": "2027-01-15T08:00:05Z", "date": DATE,
          f"{ANTHROPIC}-input-tokens-reset": "2027-01-15T08:00:41Z"}, 41.0),
        ({f"{ANTHROPIC}-requests-reset": "2027-01-15T08:00:50Z", "date": DATE,
          f"{ANTHROPIC}-requests-remaining": "3",
          f"{ANTHROPIC}-output-tokens-reset": "2027-01-15T08:00:10Z",
          f"{ANTHROPIC}-output-tokens-remaining": "0"}, 10.0),
    ],
)  # fmt: skip
def test_the_wait_is_the_named_one_else_that_of_the_limits(
    headers: Mapping[str, str], wait_s: float | None
) -> None:
    assert read_wait(reader(headers)) == wait_s


def test_an_endpoint_says_whether_to_ask_again() -> None:
    found = [
        read_may_retry(reader({"x-should-retry": text})) for text in ("true", "False", "", "x")
    ]
    assert found == [True, False, None, None]


@pytest.mark.parametrize(
    ("headers", "limits"),
    [
        ({}, None),
        ({"x-ratelimit-limit-requests": "5"}, None),
        (
            {"x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-requests": "12ms",
             "x-ratelimit-remaining-tokens": "700", "x-ratelimit-reset-tokens": "1m"},
            ServerLimits(LimitState(9, 0.012), LimitState(700, 60.0)),
        ),
        (
            {f"{ANTHROPIC}-requests-remaining": "4", f"{ANTHROPIC}-tokens-remaining": "90",
             f"{ANTHROPIC}-input-tokens-remaining": "80",
             f"{ANTHROPIC}-output-tokens-remaining": "20",
             f"{ANTHROPIC}-output-tokens-reset": "2027-01-15T08:00:10Z", "date": DATE},
            ServerLimits(LimitState(4), LimitState(20, 10.0)),
        ),
    ],
)  # fmt: skip
def test_what_is_left_is_that_of_the_strictest_limit(
    headers: Mapping[str, str], limits: ServerLimits | None
) -> None:
    assert read_limits(reader(headers)) == limits


def test_tokens_that_are_left_count_as_requests() -> None:
    limits = ServerLimits(LimitState(9, 1.0), LimitState(700, 60.0))
    assert [limits.requests_left(n) for n in (0, 100, 350, 701)] == [9, 7, 2, 0]
    assert [limits.renewal_s(n) for n in (700, 701)] == [0.0, 60.0]
    assert ServerLimits(LimitState(), LimitState()).requests_left(5) is None
    assert MAX_WAIT_S == 600

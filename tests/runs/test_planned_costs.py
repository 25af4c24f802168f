"""What a run may cost is said before anything is asked: one price or one reason for each model."""

from __future__ import annotations

import pytest

from toolmark.core.errors import UsageError
from toolmark.core.records import Sampling
from toolmark.runs.planning.planned_costs import describe_planned_costs
from toolmark.runs.run_settings import Connection

OWN = "http://127.0.0.1:9/v1#m"
LIMITED = Sampling(max_tokens=100)


def lines(model: str, *price: str, sampling: Sampling = LIMITED, n: int | None = 30) -> list[str]:
    return describe_planned_costs(model, None, None, Connection(price=price), sampling, n)


def test_the_most_that_the_output_costs_follows_from_requests_tokens_and_price() -> None:
    (line,) = lines(OWN, "1,20")
    assert "30 requests costs $0.0600 at most" in line  # 30 x 100 tokens at 20 per million
    (line,) = lines(OWN, "1,20", n=None)
    assert "a request costs $0.00200 at most" in line


def test_without_a_limit_of_tokens_that_is_the_reason_and_the_step() -> None:
    (line,) = lines(OWN, "1,20", sampling=Sampling())
    assert "--max-tokens N" in line and "INPUT,OUTPUT" not in line
    (line,) = lines(OWN, sampling=Sampling())
    assert "--price INPUT,OUTPUT" in line and "--max-tokens" not in line


def test_each_model_has_a_line_of_its_own_and_what_is_free_has_none() -> None:
    money = Connection(price=("1,2", "judge=3,4"))
    found = describe_planned_costs(OWN, f"{OWN}u", f"{OWN}j", money, LIMITED, 1)
    assert len(found) == 3 and "--price user=INPUT,OUTPUT" in found[1] and "$4.00" in found[2]
    assert lines("control/null") == []


def test_a_batch_costs_half_the_list_price() -> None:
    single, batched = (
        describe_planned_costs("openai/gpt-5", None, None, Connection(batch=batch), LIMITED, 1)[0]
        for batch in (False, True)
    )
    assert "$1.25 in, $10.00 out" in single and "$0.625 in, $5.00 out" in batched


def test_a_wrong_price_is_refused() -> None:
    with pytest.raises(UsageError, match="not negative"):
        lines(OWN, "-1,2")

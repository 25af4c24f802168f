"""What a run may cost, said before anything is asked."""

from __future__ import annotations

from toolmark.core.number_format import DASH, format_usd, pluralize
from toolmark.core.records import Sampling
from toolmark.models.cost_limit import reply_limits
from toolmark.models.token_prices import MTOK, ModelPrice
from toolmark.runs.costs.run_prices import PricedModel, find_prices
from toolmark.runs.run_settings import Connection


def describe_planned_costs(
    model: str,
    user: str | None,
    judge: str | None,
    connection: Connection,
    sampling: Sampling,
    n_requests: int | None,
    *,
    needs_sound: bool = False,
) -> list[str]:
    """Return a line for each model that may cost something: its price, or why there is none.

    `n_requests` are the most to the model under test, None where nobody knows. Raises UsageError.
    """
    judges = {} if judge is None else {judge: judge}
    found = find_prices(model, user, judges, connection, sampling, needs_sound=needs_sound)
    lines = []
    for each in found:
        if each.is_free or each.endpoint is None:
            continue
        n = n_requests if each.role == "model" else None
        lines.append(_describe_price(each, sampling, n))
    return lines


def _describe_price(asked: PricedModel, sampling: Sampling, n_requests: int | None) -> str:
    price = asked.price or ModelPrice(unknown="no price is known")
    if not price.is_known:
        who = asked.role.partition(" ")[0]
        role = "" if who == "model" else f"{who}="
        return (
            f"price of {asked.name}: {DASH} ({price.unknown}; --price {role}INPUT,OUTPUT sets one)"
        )
    rates = price.rates[0]
    dated = ", ".join(filter(None, (price.source, price.date, price.note)))
    line = (
        f"price of {asked.name}: {format_usd(rates.input)} in, {format_usd(rates.output)} out per "
        f"million tokens ({dated})"
    )
    if asked.role != "model":
        return line
    limits = reply_limits(sampling)
    if not limits:
        return f"{line}; --max-tokens N would limit what a reply costs"
    usd = max(limits) * max(each.highest_output for each in price.rates) / MTOK
    if n_requests is None:
        return f"{line}; the output of a request costs {format_usd(usd)} at most"
    requests = pluralize(n_requests, "request")
    return f"{line}; the output of {requests} costs {format_usd(n_requests * usd)} at most"

"""What an episode of a planned run will cost: by its pilot, or by a price and numbers of tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from toolmark.core.errors import UsageError
from toolmark.core.number_format import format_count, format_usd
from toolmark.core.records import Sampling, Usage
from toolmark.models import own_prices
from toolmark.models.token_prices import usage_cost
from toolmark.runs.costs.run_prices import find_prices
from toolmark.runs.planning.pilot_runs import Pilot, tokens_of_episode, usd_of_episode
from toolmark.runs.run_settings import Connection, convert_fields

MAX_TOKENS = 1e9


class EpisodeCost(NamedTuple):
    """US$ of an episode, None where that is not known, and how it is known, or why it is not."""

    usd: float | None
    note: str


def find_episode_cost(
    pilots: Sequence[Pilot], model: str | None, price: list[str] | None, tokens: str | None
) -> EpisodeCost:
    """Return what an episode costs: by `model` or `price` if given, else what the pilots cost.

    Of two pilots it is what both together cost: a difference needs both runs. Raises UsageError for
    a price that is asked for and not known.
    """
    if model is None and not price:
        if tokens:
            raise UsageError("--tokens has no price; next: -m MODEL, or --price INPUT,OUTPUT")
        return _cost_of_pilots(pilots)
    name = model or (pilots[0].record.model if pilots else "")
    if not name:
        raise UsageError("--price is of no model; next: -m MODEL")
    counts = _parse_tokens(tokens) if tokens else _tokens_of_pilots(pilots)
    if counts is None:
        raise UsageError(
            "a price needs the tokens of an episode; next: --tokens INPUT,OUTPUT, such as "
            "--tokens 2500,300, or a pilot that counts them"
        )
    connection = convert_fields(Connection, price=own_prices.price_texts(price))
    [found, *_] = find_prices(name, None, {}, connection, Sampling())
    if found.is_free:
        return EpisodeCost(0.0, f"{found.name} costs nothing")
    listed = found.price
    if listed is None or not listed.is_known:
        why = listed.unknown if listed is not None else "no price is known"
        raise UsageError(
            f"the price of {found.name} is not known: {why}; next: --price INPUT,OUTPUT, in US$ "
            "per million tokens"
        )
    n_input, n_output = counts
    usd = usage_cost(listed, Usage(input=math.ceil(n_input), output=math.ceil(n_output)))
    source = ", ".join(filter(None, (listed.source, listed.date)))
    return EpisodeCost(
        usd,
        f"{format_usd(usd or 0.0)} an episode of {format_count(round(n_input))} tokens in, "
        f"{format_count(round(n_output))} out ({source})",
    )


def _cost_of_pilots(pilots: Sequence[Pilot]) -> EpisodeCost:
    costs = [usd_of_episode(pilot) for pilot in pilots]
    known = [each for each in costs if each is not None]
    if not pilots or len(known) < len(costs):
        return EpisodeCost(None, "not known; -m MODEL or --price INPUT,OUTPUT with --tokens says")
    usd = sum(known)
    both = " in both runs" if len(costs) > 1 else ""
    return EpisodeCost(usd, f"{format_usd(usd)} an episode{both}, as the pilot cost")


def _tokens_of_pilots(pilots: Sequence[Pilot]) -> tuple[float, float] | None:
    return tokens_of_episode(pilots[0]) if pilots else None


def _parse_tokens(text: str) -> tuple[float, float]:
    try:
        n_input, n_output = (float(word) for word in text.split(","))
    except ValueError:
        n_input = n_output = math.nan
    if not (0 <= n_input <= MAX_TOKENS and 0 <= n_output <= MAX_TOKENS and n_input + n_output > 0):
        raise UsageError(f"--tokens {text}: expected INPUT,OUTPUT; next: --tokens 2500,300")
    return n_input, n_output

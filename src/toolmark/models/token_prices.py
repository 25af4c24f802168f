"""What tokens cost, as data, and what the tokens of one request cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolmark.core.records import Audio, Image, Record, Task, Usage

MTOK = 1_000_000
BATCH_SHARE = 0.5  # of the price of a token, which a token in a batch costs
Medium: TypeAlias = Literal["sound", "pictures"]


class Rates(Record, frozen=True, kw_only=True):
    """US$ per million tokens; a price that is None is that of the tokens it is part of.

    `request` is the price of one request in US$. The rates apply to all tokens of a request with
    more than `above_input` tokens of input.
    """

    input: float
    output: float = 0.0
    cached: float | None = None
    cache_written: float | None = None
    reasoning: float | None = None
    request: float = 0.0
    above_input: int = 0

    def token_cost(self, usage: Usage) -> float:
        """Return what these tokens cost in US$."""
        n_fresh = max(0, usage.input - usage.cached - usage.cache_written)
        n_said = max(0, usage.output - usage.reasoning)
        return self.request + (
            n_fresh * self.input
            + usage.cached * _or_whole(self.cached, self.input)
            + usage.cache_written * _or_whole(self.cache_written, self.input)
            + n_said * self.output
            + usage.reasoning * _or_whole(self.reasoning, self.output)
        ) / MTOK  # fmt: skip

    @property
    def highest_input(self) -> float:
        """The highest price of a token of input."""
        return max(self.input, self.cached or 0.0, self.cache_written or 0.0)

    @property
    def highest_output(self) -> float:
        """The highest price of a token of output."""
        return max(self.output, self.reasoning or 0.0)


class ModelPrice(Record, frozen=True, kw_only=True):
    """The price of one model, and where it is from; or why it is not known.

    `source` is `--price` or the price list with its version. `date` is the day of the price: that
    of the run for `--price`, else the newest change that the list holds. `provider` and `model` are
    the entry of the list, found by the address and by the model's name as it is asked. `rates` are
    in the order of `above_input`. `priced_apart` are the highest prices of the input of media whose
    tokens the endpoint does not count apart. `context` are the settings that the price depends on.
    """

    source: str = ""
    date: str = ""
    provider: str = ""
    model: str = ""
    rates: tuple[Rates, ...] = ()
    priced_apart: dict[Medium, float] = {}
    context: dict[str, str] = {}
    note: str = ""
    unknown: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is a price."""
        return bool(self.rates)

    def rates_for(self, n_input: int) -> Rates:
        """Return the rates of a request with so many tokens of input."""
        found = self.rates[0]
        for rates in self.rates[1:]:
            if n_input > rates.above_input:
                found = rates
        return found


def usage_cost(price: ModelPrice | None, usage: Usage) -> float | None:
    """Return what one request cost in US$; None where it is not known.

    What the endpoint itself says wins over any price, but for a 0 where there is a price: routers
    say 0 where they charge nothing and the provider behind them does. Without counts of tokens
    nothing is known.
    """
    if usage.cost is not None and (usage.cost > 0 or price is None or not price.rates):
        return usage.cost
    if price is None or not price.rates or not (usage.input or usage.output):
        return usage.cost
    return price.rates_for(usage.input).token_cost(usage)


def highest_cost(price: ModelPrice, n_input: int, n_output: int) -> float:
    """Return the most that a request with at most so many tokens can cost in US$."""
    rates = [each for each in price.rates if each.above_input < n_input or not each.above_input]
    highest_input = max(*(each.highest_input for each in rates), *price.priced_apart.values(), 0.0)
    highest_output = max(each.highest_output for each in rates)
    fixed = max(each.request for each in rates)
    return fixed + (n_input * highest_input + n_output * highest_output) / MTOK


def batch_price(price: ModelPrice) -> ModelPrice:
    """Return a listed price as OpenAI and Anthropic charge it for requests in batches: half."""
    rates = tuple(
        replace(
            each,
            input=each.input * BATCH_SHARE,
            output=each.output * BATCH_SHARE,
            cached=_scaled(each.cached),
            cache_written=_scaled(each.cache_written),
            reasoning=_scaled(each.reasoning),
        )
        for each in price.rates
    )
    if not rates:
        return price
    apart = {medium: usd * BATCH_SHARE for medium, usd in price.priced_apart.items()}
    note = "; ".join(filter(None, (price.note, "half the list price, as asked in batches")))
    return replace(price, rates=rates, priced_apart=apart, note=note)


def uncounted_media_in(tasks: Iterable[Task], prices: Mapping[str, ModelPrice]) -> set[str]:
    """Return the media in tasks that some price has apart; tasks are read only if there is one."""
    wanted = {medium for price in prices.values() for medium in price.priced_apart}
    found: set[str] = set()
    if wanted:
        for task in tasks:
            for message in (message for turn in task.turns for message in turn.messages):
                found |= {"sound" for part in message.parts if isinstance(part, Audio)}
                found |= {"pictures" for part in message.parts if isinstance(part, Image)}
    return found & wanted


def uncounted_media(price: ModelPrice, media: Collection[str]) -> str:
    """Return which of these media a price has apart, in words; "" for none."""
    return " and ".join(sorted({*price.priced_apart} & {*media}))


def unknown_price(reason: str) -> ModelPrice:
    """Return the price of a model that has none, with the reason."""
    return ModelPrice(unknown=reason)


def _scaled(price: float | None) -> float | None:
    return None if price is None else price * BATCH_SHARE


def _or_whole(price: float | None, whole: float) -> float:
    return whole if price is None else price

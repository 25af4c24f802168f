"""List prices of providers, from the package genai-prices, which holds them as data.

The package is loaded only for an address that may be in its list: that takes half a second.
Nothing is fetched. Only the user's own words are searched for, never what an endpoint says.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolmark.models.token_prices import Medium, ModelPrice, Rates, unknown_price

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, Provider
    from genai_prices.types import ModelPrice as ListedPrice

_PACKAGE = "genai-prices"
_MAX_NAME_CHARS = 200
_CONTEXT_SETTINGS = ("service_tier", "speed")
_TOKEN_KEYS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached": "cache_read_mtok",
    "cache_written": "cache_write_mtok",
    "reasoning": "output_reasoning_mtok",
}
_MEDIA_KEYS: Mapping[Medium, tuple[str, ...]] = {
    "sound": ("input_audio_mtok", "cache_audio_read_mtok"),
    "pictures": ("input_image_mtok", "cache_image_read_mtok"),
}
_SOUND_KEY = "input_audio_mtok"
_REQUESTS_KEY = "requests_kcount"


def find_list_price(
    address: str,
    model: str,
    *,
    extra: Mapping[str, Any],
    needs_sound: bool = False,
    on: datetime | None = None,
) -> ModelPrice:
    """Return the list price of a model at an address, at a time; why there is none where it lacks.

    The address says who is paid, never the model's name: any server may serve any name.
    `extra` are the fields that are added to every request; a service tier among them has its price.
    With `needs_sound` the price counts only where a token of sound costs what one of text does: the
    endpoints do not count them apart.
    """
    if not _is_public_host(urlsplit(address).hostname or ""):
        return unknown_price("no list has prices of an address of your own")
    snapshot = _load_snapshot()
    name = model[:_MAX_NAME_CHARS]
    try:
        provider, entry = snapshot.find_provider_model(name, None, None, address)
    except LookupError:
        return unknown_price(f"{list_name()} has no price of this model at this address")
    context = {key: extra[key] for key in _CONTEXT_SETTINGS if isinstance(extra.get(key), str)}
    prices, applies = _prices_at(provider, entry, context, on or datetime.now(UTC))
    fields = {name: value for name, value in vars(prices[0]).items() if value is not None}
    if _TOKEN_KEYS["input"] not in fields:
        return unknown_price(f"{list_name()} has no price of this model's tokens")
    if needs_sound and fields.get(_SOUND_KEY) != fields[_TOKEN_KEYS["input"]]:
        return unknown_price("tokens of sound have another price, and are not counted apart")
    return ModelPrice(
        source=list_name(),
        date=list_date((on or datetime.now(UTC)).date()),
        provider=provider.id,
        model=entry.id,
        rates=tuple(_rates_above(fields, start) for start in _tier_starts(fields)),
        priced_apart=_prices_of_media(fields),
        context=applies,
        note="the price depends on the time of day: the highest is used" if prices[1:] else "",
    )


def list_name() -> str:
    """Return the name of the price list with its version."""
    import genai_prices

    return f"{_PACKAGE} {genai_prices.__version__}"


@cache
def list_date(today: date) -> str:
    """Return the day of the newest change of a price in the list that is not after `today`."""
    found = [day for day in _change_days(_load_snapshot().providers) if day <= today]
    return max(found).isoformat() if found else ""


def _load_snapshot() -> DataSnapshot:
    from genai_prices import data_snapshot

    return data_snapshot.get_snapshot()


def _is_public_host(host: str) -> bool:
    """Return whether a host may belong to a provider; a short name or a number does not."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." in host
    return False


def _prices_at(
    provider: Provider, entry: ModelInfo, context: Mapping[str, str], on: datetime
) -> tuple[list[ListedPrice], dict[str, str]]:
    """Return the price at a time and all that depend on the time of day, the highest first.

    Also return the settings that apply: a provider that resells a model has its standard price.
    """
    from genai_prices.types import TimeOfDateConstraint

    applies = dict(context) if any(entry is each for each in provider.models) else {}
    conditional = entry.prices if isinstance(entry.prices, list) else []
    found = [
        each.prices for each in conditional if isinstance(each.constraint, TimeOfDateConstraint)
    ]
    return sorted([entry.get_prices(on, applies), *found], key=_total_price, reverse=True), applies


def _total_price(listed: ListedPrice) -> float:
    return sum(_price_above(getattr(listed, name), 0) for name in ("input_mtok", "output_mtok"))


def _rates_above(prices: Mapping[str, Any], start: int) -> Rates:
    tokens = {
        name: _price_above(prices[key], start) for name, key in _TOKEN_KEYS.items() if key in prices
    }
    per_request = _price_above(prices.get(_REQUESTS_KEY), start) / 1000
    return Rates(**tokens, request=per_request, above_input=start)


def _tier_starts(prices: Mapping[str, Any]) -> list[int]:
    """Return the numbers of tokens above which prices change, and 0."""
    used = [prices[key] for key in (*_TOKEN_KEYS.values(), _REQUESTS_KEY) if key in prices]
    tiers = [tier for price in used if not isinstance(price, Decimal) for tier in price.tiers]
    return sorted({0, *(tier.start for tier in tiers)})


def _price_above(price: Any, start: int) -> float:
    """Return a price for requests with more tokens of input than `start`."""
    if price is None:
        return 0.0
    if isinstance(price, Decimal):
        return float(price)
    found = price.base
    for tier in price.tiers:
        if tier.start <= start:
            found = tier.price
    return float(found)


def _prices_of_media(prices: Mapping[str, Any]) -> dict[Medium, float]:
    """Return the highest input prices of the media that have a price of their own."""
    found: dict[Medium, float] = {}
    for medium, keys in _MEDIA_KEYS.items():
        own = [_highest_price(prices[key]) for key in keys if key in prices]
        if own and max(own) != _price_above(prices.get("input_mtok"), 0):
            found[medium] = max(own)
    return found


def _highest_price(price: Any) -> float:
    if isinstance(price, Decimal):
        return float(price)
    return float(max(price.base, *(tier.price for tier in price.tiers)))


def _change_days(providers: Iterable[Provider]) -> Iterator[date]:
    from genai_prices.types import StartDateConstraint

    for provider in providers:
        for entry in provider.models:
            dated = entry.prices if isinstance(entry.prices, list) else ()
            for each in (*dated, *(entry.price_variants or ())):
                if isinstance(each.constraint, StartDateConstraint):
                    yield each.constraint.start_date

"""The prices of a run's models, found before anything is asked, and the limit of its cost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec.structs import replace

from toolmark.core import secrets
from toolmark.core.errors import UsageError
from toolmark.core.number_format import format_count, format_usd
from toolmark.core.records import Sampling
from toolmark.models import own_prices, price_list
from toolmark.models.cost_limit import CostLimit, EndpointKey, reply_limits
from toolmark.models.endpoint_address import EndpointAddress
from toolmark.models.model_resolver import find_endpoint
from toolmark.models.token_prices import ModelPrice, batch_price, highest_cost
from toolmark.runs.costs.run_usage import measure_run_usage
from toolmark.runs.record_files import write_document
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import Connection, RunSettings
from toolmark.runs.run_store import INFO_FILE, Run
from toolmark.runs.suite import Suite

_HALVING_PROVIDERS = ("openai", "anthropic")  # whose batches cost half
_FREE = ("control/", "baseline/", "scripted")


class PricedModel(NamedTuple):
    """One model of a run: its name, where it is asked, and its price.

    `role` is `model`, `user` or `judge NAME`; `endpoint` is None for a model in this process.
    """

    role: str
    name: str
    endpoint: EndpointAddress | None
    price: ModelPrice | None

    @property
    def key(self) -> EndpointKey | None:
        """The endpoint as it may be shown, and the model there; None for one in this process."""
        if self.endpoint is None:
            return None
        return EndpointKey(secrets.mask_address(self.endpoint.url), self.endpoint.name)

    @property
    def is_free(self) -> bool:
        """Whether asking it costs nothing: a control, a baseline, a scripted user."""
        return self.name.startswith(_FREE)

    def with_recorded_price(self, recorded: ModelPrice | None) -> PricedModel:
        """Return the model with the price of the run that goes on, which has a price already.

        What was paid is known by that price alone. Raises UsageError for another price of the
        user's own.
        """
        if recorded is None or not recorded.is_known:
            return self
        is_own = self.price is not None and self.price.source == own_prices.SOURCE
        if is_own and self.price is not None and self.price.rates != recorded.rates:
            raise UsageError(
                f"this run was begun with another price of the {self.role}: "
                f"{_rates_text(recorded)} from {recorded.source}; next: leave out --price, or "
                "begin anew with --fresh"
            )
        return self._replace(price=recorded)

    def describe_change(self, recorded: ModelPrice | None) -> str:
        """Return that the price was another one when the run began; "" where it was not."""
        now = self.price
        if now is None or recorded is None or not (now.is_known and recorded.is_known):
            return ""
        if now.rates == recorded.rates:
            return ""
        return (
            f"the list price of the {self.role} is {_rates_text(now)} now, and was "
            f"{_rates_text(recorded)} ({recorded.source}, {recorded.date}) when this run began; "
            "all its costs are counted by that one"
        )


def _rates_text(price: ModelPrice) -> str:
    """Return the lowest rates as `--price` takes them: input and output, in US$ per million."""
    return f"{price.rates[0].input:g},{price.rates[0].output:g}"


def find_prices(
    model: object,
    user: object | None,
    judges: Mapping[str, object],
    connection: Connection,
    sampling: Sampling,
    *,
    needs_sound: bool = False,
) -> list[PricedModel]:
    """Return the models of a run with their prices: the user's own, else those of the list.

    A model is looked up by the name that it is asked by, at the address that it is asked at. A
    model in this process has a price only if the user gives one. Raises UsageError.
    """
    now = datetime.now(UTC)
    own = own_prices.parse_prices(connection.price, now.date())
    _check_used(own, model, user, judges)
    place = connection.base_url, connection.wire
    examined = _price_model("model", model, own.get("model"), place, sampling, now, needs_sound)
    if connection.batch and "model" not in own and _halves_batches(examined.price):
        assert examined.price is not None
        examined = examined._replace(price=batch_price(examined.price))
    found = [examined]
    if user is not None:
        found.append(_price_model("user", user, own.get("user"), (None, None), Sampling(), now))
    for name, judge in judges.items():
        role, price = f"judge {name}", own.get("judge")
        found.append(_price_model(role, judge, price, (None, None), Sampling(), now))
    return found


def _check_used(
    own: Mapping[str, ModelPrice],
    model: object,
    user: object | None,
    judges: Mapping[str, object],
) -> None:
    """Raise UsageError for a price of one whom this run does not ask, or who costs nothing."""
    asked = {"model": [model], "user": [user] if user else [], "judge": [*judges.values()]}
    for role in own:
        free = [each for each in asked[role] if isinstance(each, str) and each.startswith(_FREE)]
        form = own_prices.SOURCE if role == "model" else f"{own_prices.SOURCE} {role}="
        if not asked[role]:
            raise UsageError(f"{form}: this run asks no {role}; next: leave out that price")
        if len(free) == len(asked[role]):
            raise UsageError(f"{form}: {free[0]} costs nothing; next: leave out that price")


def _price_model(
    role: str,
    model: object,
    own: ModelPrice | None,
    place: tuple[str | None, object],
    sampling: Sampling,
    now: datetime,
    needs_sound: bool = False,
) -> PricedModel:
    if not isinstance(model, str) or model.startswith(_FREE):
        return PricedModel(role, model if isinstance(model, str) else "", None, own)
    base_url, wire = place
    endpoint = find_endpoint(model, base_url, wire, needs_sound=needs_sound)  # type: ignore[arg-type]
    name = secrets.mask_model_spec(model)
    if own is not None or endpoint is None:
        return PricedModel(role, name, endpoint, own)
    address = secrets.mask_address(endpoint.url)
    listed = price_list.find_list_price(
        address, endpoint.name, extra=sampling.extra, needs_sound=needs_sound, on=now
    )
    return PricedModel(role, name, endpoint, listed)


def _halves_batches(price: ModelPrice | None) -> bool:
    return price is not None and price.provider in _HALVING_PROVIDERS


class RunMoney(NamedTuple):
    """The prices of a run by role, the limit of its cost, if it has one, and notes for people.

    `endpoints` are the models whose replies its files record.
    """

    prices: dict[str, ModelPrice]
    limit: CostLimit | None = None
    notes: tuple[str, ...] = ()
    endpoints: frozenset[EndpointKey] = frozenset()


def plan_money(
    suite: Suite,
    model: object,
    user: object | None,
    judges: Mapping[str, object],
    plan: Plan,
    settings: RunSettings,
    stored: Run | None,
    asks: bool,
) -> RunMoney:
    """Return the prices and the limit of a run; `stored` is the run that goes on, if one does.

    Where nothing is asked the recorded prices stay. Raises UsageError where a limit is asked for
    and is not possible.
    """
    if not asks:
        return RunMoney({})
    connection, needs_sound = settings.connection, suite.maker.makes_sound
    if user is None:
        user = _find_asked_model(suite)
    models = find_prices(model, user, judges, connection, plan.sampling, needs_sound=needs_sound)
    endpoints = frozenset(each.key for each in models if each.key is not None)
    recorded = {} if stored is None else stored.info.prices
    changes = [each.describe_change(recorded.get(each.role)) for each in models]
    models = [each.with_recorded_price(recorded.get(each.role)) for each in models]
    prices = {each.role: each.price for each in models if each.price is not None}
    limit = None
    if connection.max_cost is not None:
        limit = make_limit(models, plan, connection.max_cost, paid_so_far(stored))
    return RunMoney(prices, limit, tuple(filter(None, changes)), endpoints)


def _find_asked_model(suite: Suite) -> str | None:
    """Return the model that the suite's own user asks; None without one that has an address."""
    name = suite.environment.asked_model
    try:
        return name if name and find_endpoint(name, None) is not None else None
    except UsageError:  # the environment says what is wrong with the name
        return None


def record_judge_prices(run: Run, judges: Mapping[str, object], base_url: str | None) -> None:
    """Write the list prices of judges that are asked about a stored run into its `run.json`.

    The caller has locked the folder. Raises UsageError.
    """
    now = datetime.now(UTC)
    found = [
        _price_model(f"judge {name}", judge, None, (base_url, None), Sampling(), now)
        for name, judge in judges.items()
    ]
    prices = {each.role: each.price for each in found if each.price is not None}
    if prices:
        run.info = replace(run.info, prices=run.info.prices | prices)
        write_document(run.path / INFO_FILE, run.info)


def paid_so_far(stored: Run | None) -> float:
    """Return what a stored run has cost, in US$: what is known, and what was not answered."""
    if stored is None:
        return 0.0
    cost = measure_run_usage(stored).cost
    return stored.info.unrecorded.unanswered_usd + (cost.paid_usd if cost is not None else 0.0)


def make_limit(
    models: list[PricedModel], plan: Plan, max_cost: float, spent_usd: float
) -> CostLimit:
    """Return the limit of a run's cost; `spent_usd` is what it cost so far.

    Raises UsageError where the worst case of a request cannot be known.
    """
    prices: dict[EndpointKey, ModelPrice] = {}
    for each in models:
        if each.is_free:
            continue
        _check_limitable(each)
        assert each.key is not None and each.price is not None
        prices[each.key] = each.price
    has_limit = plan.wire == "anthropic" or any(each > 0 for each in reply_limits(plan.sampling))
    if not (models[0].is_free or has_limit):
        raise UsageError(
            "--max-cost reserves the longest reply that is possible, and replies have no limit; "
            "next: --max-tokens N"
        )
    if not spent_usd and not models[0].is_free:
        _check_room(models[0], plan.sampling, max_cost)
    return CostLimit(max_cost, prices, spent_usd)


def _check_room(model: PricedModel, sampling: Sampling, max_cost: float) -> None:
    """Raise UsageError for a limit within which not even the longest reply of a request fits."""
    limits = reply_limits(sampling)
    if not limits or model.price is None:
        return
    reply_usd = highest_cost(model.price, 0, max(limits))
    if reply_usd > max_cost:
        raise UsageError(
            f"--max-cost {format_usd(max_cost)} has no room for a single request: its longest "
            f"reply, of {format_count(max(limits))} tokens, costs {format_usd(reply_usd)}; next: "
            "a higher --max-cost, or fewer --max-tokens"
        )


def _check_limitable(model: PricedModel) -> None:
    who = model.role.partition(" ")[0]
    if model.endpoint is None:
        raise UsageError(
            f"--max-cost limits requests to endpoints, and the {who} is code that sends its own; "
            "next: leave out --max-cost"
        )
    if model.price is None or not model.price.is_known:
        reason = model.price.unknown if model.price else "no price is given"
        option = "--price INPUT,OUTPUT" if who == "model" else f"--price {who}=INPUT,OUTPUT"
        raise UsageError(
            f"--max-cost: the price of {model.name} is not known: {reason}; next: {option}, in "
            "US$ per million tokens"
        )

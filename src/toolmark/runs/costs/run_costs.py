"""What a run cost in US$: paid, and as if every reply were new; per task and per success.

A reply from `--cache` is paid for once: now it costs nothing, and new it would cost what it did.
What an endpoint itself says wins over prices. What is not known is None, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from toolmark.core.records import Estimate, Record, StopReason, Usage
from toolmark.models import token_prices
from toolmark.models.token_prices import ModelPrice, usage_cost
from toolmark.models.unrecorded_requests import OtherRequests

_NO_USAGE = Usage()
_PARTS = ("model", "not_run", "user", "judges", "others")
REFUSALS: Collection[StopReason] = ("refused", "malformed", "over_long")
NO_COUNTS = "the endpoint reports no token counts"
ONLY_REFUSALS = "each reply is a refusal that names no tokens"
EpisodeCosts: TypeAlias = Mapping[tuple[str, int], float | None]
"""What the model cost new in each episode, by task and repeat; None where that is not known."""
CostEstimator: TypeAlias = Callable[[EpisodeCosts], tuple[Estimate | None, Estimate | None]]
"""Makes US$ per task and per success."""


class Cost(Record, frozen=True, kw_only=True):
    """What requests cost in US$: `paid_usd` now, and `new_usd` if no reply came from a cache.

    Both are None where no cost is known. Of `n_unknown` of the `n_replies` it is not known: the
    sums lack them. Of `n_reported` the endpoint itself said it. `unknown` says why no cost is
    known; the model's stands in `RunCost`.
    """

    paid_usd: float | None = None
    new_usd: float | None = None
    n_replies: int = 0
    n_unknown: int = 0
    n_reported: int = 0
    unknown: str = ""


class RunCost(Record, frozen=True, kw_only=True):
    """What a run cost: of the model in complete episodes, of all others apart.

    `not_run` are episodes that were broken off, `others` requests that belong to no episode.

    `per_task` and `per_success` count what the model cost new in the scored episodes that ran:
    their mean, and their sum over the number of right answers. `source` and `date` are those of the
    model's price; `unknown` says why it has none. `note` says what of the price is not exact.
    """

    model: Cost = Cost()
    not_run: Cost = Cost()
    user: Cost = Cost()
    judges: Cost = Cost()
    others: Cost = Cost()
    per_task: Estimate | None = None
    per_success: Estimate | None = None
    source: str = ""
    date: str = ""
    note: str = ""
    unknown: str = ""

    @property
    def paid_usd(self) -> float:
        """All that was paid and is known, in US$."""
        return sum(part.paid_usd or 0.0 for part in self.parts.values())

    @property
    def parts(self) -> dict[str, Cost]:
        """The costs by whose they are."""
        return {name: getattr(self, name) for name in _PARTS}


class _CostSum:
    """Sums the costs of replies."""

    def __init__(self) -> None:
        self._paid = self._new = 0.0
        self._n_replies = self._n_unknown = self._n_reported = self._n_known = 0
        self._unpriced = ""

    def add(
        self, cost: float | None, usage: Usage, role: str, *, is_free: bool, from_cache: bool
    ) -> None:
        """Count one reply; `is_free` for one that the endpoint refused."""
        self._n_replies += 1
        if cost is None:
            self._n_unknown += 1
            self._unpriced = role if usage.input or usage.output else self._unpriced
            return
        self._n_known += not is_free
        self._n_reported += usage.cost is not None
        self._new += cost
        if not from_cache:
            self._paid += cost

    def add_unknown(self, n_replies: int, role: str) -> None:
        """Count replies whose cost is not known; `role` has tokens without a price, if any has."""
        self._n_replies += n_replies
        self._n_unknown += n_replies
        self._unpriced = role or self._unpriced

    def add_sum(self, requests: OtherRequests) -> None:
        """Count requests whose cost is summed already."""
        self._n_replies += requests.n_replies
        self._n_unknown += requests.n_unknown
        self._n_known += requests.n_replies - requests.n_unknown
        if requests.n_unknown and (requests.usage.input or requests.usage.output):
            self._unpriced = "others"
        self._paid += requests.usd
        self._new += requests.usd

    @property
    def unpriced_role(self) -> str:
        """Whose tokens have no price; "" where all tokens that were counted have one."""
        return self._unpriced

    def total(self) -> Cost:
        """Return the sums, rounded to 10^-12 dollars."""
        is_known = self._n_known > 0
        return Cost(
            paid_usd=round_usd(self._paid) if is_known else None,
            new_usd=round_usd(self._new) if is_known else None,
            n_replies=self._n_replies,
            n_unknown=self._n_unknown,
            n_reported=self._n_reported,
        )


class CostMeter:
    """Counts what each reply of a run cost, by the prices that the run recorded.

    The keys of `prices` are `model`, `user`, and `judge NAME`.
    """

    def __init__(self, prices: Mapping[str, ModelPrice], media: Collection[str] = ()) -> None:
        self._prices = {
            role: price
            for role, price in prices.items()
            if not token_prices.uncounted_media(price, media)
        }
        self._recorded = prices
        self._media = media
        self._sums = {name: _CostSum() for name in RunCost().parts}
        self.by_episode: dict[tuple[str, int], float | None] = {}

    @property
    def has_prices(self) -> bool:
        """Whether the run recorded any price that is known."""
        return any(price.is_known for price in self._prices.values())

    def add_unpriced_episode(
        self, episode: tuple[str, int], n_replies: int, *, has_counts: bool
    ) -> None:
        """Count an episode of the model's of whose replies none has a price or names a cost."""
        self._sums["model"].add_unknown(n_replies, "model" if has_counts else "")
        self.by_episode[episode] = None

    def add_reply(
        self, part: str, role: str, usage: Usage, *, from_cache: bool, stop: StopReason = "stop"
    ) -> float | None:
        """Count one reply among `part`, and return what it cost new."""
        is_free = stop in REFUSALS and usage == _NO_USAGE
        cost = 0.0 if is_free else usage_cost(self._prices.get(role), usage)
        self._sums[part].add(cost, usage, role, is_free=is_free, from_cache=from_cache)
        return cost

    def add_others(self, requests: OtherRequests) -> None:
        """Count requests that belong to no episode."""
        self._sums["others"].add_sum(requests)

    def measure(self, estimate: CostEstimator | None = None) -> RunCost | None:
        """Return what was counted; None without replies, prices and costs that endpoints report.

        `estimate` makes the costs per task and per success of those of the episodes.
        """
        parts = {name: found.total() for name, found in self._sums.items()}
        price = self._recorded.get("model", ModelPrice())
        is_unpriced = not self._recorded and all(part.new_usd is None for part in parts.values())
        if is_unpriced or not any(part.n_replies for part in parts.values()):
            return None
        reasons = {name: self._unknown_reason(name, part) for name, part in parts.items()}
        others = {
            name: replace(part, unknown=reasons[name])
            for name, part in parts.items()
            if name != "model"
        }
        per_task = per_success = None
        if estimate is not None and parts["model"].new_usd is not None:
            per_task, per_success = estimate(self.by_episode)
        return RunCost(
            model=parts["model"],
            **others,
            per_task=per_task,
            per_success=per_success,
            source=price.source,
            date=price.date,
            note=price.note,
            unknown=reasons["model"],
        )

    def _unknown_reason(self, part: str, cost: Cost) -> str:
        """Return why the cost of a part is not known; "" where it is."""
        if cost.new_usd is not None or not cost.n_replies:
            return ""
        if not cost.n_unknown:
            return ONLY_REFUSALS
        role = self._sums[part].unpriced_role
        if not role:
            return NO_COUNTS
        price = self._recorded.get(role)
        if price is None:
            return "" if role == "model" else "no price is known"  # the model is in this process
        media = token_prices.uncounted_media(price, self._media)
        apart = f"{media} have a price of their own, and are not counted apart" if media else ""
        return apart or price.unknown


def summary_fields(cost: RunCost) -> dict[str, Any]:
    """Return the costs as in `summary.json`: the model's in full, others where there are any."""
    estimates = {"per_task": cost.per_task, "per_success": cost.per_success}
    words = {"source": cost.source, "date": cost.date, "note": cost.note, "unknown": cost.unknown}
    return {
        **{
            name: _cost_fields(part)
            for name, part in cost.parts.items()
            if name == "model" or part.n_replies
        },
        **{name: _estimate_fields(each) for name, each in estimates.items() if each is not None},
        **{name: text for name, text in words.items() if text},
    }


def _cost_fields(cost: Cost) -> dict[str, Any]:
    counts = {"n_unknown": cost.n_unknown, "n_reported": cost.n_reported}
    return {
        "paid_usd": cost.paid_usd,
        "new_usd": cost.new_usd,
        "n_replies": cost.n_replies,
        **{name: n for name, n in counts.items() if n},
        **({"unknown": cost.unknown} if cost.unknown else {}),
    }


def _estimate_fields(found: Estimate) -> dict[str, Any]:
    return {
        "name": found.name,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "is_share": False,
    }


def round_usd(usd: float) -> float:
    """Return US$ without the noise of sums."""
    return round(usd, 12)

"""What a run spends beyond the replies that its episodes and judgements record.

That is requests without a usable answer, which may have been charged, and requests that belong to
no episode: checks of sound, and models that a suite asks itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec.structs import replace

from toolmark.core.model import DelegatingModel, Model
from toolmark.core.records import Reply, Request, Usage
from toolmark.models import cost_limit, price_list
from toolmark.models.cost_limit import CostLimit, EndpointKey
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.token_prices import ModelPrice, usage_cost
from toolmark.models.unrecorded_requests import OtherRequests, Unrecorded


class RunSpending:
    """Counts for one run what is not recorded elsewhere.

    `limit` is that of its cost. `endpoints` are the models whose replies are recorded: the model
    under test, the simulated user, judges. `model_price` is that of the model under test.
    """

    def __init__(self) -> None:
        self.limit: CostLimit | None = None
        self.endpoints: Collection[EndpointKey] = ()
        self.model_price: ModelPrice | None = None
        self._found = Unrecorded()
        self._taken_usd = 0.0

    def count_unanswered(self) -> None:
        """Count a request without a usable answer that may have been charged."""
        self._found += Unrecorded(n_unanswered=1)

    def count_reply(self, purpose: str, usage: Usage, price: ModelPrice | None) -> None:
        """Count a new reply that belongs to no episode."""
        usd = usage_cost(price, usage)
        found = OtherRequests(n_replies=1, usage=usage, usd=usd or 0.0, n_unknown=int(usd is None))
        self._found += Unrecorded(others={purpose: found})

    def take_unrecorded(self) -> Unrecorded:
        """Return what was counted since the last time."""
        counted_usd = 0.0 if self.limit is None else self.limit.unanswered_usd
        found = replace(self._found, unanswered_usd=counted_usd - self._taken_usd)
        self._found, self._taken_usd = Unrecorded(), counted_usd
        return found


class CountedModel(DelegatingModel):
    """A model whose replies belong to no episode: each is counted when it is new."""

    def __init__(
        self, model: Model, spending: RunSpending, purpose: str, price: ModelPrice | None
    ) -> None:
        super().__init__(model)
        self._spending = spending
        self._purpose = purpose
        self._price = price

    async def __call__(self, request: Request, /) -> Reply:
        """Return the inner model's reply."""
        reply = await self.model(request)
        if not reply.from_cache:
            self._spending.count_reply(self._purpose, reply.usage, self._price)
        return reply


_spending: ContextVar[RunSpending | None] = ContextVar("run_spending", default=None)


@contextmanager
def open_spending_scope() -> Iterator[RunSpending]:
    """Count what is spent inside, without a limit at first."""
    spending = RunSpending()
    token = _spending.set(spending)
    try:
        yield spending
    finally:
        _spending.reset(token)


def join_run(model: Model) -> Model:
    """Return a model that keeps to the limit of the run that it is made for, and is counted there.

    Unchanged outside of a run. Raises UsageError for a model whose requests cannot be limited.
    """
    spending = _spending.get()
    if spending is None:
        return model
    limited = model if spending.limit is None else cost_limit.apply_limit(model, spending.limit)
    if not isinstance(model, EndpointModel):
        return limited
    model.count_unanswered = spending.count_unanswered
    key = EndpointKey(model.public_url, model.model)
    if not spending.endpoints or key in spending.endpoints:
        return limited
    # a suite may ask models of its own
    price = price_list.find_list_price(*key, extra={})
    return CountedModel(limited, spending, model.name, price)


def count_replies(model: Model, purpose: str) -> Model:
    """Return the model under test for requests that belong to no episode."""
    spending = _spending.get()
    if spending is None:
        return model
    return CountedModel(model, spending, purpose, spending.model_price)

"""The costs of a run, in words: what was paid, what it costs new, per task and per success."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolmark.core import number_format
from toolmark.core.number_format import DASH, format_usd
from toolmark.core.records import Estimate
from toolmark.reports.usage_text import OTHER_LABELS
from toolmark.runs.costs.run_costs import NO_COUNTS, ONLY_REFUSALS, Cost, RunCost
from toolmark.runs.costs.run_usage import RunUsage, usage_from_summary

if TYPE_CHECKING:  # it loads numpy, which the list of suites does not need
    from toolmark.statistics.paired_comparison import PairedComparison

_PRICE_ROLES = {"user": "user=", "judges": "judge="}


def summary_cost_line(summary: Mapping[str, Any]) -> str:
    """Return the cost of a run from its summary, "" where nothing has a price."""
    return cost_line(usage_from_summary(summary))


def cost_line(usage: RunUsage) -> str:
    """Return what a run cost, or a dash and why it is not known; "" where nothing has a price."""
    cost = usage.cost
    if cost is None:
        return ""
    model = _model_text(cost, usage.n_from_cache)
    others = _other_texts(cost, "in addition " if model else "cost of ")
    limit = f"--max-cost counts {format_usd(usage.unanswered_usd)} for what is not known"
    unknown = limit if usage.unanswered_usd else ""
    return "; ".join(filter(None, [model, *_rate_texts(cost), *others, unknown, price_text(cost)]))


def _model_text(cost: RunCost, n_from_cache: int) -> str:
    """Return what the model cost; "" for one in this process, which has no price."""
    if cost.model.new_usd is not None:
        return f"cost {_sum_text(cost.model, n_from_cache)}"
    return f"cost {DASH} ({_with_step(cost.unknown)})" if cost.unknown else ""


def _with_step(reason: str, role: str = "") -> str:
    """Return why a cost is not known, and what makes it known where a price does."""
    if reason in (NO_COUNTS, ONLY_REFUSALS):
        return reason
    return f"{reason}; --price {role}INPUT,OUTPUT sets one"


def price_text(cost: RunCost) -> str:
    """Return where the costs are from: what the endpoint reports, a price with its date."""
    if cost.model.new_usd is None:
        return ""
    n = cost.model.n_reported
    if n and n == cost.model.n_replies - cost.model.n_unknown:
        return "as the endpoint reports"
    dated = f"prices: {cost.source}, {cost.date}" if cost.date else f"prices: {cost.source}"
    mixed = "in part as the endpoint reports, " if n else ""
    return f"{mixed}{dated}{f', {cost.note}' if cost.note else ''}"


def usd_cell(estimate: Estimate | None) -> str:
    """Return US$ with the interval, a dash where there is no value."""
    if estimate is None or estimate.value is None:
        return DASH
    shown = format_usd(estimate.value)
    if estimate.low is None or estimate.high is None:
        return shown
    return f"{shown} [{format_usd(estimate.low)}, {format_usd(estimate.high)}]"


def compared_costs(
    a: RunUsage, b: RunUsage, paired: PairedComparison | None = None
) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a comparison: name, both values, and what they are of.

    `paired` is the difference of the costs per task on equal tasks.
    """
    if a.cost is None and b.cost is None:
        return
    for name, field in (("US$ per task", "per_task"), ("US$ per success", "per_success")):
        cells = [usd_cell(getattr(each.cost, field, None)) for each in (a, b)]
        yield name, f"A {cells[0]}, B {cells[1]}", "the model's replies, as if all were new"
    if paired is not None and paired.difference.value is not None:
        pairs = number_format.pluralize(paired.n_pairs, "pair")
        items = number_format.pluralize(paired.n_items, "item")
        yield "US$ per task, A minus B", usd_difference(paired.difference), f"{pairs}, {items}"


def usd_difference(estimate: Estimate) -> str:
    """Return a difference in US$ with its sign and interval: "+$0.02 [−$0.01, +$0.05]"."""
    if estimate.value is None:
        return DASH
    ends = (estimate.value, estimate.low, estimate.high)
    value, *interval = (f"{'+' if x > 0 else ''}{format_usd(x)}" for x in ends if x is not None)
    return f"{value} [{', '.join(interval)}]" if interval else value


def _sum_text(cost: Cost, n_from_cache: int = 0) -> str:
    if cost.new_usd is None:
        return DASH
    least = "at least " if cost.n_unknown else ""
    missing = (
        f" ({number_format.pluralize(cost.n_unknown, 'reply', 'replies')} without a known cost)"
        if cost.n_unknown
        else ""
    )
    if not n_from_cache or cost.paid_usd == cost.new_usd:
        return f"{least}{format_usd(cost.new_usd)}{missing}"
    paid = format_usd(cost.paid_usd or 0.0)
    cached = number_format.pluralize(n_from_cache, "reply", "replies")
    return (
        f"{least}{paid} paid for this run, {format_usd(cost.new_usd)} if all were asked anew "
        f"({cached} came from the cache){missing}"
    )


def _rate_texts(cost: RunCost) -> Iterator[str]:
    if cost.per_task is not None and cost.per_task.value is not None:
        yield f"{usd_cell(cost.per_task)} per task"
    if cost.per_success is not None:
        is_known = cost.per_success.value is not None
        yield f"{usd_cell(cost.per_success)} per success{'' if is_known else ' (there is none)'}"


def _other_texts(cost: RunCost, prefix: str) -> Iterator[str]:
    for name, label in OTHER_LABELS.items():
        part = cost.parts[name]
        if part.n_replies:
            role = _PRICE_ROLES.get(name, "")
            is_new = part.unknown and part.unknown != cost.unknown
            reason = f" ({_with_step(part.unknown, role)})" if is_new else ""
            yield f"{prefix}{label}: {_sum_text(part)}{reason}"

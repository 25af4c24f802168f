"""The costs of a run, in words: what was paid, what it costs new, per task and per success."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolmark.core import number_format
from toolmark.core.number_format import DASH, format_usd
from toolmark.core.records import Estimate
from toolmark.runs.run_costs import Cost, RunCost
from toolmark.runs.run_usage import RunUsage, usage_from_summary

_OTHER_LABELS = {"not_run": "episodes not run", "user": "the simulated user", "judges": "judges"}


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
    return "; ".join(filter(None, [model, *_rate_texts(cost), *others, price_text(cost)]))


def _model_text(cost: RunCost, n_from_cache: int) -> str:
    """Return what the model cost; "" for one in this process, which has no price."""
    if cost.model.new_usd is not None:
        return f"cost {_sum_text(cost.model, n_from_cache)}"
    if cost.source:
        return f"cost {DASH} (the endpoint reports no token counts)"
    return f"cost {DASH} ({cost.unknown}; --price INPUT,OUTPUT sets one)" if cost.unknown else ""


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


def compared_costs(a: RunUsage, b: RunUsage) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a comparison: name, both values, and what they are of."""
    if a.cost is None and b.cost is None:
        return
    for name, field in (("US$ per task", "per_task"), ("US$ per success", "per_success")):
        cells = [usd_cell(getattr(each.cost, field, None)) for each in (a, b)]
        yield name, f"A {cells[0]}, B {cells[1]}", "the model's replies, as if all were new"


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
    for name, label in _OTHER_LABELS.items():
        part = cost.parts[name]
        if part.n_replies:
            reason = " (no price is known)" if part.new_usd is None else ""
            yield f"{prefix}{label}: {_sum_text(part)}{reason}"

"""Sums of token counts."""

from __future__ import annotations

from collections.abc import Sequence

from toolmark.core.records import Usage


def sum_usage(usages: Sequence[Usage]) -> Usage:
    """Return the sum of all counts, and of the costs where every part names its own."""
    n_input = n_output = n_reasoning = n_cached = n_written = 0
    names_cost = False
    for used in usages:  # each episode has such a sum, and one loop is the fastest
        n_input += used.input
        n_output += used.output
        n_reasoning += used.reasoning
        n_cached += used.cached
        n_written += used.cache_written
        names_cost = names_cost or used.cost is not None
    return Usage(
        input=n_input,
        output=n_output,
        reasoning=n_reasoning,
        cached=n_cached,
        cache_written=n_written,
        cost=sum_costs(usages) if names_cost else None,
    )


def sum_costs(usages: Sequence[Usage]) -> float | None:
    """Return the sum of the costs that an endpoint names, in US$.

    None where none is named, or where a part has tokens and no cost: the sum would be too small.
    """
    costs = [each.cost for each in usages if each.cost is not None]
    if not costs:
        return None
    counted = sum(each.cost is not None or bool(each.input or each.output) for each in usages)
    return sum(costs) if counted == len(costs) else None

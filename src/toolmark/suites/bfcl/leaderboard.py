"""The leaderboard's numbers: every category, the groups, and the weighted overall score.

A group is a weighted mean of its members. A category that has no result counts as 0, as on the
leaderboard; it is marked by having no value and n = 0 itself, and its groups by `partial`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from toolmark.runs.suite import Metric
from toolmark.stats.columns import Columns
from toolmark.stats.summary import mean
from toolmark.suites.bfcl import formats
from toolmark.types import Estimate

# entries of each scored category in the published data, in the order of the leaderboard
ENTRIES: dict[str, int] = {
    "simple_python": 400,
    "simple_java": 100,
    "simple_javascript": 50,
    "multiple": 200,
    "parallel": 200,
    "parallel_multiple": 200,
    "irrelevance": 240,
    "live_simple": 258,
    "live_multiple": 1053,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "live_irrelevance": 884,
    "live_relevance": 16,
    "multi_turn_base": 200,
    "multi_turn_miss_func": 200,
    "multi_turn_miss_param": 200,
    "multi_turn_long_context": 200,
    "web_search_base": 100,
    "web_search_no_snippet": 100,
    "memory_kv": 155,
    "memory_vector": 155,
    "memory_rec_sum": 155,
}
UNSCORED = "format_sensitivity"


@dataclass(frozen=True, slots=True)
class Even:
    """A mean in which every member counts alike, however many entries it has."""

    name: str
    members: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Pooled:
    """A mean over the entries of all members."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Weighted:
    """A mean with a fixed weight per member."""

    name: str
    members: tuple[Node, ...]
    weights: tuple[float, ...]


Node: TypeAlias = Even | Pooled | Weighted | str
Group: TypeAlias = Even | Pooled | Weighted

SIMPLE = Even("simple_ast", ("simple_python", "simple_java", "simple_javascript"))
NON_LIVE = Even("non_live", (SIMPLE, "multiple", "parallel", "parallel_multiple"))
LIVE = Pooled("live", ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"))
IRRELEVANCE = Even("irrelevance_detection", ("irrelevance", "live_irrelevance"))
MULTI_TURN = Even(
    "multi_turn",
    (
        "multi_turn_base",
        "multi_turn_miss_func",
        "multi_turn_miss_param",
        "multi_turn_long_context",
    ),
)
WEB_SEARCH = Even("web_search", ("web_search_base", "web_search_no_snippet"))
MEMORY = Even("memory", ("memory_kv", "memory_vector", "memory_rec_sum"))
AGENTIC = Even("agentic", (WEB_SEARCH, MEMORY))
OVERALL = Weighted(
    "overall", (NON_LIVE, LIVE, IRRELEVANCE, MULTI_TURN, AGENTIC), (10, 10, 10, 30, 40)
)

GROUPS: tuple[Group, ...] = (
    SIMPLE,
    NON_LIVE,
    LIVE,
    IRRELEVANCE,
    MULTI_TURN,
    WEB_SEARCH,
    MEMORY,
    AGENTIC,
    OVERALL,
)


def metrics(columns: Columns) -> list[Metric]:
    """Return the headline, then every category and group, and the prompt formats that were run.

    The headline is the overall score where every scored category ran, else plain accuracy:
    with categories missing the overall score says more about the selection than about the model.
    """
    accuracy = Metric("accuracy", _accuracy)
    groups = [Metric(group.name, partial(measure, group)) for group in GROUPS]
    present = set(columns.category)
    named = [*ENTRIES, *sorted(present - set(ENTRIES))]
    parts = [Metric(name, partial(measure, name)) for name in named]
    spread = formats.metrics(columns.where(columns.run))
    if not missing(columns):
        beside = sorted(present - set(leaves(OVERALL)))  # which the official score leaves out
        told = f"overall (without {', '.join(beside)})" if beside else ""
        head = replace(groups[-1], told=told)
        return [head, accuracy, *parts, *groups[:-1], *spread]
    return [accuracy, *parts, *groups, *spread]


def missing(columns: Columns) -> list[str]:
    """Return the scored categories without any result."""
    ran = set(columns.category[columns.run])
    return [name for name in ENTRIES if name not in ran]


def leaves(node: Node) -> list[str]:
    """Return the categories of a group."""
    if isinstance(node, str):
        return [node]
    return [leaf for member in node.members for leaf in leaves(member)]


def measure(node: Node, columns: Columns) -> Estimate:
    """Return a category's accuracy or a group's weighted mean, with a 95 % interval.

    Strata: the weights of a group are spread down to its categories, w, and the categories are
    independent samples, so that variances add as the sum of w squared times the category's own.
    These are recovered from the categories' intervals, each side for itself (MOVER, Zou and
    Donner 2008, doi 10.1002/sim.3095), which keeps the interval within [0, 1] for shares near 0
    or 1. A missing category has no variance: its 0 is the leaderboard's rule. No category: None.
    """
    if isinstance(node, str):
        return mean(columns.where(columns.category == node), node)
    return combined(node, {leaf: _part(leaf, columns) for leaf in leaves(node)})


def _part(name: str, columns: Columns) -> Estimate:
    """Return a category's accuracy; one that was asked and has no result keeps its bounds."""
    mine = columns.where(columns.category == name)
    found = mean(mine, name)
    return found if found.n or not len(mine) else Estimate(name=name, worst=0.0, best=1.0)


def combined(node: Group, parts: Mapping[str, Estimate]) -> Estimate:
    """Return a group's weighted mean from the estimates of its categories; see `measure`."""
    ran = {name: part for name, part in parts.items() if part.value is not None}
    if not ran:
        return Estimate(name=node.name)
    counts = {name: parts[name].n or ENTRIES[name] for name in parts}
    spread = shares(node, counts)
    value = total(node, {name: part.value or 0.0 for name, part in ran.items()}, counts)
    below = math.hypot(*(spread[k] * _gap(part.low, part.value) for k, part in ran.items()))
    above = math.hypot(*(spread[k] * _gap(part.value, part.high) for k, part in ran.items()))
    return Estimate(
        name=node.name,
        value=value,
        low=max(0.0, value - below),
        high=min(1.0, value + above),
        n=sum(part.n for part in ran.values()),
        worst=total(node, {name: part.worst or 0.0 for name, part in parts.items()}, counts),
        best=total(node, {name: part.best or 0.0 for name, part in parts.items()}, counts),
        partial=f"{len(ran)} of {len(parts)} categories run" if len(ran) < len(parts) else "",
    )


def _gap(low: float | None, high: float | None) -> float:
    return (high or 0.0) - (low or 0.0)


def total(node: Node, values: Mapping[str, float], counts: Mapping[str, int]) -> float:
    """Return the weighted mean of the categories' values; one that is missing counts as 0.

    The sums are taken in the official order: a percentage with two decimals often lies exactly
    between two, and the last bit decides.
    """
    match node:
        case str():
            return values.get(node, 0.0)
        case Even(members=members):
            return _sum(total(member, values, counts) for member in members) / len(members)
        case Pooled(members=names):
            held = sum(counts[name] for name in names)
            return _sum(values.get(name, 0.0) * counts[name] for name in names) / held
        case Weighted(members=members, weights=weights):
            parts = [total(member, values, counts) for member in members]
            whole = sum(weights)
            return _sum(part * (w / whole) for part, w in zip(parts, weights, strict=True))


def _sum(numbers: Iterable[float]) -> float:
    # not sum(): from Python 3.12 on it compensates, and the last bit would differ by version
    result = 0.0
    for number in numbers:
        result += number
    return result


def shares(node: Node, counts: Mapping[str, int]) -> dict[str, float]:
    """Return the weight of each category in a group; the weights sum to 1."""
    if isinstance(node, str):
        return {node: 1.0}
    weights: Sequence[float] = [1.0] * len(node.members)
    match node:
        case Pooled(members=names):
            weights = [counts[name] for name in names]
        case Weighted():
            weights = node.weights
    whole = sum(weights)
    return {
        leaf: weight / whole * inner
        for member, weight in zip(node.members, weights, strict=True)
        for leaf, inner in shares(member, counts).items()
    }


def _accuracy(columns: Columns) -> Estimate:
    """Return the share of right entries; format sensitivity counts only where it is alone."""
    scored = columns.category != UNSCORED
    return mean(columns.where(scored) if np.any(scored) else columns, "accuracy")

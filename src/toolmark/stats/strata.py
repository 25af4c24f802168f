"""Weighted means over categories: groups within groups, and the interval of such a mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from toolmark.types import Estimate, Record


class Even(Record, frozen=True, tag="even"):
    """A mean in which every member counts alike, however many entries it has."""

    name: str
    members: tuple[Node, ...]


class Pooled(Record, frozen=True, tag="pooled"):
    """A mean over the entries of all members."""

    name: str
    members: tuple[str, ...]


class Weighted(Record, frozen=True, tag="weighted"):
    """A mean with a fixed weight per member."""

    name: str
    members: tuple[Node, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        """Raise ValueError unless every member has a weight, and the weights have a sum."""
        if len(self.weights) != len(self.members) or not sum(self.weights) > 0:
            raise ValueError(f"group {self.name!r}: one weight per member, with a sum above 0")


Group: TypeAlias = Even | Pooled | Weighted
Node: TypeAlias = Even | Pooled | Weighted | str


def leaves(node: Node) -> list[str]:
    """Return the categories of a group."""
    if isinstance(node, str):
        return [node]
    return [leaf for member in node.members for leaf in leaves(member)]


def combined(
    node: Group, parts: Mapping[str, Estimate], entries: Mapping[str, int] = {}
) -> Estimate:
    """Return a group's weighted mean from the estimates of its categories, with a 95 % interval.

    The weights of a group are spread down to its categories, w, and the categories are independent
    samples, so that variances add as the sum of w squared times the category's own. These are
    recovered from the categories' intervals, each side for itself (MOVER, Zou and Donner 2008,
    doi 10.1002/sim.3095), which keeps the interval within [0, 1] for shares near 0 or 1. A category
    without a result counts as 0 and has no variance; `entries` says how many entries it would have
    had. No category with a result: None.
    """
    ran = {name: part for name, part in parts.items() if part.value is not None}
    if not ran:
        return Estimate(name=node.name)
    counts = {name: parts[name].n or entries.get(name, 0) for name in parts}
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
            n = sum(counts[name] for name in names)
            return _sum(values.get(name, 0.0) * counts[name] for name in names) / n
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

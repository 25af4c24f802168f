"""Weighted means over nested groups of categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from toolmark.core.records import Estimate, Record


class EvenGroup(Record, frozen=True, tag="even"):
    """A mean in which every member has the same weight, however many entries it has."""

    name: str
    members: tuple[Node, ...]


class PooledGroup(Record, frozen=True, tag="pooled"):
    """A mean over the entries of all members."""

    name: str
    members: tuple[str, ...]


class WeightedGroup(Record, frozen=True, tag="weighted"):
    """A mean with a fixed weight per member."""

    name: str
    members: tuple[Node, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        """Raise ValueError unless every member has a weight and the weights sum to more than 0."""
        if len(self.weights) != len(self.members) or not sum(self.weights) > 0:
            raise ValueError(f"group {self.name!r}: one weight per member, with a sum above 0")


Group: TypeAlias = EvenGroup | PooledGroup | WeightedGroup
Node: TypeAlias = EvenGroup | PooledGroup | WeightedGroup | str


def group_categories(node: Node) -> list[str]:
    """Return the categories of a group."""
    if isinstance(node, str):
        return [node]
    return [leaf for member in node.members for leaf in group_categories(member)]


def combine_values(
    node: Group, parts: Mapping[str, Estimate], counts: Mapping[str, float]
) -> Estimate:
    """Return a group's weighted mean from the estimates of its categories, without an interval.

    `counts` is the number of entries of each category. A category without a result counts as 0, and
    `partial` says how many have one. Where no category has a result, the value is None.
    """
    ran = {name: part for name, part in parts.items() if part.value is not None}
    if not ran:
        return Estimate(name=node.name)

    def total(values: Mapping[str, float | None]) -> float:
        return weighted_total(node, {name: value or 0.0 for name, value in values.items()}, counts)

    return Estimate(
        name=node.name,
        value=total({name: part.value for name, part in ran.items()}),
        n=sum(part.n for part in ran.values()),
        worst=total({name: part.worst for name, part in parts.items()}),
        best=total({name: part.best for name, part in parts.items()}),
        partial=f"{len(ran)} of {len(parts)} categories run" if len(ran) < len(parts) else "",
    )


def weighted_total(node: Node, values: Mapping[str, float], counts: Mapping[str, float]) -> float:
    """Return the weighted mean of the categories' values; a missing value counts as 0.

    The sums are taken in the official order: a percentage often lies exactly between two numbers of
    two decimals, and its last bit decides the rounding.
    """
    match node:
        case str():
            return values.get(node, 0.0)
        case EvenGroup(members=members):
            return _plain_sum(weighted_total(member, values, counts) for member in members) / len(
                members
            )
        case PooledGroup(members=names):
            n = sum(counts[name] for name in names)
            return _plain_sum(values.get(name, 0.0) * counts[name] for name in names) / n
        case WeightedGroup(members=members, weights=weights):
            parts = [weighted_total(member, values, counts) for member in members]
            weight_sum = sum(weights)
            return _plain_sum(
                part * (w / weight_sum) for part, w in zip(parts, weights, strict=True)
            )


def _plain_sum(numbers: Iterable[float]) -> float:
    # not sum(): from Python 3.12 on it compensates, and the last bit would differ by version
    result = 0.0
    for number in numbers:
        result += number
    return result


def category_weights(node: Node, counts: Mapping[str, float]) -> dict[str, float]:
    """Return the weight of each category in a group; the weights sum to 1."""
    if isinstance(node, str):
        return {node: 1.0}
    weights: Sequence[float] = [1.0] * len(node.members)
    match node:
        case PooledGroup(members=names):
            weights = [counts[name] for name in names]
        case WeightedGroup():
            weights = node.weights
    weight_sum = sum(weights)
    return {
        leaf: weight / weight_sum * inner
        for member, weight in zip(node.members, weights, strict=True)
        for leaf, inner in category_weights(member, counts).items()
    }

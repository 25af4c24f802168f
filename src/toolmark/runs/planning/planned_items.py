"""Which items a plan draws: every category in proportion, without those of the pilots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from toolmark.core import seeds
from toolmark.core.errors import UsageError
from toolmark.core.number_format import format_count, pluralize
from toolmark.core.records import Task


def order_items(
    tasks: Iterable[Task], seed: int, excluded: Collection[str], unsampled: Collection[str] = ()
) -> dict[str, list[str]]:
    """Return the items of each category in the order in which they are drawn.

    An item counts in the category of its first task. `excluded` items are left out, and the
    `unsampled` categories unless there are no others. The first items of an order are drawn
    whatever number is drawn. (A larger draw may still have one item less of a category: largest
    remainders do not grow evenly.)
    """
    excluded = frozenset(excluded)
    category_by_item: dict[str, str] = {}
    for task in tasks:
        if task.kind == "scored":
            category_by_item.setdefault(task.item or task.id, task.category)
    items: dict[str, list[str]] = {}
    for item, category in category_by_item.items():
        items.setdefault(category, [])
        if item not in excluded:
            items[category].append(item)
    if not items.keys() <= set(unsampled):
        items = {name: each for name, each in items.items() if name not in unsampled}
    for name, each in items.items():
        seeds.shuffle_items(seeds.make_rng(seed, name, 0, "plan"), each)
    return items


def divide_in_proportion(sizes: Mapping[str, int], n: int) -> Counter[str]:
    """Return each category's part of n, rounded so that the sum is n (largest remainder)."""
    total = sum(sizes.values())
    shares = {name: n * size / total for name, size in sizes.items()}
    counts = Counter({name: int(share) for name, share in shares.items()})
    by_remainder = sorted(shares, key=lambda name: (counts[name] - shares[name], name))
    for name in by_remainder[: n - counts.total()]:
        counts[name] += 1
    return counts


def take_items(ordered: Mapping[str, list[str]], n: int) -> set[str]:
    """Return the first n items of the orders. Raises UsageError where there are fewer."""
    sizes = {name: len(each) for name, each in ordered.items()}
    if n > sum(sizes.values()):
        raise UsageError(
            f"the plan asks {pluralize(n, 'item')}, and without those of the pilot there are "
            f"{format_count(sum(sizes.values()))}; next: make the plan again"
        )
    counts = divide_in_proportion(sizes, n)
    return {item for name, each in ordered.items() for item in each[: counts[name]]}

"""The tasks of items that are asked in several variants, before they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from toolmark.core.records import Task

T_co = TypeVar("T_co", covariant=True)
Item = TypeVar("Item")
Variant = TypeVar("Variant")


class CountedItems(Protocol[T_co]):
    """Items that can be iterated more than once, and counted."""

    def __len__(self) -> int:
        """Return the number of items."""
        ...

    def __iter__(self) -> Iterator[T_co]:
        """Yield the items."""
        ...


@dataclass(frozen=True, slots=True)
class VariantTasks(Generic[Item, Variant]):
    """One task per item and variant: an item in all variants, then the next item."""

    items: CountedItems[Item]
    variants: Sequence[Variant]
    build_task: Callable[[Item, Variant], Task]

    def __len__(self) -> int:
        """Return the number of tasks; none is built."""
        return len(self.items) * len(self.variants)

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks, which are built on the way."""
        return (self.build_task(item, variant) for item in self.items for variant in self.variants)

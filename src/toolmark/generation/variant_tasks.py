"""The tasks of items that are asked in several variants, before they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from toolmark.core.records import Task

I_co = TypeVar("I_co", covariant=True)
I = TypeVar("I")  # noqa: E741
V = TypeVar("V")


class CountedItems(Protocol[I_co]):
    """Items that can be iterated more than once, and counted."""

    def __len__(self) -> int:
        """Return the number of items."""
        ...

    def __iter__(self) -> Iterator[I_co]:
        """Yield the items."""
        ...


@dataclass(frozen=True, slots=True)
class VariantTasks(Generic[I, V]):
    """One task per item and variant: an item in all variants, then the next item."""

    items: CountedItems[I]
    variants: Sequence[V]
    build_task: Callable[[I, V], Task]

    def __len__(self) -> int:
        """Return the number of tasks; none is built."""
        return len(self.items) * len(self.variants)

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks, which are built on the way."""
        return (self.build_task(item, variant) for item in self.items for variant in self.variants)

"""Sequences and mappings that are read once, at the first access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

T = TypeVar("T")
V = TypeVar("V")


class LazySequence(Sequence[T], Generic[T]):
    """A sequence whose items are those that `read` returns, in the same order."""

    def __init__(self, read: Callable[[], Sequence[T]]) -> None:
        self._read = read

    @cached_property
    def _items(self) -> Sequence[T]:
        return self._read()

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        """Return one item, or a slice."""
        return self._items[at]

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items)


class LazyMapping(Mapping[str, V], Generic[V]):
    """A mapping whose entries are those that `read` returns."""

    def __init__(self, read: Callable[[], Mapping[str, V]]) -> None:
        self._read = read

    @cached_property
    def _items(self) -> Mapping[str, V]:
        return self._read()

    def __getitem__(self, name: str) -> V:
        """Return the value of a name."""
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._items)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._items)

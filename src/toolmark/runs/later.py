"""Sequences and mappings that are read when they are first looked at, and once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

T = TypeVar("T")
V = TypeVar("V")


class Rows(Sequence[T], Generic[T]):
    """What `read` returns, in its order."""

    def __init__(self, read: Callable[[], Sequence[T]]) -> None:
        self._read = read

    @cached_property
    def _held(self) -> Sequence[T]:
        return self._read()

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        """Return one, or a stretch."""
        return self._held[at]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._held)


class Names(Mapping[str, V], Generic[V]):
    """What `read` returns, by name."""

    def __init__(self, read: Callable[[], Mapping[str, V]]) -> None:
        self._read = read

    @cached_property
    def _held(self) -> Mapping[str, V]:
        return self._read()

    def __getitem__(self, name: str) -> V:
        """Return what has that name."""
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._held)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._held)

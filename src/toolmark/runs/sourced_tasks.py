"""Tasks that are read from files: the suite made of them records what was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolmark.core.records import Task


class SourcedTasks:
    """Tasks with a length, and where they come from. A subclass defines how they are read."""

    def __len__(self) -> int:
        """Return how many there are."""
        raise NotImplementedError(f"{type(self).__name__} does not define __len__")

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks, always in the same order."""
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def source_hashes(self) -> Mapping[str, str]:
        """Return the SHA-256 of what is read, by name; a run continues only with equal ones."""
        return {}

"""Tasks of several sources as one sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from toolmark.core.records import Task, TaskSequence


@dataclass(frozen=True, slots=True)
class JoinedTasks:
    """The tasks of several families, one family after the other."""

    parts: tuple[TaskSequence, ...]

    def __len__(self) -> int:
        """Return the number of tasks."""
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks, which are made on the way."""
        for part in self.parts:
            yield from part

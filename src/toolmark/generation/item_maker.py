"""How suites finish tasks whose items are expensive to make: one item at a time, on all cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import ClassVar, Generic, TypeVar

from toolmark.core import worker_processes
from toolmark.core.errors import DataError
from toolmark.core.records import Task

T = TypeVar("T")


class ItemMaker(Generic[T]):
    """Finishes the tasks of items. A suite's maker extends this by three methods.

    `make_item` depends on the maker and the tasks of one item alone, so any process, on any
    machine, makes the same of them. Worker processes get a copy: a maker must be picklable.
    """

    min_parallel_items: ClassVar[int] = 8
    """With fewer items no processes are started, because that costs more."""

    def open_item(self, tasks: Sequence[Task]) -> T:
        """Return what the tasks of one item share. Raises DataError if it cannot be made."""
        raise NotImplementedError

    def finish_task(self, task: Task, item: T) -> Task:
        """Return a task of the item as it is asked."""
        raise NotImplementedError

    def mark_failed(self, task: Task, reason: str) -> Task:
        """Return a task that could not be made, with the reason where the suite looks for it."""
        raise NotImplementedError

    def prepare_items(self, items: Iterator[tuple[Task, ...]]) -> Iterator[tuple[Task, ...]]:
        """Yield the items unchanged. Work for many items at once is done here, in one process."""
        return items

    def draft(self, task: Task) -> Task:
        """Return one finished task for a preview; makers of slow items leave these out of it."""
        return self.make_item((task,))[0]

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield the finished tasks in their order, made on all cores.

        The tasks of an item must be consecutive. Errors other than DataError end the work.
        """
        for finished in worker_processes.map_in_processes(
            self.make_item,
            self.prepare_items(group_by_item(tasks)),
            worker_processes.available_cores(),
            min_parallel=self.min_parallel_items,
        ):
            yield from finished

    def make_item(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the finished tasks of one item, each with the reason if the item has failed."""
        try:
            item = self.open_item(tasks)
        except DataError as error:
            return [self.mark_failed(task, str(error)) for task in tasks]
        return [self.finish_task(task, item) for task in tasks]


def group_by_item(tasks: Iterable[Task]) -> Iterator[tuple[Task, ...]]:
    """Yield the tasks of one item after the other; those of an item must be consecutive."""
    return (tuple(group) for _, group in groupby(tasks, key=lambda task: task.item))

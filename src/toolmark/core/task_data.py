"""Reading of what a task stores: each suite has one record that says what its tasks' data are."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError
from toolmark.core.records import Task

T = TypeVar("T")


def read_task_data(task: Task, record: type[T]) -> T:
    """Return the data of a task as a record, a msgspec Struct.

    A task without data is read as an empty object. Fields that the record does not have are
    ignored, so a record may describe a part of the data. Values of fields that are typed `Any` are
    not copied. Raises DataError, with the task's id and the place, for data of another shape.
    """
    try:
        return msgspec.convert({} if task.data is None else task.data, record)
    except msgspec.ValidationError as error:
        reason = describe_decode_error(error, task.data, where="data")
        raise DataError(f"task {task.id}: {reason}") from None

"""What a task of any suite may say to MCP servers."""

from __future__ import annotations

from collections.abc import Mapping

from toolmark.core.records import Record, Task
from toolmark.core.task_data import read_task_data


class McpTaskData(Record, frozen=True, kw_only=True):
    """The part of a task's data that servers are opened by.

    `servers` are those that the task needs, None for all that are enabled. `images` are the file
    names of its pictures in the workspace; a picture without one has its number.
    """

    servers: tuple[str, ...] | None = None
    images: tuple[str, ...] = ()


def read_mcp_data(task: Task) -> McpTaskData:
    """Return what a task says to its servers. Raises DataError for fields of another type.

    Data that are not an object say nothing: a user's suite may store a text or a number.
    """
    return read_task_data(task, McpTaskData) if isinstance(task.data, Mapping) else McpTaskData()

"""Rows of suites with an environment as tasks: a question, and data for environment and scorer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from toolmark.authoring.call_rows import (
    UniqueIds,
    read_group,
    read_id,
    read_question,
    read_text,
)
from toolmark.authoring.python_rows import GivenRows
from toolmark.authoring.row_files import RowFile
from toolmark.authoring.row_messages import RowFault, fail, read_tools
from toolmark.authoring.row_sources import open_rows
from toolmark.core.json_kinds import kind_of
from toolmark.core.records import Limits, Message, Task, Text, Turn
from toolmark.runs.sourced_tasks import SourcedTasks

# fields that say what is asked; all others go into the data of the task
_ASKING_FIELDS = (
    "id", "question", "messages", "turns", "system", "tools", "category", "group", "data",
)  # fmt: skip


class RowTasks(SourcedTasks):
    """The tasks of a file of rows, read one at a time; `limits` hold for each."""

    def __init__(self, rows: RowFile, limits: Limits = Limits()) -> None:  # noqa: B008 - frozen
        self.rows = rows
        self.limits = limits

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.rows.n_rows

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks. Raises DataError with line and field."""
        ids = UniqueIds(self.rows)
        for row in self.rows:
            try:
                task = self._make_task(row.number, row.fields)
            except RowFault as fault:
                self.rows.fail(row.number, str(fault))
            ids.add(row.number, task.id)
            yield task

    def source_hashes(self) -> Mapping[str, str]:
        """Return the hash of the file."""
        return {self.rows.label: self.rows.sha256}

    def _make_task(self, number: int, fields: Mapping[str, Any]) -> Task:
        return Task(
            id=read_id(fields, number),
            category=read_text(fields, "category"),
            axes=read_group(fields),
            turns=_read_turns(fields),
            tools=read_tools(fields.get("tools", [])),
            limits=self.limits,
            data=_read_data(fields),
        )


def read_tasks(
    path: str | os.PathLike[str] | GivenRows, *, max_steps: int = 50, max_calls: int | None = None
) -> RowTasks:
    """Return the tasks of rows: of a file, a data set's folder, a list of dicts, or a function.

    A row has `question`, `messages` or `turns` (a list of questions or of lists of messages), and
    optionally `id`, `system`, `tools`, `category`, `group` and `data`, an object. `task.data` holds
    the fields of `data` and all further fields of the row, such as `expected` and `solution`.

    Args:
        path: The file (JSON Lines, JSON, CSV, Parquet), relative to the working directory; or rows:
            a list of dicts, or a function that yields them each time they are read.
        max_steps: How many replies with calls a turn may have.
        max_calls: How many calls an episode may have, None for any number.
    """
    return RowTasks(open_rows(path), Limits(steps=max_steps, calls=max_calls))


def _read_turns(fields: Mapping[str, Any]) -> tuple[Turn, ...]:
    if "turns" not in fields:
        if "question" not in fields and "messages" not in fields and "goal" in fields:
            return (Turn(messages=_system_message(fields)),)  # a simulated user opens
        return (Turn(messages=read_question(fields)),)
    turns = fields["turns"]
    if "question" in fields or "messages" in fields:
        fail("turns", "a row has a question, messages or turns; remove the others")
    if not isinstance(turns, list) or not turns:
        fail("turns", f"expected a list of questions, got {kind_of(turns)}")
    read = []
    for at, each in enumerate(turns):
        name = "messages" if isinstance(each, list) else "question"
        try:
            messages = read_question({name: each})
        except RowFault as fault:
            fail(f"turns[{at}]", fault.problem)
        read.append(Turn(messages=(*(_system_message(fields) if at == 0 else ()), *messages)))
    return tuple(read)


def _system_message(fields: Mapping[str, Any]) -> tuple[Message, ...]:
    system = read_text(fields, "system")
    return (Message(role="system", parts=(Text(system),)),) if system else ()


def _read_data(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a task: the fields of `data`, and the further fields of the row."""
    data = fields.get("data", {})
    if not isinstance(data, dict):
        fail("data", f"expected an object, got {kind_of(data)}")
    further = {name: value for name, value in fields.items() if name not in _ASKING_FIELDS}
    for name in data:
        if name in further:
            fail(f"data.{name}", f"{name!r} is a field of the row too; remove one")
    return {**data, **further}

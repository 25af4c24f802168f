"""What is wrong or weak in a file of rows, found before a model is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from toolmark.authoring import row_shapes
from toolmark.authoring.call_rows import CallTasks
from toolmark.authoring.digest_counts import DigestCounts
from toolmark.authoring.tool_lint import lint_tools
from toolmark.core.errors import DataError
from toolmark.core.number_format import format_count, format_percent, pluralize
from toolmark.core.records import Check, Task, Tool
from toolmark.core.task_data import read_task_data
from toolmark.scoring.expected_calls import CallExpectation

MAX_SHOWN_FAULTS = 20


class RowSummary:
    """Counts over the rows of a file, one at a time."""

    def __init__(self) -> None:
        self.n_rows = self.n_proposed = self.n_silent = 0
        self.faults: list[str] = []
        self.n_faults = 0
        self.tools: dict[str, Tool] = {}
        self.expected_tools: Counter[str] = Counter()
        self.first_tool_expected = 0
        self.expected_calls = DigestCounts()
        self.freely_chosen: set[str] = set()  # tools of rows in which any call is right
        self._ids = DigestCounts()

    def add_fault(self, text: str) -> None:
        """Note a faulty row."""
        self.n_faults += 1
        if len(self.faults) < MAX_SHOWN_FAULTS:
            self.faults.append(text)

    def add(self, place: str, task: Task, *, is_proposed: bool) -> None:
        """Note a row."""
        self.n_rows += 1
        self.n_proposed += is_proposed
        if self._ids.add(task.id.encode("utf-8", "surrogatepass")) > 1:
            self.add_fault(f"{place}: id: {task.id!r} is the id of an earlier row too; change one")
        for tool in task.tools:
            self.tools.setdefault(tool.name, tool)
        expectation = read_task_data(task, CallExpectation)
        choices = expectation.choices()
        if expectation.must_call and not choices:
            self.freely_chosen.update(tool.name for tool in task.tools)
        self.n_silent += [] in choices or expectation.must_call is False
        names = {call.name for choice in choices for call in choice}
        self.expected_tools.update(names)
        if choices and choices[0]:
            self.expected_calls.add(msgspec.json.encode(choices[0]))
            self.first_tool_expected += task.tools[0].name in names


def check_rows(tasks: CallTasks) -> list[Check]:
    """Return what is found in a file of rows: faults with line and field, then what is weak."""
    summary = RowSummary()
    try:
        for found in tasks.read():
            if isinstance(found, DataError):
                summary.add_fault(str(found))
            else:
                number, task, is_proposed = found
                summary.add(tasks.rows.place(number), task, is_proposed=is_proposed)
    except DataError as error:  # nothing more can be read
        summary.add_fault(str(error))
    return [*_fault_checks(summary), *_content_checks(tasks, summary)]


def _fault_checks(summary: RowSummary) -> Iterator[Check]:
    for text in summary.faults:
        place, _, problem = text.partition(": ")
        yield Check(name=place, status="fail", detail=problem)
    if summary.n_faults > len(summary.faults):
        more = pluralize(summary.n_faults - len(summary.faults), "more faulty row")
        yield Check(name="rows", status="fail", detail=more)


def _content_checks(tasks: CallTasks, summary: RowSummary) -> Iterator[Check]:
    if not summary.n_rows:
        return
    counts = f"{format_count(summary.n_rows)}, read as {row_shapes.SHAPE_NAMES[tasks.shape]}"
    tools = pluralize(len(summary.tools), "tool")
    detail = f"{counts}, {tools}, {format_count(summary.n_silent)} where no call is right"
    yield Check(name="rows", status="ok", detail=detail)
    if summary.n_proposed:
        yield Check(
            name="review",
            status="fail",
            detail=f"{pluralize(summary.n_proposed, 'row is', 'rows are')} proposed, not reviewed",
            next_step=f"toolmark review {tasks.rows.name}",
        )
    if not summary.n_faults:  # else rows are missing from the counts
        yield from _coverage_checks(summary)
    yield from lint_tools(summary.tools.values())


def _coverage_checks(summary: RowSummary) -> Iterator[Check]:
    """Yield what a model could guess without reading the question."""
    unexpected = sorted(
        summary.tools.keys() - summary.expected_tools.keys() - summary.freely_chosen
    )
    if unexpected:
        n, shown = len(unexpected), ", ".join(unexpected[:5])
        yield Check(
            name="never expected",
            status="warn",
            detail=f"{pluralize(n, 'tool is', 'tools are')} offered and never expected: {shown}",
            next_step="add rows that need them, or say that they are only distractors",
        )
    if not summary.n_silent:
        yield Check(
            name="silence",
            status="warn",
            detail="every row expects a call: whether to call at all is not measured",
            next_step="add rows with expected: []",
        )
    n_calling = summary.expected_calls.total
    if n_calling >= MIN_ROWS_FOR_SHORTCUTS:
        yield from _shortcut_checks(summary, n_calling)


MIN_ROWS_FOR_SHORTCUTS = 10
MAX_SHORTCUT_SHARE = 0.5


def _shortcut_checks(summary: RowSummary, n_calling: int) -> Iterator[Check]:
    top = summary.expected_calls.most / n_calling
    first = summary.first_tool_expected / n_calling
    several = len(summary.tools) > 1
    for name, share, is_weak in (
        ("most frequent answer", top, top > MAX_SHORTCUT_SHARE),
        ("first tool", first, several and first > MAX_SHORTCUT_SHARE),
    ):
        yield Check(
            name=name,
            status="warn" if is_weak else "ok",
            detail=f"right in {format_percent(share)} of the rows that expect a call",
            next_step="vary the rows, or the order of tools" if is_weak else "",
        )


def rows_as_asked(tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """Return tasks as a model sees them, messages and tools, and what each expects."""
    return [
        {
            "id": task.id,
            "messages": msgspec.to_builtins([m for turn in task.turns for m in turn.messages]),
            "tools": msgspec.to_builtins(task.tools),
            "expected": task.data,
        }
        for task in tasks
    ]

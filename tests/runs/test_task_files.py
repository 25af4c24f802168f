"""Tasks as lines of a file: shared tools are encoded once, and every line is the record's own."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import canary, json_codec
from toolmark.core.records import Message, Task, Text, Tool, Turn
from toolmark.runs.task_files import TaskEncoder

TEXTS = st.text(max_size=6) | st.sampled_from(["null", "\ud800", "a\n", "é"])
VALUES: st.SearchStrategy[Any] = st.none() | st.integers() | st.floats() | TEXTS
TOOLS = st.lists(
    st.builds(
        lambda name, described, default: Tool(
            name=name, description=described, parameters={"default": default}
        ),
        TEXTS, TEXTS, VALUES,
    ),
    max_size=3,
).map(tuple)  # fmt: skip


@given(st.lists(TOOLS, min_size=1, max_size=3), st.lists(st.tuples(st.integers(0, 2), VALUES)))
def test_a_line_is_the_record_whichever_tasks_came_before(
    tools: list[tuple[Tool, ...]], drawn: list[tuple[int, Any]]
) -> None:
    encoder = TaskEncoder()
    for n, (place, data) in enumerate(drawn):
        said = Message(role="user", parts=(Text(f"question {n}"),))
        task = Task(
            id=f"t{n}", suite="s", turns=(Turn(messages=(said,)),),
            tools=tools[place % len(tools)], data=data,
        )  # fmt: skip
        whole = canary.add_canary(task, json_codec.encode_record(task)) + b"\n"
        assert encoder.encode_line(task) == whole

"""What a run would ask, shown before anything is asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from rich.console import Console

from toolmark.agents.tool_loop import run_tool_loop
from toolmark.cli import console_output, episode_output
from toolmark.core import json_codec
from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Task, Tool
from toolmark.reports.table_format import pluralize, visible_text
from toolmark.runs import run_preparation
from toolmark.runs.run_plan import Plan
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import select_tasks, task_file_path


def print_preview(out: Console, loaded: Suite, chosen: dict[str, Any]) -> None:
    """Show what would be asked: how much of what, what must be made for it, the first in full.

    An item that is asked by tools and without is shown in both ways.
    """
    selection = {**chosen, "tasks": str(chosen["tasks"])}
    tool_format = run_preparation.tool_format_of(loaded, selection.pop("tool_format"))
    plan = Plan(suite=loaded.name, model="", dialect=tool_format, **selection)
    counts: Counter[str] = Counter()
    firsts: dict[bool, Task] = {}  # of the first item: one that offers tools, one that does not
    max_requests = 0
    for task in select_tasks(loaded, plan, loaded.provenance.seed):
        if task.item == next(iter(firsts.values()), task).item:
            firsts.setdefault(_offers_tools(task), task)
        counts[task.category] += 1
        steps = 1 if task.limits.single else task.limits.steps
        max_requests += plan.repeats * max(1, len(task.turns)) * steps
    missing = loaded.environment.missing_parts(select_tasks(loaded, plan, loaded.provenance.seed))
    size = pluralize(counts.total(), "task")
    out.print(f"{size} of {loaded.name}, seed {loaded.provenance.seed}", highlight=False)
    for category, n in counts.items():
        out.print(f"  {category or '-':32} {n}", highlight=False, markup=False)
    effort_note = (
        ""
        if plan.tasks
        else loaded.maker.describe_work(select_tasks(loaded, plan, loaded.provenance.seed))
    )
    if effort_note:
        out.print(f"  {effort_note}", highlight=False)
    if loaded.defaults.agent is run_tool_loop:  # others ask as they go
        out.print(f"  at most {pluralize(max_requests, 'request')}", highlight=False)
    console_output.print_missing_parts(out, missing)
    for heading, task in zip(
        ("The first one", "The same otherwise"), firsts.values(), strict=False
    ):
        _print_task(out, loaded, plan, task if plan.tasks else loaded.maker.draft(task), heading)


def _offers_tools(task: Task) -> bool:
    return bool(task.tools or any(turn.tools for turn in task.turns))


def _print_task(out: Console, loaded: Suite, plan: Plan, task: Task, heading: str) -> None:
    """Show a task as it is asked; of one that users speak, what is known before it is made."""
    messages, tools = _prompt_and_tools(loaded, plan, task)
    media = (
        MediaStore(task_file_path(Path(plan.tasks)).with_name("media"))
        if plan.tasks
        else loaded.provenance.media
    )
    lines = [episode_output.message_text(each, media) for each in messages if each.role != "system"]
    blocks = [f"The system prompt as sent:\n{m.text}" for m in messages if m.role == "system"]
    why = loaded.maker.failure(task) if loaded.maker.failure else ""
    blocks.append(
        "\n".join([f"{heading}, {task.id}:", *([f"cannot be made: {why}"] * bool(why)), *lines])
    )
    if tools:
        blocks.append("Its tools:\n" + _format_json([replace(tool, source=None) for tool in tools]))
    if not any(message.role == "user" for message in messages):
        blocks.append("What is known of it:\n" + _format_json(replace(task, turns=(), tools=())))
    for block in blocks:
        out.print(visible_text(block), highlight=False, markup=False, soft_wrap=True)


def _format_json(value: Any) -> str:
    return msgspec.json.format(json_codec.encode_record(value), indent=2).decode()


def _prompt_and_tools(
    loaded: Suite, plan: Plan, task: Task
) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
    """Return the messages and tools of all turns, in the dialect in which they are asked."""
    messages, tools = task.turns[0].messages if task.turns else (), task.tools
    tools += task.turns[0].tools if task.turns else ()
    if tools and loaded.defaults.agent is run_tool_loop:  # others write their prompts as they go
        messages, tools = loaded.tool_formats[task.dialect or plan.dialect].open(messages, tools)
    later = task.turns[1:]
    return (
        messages + tuple(message for turn in later for message in turn.messages),
        tools + tuple(tool for turn in later for tool in turn.tools),
    )

"""What a run would ask, shown before anything is asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from rich.console import Console

from toolmark import api, codec
from toolmark.agents.loop import loop
from toolmark.cli import episode, terminal
from toolmark.media import Media
from toolmark.report.tables import plural, visible
from toolmark.runs.plan import Plan, select, task_file
from toolmark.runs.suite import Suite
from toolmark.types import Message, Task, Tool


def show(out: Console, loaded: Suite, chosen: dict[str, Any]) -> None:
    """Show what would be asked: how much of what, what must be made for it, the first in full.

    An item that is asked by tools and without is shown in both ways.
    """
    dialect = api.dialect_of(loaded, chosen["dialect"])
    settled = chosen | {"dialect": dialect, "tasks": str(chosen["tasks"])}
    plan = Plan(suite=loaded.name, model="", **settled)
    counts: Counter[str] = Counter()
    firsts: dict[bool, Task] = {}  # of the first item: one that offers tools, one that does not
    most = 0
    for task in select(loaded, plan, loaded.seed):
        if task.item == next(iter(firsts.values()), task).item:
            firsts.setdefault(_offers(task), task)
        counts[task.category] += 1
        steps = 1 if task.limits.single else task.limits.steps
        most += plan.repeats * max(1, len(task.turns)) * steps
    missing = loaded.missing(select(loaded, plan, loaded.seed))
    out.print(f"{plural(counts.total(), 'task')} of {loaded.name}, seed {loaded.seed}",
              highlight=False)  # fmt: skip
    for category, n in counts.items():
        out.print(f"  {category or '-':32} {n}", highlight=False, markup=False)
    made = "" if plan.tasks else loaded.effort(select(loaded, plan, loaded.seed))
    if made:
        out.print(f"  {made}", highlight=False)
    if loaded.agent is loop:  # others ask as they go
        out.print(f"  at most {plural(most, 'request')}", highlight=False)
    terminal.lacking(out, missing)
    for word, task in zip(("The first one", "The same otherwise"), firsts.values(), strict=False):
        _whole(out, loaded, plan, task if plan.tasks else loaded.draft(task), word)


def _offers(task: Task) -> bool:
    return bool(task.tools or any(turn.tools for turn in task.turns))


def _whole(out: Console, loaded: Suite, plan: Plan, task: Task, word: str) -> None:
    """Show a task as it is asked; of one that users speak, what is known before it is made."""
    messages, tools = _opening(loaded, plan, task)
    beside = Media(task_file(Path(plan.tasks)).with_name("media")) if plan.tasks else loaded.media
    said = [episode.asked(each, beside) for each in messages if each.role != "system"]
    blocks = [f"The system prompt as sent:\n{m.text}" for m in messages if m.role == "system"]
    why = loaded.broken(task) if loaded.broken else ""
    blocks.append(
        "\n".join([f"{word}, {task.id}:", *([f"cannot be made: {why}"] * bool(why)), *said])
    )
    if tools:
        blocks.append("Its tools:\n" + _json([replace(tool, source=None) for tool in tools]))
    if not any(message.role == "user" for message in messages):
        blocks.append("What is known of it:\n" + _json(replace(task, turns=(), tools=())))
    for block in blocks:
        out.print(visible(block), highlight=False, markup=False, soft_wrap=True)


def _json(value: Any) -> str:
    return msgspec.json.format(codec.encode(value), indent=2).decode()


def _opening(loaded: Suite, plan: Plan, task: Task) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
    """Return the messages and tools of all turns, in the dialect in which they are asked."""
    messages, tools = task.turns[0].messages if task.turns else (), task.tools
    tools += task.turns[0].tools if task.turns else ()
    if tools and loaded.agent is loop:  # others write their prompts as they go
        messages, tools = loaded.dialects[task.dialect or plan.dialect].open(messages, tools)
    later = task.turns[1:]
    return (
        messages + tuple(message for turn in later for message in turn.messages),
        tools + tuple(tool for turn in later for tool in turn.tools),
    )

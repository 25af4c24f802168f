"""What a run would ask, shown before anything is asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace
from rich.console import Console

from toolmark.agents.tool_loop import ToolLoop, merge_sampling
from toolmark.agents.user_wording import write_system_prompt
from toolmark.cli import console_output, episode_output
from toolmark.core import json_codec
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.number_format import format_count, pluralize
from toolmark.core.records import Message, Record, Sampling, Task, Tool
from toolmark.models.model_resolver import find_endpoint
from toolmark.reports.table_format import visible_text
from toolmark.runs import run_preparation
from toolmark.runs.planning import planned_costs, study_plan
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import Connection, Selection, convert_fields
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import select_tasks, task_file_path
from toolmark.runs.variations.task_variations import vary_suite


class TaskPreview(Record, frozen=True, kw_only=True):
    """One task as it would be asked.

    - `messages`: what is sent, with its media as files.
    - `unmade_task`: the task itself, where no user message is known before it is made.
    - `failure`: why it cannot be made, "" where it can.
    - `user_prompt`: what the model of the simulated user reads first, "" without one.
    """

    task: str
    system: tuple[str, ...]
    messages: tuple[str, ...]
    tools: tuple[Tool, ...]
    unmade_task: Task | None = None
    failure: str = ""
    user_prompt: str = ""


class Preview(Record, frozen=True, kw_only=True):
    """What a run would ask.

    - `categories`: the number of tasks of each.
    - `work_description`: what has to be made first.
    - `max_requests`: None where the agent decides how often it asks.
    - `max_user_requests`: those to the model of a simulated user.
    - `missing_parts`: what parts of the environment lack, by their names.
    - `costs`: the price of each model, and what its output costs at most, in words.
    - `tasks`: the first item, in each way in which it is asked: with tools and without.
    """

    suite: str
    seed: int
    n_tasks: int
    categories: dict[str, int]
    work_description: str
    max_requests: int | None
    missing_parts: dict[str, str]
    tasks: tuple[TaskPreview, ...]
    max_user_requests: int = 0
    costs: tuple[str, ...] = ()


def make_preview(
    loaded: Suite, chosen: dict[str, Any], model: str, connection: Connection
) -> Preview:
    """Return what would be asked: how much of what, what must be made for it, the first in full."""
    selection = {**chosen, "tasks": str(chosen["tasks"]), "plan": str(chosen.get("plan") or "")}
    format_name, agent = selection.pop("tool_format"), selection.pop("agent")
    loaded = run_preparation.add_installed_parts(loaded, format_name, agent)
    loaded = run_preparation.adapt_to_model(loaded, model, format_name, connection)
    planned = study_plan.find_planned_selection(convert_fields(Selection, **selection), loaded)
    del selection["plan"]
    if planned is not None:
        selection |= {"repeats": planned.repeats, "study": planned.draw}
    tool_format = run_preparation.tool_format_of(loaded, format_name)
    plan = Plan(suite=loaded.name, model="", tool_format=tool_format, **selection)
    counts: Counter[str] = Counter()
    firsts: dict[bool, Task] = {}  # of the first item: one that offers tools, one that does not
    user = loaded.environment.user
    max_requests = max_user_requests = 0
    loaded = vary_suite(loaded, plan.vary)
    run_preparation.check_variations(loaded, plan)
    for task in loaded.maker.vary(select_tasks(loaded, plan, loaded.provenance.seed)):
        if task.item == next(iter(firsts.values()), task).item:
            firsts.setdefault(_offers_tools(task), task)
        counts[task.category] += 1
        steps = 1 if task.limits.single_reply else task.limits.steps
        max_requests += plan.repeats * max(1, len(task.turns)) * steps
        if user is not None:  # replies that the user answers are not counted as steps
            max_requests += plan.repeats * (user.max_turns - 1)
            max_user_requests += plan.repeats * user.max_turns
    return Preview(
        suite=loaded.name,
        seed=loaded.provenance.seed,
        n_tasks=counts.total(),
        categories=dict(counts),
        work_description=""
        if plan.tasks
        else loaded.maker.describe_work(select_tasks(loaded, plan, loaded.provenance.seed)),
        # other agents ask as they go
        max_requests=max_requests if isinstance(loaded.defaults.agent, ToolLoop) else None,
        max_user_requests=max_user_requests,
        missing_parts=dict(
            loaded.environment.missing_parts(select_tasks(loaded, plan, loaded.provenance.seed))
        ),
        tasks=tuple(
            _preview_task(loaded, plan, task if plan.tasks else loaded.maker.draft(task))
            for task in firsts.values()
        ),
    )


class PlannedModels(NamedTuple):
    """The names of the models of a run; None for one that the command does not name."""

    model: str
    user: str | None = None
    judge: str | None = None


def add_costs(
    preview: Preview,
    loaded: Suite,
    models: PlannedModels,
    connection: Connection,
    sampling: Sampling,
) -> Preview:
    """Return the preview with what the run may cost. Raises UsageError for a wrong price.

    A model that is only named, and is at no known address yet, has no line.
    """
    try:
        for name in filter(None, models):
            find_endpoint(name, None)
    except UsageError:
        return preview
    lines = planned_costs.describe_planned_costs(
        *models,
        connection,
        merge_sampling(loaded.defaults.sampling, sampling),
        preview.max_requests,
        needs_sound=loaded.maker.makes_sound,
    )
    return replace(preview, costs=tuple(lines))


def _offers_tools(task: Task) -> bool:
    return bool(task.tools or any(turn.tools for turn in task.turns))


def _preview_task(loaded: Suite, plan: Plan, task: Task) -> TaskPreview:
    """Return a task as it is asked; of one that users speak, what is known before it is made."""
    messages, tools = _prompt_and_tools(loaded, plan, task)
    media = (
        MediaStore(task_file_path(Path(plan.tasks)).with_name("media"))
        if plan.tasks
        else loaded.provenance.media
    )
    is_asked = any(message.role == "user" for message in messages)
    user = loaded.environment.user
    return TaskPreview(
        task=task.id,
        system=tuple(message.text for message in messages if message.role == "system"),
        messages=tuple(
            episode_output.message_text(each, media) for each in messages if each.role != "system"
        ),
        tools=tuple(replace(tool, source=None) for tool in tools),
        unmade_task=None if is_asked or user else replace(task, turns=(), tools=()),
        failure=loaded.maker.failure(task) if loaded.maker.failure else "",
        user_prompt="" if user is None else write_system_prompt(user.write_profile(task)),
    )


def print_preview(out: Console, preview: Preview) -> None:
    """Print what would be asked."""
    tasks = pluralize(preview.n_tasks, "task")
    out.print(f"{tasks} of {preview.suite}, seed {preview.seed}", highlight=False)
    for category, n in preview.categories.items():
        out.print(f"  {category or '-':32} {format_count(n)}", highlight=False, markup=False)
    if preview.work_description:
        out.print(f"  {preview.work_description}", highlight=False)
    if preview.max_requests is not None:
        out.print(f"  at most {pluralize(preview.max_requests, 'request')}", highlight=False)
    if preview.max_user_requests:
        n_requests = pluralize(preview.max_user_requests, "request")
        out.print(f"  at most {n_requests} to the model of the simulated user", highlight=False)
    for line in preview.costs:
        out.print(visible_text(f"  {line}"), highlight=False, markup=False, soft_wrap=True)
    console_output.print_missing_parts(out, preview.missing_parts)
    headings = ("The first one", "The same otherwise")
    for heading, task in zip(headings, preview.tasks, strict=False):
        _print_task(out, task, heading)


def _print_task(out: Console, task: TaskPreview, heading: str) -> None:
    blocks = [f"The system prompt as sent:\n{text}" for text in task.system]
    why = [f"cannot be made: {task.failure}"] if task.failure else []
    messages = task.messages
    if task.user_prompt and not messages:
        messages = ("The model of the simulated user writes the first message.",)
    blocks.append("\n".join([f"{heading}, {task.task}:", *why, *messages]))
    if task.user_prompt:
        blocks.append(f"The model of the simulated user reads:\n{task.user_prompt}")
    if task.tools:
        blocks.append("Its tools:\n" + _format_json(task.tools))
    if task.unmade_task is not None:
        blocks.append("What is known of it:\n" + _format_json(task.unmade_task))
    for block in blocks:
        out.print(visible_text(block), highlight=False, markup=False, soft_wrap=True)


def _format_json(value: Any) -> str:
    return msgspec.json.format(json_codec.encode_record(value), indent=2).decode()


def _prompt_and_tools(
    loaded: Suite, plan: Plan, task: Task
) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
    """Return the messages and tools of all turns, in the tool format in which they are asked."""
    messages, tools = task.turns[0].messages if task.turns else (), task.tools
    tools += task.turns[0].tools if task.turns else ()
    # other agents write their prompts as they go
    if tools and isinstance(loaded.defaults.agent, ToolLoop):
        messages, tools = loaded.tool_formats[task.tool_format or plan.tool_format].render_opening(
            messages, tools
        )
    later = task.turns[1:]
    return (
        messages + tuple(message for turn in later for message in turn.messages),
        tools + tuple(tool for turn in later for tool in turn.tools),
    )

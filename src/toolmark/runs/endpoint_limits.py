"""What an endpoint cannot be asked, found in the tasks before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator

from toolmark.agents.tool_loop import ToolLoop
from toolmark.core.errors import UsageError
from toolmark.core.records import Task, Text
from toolmark.models import provider_table
from toolmark.models.endpoint_profile import describe_tool_limit
from toolmark.models.model_resolver import find_endpoint
from toolmark.models.wires.wire import Wire
from toolmark.models.wires.wire_registry import wire_by_name
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import Connection
from toolmark.runs.suite import Suite


def check_tasks(
    tasks: Iterator[Task], suite: Suite, plan: Plan, model: object, connection: Connection
) -> Iterator[Task]:
    """Return the tasks, of which each is checked as it is taken.

    Raises UsageError for a task with a picture or sound that the endpoint's wire does not carry, or
    with more tools than the endpoint takes. What an environment adds during an episode is not
    known yet: there it is a failure of the episode.
    """
    if not isinstance(model, str):
        return tasks
    makes_sound = suite.maker.makes_sound
    found = find_endpoint(model, connection.base_url, connection.wire, needs_sound=makes_sound)
    if found is None:
        return tasks
    profile = provider_table.profile_for_url(found.url, found.name, found.wire)
    # other agents choose themselves which tools they offer
    limit = profile.max_tools if isinstance(suite.defaults.agent, ToolLoop) else None
    return _check_each(tasks, suite, plan, wire_by_name(found.wire), limit)


def _check_each(
    tasks: Iterator[Task], suite: Suite, plan: Plan, wire: Wire, max_tools: int | None
) -> Iterator[Task]:
    for task in tasks:
        _check_media(task, wire)
        format_name = task.tool_format or plan.tool_format
        if max_tools is not None and not suite.tool_formats[format_name].calls_in_text:
            n_tools = len(task.tools) + sum(len(turn.tools) for turn in task.turns)
            if n_tools > max_tools:
                raise UsageError(f"task {task.id}: {describe_tool_limit(n_tools, max_tools)}")
        yield task


def _check_media(task: Task, wire: Wire) -> None:
    for turn in task.turns:
        for message in turn.messages:
            for part in message.parts:
                if not isinstance(part, Text) and not wire.media_types.carries(part):
                    reason = wire.media_types.describe_refusal(part)
                    raise UsageError(f"task {task.id} cannot be asked: {reason}")

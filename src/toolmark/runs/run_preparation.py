"""What happens before the first request: the tasks are finished, and needs are checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolmark.agents import installed_agents, scripted_user
from toolmark.agents.tool_loop import ToolLoop
from toolmark.core import entry_points, user_modules
from toolmark.core.errors import UsageError, join_reasons, suggest_names
from toolmark.core.model import Model
from toolmark.core.records import Task
from toolmark.environments.mcp import sandbox as mcp_sandbox
from toolmark.formats import installed_formats
from toolmark.models import user_model as user_objects
from toolmark.models.model_resolver import find_endpoint
from toolmark.runs import runner
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import Connection
from toolmark.runs.suite import AskedModel, Suite, accepts_any_tool_format
from toolmark.runs.task_selection import select_tasks
from toolmark.runs.variations.task_variations import TaskVariations


def finish_tasks(
    suite: Suite, plan: Plan, watch: runner.ProgressWatcher | None = None
) -> Iterator[Task]:
    """Yield the tasks of the plan as they are asked; tasks from a file are finished already.

    The watcher is notified of each task that had to be made.
    """
    chosen = select_tasks(suite, plan, suite.provenance.seed)
    tasks = chosen if plan.tasks else suite.maker.make(chosen)
    if watch is None or tasks is chosen:
        yield from suite.maker.vary(tasks)
        return
    n = sum(1 for _ in select_tasks(suite, plan, suite.provenance.seed))
    effort = suite.maker.describe_work(select_tasks(suite, plan, suite.provenance.seed))
    progress = runner.Progress(n_planned=0, n_to_make=n, work_description=effort)
    watch(progress)

    def count_tasks() -> Iterator[Task]:
        for task in tasks:
            progress.n_made += 1
            watch(progress)
            yield task

    yield from suite.maker.vary(count_tasks())


def check_runnable(suite: Suite, plan: Plan) -> None:
    """Raise UsageError, before any request, if no task of the plan can be run.

    Raises DataError for a task that lacks what its simulated user needs.
    """
    if suite.environment.starts_processes:
        mcp_sandbox.require_sandbox()
    if (user := suite.environment.user) is not None:
        for task in select_tasks(suite, plan, suite.provenance.seed):
            user.write_profile(task)
            scripted_user.read_script(task)
    check_variations(suite, plan)
    missing = suite.environment.missing_parts(select_tasks(suite, plan, suite.provenance.seed))
    if missing and all(
        suite.environment.missing_parts([task])
        for task in select_tasks(suite, plan, suite.provenance.seed)
    ):
        reasons = {name: reason.partition("\n")[0] for name, reason in missing.items()}
        raise UsageError(f"no task can be run: {join_reasons(reasons)}")


def check_variations(suite: Suite, plan: Plan) -> None:
    """Raise UsageError for a kind of variation that applies to no task of the plan."""
    if isinstance(suite.maker.vary, TaskVariations):
        chosen = select_tasks(suite, plan, suite.provenance.seed)
        drafts = chosen if plan.tasks else map(suite.maker.draft, chosen)
        suite.maker.vary.check_applicable(drafts)


def check_player(suite: Suite, player: Model) -> None:
    """Raise UsageError for a model that the suite's agent cannot ask."""
    if player.calls_natively and not suite.defaults.agent.takes_native_models:
        raise UsageError(
            f"{player.name} makes structured calls alone, and the agent of suite {suite.name!r} "
            "reads calls as text of its own; next: another agent, such as -T agent=loop, or a "
            "control"
        )


def add_installed_parts(suite: Suite, tool_format: str | None, agent: object = None) -> Suite:
    """Return a suite with the tool format and the agent of other packages that the user names.

    A tool format can be added where the suite is asked in the default ones, an agent where the tool
    loop plays: a name, an Agent, or an `async def agent(session)`. Raises UsageError for an agent
    that cannot play; `tool_format_of` does for formats.
    """
    if tool_format not in {None, *suite.tool_formats} and accepts_any_tool_format(suite):
        found = installed_formats.load_tool_format(str(tool_format))
        if found is not None:
            formats = {**suite.tool_formats, str(tool_format): found}
            suite = replace(suite, tool_formats=formats)
    if agent is None or agent == "":
        return suite
    if not isinstance(suite.defaults.agent, ToolLoop):
        raise UsageError(f"suite {suite.name!r} has an agent of its own; next: leave out --agent")
    if isinstance(agent, str):
        name = user_modules.normalize_spec(agent)
        player = installed_agents.load_agent(name)
    else:
        player = installed_agents.adapt_agent(agent)
        name = user_objects.qualified_name(agent)
    return replace(suite, defaults=replace(suite.defaults, agent=player, agent_name=name))


def adapt_to_model(
    suite: Suite, model: object, tool_format: str | None, connection: Connection
) -> Suite:
    """Return the suite as it asks this model; raises UsageError."""
    if suite.defaults.adapt_to_model is None:
        return suite
    asked = AskedModel(tool_format_of(suite, tool_format))
    if isinstance(model, str):
        makes_sound = suite.maker.makes_sound
        endpoint = find_endpoint(
            model, connection.base_url, connection.wire, needs_sound=makes_sound
        )
        if endpoint is not None:
            asked = asked._replace(wire=endpoint.wire, url=endpoint.url, name=endpoint.name)
    return suite.defaults.adapt_to_model(suite, asked)


def tool_format_of(suite: Suite, name: str | None) -> str:
    """Return the name of the tool format, the suite's own for None; raises UsageError."""
    if name is None:
        return next(iter(suite.tool_formats))
    if name not in suite.tool_formats:
        listing = f"toolmark list {suite.provenance.spec or suite.name}"
        known = [*suite.tool_formats]
        if accepts_any_tool_format(suite):
            known += entry_points.entry_point_names(installed_formats.GROUP)
        raise UsageError(
            f"suite {suite.name!r} has no tool format {name!r}"
            f"{suggest_names(name, known, listing=listing)}"
        )
    return name

"""What happens before the first request: the tasks are finished, and needs are checked."""

from __future__ import annotations

from collections.abc import Iterator

from toolmark.core.errors import UsageError, join_reasons, suggest_names
from toolmark.core.records import Task
from toolmark.environments.mcp import sandbox as mcp_sandbox
from toolmark.runs import runner
from toolmark.runs.run_plan import Plan
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import select_tasks


def finish_tasks(
    suite: Suite, plan: Plan, watch: runner.ProgressWatcher | None = None
) -> Iterator[Task]:
    """Yield the tasks of the plan as they are asked; tasks from a file are finished already.

    The watcher is notified of each task that had to be made.
    """
    chosen = select_tasks(suite, plan, suite.provenance.seed)
    tasks = chosen if plan.tasks else suite.maker.make(chosen)
    if watch is None or tasks is chosen:
        yield from tasks
        return
    n = sum(1 for _ in select_tasks(suite, plan, suite.provenance.seed))
    effort = suite.maker.describe_work(select_tasks(suite, plan, suite.provenance.seed))
    progress = runner.Progress(n_planned=0, n_to_make=n, work_description=effort)
    watch(progress)
    for task in tasks:
        progress.n_made += 1
        watch(progress)
        yield task


def check_runnable(suite: Suite, plan: Plan) -> None:
    """Raise UsageError, before any request, if no task of the plan can be run."""
    if suite.environment.starts_processes:
        mcp_sandbox.require_sandbox()
    missing = suite.environment.missing_parts(select_tasks(suite, plan, suite.provenance.seed))
    if missing and all(
        suite.environment.missing_parts([task])
        for task in select_tasks(suite, plan, suite.provenance.seed)
    ):
        reasons = {name: reason.partition("\n")[0] for name, reason in missing.items()}
        raise UsageError(f"no task can be run: {join_reasons(reasons)}")


def tool_format_of(suite: Suite, name: str | None) -> str:
    """Return the name of the tool format, the suite's own for None; raises UsageError."""
    if name is None:
        return next(iter(suite.tool_formats))
    if name not in suite.tool_formats:
        listing = f"toolmark list {suite.provenance.spec or suite.name}"
        raise UsageError(
            f"suite {suite.name!r} has no tool format {name!r}"
            f"{suggest_names(name, suite.tool_formats, listing=listing)}"
        )
    return name

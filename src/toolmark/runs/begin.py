"""How a run begins, and goes on: its tasks are made, or made again where they could not be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from toolmark.media import Media
from toolmark.runs import folders, versions
from toolmark.runs.ending import interruptible
from toolmark.runs.plan import Plan, task_file
from toolmark.runs.store import Folder
from toolmark.runs.suite import Suite
from toolmark.types import Task


def create(path: Path, plan: Plan, suite: Suite, tasks: Iterable[Task], command: str) -> None:
    """Write the tasks into a claimed folder, and what is known of the run before it begins."""
    beside = task_file(Path(plan.tasks)).with_name("media") if plan.tasks else None
    with interruptible():
        folders.create(
            path,
            plan,
            tasks,
            media=suite.media if beside is None else Media(beside),
            refers=suite.refers,
            seed=suite.seed,
            command=command,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            hashes=dict(suite.hashes),
            versions=versions.found(),
        )


def mend(
    folder: Folder, suite: Suite, plan: Plan, finish: Callable[[Plan], Iterable[Task]]
) -> None:
    """Make again what could not be made when the run began, if it is there to be made."""
    if suite.broken is None or plan.tasks or suite.seed != folder.run.info.seed:
        return
    with interruptible():
        broken = {task.id for task in folder.run.tasks() if suite.broken(task)}
        broken -= {id for id, _ in folder.run.done()}
        if not broken:
            return
        again = replace(plan, ids=tuple(sorted(broken)), sample=None, limit=None)
        folder.replace({task.id: task for task in finish(again)}, suite.media, suite.refers)

"""How a run begins, and goes on: its tasks are made, or made again where they could not be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from toolmark.media import Media
from toolmark.runs import folders, identity, scoring, versions
from toolmark.runs.ending import interruptible
from toolmark.runs.plan import Plan, select, task_file
from toolmark.runs.store import Folder, Run
from toolmark.runs.suite import Suite, as_they_are
from toolmark.runs.tasks import task_line
from toolmark.types import Task
from toolmark.worlds.mcp import sandbox


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
            versions=versions.found() | (sandbox.recorded() if suite.sandboxed else {}),
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


def why_new(run: Run, suite: Suite, plan: Plan) -> str:
    """Say why a run of this very request does not go on, "" where it does.

    It goes on where episodes are missing or not scored, where it was not finished, and where
    another scorer made its scores.
    """
    if len(run.done()) == run.info.n_episodes:
        judged = identity.scorer_id(suite.scorer)
        same = judged.sha256 == run.scorer().sha256 or not judged.sha256
        if run.finished and same and not scoring.failed(run):
            return f"{run.path} has all of its episodes"
    if _tasks_changed(run, suite, plan):
        return f"the tasks differ from those of {run.path}"
    return ""


def _tasks_changed(run: Run, suite: Suite, plan: Plan) -> bool:
    """Tell whether a user's suite has other tasks by now, where that can be told without a cost.

    It cannot where the seed was drawn, and where tasks are finished only as they are asked. What
    suites of ours read is part of the request (`Plan.world`). Code that stands in no file, as that
    of a notebook, has no hash: its tasks are all that tells of an edit.
    """
    drawn = suite.seed != run.info.seed
    if plan.tasks or drawn or identity.is_own(suite) or suite.make is not as_they_are:
        return False
    found = hashlib.sha256()
    for task in select(suite, plan, suite.seed):
        found.update(task_line(task))
    return found.hexdigest() != run.info.tasks_sha256

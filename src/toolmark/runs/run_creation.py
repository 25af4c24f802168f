"""How a run begins and continues: its tasks are made, or made again where they could not be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from toolmark.core import entry_points, package_versions
from toolmark.core.errors import DataError
from toolmark.core.files import write_atomically
from toolmark.core.media import MediaStore
from toolmark.core.records import Task
from toolmark.environments.mcp import sandbox
from toolmark.runs import code_hashes, run_folders, run_scoring
from toolmark.runs.planning.study_plan import PLAN_FILE, find_planned_selection
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import Selection
from toolmark.runs.run_store import Run, RunWriter
from toolmark.runs.suite import Suite, prepare_nothing
from toolmark.runs.task_files import TaskEncoder
from toolmark.runs.task_selection import select_tasks, task_file_path
from toolmark.runs.termination_signals import interrupt_immediately


def create_run(
    path: Path,
    plan: Plan,
    suite: Suite,
    tasks: Iterable[Task],
    command: str,
    selection: Selection,
) -> None:
    """Write the tasks into a claimed folder, and what is known of the run before it begins.

    A run of a plan has a copy of the plan's file.
    """
    media_folder = task_file_path(Path(plan.tasks)).with_name("media") if plan.tasks else None
    planned = find_planned_selection(selection, suite)
    with interrupt_immediately():
        if planned is not None:
            _copy_plan(path, planned.data)
        run_folders.write_run(
            path,
            plan,
            tasks,
            media=suite.provenance.media if media_folder is None else MediaStore(media_folder),
            refers=suite.provenance.referenced_media,
            seed=suite.provenance.seed,
            command=command,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            hashes=dict(suite.provenance.hashes),
            data_label=suite.provenance.data_label,
            versions=package_versions.installed_versions()
            | entry_points.package_versions((plan.spec, *plan.modules, *plan.model_modules))
            | (sandbox.sandbox_record() if suite.environment.starts_processes else {}),
        )


def _copy_plan(path: Path, data: bytes) -> None:
    try:
        write_atomically(path / PLAN_FILE, data)
    except OSError as error:
        run_folders.discard_folder(path)
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def remake_broken_tasks(
    writer: RunWriter, suite: Suite, plan: Plan, prepare_tasks: Callable[[Plan], Iterable[Task]]
) -> None:
    """Make again the tasks that could not be made when the run began, if that is now possible."""
    if suite.maker.failure is None or plan.tasks or suite.provenance.seed != writer.run.info.seed:
        return
    with interrupt_immediately():
        broken = {task.id for task in writer.run.tasks() if suite.maker.failure(task)}
        broken -= {id for id, _ in writer.run.completed_episodes()}
        if not broken:
            return
        remake_plan = replace(plan, ids=tuple(sorted(broken)), sample=None, limit=None)
        writer.replace_tasks(
            {task.id: task for task in prepare_tasks(remake_plan)},
            suite.provenance.media,
            suite.provenance.referenced_media,
        )


def reason_for_new_run(run: Run, suite: Suite, plan: Plan) -> str:
    """Return why a run of this same request does not continue, "" where it does.

    It continues where episodes are missing or not scored, where it was not finished, and where
    another scorer made its scores.
    """
    if len(run.completed_episodes()) == run.info.n_episodes:
        scorer_id = code_hashes.scorer_id(suite.scorer)
        is_same_scorer = scorer_id.sha256 == run.scorer().sha256 or not scorer_id.sha256
        if run.is_finished and is_same_scorer and not run_scoring.has_unscored_episodes(run):
            return f"{run.path} has all of its episodes"
    if _have_tasks_changed(run, suite, plan):
        return f"the tasks differ from those of {run.path}"
    return ""


def _have_tasks_changed(run: Run, suite: Suite, plan: Plan) -> bool:
    """Return whether a user's suite has other tasks now, where this can be checked at no cost.

    It cannot be checked where the seed was drawn, and where tasks are finished only as they are
    asked. What toolmark's own suites read is part of the request (`Plan.environment_hashes`). Code
    that is in no file, such as that of a notebook, has no hash: only its tasks show an edit.
    """
    has_other_seed = suite.provenance.seed != run.info.seed
    if (
        plan.tasks
        or has_other_seed
        or code_hashes.is_builtin_suite(suite)
        or suite.maker.make is not prepare_nothing
    ):
        return False
    digest, encoder = hashlib.sha256(), TaskEncoder()
    for task in suite.maker.vary(select_tasks(suite, plan, suite.provenance.seed)):
        digest.update(encoder.encode_line(task))
    sound = run.info.sound
    # a run changes tasks without sound for a model that refuses them
    asked = sound.suite_tasks_sha256 if sound is not None else ""
    return digest.hexdigest() != (asked or run.info.tasks_sha256)

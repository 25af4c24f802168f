"""The run folders in their parent folder: claimed by number, filled, found again by their plan."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.core.errors import DataError, ToolmarkError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.number_format import format_count
from toolmark.core.records import Task
from toolmark.runs.record_files import write_document
from toolmark.runs.run_plan import Plan, differs_only_by_edits, plan_differences
from toolmark.runs.run_store import RUN_FORMAT, Run, RunInfo
from toolmark.runs.task_files import MediaReferences, write_tasks


class RunChoice(NamedTuple):
    """The run that continues, None for a new one, and what the user should know about the choice.

    `accepts_edits`: the run was asked with code that was edited since, and the user accepts the
    edit.
    """

    run: Run | None
    notes: tuple[str, ...] = ()
    accepts_edits: bool = False


def choose_run(
    parent: Path,
    plan: Plan,
    reason_for_new_run: Callable[[Run], str],
    *,
    accept_edits: bool = False,
    shared_modules: Collection[str] = (),
) -> RunChoice:
    """Return the run that continues: the newest one of the same request, if there is work left.

    `reason_for_new_run` says why a run does not continue, "" where it does. Where a new run begins,
    the lines say what differs from the newest run of this suite and model. With `accept_edits` an
    edit of the user's code is not a difference. `shared_modules` are the modules that contain both
    suite and scorer. Raises DataError for a damaged run of the same request.
    """
    matching = newest_matching_run(parent, plan)
    last = matching or _newest_similar_run(parent, plan)
    if last is None:
        return RunChoice(None)
    name = last.path
    changed = plan_differences(last.info.plan, plan)
    accepted = bool(changed) and accept_edits and differs_only_by_edits(last.info.plan, plan)
    if changed and not accepted:
        lines = [f"new run: {line}" for line in changed]
        if differs_only_by_edits(last.info.plan, plan):
            lines += [
                f"{module} holds the scorer too: an edit of a scorer in a file of its own asks "
                "nothing again"
                for module in shared_modules
                if last.info.plan.modules.get(module) != plan.modules.get(module)
            ]
            if not reason_for_new_run(last):
                lines.append(f"--continue accepts the edit, and goes on with {name}")
        return RunChoice(None, tuple(lines))
    if reason := reason_for_new_run(last):
        return RunChoice(None, (f"new run: {reason}",))
    n, m = len(last.completed_episodes()), last.info.n_episodes
    message = f"continuing {name}: {format_count(n)} of {format_count(m)} episodes are stored"
    return RunChoice(last, (message, *(f"accepted: {line}" for line in changed)), accepted)


def claim_folder(parent: Path, plan: Plan) -> Path:
    """Make the folder of a new run and return it. The process that makes it owns its number.

    Raises UsageError when the parent cannot be written.
    """
    stem = _folder_stem(plan)
    n = 1 + max((number for number, _ in _numbered_runs(parent, stem)), default=0)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        while (parent / f"{stem}-{n}").exists():
            n += 1
        path = parent / f"{stem}-{n}"
        try:
            path.mkdir()
        except FileNotFoundError:  # another process discarded its folder, and the empty parent
            parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
    except FileExistsError:
        return claim_folder(parent, plan)
    except OSError as error:
        raise UsageError(
            f"{parent}: cannot make a run folder there: {error.strerror}; "
            "choose another with --log-dir"
        ) from None
    return path


def write_run(
    path: Path,
    plan: Plan,
    tasks: Iterable[Task],
    *,
    media: MediaStore | None = None,
    refers: MediaReferences | None = None,
    **info_fields: Any,
) -> None:
    """Fill a claimed folder: its tasks with their media, then `run.json`, which makes it a run.

    `info_fields` are further fields of RunInfo. Raises UsageError when there is no task, DataError
    when the folder cannot be written. Removes the folder when anything fails.
    """
    try:
        written = write_tasks(path / "tasks.jsonl", tasks, media, refers)
        if written.n_tasks == written.n_setup_tasks:
            raise UsageError("no task is left after the selection; loosen --limit, --ids or -T")
        info = RunInfo(
            format=RUN_FORMAT,
            plan=plan,
            n_tasks=written.n_tasks,
            n_setup=written.n_setup_tasks,
            tasks_sha256=written.sha256,
            **info_fields,
        )
        write_document(path / "run.json", info)
    except OSError as error:
        discard_folder(path)
        raise DataError(f"{path}: cannot write: {error.strerror}") from None
    except BaseException:
        discard_folder(path)
        raise


def discard_folder(path: Path) -> None:
    """Remove a claimed folder that never became a run."""
    if (path / "run.json").exists():
        return
    shutil.rmtree(path)


@contextmanager
def discard_empty_parent(parent: Path) -> Iterator[None]:
    """Remove the folder of runs if the block made it, raised, and left it empty."""
    existed = parent.exists()
    try:
        yield
    except BaseException:
        if not existed:
            with suppress(OSError):
                parent.rmdir()
        raise


def withdraw_run(path: Path) -> None:
    """Remove a run that was asked wrongly, if it has no episode and no attempt yet."""
    run = Run(path)
    if any(run.trajectories()) or any(run.attempts()):
        return
    (path / "run.json").unlink()
    discard_folder(path)


def newest_matching_run(parent: Path, plan: Plan) -> Run | None:
    """Return the newest run that was begun with the same request, None if there is none."""
    found = max(_numbered_runs(parent, _folder_stem(plan)), default=None)
    return Run(found[1]) if found else None


def _newest_similar_run(parent: Path, plan: Plan) -> Run | None:
    """Return the newest run of this suite and model.

    Folders that are not readable runs are skipped. A run of the same request comes first, then one
    that differs only in edits of the user's code.
    """
    candidates: list[tuple[bool, bool, str, int, Path]] = []
    players = map(_slug, plan.player_names)
    for path in parent.glob(f"{'-'.join([_slug(plan.suite), *players])}-*"):
        with suppress(ToolmarkError, OSError):
            info = Run(path).info
            found = (info.plan.suite, *info.plan.player_names)
            if found == (plan.suite, *plan.player_names):
                age = info.created, (path / "tasks.jsonl").stat().st_mtime_ns
                # a run that continued after an edit keeps the folder name of its first request
                match_rank = info.plan.hash == plan.hash, differs_only_by_edits(info.plan, plan)
                candidates.append((*match_rank, *age, path))
    return Run(max(candidates)[-1]) if candidates else None


def _numbered_runs(parent: Path, stem: str) -> Iterator[tuple[int, Path]]:
    for path in parent.glob(f"{stem}-*"):
        number = path.name[len(stem) + 1 :]
        if number.isdecimal() and (path / "run.json").exists():
            yield int(number), path


def _folder_stem(plan: Plan) -> str:
    words = (plan.suite, *plan.player_names, plan.tool_format)
    return "-".join([*map(_slug, words), plan.hash])


def _slug(word: str) -> str:
    slug = re.sub("[^A-Za-z0-9._]+", "-", word)
    return slug.strip("-.")[-48:] or "x"

"""The folders of runs in their parent: claimed by number, filled, found again by their plan."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from toolmark.errors import DataError, UsageError
from toolmark.media import Media
from toolmark.runs import scoring
from toolmark.runs.jsonl import write
from toolmark.runs.plan import Plan
from toolmark.runs.store import FORMAT, Run, RunInfo
from toolmark.runs.tasks import Refers, write_tasks
from toolmark.types import Task


def choose(parent: Path, plan: Plan, *, resume: bool) -> tuple[Path, bool]:
    """Return the folder to work in, and whether it is new.

    It is that of the newest run of the same plan where that misses episodes, or scores of them.
    """
    last = newest(parent, plan) if resume else None
    if last is None or not (len(last.done()) < last.info.n_episodes or scoring.failed(last)):
        return claim(parent, plan), True
    return last.path, False


def claim(parent: Path, plan: Plan) -> Path:
    """Make the folder of a new run and return it; whoever makes it has its number.

    Raises UsageError when the parent cannot be written.
    """
    stem = _stem(plan)
    n = 1 + max((number for number, _ in _numbered(parent, stem)), default=0)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        while (parent / f"{stem}-{n}").exists():
            n += 1
        path = parent / f"{stem}-{n}"
        path.mkdir()
    except FileExistsError:
        return claim(parent, plan)
    except OSError as error:
        raise UsageError(
            f"{parent}: cannot make a run folder there: {error.strerror}; "
            "choose another with --log-dir"
        ) from None
    return path


def create(
    path: Path,
    plan: Plan,
    tasks: Iterable[Task],
    *,
    media: Media | None = None,
    refers: Refers | None = None,
    **known: Any,
) -> None:
    """Fill a claimed folder: its tasks with their media, then `run.json`, which makes it a run.

    `known` are further fields of RunInfo. Raises UsageError when there is no task. Nothing is
    left of the folder when anything fails.
    """
    try:
        written = write_tasks(path / "tasks.jsonl", tasks, media, refers)
        if written.n == written.n_setup:
            raise UsageError("no task is left after the selection; loosen --limit, --ids or -T")
        info = RunInfo(
            format=FORMAT,
            plan=plan,
            n_tasks=written.n,
            n_setup=written.n_setup,
            tasks_sha256=written.sha256,
            **known,
        )
        write(path / "run.json", info)
    except OSError as error:
        discard(path)
        raise DataError(f"{path}: cannot write: {error.strerror}") from None
    except BaseException:
        discard(path)
        raise


def discard(path: Path) -> None:
    """Remove a claimed folder that never became a run."""
    if (path / "run.json").exists():
        return
    shutil.rmtree(path)


def withdraw(path: Path) -> None:
    """Remove a run that turned out to be wrongly asked before anything was done in it."""
    made = Run(path)
    if any(made.trajectories()) or any(made.attempts()):
        return
    (path / "run.json").unlink()
    discard(path)


def newest(parent: Path, plan: Plan) -> Run | None:
    """Return the newest run of the same plan, None if there is none."""
    found = max(_numbered(parent, _stem(plan)), default=None)
    return Run(found[1]) if found else None


def _numbered(parent: Path, stem: str) -> Iterator[tuple[int, Path]]:
    for path in parent.glob(f"{stem}-*"):
        number = path.name[len(stem) + 1 :]
        if number.isdecimal() and (path / "run.json").exists():
            yield int(number), path


def _stem(plan: Plan) -> str:
    return "-".join([*map(_slug, (plan.suite, plan.model, plan.dialect)), plan.hash])


def _slug(word: str) -> str:
    kept = re.sub("[^A-Za-z0-9._]+", "-", word)
    return kept.strip("-.")[-48:] or "x"

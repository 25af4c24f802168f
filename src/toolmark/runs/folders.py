"""The folders of runs in their parent: claimed by number, filled, found again by their plan."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.errors import DataError, ToolmarkError, UsageError
from toolmark.media import Media
from toolmark.runs.jsonl import write
from toolmark.runs.plan import Plan, differences, only_edited
from toolmark.runs.store import FORMAT, Run, RunInfo
from toolmark.runs.tasks import Refers, write_tasks
from toolmark.types import Task


class Choice(NamedTuple):
    """The run that goes on, None for a new one, and what the user should know about that.

    `accepted`: it was asked with code that was edited since, and the user accepts that.
    """

    run: Run | None
    lines: tuple[str, ...] = ()
    accepted: bool = False


def choose(
    parent: Path,
    plan: Plan,
    goes_on: Callable[[Run], str],
    *,
    accept_edits: bool = False,
    shared: Collection[str] = (),
) -> Choice:
    """Return the run that goes on: the newest one of the same request, if there is work left.

    `goes_on` says why a run does not go on, "" where it does. Where a new one begins the lines say
    what differs from the newest run of this suite and model. With `accept_edits` an edit of the
    user's code is no difference; `shared` are the modules that hold suite and scorer both. Raises
    DataError for a damaged run of the same request.
    """
    same = newest(parent, plan)
    last = same or _latest(parent, plan)
    if last is None:
        return Choice(None)
    name = last.path
    changed = differences(last.info.plan, plan)
    accepted = bool(changed) and accept_edits and only_edited(last.info.plan, plan)
    if changed and not accepted:
        lines = [f"new run: {line}" for line in changed]
        if only_edited(last.info.plan, plan):
            lines += [
                f"{module} holds the scorer too: an edit of a scorer in a file of its own asks "
                "nothing again"
                for module in shared
                if last.info.plan.modules.get(module) != plan.modules.get(module)
            ]
            if not goes_on(last):
                lines.append(f"--continue accepts the edit, and goes on with {name}")
        return Choice(None, tuple(lines))
    if why := goes_on(last):
        return Choice(None, (f"new run: {why}",))
    n, m = len(last.done()), last.info.n_episodes
    told = f"continuing {name}: {n:,} of {m:,} episodes are stored"
    return Choice(last, (told, *(f"accepted: {line}" for line in changed)), accepted)


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
    """Return the newest run that was begun with the same request, None if there is none."""
    found = max(_numbered(parent, _stem(plan)), default=None)
    return Run(found[1]) if found else None


def _latest(parent: Path, plan: Plan) -> Run | None:
    """Return the newest run of this suite and model; what is no readable run is passed over.

    One of the same request comes first, then one that differs in edits of the user's code alone.
    """
    begun: list[tuple[bool, bool, str, int, Path]] = []
    for path in parent.glob(f"{_slug(plan.suite)}-{_slug(plan.model)}-*"):
        with suppress(ToolmarkError, OSError):
            info = Run(path).info
            if (info.plan.suite, info.plan.model) == (plan.suite, plan.model):
                age = info.created, (path / "tasks.jsonl").stat().st_mtime_ns
                # one that went on after an edit keeps the name of the request that began it
                alike = info.plan.hash == plan.hash, only_edited(info.plan, plan)
                begun.append((*alike, *age, path))
    return Run(max(begun)[-1]) if begun else None


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

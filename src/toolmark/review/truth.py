"""Accepted and edited trajectories as a file of references, in the published layout."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolmark import codec
from toolmark.errors import DataError, UsageError
from toolmark.files import atomic_file
from toolmark.review import edit, episodes
from toolmark.review.episodes import Episodes
from toolmark.review.log import Decision, Log
from toolmark.suites.m3.data import told
from toolmark.types import Task

_SURROGATE = re.compile("[\ud800-\udfff]")
_SUFFIX = {"image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}


@dataclass(frozen=True, slots=True)
class Exported:
    """What a file of references holds, and what was left out of it."""

    path: Path
    n_accepted: int
    n_edited: int
    n_rejected: int
    n_open: int
    n_repeats: int


def write(found: Episodes, log: Log[Decision], path: Path) -> Exported:
    """Write a list of references, one per task; of several repeats kept, the first stands.

    An entry is `{id, image, type, question, steps, final_reply}`. Raises UsageError when nothing
    was kept, DataError when the file cannot be written; an old file is replaced by a whole one.
    """
    last = log.last()
    entries: dict[str, dict[str, Any]] = {}
    counts = dict.fromkeys(("accept", "edit", "reject", "open", "repeat"), 0)
    for task, repeat in found.keys:
        decision = last.get((task, repeat))
        if decision is None:
            counts["open"] += 1
        elif decision.decision == "reject" or task not in entries:
            counts[decision.decision] += 1
            if decision.decision != "reject":
                entries[task] = entry(found, decision)
        else:
            counts["repeat"] += 1
    if not entries:
        raise UsageError(f"{found.run.path}: nothing was accepted or edited; review it first")
    _save(path, json.dumps(list(entries.values()), ensure_ascii=False, indent=1))
    return Exported(
        path, counts["accept"], counts["edit"], counts["reject"], counts["open"], counts["repeat"]
    )


def entry(found: Episodes, decision: Decision) -> dict[str, Any]:
    """Return one reference. Raises DataError when what was accepted has not the shape of one."""
    task = found.run.task(decision.task)
    trajectory = found.trajectory((decision.task, decision.repeat))
    made = decision.steps if decision.decision == "edit" else episodes.steps(trajectory)
    try:
        steps = edit.check(_restored(list(made)))
    except edit.BadSteps as error:
        raise DataError(
            f"{found.run.path}: task {task.id!r}, repeat {decision.repeat}, cannot be a "
            f"reference: {error}; review it again and edit it"
        ) from None
    return {
        "id": codec.restore(task.id),
        "image": _image(task),
        "type": codec.restore(task.category),
        "question": _question(task),
        "steps": list(steps),
        "final_reply": codec.restore(trajectory.answer),
    }


def _image(task: Task) -> str:
    """Return the name of the task's picture, as published: below `images/`."""
    named = task.reference.get("images") if isinstance(task.reference, dict) else None
    if isinstance(named, list | tuple) and named:
        return f"images/{named[0]}"
    shown = episodes.pictures(task)
    return f"images/{task.id}{_SUFFIX.get(shown[0].mime, '.png')}" if shown else ""


def _question(task: Task) -> str:
    """Return the question without what is added when its picture's place is told."""
    asked = episodes.question(task)
    name = _image(task).removeprefix("images/")
    return asked.removesuffix(told("", name)) if name else asked


def _restored(value: Any) -> Any:
    match value:
        case str():
            return codec.restore(value)
        case dict():
            return {codec.restore(str(key)): _restored(item) for key, item in value.items()}
        case list() | tuple():
            return [_restored(item) for item in value]
        case _:
            return value


def _save(path: Path, text: str) -> None:
    # half a pair of surrogates is no Unicode, but may stand in JSON as an escape
    whole = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
    try:
        with atomic_file(path) as draft:
            draft.write_text(whole, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None

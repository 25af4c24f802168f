"""Exports accepted and edited trajectories as a file of references, in the published layout."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolmark.core import json_codec
from toolmark.core.errors import DataError, UsageError
from toolmark.core.files import atomic_file
from toolmark.core.records import Task
from toolmark.studio import review_edit_check, review_episodes
from toolmark.studio.review_episodes import ReviewEpisodes
from toolmark.studio.review_log import Decision, ReviewLog
from toolmark.suites.m3.published_tasks import question_with_picture

_SURROGATE = re.compile("[\ud800-\udfff]")
_SUFFIX = {"image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}


@dataclass(frozen=True, slots=True)
class ReferenceExport:
    """The counts of a reference file: what is in it and what was omitted."""

    path: Path
    n_accepted: int
    n_edited: int
    n_rejected: int
    n_open: int
    n_repeats: int


def write_references(
    found: ReviewEpisodes, log: ReviewLog[Decision], path: Path
) -> ReferenceExport:
    """Write a list of references, one per task; of several accepted repeats the first is used.

    An entry is `{id, image, type, question, steps, final_reply}`. Raises UsageError when nothing
    was accepted or edited, DataError when the file cannot be written. An old file is replaced only
    by a complete one.
    """
    last = log.latest_by_key()
    entries: dict[str, dict[str, Any]] = {}
    counts = dict.fromkeys(("accept", "edit", "reject", "open", "repeat"), 0)
    for task, repeat in found.keys:
        decision = last.get((task, repeat))
        if decision is None:
            counts["open"] += 1
        elif decision.decision == "reject" or task not in entries:
            counts[decision.decision] += 1
            if decision.decision != "reject":
                entries[task] = reference_entry(found, decision)
        else:
            counts["repeat"] += 1
    if not entries:
        raise UsageError(f"{found.run.path}: nothing was accepted or edited; review it first")
    _write_text(path, json.dumps(list(entries.values()), ensure_ascii=False, indent=1))
    return ReferenceExport(
        path, counts["accept"], counts["edit"], counts["reject"], counts["open"], counts["repeat"]
    )


def reference_entry(found: ReviewEpisodes, decision: Decision) -> dict[str, Any]:
    """Return one reference. Raises DataError when the decision does not have the shape of one."""
    task = found.run.task(decision.task)
    trajectory = found.trajectory((decision.task, decision.repeat))
    raw_steps = (
        decision.steps
        if decision.decision == "edit"
        else review_episodes.executed_steps(trajectory)
    )
    try:
        steps = review_edit_check.check_steps(_restore_text(list(raw_steps)))
    except review_edit_check.InvalidSteps as error:
        raise DataError(
            f"{found.run.path}: task {task.id!r}, repeat {decision.repeat}, cannot be a "
            f"reference: {error}; review it again and edit it"
        ) from None
    return {
        "id": json_codec.restore_surrogates(task.id),
        "image": _image_name(task),
        "type": json_codec.restore_surrogates(task.category),
        "question": _published_question(task),
        "steps": list(steps),
        "final_reply": json_codec.restore_surrogates(trajectory.answer),
    }


def _image_name(task: Task) -> str:
    """Return the published name of the task's picture, below `images/`."""
    image_names = review_episodes.read_review_data(task).images
    if image_names:
        return f"images/{image_names[0]}"
    task_images = review_episodes.task_pictures(task)
    return f"images/{task.id}{_SUFFIX.get(task_images[0].mime, '.png')}" if task_images else ""


def _published_question(task: Task) -> str:
    """Return the question without the added note on the place of its picture."""
    question = review_episodes.question_text(task)
    name = _image_name(task).removeprefix("images/")
    return question.removesuffix(question_with_picture("", name)) if name else question


def _restore_text(value: Any) -> Any:
    match value:
        case str():
            return json_codec.restore_surrogates(value)
        case dict():
            return {
                json_codec.restore_surrogates(str(key)): _restore_text(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [_restore_text(item) for item in value]
        case _:
            return value


def _write_text(path: Path, text: str) -> None:
    # a lone surrogate is not valid Unicode, but may be in JSON as an escape
    escaped = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
    try:
        with atomic_file(path) as draft:
            draft.write_text(escaped, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None

"""Damaged run folders: what is lost with a file, and what to do about it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from toolmark.core.errors import DataError

_TASKS_ADVICE = (
    "without its tasks the run can be neither scored nor continued; next: put the file back, or "
    "begin a new run with --fresh"
)
_DERIVED_ADVICE = "no answer is lost; next: {score}"
# for each file: what is lost with one line, and with the complete file
_ADVICE_BY_FILE = {
    "run.json": (
        "",
        "what the run was asked is lost, its answers in trajectories.jsonl are not; next: put the "
        "file back, or begin a new run with --fresh",
    ),
    "tasks.jsonl": (_TASKS_ADVICE, _TASKS_ADVICE),
    "trajectories.jsonl": (
        "this episode is lost, no other; nothing was changed; next: mend the line, or remove it "
        "and continue the run, which asks the episode again",
        "the answers are lost; next: put the file back, or remove it and continue the run, which "
        "asks them again",
    ),
    "attempts.jsonl": (
        "no answer is lost, but why an episode was not run; nothing was changed; next: mend or "
        "remove the line",
        "no answer is lost, but why episodes were not run; next: remove it",
    ),
    "judgements.jsonl": (
        "what a judge said is lost; nothing was changed; next: mend the line, or remove it and "
        "give toolmark judge again",
        "what judges said is lost; next: put the file back, or remove it and give toolmark judge "
        "again",
    ),
    "judging.json": (
        "",
        "delete it and give toolmark judge again with the same judges: what they said is kept in "
        "judgements.jsonl and not asked again",
    ),
    "scores.jsonl": (_DERIVED_ADVICE, _DERIVED_ADVICE),
    "presentation.json": ("", _DERIVED_ADVICE),
    "views.jsonl": (_DERIVED_ADVICE, _DERIVED_ADVICE),
    "summary.json": ("", _DERIVED_ADVICE),
}
_DEFAULT_ADVICE = ("nothing was changed; mend or remove the line", "next: put the file back")


def damage_advice(path: Path, *, line: bool = True) -> str:
    """Say what is lost with a file, or one `line` of it, that cannot be read, and what to do."""
    of_line, of_file = _ADVICE_BY_FILE.get(path.name, _DEFAULT_ADVICE)
    score = shlex.join(["toolmark", "score", str(path.parent)])
    return (of_line if line else of_file).format(score=score)


def has_content(path: Path) -> bool:
    """Return whether the path exists and is not an empty file.

    It may also be something other than a file, which its reader refuses.
    """
    return os.path.lexists(path) and not (path.is_file() and not path.stat().st_size)


def check_files(folder: Path, names: Iterable[str]) -> None:
    """Raise DataError where one of these names exists but is not a file.

    Check this early: a file that is written last would fail last, after everything was asked.
    """
    for name in names:
        path = folder / name
        if os.path.lexists(path) and not path.is_file():
            raise DataError(f"{path}: not a file; nothing was changed; next: remove it")

"""Work that goes on by rounds of calls, several pieces of it side by side."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from toolmark.models.baselines.desk_kit import Kit
from toolmark.types import Call

_FAILED = re.compile(r"\s*(?:\w* ?error\b|ENOENT|EACCES|parent directory|no such|failed)", re.I)

# yields calls to be made at once, is sent the texts of their results, ends with what is to be told:
# the rows that were made, or as they are now
Work: TypeAlias = Generator[list[Call], list[str], list[Any]]


def together(pieces: Sequence[Work]) -> Work:
    """Do the work of all pieces round by round: the calls of a round are made at once."""
    told: list[list[Any]] = [[] for _ in pieces]
    waiting: dict[int, list[Call]] = {}

    def go(at: int, results: list[str] | None) -> None:
        waiting.pop(at, None)
        try:
            waiting[at] = next(pieces[at]) if results is None else pieces[at].send(results)
        except StopIteration as end:
            told[at] = end.value

    for at in range(len(pieces)):
        go(at, None)
    while waiting:
        current = sorted(waiting.items())
        results = yield [call for _, calls in current for call in calls]
        for at, calls in current:
            go(at, results[: len(calls)])
            results = results[len(calls) :]
    return [one for some in told for one in some]


def persist(kit: Kit, calls: list[Call], path: str = "") -> Work:
    """Make calls; those that fail are made once more, after the folder of `path` if it lacks."""
    results = yield calls
    failed = [call for call, text in zip(calls, results, strict=False) if _FAILED.match(text)]
    folder = kit.call("create directory", path=str(PurePosixPath(path).parent)) if path else None
    if failed and folder:
        yield [folder]
    if failed:
        yield failed
    return []

"""Work in rounds of calls; several pieces of work can run at the same time."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from toolmark.baselines.desk_tools import Toolkit
from toolmark.core.records import Call

_FAILURE_TEXT = re.compile(
    r"\s*(?:\w* ?error\b|ENOENT|EACCES|parent directory|no such|failed)", re.I
)

# yields calls to be made at once, receives the texts of their results, returns what to report:
# the rows that were added, or the changed rows
CallRounds: TypeAlias = Generator[list[Call], list[str], list[Any]]


def run_side_by_side(pieces: Sequence[CallRounds]) -> CallRounds:
    """Do the work of all pieces round by round: the calls of a round are made at once."""
    outcomes: list[list[Any]] = [[] for _ in pieces]
    pending: dict[int, list[Call]] = {}

    def advance(index: int, results: list[str] | None) -> None:
        pending.pop(index, None)
        try:
            pending[index] = next(pieces[index]) if results is None else pieces[index].send(results)
        except StopIteration as end:
            outcomes[index] = end.value

    for index in range(len(pieces)):
        advance(index, None)
    while pending:
        current = sorted(pending.items())
        results = yield [call for _, calls in current for call in calls]
        for index, calls in current:
            advance(index, results[: len(calls)])
            results = results[len(calls) :]
    return [row for rows in outcomes for row in rows]


def call_with_retry(toolkit: Toolkit, calls: list[Call], path: str = "") -> CallRounds:
    """Make calls; retry failed ones once, after an attempt to create the folder of `path`."""
    results = yield calls
    failed = [call for call, text in zip(calls, results, strict=False) if _FAILURE_TEXT.match(text)]
    folder = (
        toolkit.best_call("create directory", path=str(PurePosixPath(path).parent))
        if path
        else None
    )
    if failed and folder:
        yield [folder]
    if failed:
        yield failed
    return []

"""Official result files as episodes: stored runs of others, to be scored here.

What a file holds is data. It is read as JSON within limits, and checked before anything is
scored: rows that cannot be used are listed with file and line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolmark import codec
from toolmark.errors import DataError, UsageError, near
from toolmark.suites.bfcl import leaderboard
from toolmark.suites.bfcl.handlers import NATIVE, PROMPT, Misshapen, Way
from toolmark.suites.bfcl.stored import Reader, Row
from toolmark.types import Task, Trajectory

FOLDERS = ("non_live", "live", "multi_turn", "agentic", "format_sensitivity")
OLD = {"simple": "simple_python", "java": "simple_java", "javascript": "simple_javascript"}
RETIRED = ("exec_", "rest", "sql", "chatable", "multi_turn_composite")
CATEGORIES = (*leaderboard.ENTRIES, leaderboard.UNSCORED)

_FILE = re.compile(r"BFCL_v\d+_(\w+?)_result\.json")
_MAX_BYTES = 64 * 2**20  # of a line
_MAX_FILE_BYTES = 2 * 2**30
_RETIRED = "no longer part of BFCL"
_ALONE = "conversations that lead up to a category without a file"


class Problem(NamedTuple):
    """A row, or the lack of one, that cannot be scored; line 0 is the file as a whole."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        """Return `file, line n: what is wrong`."""
        where = f"{self.path}, line {self.line}" if self.line else str(self.path)
        return codec.escape(f"{where}: {self.text}")


class Source(NamedTuple):
    """One model's result files."""

    name: str
    files: tuple[Path, ...]


class Place(NamedTuple):
    """A row and where it stands."""

    path: Path
    line: int
    row: Row


_row = msgspec.json.Decoder(Row)


@dataclass(slots=True)
class Rows:
    """The rows of a source by id, all that is wrong with them, and why files were left out."""

    found: dict[str, Place] = field(default_factory=dict)
    bad: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[Path, str] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that have a file, in the published order."""
        return tuple(name for name in CATEGORIES if name in self.files)


def sources(folder: Path, model: str | None = None) -> list[Source]:
    """Return the models whose result files lie in a folder: a result folder or one model's own.

    `model` picks one of several, or names the only one. Raises UsageError if there is none.
    """
    grouped: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("BFCL_v*_result.json")):
        parts = path.relative_to(folder).parts
        own = len(parts) == 1 or parts[0] in FOLDERS
        grouped.setdefault(folder.resolve().name if own else parts[0], []).append(path)
    if not grouped:
        raise UsageError(f"{folder}: no file BFCL_v*_result.json in it or below")
    if model is None:
        return [Source(name, tuple(files)) for name, files in grouped.items()]
    wanted = model.replace("/", "_")
    if wanted not in grouped and len(grouped) > 1:
        raise UsageError(f"{folder}: no results of {model!r}{near(wanted, grouped)}")
    return [Source(model, tuple(grouped.get(wanted) or next(iter(grouped.values()))))]


def read(source: Source) -> Rows:
    """Read all rows of a source. What is wrong is collected, not raised."""
    rows = Rows()
    names = {path: named[1] for path in source.files if (named := _FILE.fullmatch(path.name))}
    present = {OLD.get(name, name) for name in names.values()}
    for path in source.files:
        name = names.get(path, path.name)
        category = OLD.get(name, name)
        scored = category.removesuffix("_prereq")
        if name.startswith(RETIRED):
            rows.skipped[path] = _RETIRED
        elif scored not in CATEGORIES:
            rows.problems.append(Problem(path, 0, f"no category {name!r} in BFCL V4"))
        elif scored not in present:
            rows.skipped[path] = _ALONE
        elif odd := _odd(path):
            rows.problems.append(Problem(path, 0, odd))
        else:
            rows.files[category] = path
            _gather(rows, path, name)
    return rows


def _odd(path: Path) -> str:
    """Return why a file is not opened at all, "" for nothing: a pipe is read from for ever."""
    try:
        if not path.is_file():
            return "not a regular file"
        size = path.stat().st_size
    except OSError as error:
        return f"cannot read: {error.strerror}"
    return f"{size} bytes; the limit is {_MAX_FILE_BYTES}" if size > _MAX_FILE_BYTES else ""


def _lines(path: Path) -> Iterator[bytes]:
    """Go through a file's lines; of one beyond the limit no more is held than shows that it is."""
    try:
        with path.open("rb") as file:
            while line := file.readline(_MAX_BYTES + 1):
                rest = line
                while not rest.endswith(b"\n") and (rest := file.readline(_MAX_BYTES)):
                    pass
                yield line
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None


def _gather(rows: Rows, path: Path, name: str) -> None:
    """Read one file; `name` is the category as its file and ids have it."""
    old = re.compile(rf"{name}(?=_\d)") if name in OLD else None
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = _parsed(line)
        except Misshapen as wrong:
            rows.problems.append(Problem(path, number, str(wrong)))
            continue
        id = OLD[name] + row.id[len(name) :] if old and old.match(row.id) else row.id
        if id in rows.found:
            first = rows.found[id]
            rows.bad[id] = f"{id} stands already in {first.path}, line {first.line}"
            rows.problems.append(Problem(path, number, rows.bad[id]))
        else:
            rows.found[id] = Place(path, number, row)


def _parsed(line: bytes) -> Row:
    if len(line) > _MAX_BYTES:
        raise Misshapen(f"a line of more than {_MAX_BYTES} bytes")
    try:
        return _row.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # msgspec is stricter than Python's json, which wrote these files
    try:
        return msgspec.convert(json.loads(line), Row)
    except msgspec.ValidationError as error:
        raise Misshapen(f"not a result row: {error}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Misshapen(f"not JSON, or cut short: {error}") from None


def guess(rows: Rows) -> Way:
    """Return the way of a model that is not listed: any structured call means native."""
    found = any(_structured(place.row.result) for place in rows.found.values())
    return NATIVE if found else PROMPT


def _structured(result: Any, depth: int = 3) -> bool:
    if isinstance(result, list) and depth:
        return any(_structured(item, depth - 1) for item in result)
    return isinstance(result, dict)


def episodes(
    rows: Rows, tasks: Iterable[Task], reader: Reader, *, lenient: bool
) -> Iterator[tuple[Task, Trajectory | str]]:
    """Go through the tasks of the rows' categories: what happened in each, or why it is not run.

    A set-up task needs no row: its conversation is not scored. All that is wrong is in
    `rows.problems` at the end; unless `lenient`, anything there raises a DataError that lists it.
    """
    for task in tasks:
        place = rows.found.pop(task.id, None)
        if task.id in rows.bad:
            yield task, rows.bad[task.id]
        elif place is None:
            if task.kind == "scored":
                text = f"no row for {task.id}"
                rows.problems.append(Problem(rows.files[task.category], 0, text))
            yield task, "no row"
        else:
            yield task, _read(rows, task, place, reader)
    for id, (path, line, _) in rows.found.items():
        rows.problems.append(Problem(path, line, f"no entry {id!r} in this category"))
    if rows.problems and not lenient:
        raise DataError(listed(rows.problems))


def _read(rows: Rows, task: Task, place: Place, reader: Reader) -> Trajectory | str:
    try:
        return reader.trajectory(task, place.row)
    except Misshapen as wrong:
        rows.problems.append(Problem(place.path, place.line, f"{task.id}: {wrong}"))
        return str(wrong)


def listed(problems: Iterable[Problem]) -> str:
    """Return all problems as one text, by file and line."""
    lines = [str(problem) for problem in sorted(problems)]
    return "\n".join(
        [
            f"{len(lines)} rows cannot be scored; --lenient leaves them out as not run:",
            *(f"  {line}" for line in lines),
        ]
    )

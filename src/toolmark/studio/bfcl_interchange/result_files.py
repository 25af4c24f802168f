"""Official result files as episodes: stored runs of others, to be scored here.

The content of a file is untrusted. It is parsed as JSON within limits, and checked before anything
is scored: unusable rows are listed with file and line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolmark.core import json_codec
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.number_format import format_count
from toolmark.core.records import Task, Trajectory
from toolmark.official_bfcl import official_data
from toolmark.official_bfcl.handler_replies import MalformedResult
from toolmark.studio.bfcl_interchange.official_handlers import (
    NATIVE_FORMAT,
    PROMPT_FORMAT,
    HandlerFormat,
)
from toolmark.studio.bfcl_interchange.result_rows import ResultRow, RowReader
from toolmark.suites.bfcl import leaderboard

CATEGORY_FOLDERS = ("non_live", "live", "multi_turn", "agentic", "format_sensitivity")
RENAMED_CATEGORIES = {
    "simple": "simple_python",
    "java": "simple_java",
    "javascript": "simple_javascript",
}
RETIRED_PREFIXES = ("exec_", "rest", "sql", "chatable", "multi_turn_composite")

_RESULT_FILE = re.compile(r"BFCL_v\d+_(\w+?)_result\.json")
MAX_LINE_BYTES = 64 * 2**20  # of a line
_MAX_FILE_BYTES = 2 * 2**30
_RETIRED_NOTE = "no longer part of BFCL"
_WITHOUT_CATEGORY_NOTE = "conversations that lead up to a category without a file"


def result_categories() -> tuple[str, ...]:
    """Return the categories that result files can be of, in the order of the leaderboard."""
    return (*official_data.category_sizes(), leaderboard.UNSCORED)


class RowProblem(NamedTuple):
    """A row, or a missing row, that cannot be scored; line 0 means the complete file."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        """Return `file, line n: what is wrong`."""
        location = f"{self.path}, line {self.line}" if self.line else str(self.path)
        return json_codec.escape_surrogates(f"{location}: {self.text}")


class ModelFiles(NamedTuple):
    """One model's result files."""

    name: str
    files: tuple[Path, ...]


class LocatedRow(NamedTuple):
    """A row with its file and line."""

    path: Path
    line: int
    row: ResultRow


_row_decoder = msgspec.json.Decoder(ResultRow)


@dataclass(slots=True)
class ResultRows:
    """The rows of a source by id, all problems with them, and why files were skipped."""

    by_id: dict[str, LocatedRow] = field(default_factory=dict)
    problem_by_id: dict[str, str] = field(default_factory=dict)
    problems: list[RowProblem] = field(default_factory=list)
    skipped: dict[Path, str] = field(default_factory=dict)
    file_of_category: dict[str, Path] = field(default_factory=dict)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that have a file, in the published order."""
        return tuple(name for name in result_categories() if name in self.file_of_category)


def find_models(folder: Path, model: str | None = None) -> list[ModelFiles]:
    """Return the models with result files in a folder: a result folder or one model's own.

    `model` selects one of several, or names the only one. Raises UsageError if there is none.
    """
    grouped: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("BFCL_v*_result.json")):
        parts = path.relative_to(folder).parts
        is_own_folder = len(parts) == 1 or parts[0] in CATEGORY_FOLDERS
        grouped.setdefault(folder.resolve().name if is_own_folder else parts[0], []).append(path)
    if not grouped:
        raise UsageError(f"{folder}: no file BFCL_v*_result.json in it or below")
    if model is None:
        return [ModelFiles(name, tuple(files)) for name, files in grouped.items()]
    folder_name = model.replace("/", "_")
    if folder_name not in grouped and len(grouped) > 1:
        raise UsageError(f"{folder}: no results of {model!r}{suggest_names(folder_name, grouped)}")
    return [ModelFiles(model, tuple(grouped.get(folder_name) or next(iter(grouped.values()))))]


def read_rows(source: ModelFiles) -> ResultRows:
    """Read all rows of a source. Problems are collected, not raised."""
    rows = ResultRows()
    names = {
        path: named[1] for path in source.files if (named := _RESULT_FILE.fullmatch(path.name))
    }
    present = {RENAMED_CATEGORIES.get(name, name) for name in names.values()}
    for path in source.files:
        name = names.get(path, path.name)
        category = RENAMED_CATEGORIES.get(name, name)
        scored = category.removesuffix("_prereq")
        if name.startswith(RETIRED_PREFIXES):
            rows.skipped[path] = _RETIRED_NOTE
        elif scored not in result_categories():
            rows.problems.append(RowProblem(path, 0, f"no category {name!r} in BFCL V4"))
        elif scored not in present:
            rows.skipped[path] = _WITHOUT_CATEGORY_NOTE
        elif problem := file_problem(path):
            rows.problems.append(RowProblem(path, 0, problem))
        else:
            rows.file_of_category[category] = path
            _read_file(rows, path, name)
    return rows


def file_problem(path: Path) -> str:
    """Return why a file is not opened, "" for no problem: reading a pipe might never end."""
    try:
        if not path.is_file():
            return "not a regular file"
        size = path.stat().st_size
    except OSError as error:
        return f"cannot read: {error.strerror}"
    return f"{size} bytes; the limit is {_MAX_FILE_BYTES}" if size > _MAX_FILE_BYTES else ""


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield a file's lines; a line over the limit is cut one byte after the limit."""
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                chunk = line
                while not chunk.endswith(b"\n") and (chunk := file.readline(MAX_LINE_BYTES)):
                    pass
                yield line
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None


def _read_file(rows: ResultRows, path: Path, name: str) -> None:
    """Read one file; `name` is the category as in its file name and ids."""
    old_id = re.compile(rf"{name}(?=_\d)") if name in RENAMED_CATEGORIES else None
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = parse_row(line)
        except MalformedResult as error:
            rows.problems.append(RowProblem(path, number, str(error)))
            continue
        id = (
            RENAMED_CATEGORIES[name] + row.id[len(name) :]
            if old_id and old_id.match(row.id)
            else row.id
        )
        if id in rows.by_id:
            first = rows.by_id[id]
            rows.problem_by_id[id] = f"{id} stands already in {first.path}, line {first.line}"
            rows.problems.append(RowProblem(path, number, rows.problem_by_id[id]))
        else:
            rows.by_id[id] = LocatedRow(path, number, row)


def parse_row(line: bytes) -> ResultRow:
    """Return the row of a line. Raises MalformedResult for a line that is none, or too long."""
    if len(line) > MAX_LINE_BYTES:
        raise MalformedResult(f"a line of more than {MAX_LINE_BYTES} bytes")
    try:
        return _row_decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # msgspec is stricter than Python's json, which wrote these files
    try:
        return msgspec.convert(json.loads(line), ResultRow)
    except msgspec.ValidationError as error:
        raise MalformedResult(f"not a result row: {describe_decode_error(error)}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise MalformedResult(f"not JSON, or cut short: {error}") from None


def guess_handler_format(rows: ResultRows) -> HandlerFormat:
    """Return the format of a model that is not listed: any structured call means native."""
    found = any(_holds_calls(located.row.result) for located in rows.by_id.values())
    return NATIVE_FORMAT if found else PROMPT_FORMAT


def _holds_calls(result: Any, depth: int = 3) -> bool:
    if isinstance(result, list) and depth:
        return any(_holds_calls(item, depth - 1) for item in result)
    return isinstance(result, dict)


def read_episodes(
    rows: ResultRows, tasks: Iterable[Task], reader: RowReader, *, lenient: bool
) -> Iterator[tuple[Task, Trajectory | str]]:
    """Yield the tasks of the rows' categories, each with its trajectory, or why it is not run.

    A set-up task needs no row: its conversation is not scored. All problems are in
    `rows.problems` at the end; unless `lenient`, any problem raises a DataError that lists all.
    """
    for task in tasks:
        located = rows.by_id.pop(task.id, None)
        if task.id in rows.problem_by_id:
            yield task, rows.problem_by_id[task.id]
        elif located is None:
            if task.kind == "scored":
                text = f"no row for {task.id}"
                rows.problems.append(RowProblem(rows.file_of_category[task.category], 0, text))
            yield task, "no row"
        else:
            yield task, _read_episode(rows, task, located, reader)
    for id, (path, line, _) in rows.by_id.items():
        rows.problems.append(RowProblem(path, line, f"no entry {id!r} in this category"))
    if rows.problems and not lenient:
        raise DataError(format_problems(rows.problems))


def _read_episode(
    rows: ResultRows, task: Task, located: LocatedRow, reader: RowReader
) -> Trajectory | str:
    try:
        return reader.read_trajectory(task, located.row)
    except MalformedResult as error:
        rows.problems.append(RowProblem(located.path, located.line, f"{task.id}: {error}"))
        return str(error)


def format_problems(problems: Iterable[RowProblem]) -> str:
    """Return all problems as one text, by file and line."""
    lines = [str(problem) for problem in sorted(problems)]
    return "\n".join(
        [
            f"{format_count(len(lines))} rows cannot be scored; --lenient leaves them out as not "
            "run:",
            *(f"  {line}" for line in lines),
        ]
    )

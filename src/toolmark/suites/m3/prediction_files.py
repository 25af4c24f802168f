"""Prediction files in the published layout: reading, checking and writing.

A prediction is an object with `id`, `steps` of `calls` with `name`, `arguments` and `result`, the
rounds of the `dialogue` and the `final_reply` (specification, section 1.4). Content of a file is
only data: it is read as JSON within limits, and every problem is reported by its JSON path.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from toolmark.core import json_codec
from toolmark.core.decode_errors import describe_decode_error, field_path
from toolmark.core.errors import DataError, UsageError
from toolmark.core.files import atomic_file

# Keys under which a file may have its list.
LIST_KEYS = ("data", "items", "results", "predictions")
_MAX_BYTES = 512 * 2**20
T = TypeVar("T")


class EntryProblem(NamedTuple):
    """An entry that cannot be scored: its JSON path and the reason."""

    where: str
    text: str

    def __str__(self) -> str:
        """Return `$[3].steps[0]: what is wrong`."""
        return json_codec.escape_surrogates(f"{self.where}: {self.text}")


class EntryRow(NamedTuple):
    """An entry as read, and its JSON path."""

    where: str
    entry: dict[str, Any]


@dataclass(slots=True)
class PredictionRows:
    """The usable entries of a file by id, the reason for each bad id, and all problems."""

    path: Path
    rows_by_id: dict[str, EntryRow] = field(default_factory=dict)
    problem_by_id: dict[str, str] = field(default_factory=dict)
    problems: list[EntryProblem] = field(default_factory=list)


class _Call(msgspec.Struct):
    name: str


class _Stage(msgspec.Struct):
    calls: list[_Call]


class _Work(msgspec.Struct):
    tool_calls: list[dict[str, Any]]


class _Round(msgspec.Struct):
    work: _Work
    prepare: str | None = None
    end: str | None = None


class _Entry(msgspec.Struct):
    """The required shape of a prediction. Other fields are ignored here and stay in the entry."""

    id: str
    steps: list[_Stage]
    question: str = ""
    image: str = ""
    type: str = ""
    final_reply: str | None = None
    dialogue: list[_Round] | None = None


def read_predictions(path: Path, *, last: bool = False) -> PredictionRows:
    """Read a prediction file; problems of single entries are collected, not raised.

    If several entries have the same id, none of them counts; with `last` the last one counts, as in
    the reference code. Raises UsageError for a missing file, DataError for a file that is not a
    list of entries.
    """
    rows = PredictionRows(path)
    for where, entry in iterate_entries(path, "id, steps, final_reply"):
        found = convert_entry(entry, _Entry, where)
        if isinstance(found, EntryProblem):
            rows.problems.append(found)
            _reject_id(rows, entry, str(found))
            continue
        id: str = entry["id"]
        if id in rows.rows_by_id and not last:
            duplicate = EntryProblem(
                where, f"{id} stands already at {rows.rows_by_id.pop(id).where}"
            )
            rows.problems.append(duplicate)
            rows.problem_by_id[id] = str(duplicate)
        elif id in rows.problem_by_id and not last:
            rows.problems.append(EntryProblem(where, f"{id} stands there before"))
        else:
            rows.problem_by_id.pop(id, None)
            rows.rows_by_id[id] = EntryRow(where, entry)
    return rows


def _reject_id(rows: PredictionRows, entry: Any, reason: str) -> None:
    """Mark the id of a bad entry as unusable, so that no entry with that id counts."""
    id = entry.get("id") if isinstance(entry, dict) else None
    if isinstance(id, str):
        rows.rows_by_id.pop(id, None)
        rows.problem_by_id[id] = reason


def convert_entry(entry: Any, kind: type[T], where: str) -> T | EntryProblem:
    """Return an entry as a struct of this kind, or the problem with its JSON path."""
    if _is_too_deep(entry):
        return EntryProblem(where, f"nested deeper than {json_codec.MAX_JSON_DEPTH}")
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        place = where + field_path(error)
        message = describe_decode_error(error, where=where).removeprefix(f"{place}: ")
        is_number = place == f"{where}.id" and isinstance(entry["id"], int)
        return EntryProblem(place, message + ("; write it as a text" if is_number else ""))


def _is_too_deep(entry: Any) -> bool:
    pending = [(entry, 1)]
    while pending:
        value, depth = pending.pop()
        inner = value.values() if isinstance(value, dict) else value
        if isinstance(value, (dict, list)):
            if depth > json_codec.MAX_JSON_DEPTH:
                return True
            pending += [(item, depth + 1) for item in inner]
    return False


def iterate_entries(path: Path, fields: str) -> Iterator[tuple[str, Any]]:
    """Yield each entry with its JSON path.

    A file is a list, an object of entries by id, or an object with one list under a key of
    `LIST_KEYS`. In an object by id, an entry without `id` gets its key as id. Raises UsageError for
    a missing file, and DataError, with line and column for invalid JSON, for any other content.
    `fields` names the expected fields in that message.
    """
    found = _load_json(path)
    root = "$"
    if isinstance(found, dict):
        names = [name for name in LIST_KEYS if isinstance(found.get(name), list)]
        if len(names) == 1:
            root, found = f"$.{names[0]}", found[names[0]]
    if isinstance(found, list):
        yield from ((f"{root}[{at}]", entry) for at, entry in enumerate(found))
    elif isinstance(found, dict):
        for id, entry in found.items():
            with_id = {"id": id, **entry} if isinstance(entry, dict) else entry
            yield f"$[{json.dumps(id)}]", with_id
    else:
        raise DataError(f"{path}: $: expected a list of objects with {fields}")


def _load_json(path: Path) -> Any:
    try:
        if not path.is_file():
            if not path.exists():
                raise UsageError(f"{path}: no such file")
            raise DataError(f"{path}: not a file")
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise DataError(f"{path}: {size} bytes; the limit is {_MAX_BYTES}")
        # Not msgspec: the reference code writes NaN.
        return json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        location = f"{path}, line {error.lineno}, column {error.colno}"
        raise DataError(f"{location}: not JSON, or cut short: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise DataError(
            f"{path}: not JSON that can be read: too deep, or too long a number"
        ) from None


def match_tasks(rows: PredictionRows, known: Collection[str]) -> list[str]:
    """Report every entry with an unknown id as a problem; return the known ids without an entry."""
    for id in [id for id in rows.rows_by_id if id not in known]:
        rows.problems.append(
            EntryProblem(rows.rows_by_id.pop(id).where, f"no task {id!r} in the truths")
        )
    return [id for id in known if id not in rows.rows_by_id and id not in rows.problem_by_id]


def problems_text(path: Path, problems: Iterable[EntryProblem]) -> str:
    """Return all problems of a file as one text."""
    lines = [f"  {problem}" for problem in problems]
    return "\n".join([f"{path}: {len(lines)} entries cannot be used:", *lines])


def write_entries(path: Path, entries: Iterable[dict[str, Any]]) -> None:
    """Write entries as one list, as in the published files. Raises UsageError."""
    text = json.dumps(list(entries), ensure_ascii=False, indent=2) + "\n"
    try:
        with atomic_file(path) as draft:
            # A lone surrogate has no UTF-8 form; in JSON it is written as an escape.
            draft.write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None

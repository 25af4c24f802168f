"""Predictions in the published layout as episodes, and episodes in that layout.

A prediction is an object with `id`, `steps` of `calls` with `name`, `arguments` and `result`, the
rounds of the `dialogue` and the `final_reply` (specification, section 1.4). What a file holds is
data: it is read as JSON within limits, and everything wrong is named by its JSON path.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from toolmark import codec
from toolmark.errors import DataError, UsageError
from toolmark.files import atomic_file

LISTS = ("data", "items", "results", "predictions")  # keys under which a file may hold its list
_MAX_BYTES = 512 * 2**20
_NUMBERED = "Expected `str`, got `int`"
T = TypeVar("T")


class Problem(NamedTuple):
    """An entry that cannot be scored: where it stands, and why."""

    where: str
    text: str

    def __str__(self) -> str:
        """Return `$[3].steps[0]: what is wrong`."""
        return codec.escape(f"{self.where}: {self.text}")


class Row(NamedTuple):
    """An entry as it was read, and its JSON path."""

    where: str
    entry: dict[str, Any]


@dataclass(slots=True)
class Rows:
    """The entries of a file by id, those that cannot be used, and all that is wrong."""

    path: Path
    found: dict[str, Row] = field(default_factory=dict)
    bad: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


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
    """What must hold of a prediction; everything beyond it is kept as it is."""

    id: str
    steps: list[_Stage]
    question: str = ""
    image: str = ""
    type: str = ""
    final_reply: str | None = None
    dialogue: list[_Round] | None = None


def read(path: Path, *, last: bool = False) -> Rows:
    """Read a file of predictions. What is wrong with single entries is collected, not raised.

    Of entries with one id none counts, or the last one where `last` says so, as in the reference
    code. Raises DataError for a file that is no list of entries at all.
    """
    rows = Rows(path)
    for where, entry in entries(path, "id, steps, final_reply"):
        found = shaped(entry, _Entry, where)
        if isinstance(found, Problem):
            rows.problems.append(found)
            _bar(rows, entry, str(found))
            continue
        id: str = entry["id"]
        if id in rows.found and not last:
            twice = Problem(where, f"{id} stands already at {rows.found.pop(id).where}")
            rows.problems.append(twice)
            rows.bad[id] = str(twice)
        elif id in rows.bad and not last:
            rows.problems.append(Problem(where, f"{id} stands there before"))
        else:
            rows.bad.pop(id, None)
            rows.found[id] = Row(where, entry)
    return rows


def _bar(rows: Rows, entry: Any, why: str) -> None:
    """Have no entry count of the id that a wrong one names."""
    id = entry.get("id") if isinstance(entry, dict) else None
    if isinstance(id, str):
        rows.found.pop(id, None)
        rows.bad[id] = why


def shaped(entry: Any, kind: type[T], where: str) -> T | Problem:
    """Return an entry as a struct of this kind, or what is wrong with it, by its JSON path."""
    if _deep(entry):
        return Problem(where, f"nested deeper than {codec.MAX_DEPTH}")
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at `$")
        place = place.rstrip("`")
        mend = "; write it as a text" if place == ".id" and said == _NUMBERED else ""
        return Problem(where + place, said + mend)


def _deep(entry: Any) -> bool:
    held = [(entry, 1)]
    while held:
        value, depth = held.pop()
        inner = value.values() if isinstance(value, dict) else value
        if isinstance(value, (dict, list)):
            if depth > codec.MAX_DEPTH:
                return True
            held += [(item, depth + 1) for item in inner]
    return False


def entries(path: Path, fields: str) -> Iterator[tuple[str, Any]]:
    """Go through the entries with their JSON paths: of a list, of an object by id, or inside one.

    An entry of an object by id has that id where it says none itself. Raises UsageError where
    there is no file, DataError, with line and column, for one of another form; `fields` are named
    as what was expected.
    """
    found = _loaded(path)
    root = "$"
    if isinstance(found, dict):
        names = [name for name in LISTS if isinstance(found.get(name), list)]
        if len(names) == 1:
            root, found = f"$.{names[0]}", found[names[0]]
    if isinstance(found, list):
        yield from ((f"{root}[{at}]", entry) for at, entry in enumerate(found))
    elif isinstance(found, dict):
        for id, entry in found.items():
            named = {"id": id, **entry} if isinstance(entry, dict) else entry
            yield f"$[{json.dumps(id)}]", named
    else:
        raise DataError(f"{path}: $: expected a list of objects with {fields}")


def _loaded(path: Path) -> Any:
    try:
        if not path.is_file():
            if not path.exists():
                raise UsageError(f"{path}: no such file")
            raise DataError(f"{path}: not a file")
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise DataError(f"{path}: {size} bytes; the limit is {_MAX_BYTES}")
        return json.loads(path.read_bytes())  # not msgspec: the reference code writes NaN
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        place = f"{path}, line {error.lineno}, column {error.colno}"
        raise DataError(f"{place}: not JSON, or cut short: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise DataError(
            f"{path}: not JSON that can be read: too deep, or too long a number"
        ) from None


def match(rows: Rows, known: Collection[str]) -> list[str]:
    """Note every entry whose id is not known; return the known ids without any entry."""
    for id in [id for id in rows.found if id not in known]:
        rows.problems.append(Problem(rows.found.pop(id).where, f"no task {id!r} in the truths"))
    return [id for id in known if id not in rows.found and id not in rows.bad]


def listed(path: Path, problems: Iterable[Problem]) -> str:
    """Return all problems of a file as one text."""
    lines = [f"  {problem}" for problem in problems]
    return "\n".join([f"{path}: {len(lines)} entries cannot be used:", *lines])


def write(path: Path, made: Iterable[dict[str, Any]]) -> None:
    """Write entries as the published files are: one list. Raises UsageError."""
    text = json.dumps(list(made), ensure_ascii=False, indent=2) + "\n"
    try:
        with atomic_file(path) as draft:
            # a lone surrogate has no UTF-8; in JSON it is written as its escape
            draft.write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None

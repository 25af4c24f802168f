"""What was seen and read: records of every kind of source, and which of them belong together."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from toolmark.models.baselines.spans import stems

Row = dict[str, Any]

_MAX_CHARS = 100_000
_MIN_CHARS = 3
_PLURAL = re.compile(r"(?<=[a-z]{3})s\b")
_WORD = re.compile(r"[^\W_]+")
_DEEP = (ValueError, RecursionError, MemoryError)
_KEY, _VALUE, _SELF = "key", "value", "file"


class Table(NamedTuple):
    """Records of one source: `kind` is rows, sheet or file; `place` the path where it has one."""

    name: str
    kind: str
    place: str
    rows: list[Row]

    @property
    def key(self) -> str:
        """The first column, by which records are known."""
        return next(iter(self.rows[0]), "") if self.rows else ""


class Link(NamedTuple):
    """A record that the picture or the question speaks of, and of which table it is."""

    table: Table
    row: Row
    seen: bool


class Facts:
    """All that is known. `seen` is the picture's text, `codes` what was decoded from it."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.seen = ""
        self.codes: list[str] = []
        self.paths: list[str] = []
        self.tables: list[Table] = []
        self.texts: dict[str, str] = {}

    def links(self, *, apart: str = "") -> list[Link]:
        """Return the records named in the picture, then in the question, then those they lead to.

        A record leads to another one whose first column holds one of its values. The table called
        `apart` is left out.
        """
        tables = [table for table in self.tables if table.name != apart and table.rows]
        picture = _flat(" ".join((self.seen, *self.codes)))
        found = [link for table in tables for link in _named(table, picture, seen=True)]
        asked = _flat(self.question)
        found += [link for table in tables for link in _named(table, asked, seen=False)]
        return list(_closed(found, tables))

    def look(self, phrase: str, links: Sequence[Link]) -> Any:
        """Return the value whose column, and table, share most words with a phrase; else None."""
        asked = terms(phrase)
        best: tuple[float, Any] = (0.0, None)
        for table, row, _ in links:
            for column, value in row.items():
                weight = 2.0 * len(asked & terms(column))
                if weight and value is not None:
                    weight += len(asked & terms(table.name))
                    best = max(best, (weight, value), key=lambda one: one[0])
        return best[1]

    def find(self, name: str) -> str:
        """Return the path that a name stands for, by its end; "" where there is none."""
        tail = name.strip("/").casefold()
        fits = [path for path in self.paths if f"/{path.casefold()}".endswith(f"/{tail}")]
        return min(fits, key=len, default="")

    def read(self, path: str, text: str) -> None:
        """Keep a file's text, and its records where it holds such."""
        self.texts[path] = text
        name = PurePosixPath(path).stem
        rows = _rows(path, text, name)
        if rows:
            self.tables.append(Table(name, "file", path, rows))


def terms(text: str) -> set[str]:
    """Return the stems of the words of a text; the singular and the plural of a word are alike."""
    return stems(_PLURAL.sub("", text))


def says(name: Any, flat: str) -> bool:
    """Tell whether a text, made flat, holds a value as whole words."""
    told = _flat(str(name)).strip()
    return len(told) >= _MIN_CHARS and f" {told} " in flat


def flat(text: str) -> str:
    """Return the words of a text in lower case, each between two blanks."""
    return _flat(text)


def _flat(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _named(table: Table, text: str, *, seen: bool) -> Iterator[Link]:
    """Go through the records with a value in the text; words in small letters are no names."""
    for row in table.rows:
        names = (value for column, value in row.items() if _proper(column, value))
        if any(says(value, text) for value in names):
            yield Link(table, row, seen)


def _proper(column: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    return column == _SELF or value != value.lower() or any(map(str.isdigit, value))


def _closed(found: Sequence[Link], tables: Sequence[Table]) -> Iterator[Link]:
    """Go through the links and all that they lead to, each once."""
    queue, met = list(found), set()
    for link in queue:
        if id(link.row) in met:
            continue
        met.add(id(link.row))
        yield link
        for column, value in link.row.items():
            for table in tables:
                if table is not link.table and _leads(column, value, table):
                    queue += [
                        Link(table, row, False) for row in table.rows if row.get(table.key) == value
                    ]


def _leads(column: str, value: Any, table: Table) -> bool:
    if isinstance(value, str):
        return len(value) >= _MIN_CHARS or (bool(value) and column == table.key)
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return bool(terms(column) & (terms(table.name) | terms(table.key)))


# --- reading results ----------------------------------------------------------------------


def loaded(text: str) -> Any:
    """Return the value of a JSON text, None where it is none."""
    try:
        return json.loads(text) if len(text) <= _MAX_CHARS else None
    except _DEEP:
        return None


def grid(values: Any) -> list[Row]:
    """Return the records of rows of cells, the first of which is the head."""
    if not isinstance(values, list) or not all(isinstance(row, list) for row in values):
        return []
    head = [str(cell) for cell in values[0]] if values else []
    return [dict(zip(head, row, strict=False)) for row in values[1:]]


def strings(value: Any, key: str) -> Iterator[str]:
    """Go through the texts under a key, at whatever depth of a JSON value."""
    queue = [value]
    while queue:
        one = queue.pop(0)
        if isinstance(one, dict):
            if isinstance(one.get(key), str):
                yield one[key]
            queue += one.values()
        elif isinstance(one, list):
            queue += one


def paths(tree: Any, root: str) -> Iterator[str]:
    """Go through the files of a tree of `name` and `children`; hidden ones are left out."""
    for entry in tree if isinstance(tree, list) else []:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or name.startswith("."):
            continue
        below = f"{root}/{name}"
        if "children" in entry:
            yield from paths(entry["children"], below)
        else:
            yield below


def _rows(path: str, text: str, name: str) -> list[Row]:
    if path.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(text)))
    held = loaded(text) if path.endswith(".json") else None
    if not isinstance(held, dict):
        return list(held) if isinstance(held, list) and _records(held) else []
    if held and _records(held.values()):
        return [{_KEY: key, **row} for key, row in held.items()]
    if all(isinstance(value, str) for value in held.values()) and _names(held):
        return [{_KEY: key, _VALUE: value} for key, value in held.items()]
    return [{_SELF: name, **held}]


def _records(values: Iterable[Any]) -> bool:
    return all(isinstance(value, dict) for value in values)


def _names(keys: Iterable[str]) -> bool:
    """Tell whether an object's keys are names of things, not of their properties."""
    return all(key[:1].isupper() or re.search(r"\d", key) for key in keys)

"""Facts from the picture and the tools: records of every kind of source, and their links."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from toolmark.baselines.text_spans import word_stems

Row = dict[str, Any]

_MAX_CHARS = 100_000
_MIN_CHARS = 3
_PLURAL = re.compile(r"(?<=[a-z]{3})s\b")
_WORD = re.compile(r"[^\W_]+")
_JSON_ERRORS = (ValueError, RecursionError, MemoryError)
_KEY_COLUMN, _VALUE_COLUMN, _FILE_COLUMN = "key", "value", "file"


class Table(NamedTuple):
    """Records of one source: `kind` is rows, sheet or file; `place` is the path or ""."""

    name: str
    kind: str
    place: str
    rows: list[Row]

    @property
    def key_column(self) -> str:
        """The first column, which identifies records."""
        return next(iter(self.rows[0]), "") if self.rows else ""


class Link(NamedTuple):
    """A record that the picture, the question or another record names, and its table."""

    table: Table
    row: Row
    in_picture: bool


class Facts:
    """All known facts; `codes` are the texts of codes decoded from the picture."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.picture_text = ""
        self.codes: list[str] = []
        self.paths: list[str] = []
        self.tables: list[Table] = []
        self.texts: dict[str, str] = {}

    def linked_records(self, *, excluded: str = "") -> list[Link]:
        """Return the records named in the picture, then in the question, then their linked records.

        A record links to another one whose first column has one of its values. The table named
        `excluded` is skipped.
        """
        tables = [table for table in self.tables if table.name != excluded and table.rows]
        picture_words = _flatten_words(" ".join((self.picture_text, *self.codes)))
        found = [
            link
            for table in tables
            for link in _named_records(table, picture_words, in_picture=True)
        ]
        question_words = _flatten_words(self.question)
        found += [
            link
            for table in tables
            for link in _named_records(table, question_words, in_picture=False)
        ]
        return list(_follow_links(found, tables))

    def best_value(self, phrase: str, links: Sequence[Link]) -> Any:
        """Return the value whose column and table share most words with a phrase, else None."""
        phrase_terms = term_stems(phrase)
        best: tuple[float, Any] = (0.0, None)
        for table, row, _ in links:
            for column, value in row.items():
                weight = 2.0 * len(phrase_terms & term_stems(column))
                if weight and value is not None:
                    weight += len(phrase_terms & term_stems(table.name))
                    best = max(best, (weight, value), key=lambda one: one[0])
        return best[1]

    def find_path(self, name: str) -> str:
        """Return the shortest path that ends with a name, "" where there is none."""
        tail = name.strip("/").casefold()
        matches = [path for path in self.paths if f"/{path.casefold()}".endswith(f"/{tail}")]
        return min(matches, key=len, default="")

    def add_file(self, path: str, text: str) -> None:
        """Store a file's text, and its records where it has any."""
        self.texts[path] = text
        name = PurePosixPath(path).stem
        rows = _file_records(path, text, name)
        if rows:
            self.tables.append(Table(name, "file", path, rows))


def term_stems(text: str) -> set[str]:
    """Return the stems of the words of a text; singular and plural have the same stem."""
    return word_stems(_PLURAL.sub("", text))


def contains_value(name: Any, words: str) -> bool:
    """Return whether a text from `flatten_words` contains a value as complete words."""
    value_words = _flatten_words(str(name)).strip()
    return len(value_words) >= _MIN_CHARS and f" {value_words} " in words


def flatten_words(text: str) -> str:
    """Return the words of a text in lower case, each between two blanks."""
    return _flatten_words(text)


def _flatten_words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _named_records(table: Table, text: str, *, in_picture: bool) -> Iterator[Link]:
    """Yield the records with a value in the text; values in lower case are not names."""
    for row in table.rows:
        names = (value for column, value in row.items() if _is_proper_name(column, value))
        if any(contains_value(value, text) for value in names):
            yield Link(table, row, in_picture)


def _is_proper_name(column: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    return column == _FILE_COLUMN or value != value.lower() or any(map(str.isdigit, value))


def _follow_links(found: Sequence[Link], tables: Sequence[Table]) -> Iterator[Link]:
    """Yield the links and all records that they lead to, each once."""
    queue, visited = list(found), set()
    for link in queue:
        if id(link.row) in visited:
            continue
        visited.add(id(link.row))
        yield link
        for column, value in link.row.items():
            for table in tables:
                if table is not link.table and _leads_to(column, value, table):
                    queue += [
                        Link(table, row, False)
                        for row in table.rows
                        if row.get(table.key_column) == value
                    ]


def _leads_to(column: str, value: Any, table: Table) -> bool:
    if isinstance(value, str):
        return len(value) >= _MIN_CHARS or (bool(value) and column == table.key_column)
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return bool(term_stems(column) & (term_stems(table.name) | term_stems(table.key_column)))


# --- reading results ----------------------------------------------------------------------


def parse_json(text: str) -> Any:
    """Return the value of a JSON text, None if it is not valid JSON or is too long."""
    try:
        return json.loads(text) if len(text) <= _MAX_CHARS else None
    except _JSON_ERRORS:
        return None


def records_from_grid(values: Any) -> list[Row]:
    """Return the records of rows of cells, the first of which is the header."""
    if not isinstance(values, list) or not all(isinstance(row, list) for row in values):
        return []
    header = [str(cell) for cell in values[0]] if values else []
    return [dict(zip(header, row, strict=False)) for row in values[1:]]


def strings_under_key(value: Any, key: str) -> Iterator[str]:
    """Yield the texts under a key, at any depth of a JSON value."""
    queue = [value]
    while queue:
        current = queue.pop(0)
        if isinstance(current, dict):
            if isinstance(current.get(key), str):
                yield current[key]
            queue += current.values()
        elif isinstance(current, list):
            queue += current


def file_paths(tree: Any, root: str) -> Iterator[str]:
    """Yield the files of a tree of `name` and `children`; hidden ones are skipped."""
    for entry in tree if isinstance(tree, list) else []:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or name.startswith("."):
            continue
        path = f"{root}/{name}"
        if "children" in entry:
            yield from file_paths(entry["children"], path)
        else:
            yield path


def _file_records(path: str, text: str, name: str) -> list[Row]:
    if path.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(text)))
    content = parse_json(text) if path.endswith(".json") else None
    if not isinstance(content, dict):
        return list(content) if isinstance(content, list) and _are_records(content) else []
    if content and _are_records(content.values()):
        return [{_KEY_COLUMN: key, **row} for key, row in content.items()]
    if all(isinstance(value, str) for value in content.values()) and _are_names(content):
        return [{_KEY_COLUMN: key, _VALUE_COLUMN: value} for key, value in content.items()]
    return [{_FILE_COLUMN: name, **content}]


def _are_records(values: Iterable[Any]) -> bool:
    return all(isinstance(value, dict) for value in values)


def _are_names(keys: Iterable[str]) -> bool:
    """Return whether an object's keys are names of things, not of their properties."""
    return all(key[:1].isupper() or re.search(r"\d", key) for key in keys)

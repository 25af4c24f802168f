"""Rows that are read one at a time, as often as they are needed; a fault names file and line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from toolmark.authoring import row_text
from toolmark.core.errors import DataError
from toolmark.core.number_format import format_count

MAX_LINE_BYTES = 16 * 2**20


class NumberedRow(NamedTuple):
    """A row with its number: the line of a text file, else the row, from 1."""

    number: int
    fields: dict[str, Any]


class RowFile:
    """The rows of a file; iterating reads them anew, one at a time.

    - `unit`: what a row's number counts: "line", or "row" where a file has no lines.
    - `row_form`: what to write.
    """

    unit = "line"
    row_form = "one JSON object for each task"

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = Path(name)

    def __iter__(self) -> Iterator[NumberedRow]:
        """Yield the rows in order. Raises DataError with the place of an unreadable row."""
        for row in self.read():
            if isinstance(row, DataError):
                raise row
            yield row

    def read(self) -> Iterator[NumberedRow | DataError]:
        """Yield the rows in order; for an unreadable row its error, after which others follow.

        Raises DataError for a file of which nothing more can be read.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define read")

    @property
    def note(self) -> str:
        """How the file is read, "" where its name says it."""
        return ""

    @property
    def short_name(self) -> str:
        """The name without the folder of an absolute path, which differs between machines."""
        return self.path.name if self.path.is_absolute() else self.name

    @property
    def label(self) -> str:
        """What a run records the hash under; another ending alone is no other content."""
        return f"rows {Path(self.short_name).with_suffix('')}"

    @cached_property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(1 for _ in self)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def place(self, number: int) -> str:
        """Return file and row, as an error names them."""
        return f"{self.name}, {self.unit} {format_count(number)}"

    def fail(self, number: int, problem: str) -> NoReturn:
        """Raise DataError with the place of a row."""
        raise DataError(f"{self.place(number)}: {problem}")

    def decode_text(self, number: int, line: bytes) -> str:
        """Return the text of a line. Raises DataError with its place."""
        try:
            return row_text.decode_text(line, is_first=number == 1)
        except row_text.UnreadableText as error:
            self.fail(number, str(error))

    def decode_json(self, number: int, text: str) -> Any:
        """Return the value of a JSON text. Raises DataError with its place."""
        try:
            return row_text.decode_json(text, is_one_line=self.unit == "line")
        except row_text.UnreadableText as error:
            self.fail(number, str(error))

    def decode_cell(self, number: int, name: str, cell: str) -> Any:
        """Return the value of a cell that holds JSON. Raises DataError with its place."""
        try:
            return row_text.decode_json(cell, is_one_line=True)
        except row_text.UnreadableText as error:
            self.fail(number, f"{name}: {error}")

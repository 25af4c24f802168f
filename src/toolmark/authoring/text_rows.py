"""Text files of rows: JSON Lines, JSON and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from toolmark.authoring.row_files import MAX_LINE_BYTES, NumberedRow, RowFile
from toolmark.core.errors import DataError
from toolmark.core.json_codec import InvalidJson, parse_json
from toolmark.core.json_kinds import kind_of

_BLANKS = b" \t\r\n\xef\xbb\xbf"  # of a line, and the mark before the first
_TAB = "\t"


def holds_json_lines(path: Path) -> bool:
    """Return whether a file begins with a line that is one JSON object, as JSON Lines do."""
    with path.open("rb") as file:
        lines = iter(partial(file.readline, MAX_LINE_BYTES), b"")
        first = next((line.strip(_BLANKS) for line in lines if line.strip(_BLANKS)), b"")
    try:
        found = parse_json(first.decode())
    except (UnicodeDecodeError, InvalidJson):
        return False
    return isinstance(found, dict) and bool(found)


class JsonLinesRows(RowFile):
    """One JSON object for each line; blank lines do not count as rows."""

    @property
    def note(self) -> str:
        """Says that a file named .json holds lines."""
        return "one JSON object for each line" if self.path.suffix.lower() == ".json" else ""

    def read(self) -> Iterator[NumberedRow | DataError]:
        """Yield the objects."""
        for number, line in self._lines():
            try:
                yield NumberedRow(number, self._decode(number, line))
            except DataError as error:
                yield error

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are not blank, with their numbers."""
        with self.path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    self.fail(number, f"longer than {MAX_LINE_BYTES // 2**20} MiB; split the row")
                if line.strip(_BLANKS):
                    yield number, line

    def _decode(self, number: int, line: bytes) -> dict[str, Any]:
        value = self.decode_json(number, self.decode_text(number, line))
        if not isinstance(value, dict):
            self.fail(number, f"expected a JSON object, got {kind_of(value)}; write {{...}}")
        return value

    @cached_property
    def n_rows(self) -> int:
        """The number of lines that are not blank; no line is decoded."""
        return sum(1 for _ in self._lines())


class JsonArrayRows(RowFile):
    """A JSON file that holds one list of objects; it is read as a whole."""

    unit = "row"

    def read(self) -> Iterator[NumberedRow | DataError]:
        """Yield the objects."""
        if self.path.stat().st_size > MAX_LINE_BYTES:
            raise DataError(
                f"{self.name}: larger than {MAX_LINE_BYTES // 2**20} MiB; next: write one object "
                "for each line, in a file named .jsonl"
            )
        found = self.decode_json(1, self.decode_text(1, self.path.read_bytes()))
        if not isinstance(found, list):
            raise DataError(
                f"{self.name}: expected a list of objects, got {kind_of(found)}; one object "
                "for each line may be in a file named .json too, each in one line"
            )
        for number, each in enumerate(found, 1):
            if not isinstance(each, dict):
                self.fail(number, f"expected an object, got {kind_of(each)}")
            yield NumberedRow(number, each)


class CsvRows(RowFile):
    """A CSV file with a head; cells that begin with [ or { are JSON, empty cells are left out.

    Cells are separated by commas, in a file named .tsv by tabs. Where the head has no comma,
    semicolons or tabs separate them.
    """

    row_form = "a line with the names of the columns, then one line for each task"

    @property
    def note(self) -> str:
        """Says what separates the cells where it is no comma."""
        return "" if self.delimiter == "," else f"cells between {self._mark}"

    @cached_property
    def delimiter(self) -> str:
        """What separates the cells."""
        if self.path.suffix.lower() == ".tsv":
            return _TAB
        with self.path.open("rb") as file:
            head = next((line for line in file if line.strip()), b"")
        others = (mark for mark in (";", _TAB) if mark.encode() in head)
        return "," if b"," in head else next(others, ",")

    def read(self) -> Iterator[NumberedRow | DataError]:
        """Yield the rows by the names of the head."""
        csv.field_size_limit(MAX_LINE_BYTES)
        with self.path.open("rb") as file:
            lines = (self.decode_text(number, line) for number, line in enumerate(file, 1))
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            head: list[str] = []
            number = 1  # the line in which a row begins: a quoted cell may have several
            try:
                for cells in reader:
                    if cells and not head:
                        head = self._read_head(number, cells)
                    elif cells:
                        yield self._read_row(number, head, cells)
                    number = reader.line_num + 1
            except csv.Error as error:
                step = f"; quote cells that hold {self._mark} or quotes, and double the quotes"
                self.fail(number, f"not CSV: {error}{step}")

    @property
    def _mark(self) -> str:
        return {";": "semicolons", _TAB: "tabs"}.get(self.delimiter, "commas")

    def _read_row(
        self, number: int, head: Sequence[str], cells: Sequence[str]
    ) -> NumberedRow | DataError:
        try:
            return NumberedRow(number, self._read_cells(number, head, cells))
        except DataError as error:
            return error

    def _read_head(self, number: int, cells: Sequence[str]) -> list[str]:
        names = [cell.strip() for cell in cells]
        for at, name in enumerate(names, 1):
            if not name:
                self.fail(number, f"column {at} has no name; name it or remove it")
            if names.count(name) > 1:
                self.fail(number, f"the column {name!r} is there twice; remove one")
        return names

    def _read_cells(self, number: int, head: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
        if len(cells) != len(head):
            found = f"{len(cells)} cells, and the head has {len(head)}"
            self.fail(number, f"{found}; quote cells that hold {self._mark}")
        return {
            name: self._read_cell(number, name, cell)
            for name, cell in zip(head, cells, strict=True)
            if cell != ""
        }

    def _read_cell(self, number: int, name: str, cell: str) -> Any:
        if cell.lstrip()[:1] not in ("[", "{"):
            return cell
        return self.decode_cell(number, name, cell)

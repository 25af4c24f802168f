"""Tables that are stored as data: files in the folder `data` of the package that uses them.

TOML for what is edited by hand, CSV for plain rows. The schema of a file is the type that it is
read as, next to its user. A set in the schema says that order has no meaning there, and its file
lists it sorted. Elsewhere order has a meaning, because random draws index into it.
`tests/test_data_files.py` reads every file by its schema.
"""

from __future__ import annotations

import csv
import io
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Meta, Struct

T = TypeVar("T")
RawData: TypeAlias = Any
"""What a file contains before its schema is applied: tables, arrays, strings, numbers."""

DATA_FOLDER = "data"
WEIGHTED = Meta(extra={"repeats": True})
"""Marks an array in which an entry that is repeated is drawn more often."""


class DataRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the schema of a table: frozen, and a key that it does not know is refused."""


def read_table(module_file: str, name: str, type_: type[T]) -> T:
    """Return the content of a data file, read at the first call.

    `module_file` is the `__file__` of a module in the package whose data it is. Raises
    msgspec.ValidationError for a file that is not of its schema.
    """
    table: T = _read_cached(module_file, name, cast(Any, type_))
    return table


@cache
def _read_cached(module_file: str, name: str, type_: Any) -> Any:
    return convert_data(read_raw(data_path(module_file, name)), type_, name)


def data_path(module_file: str | Path, name: str) -> Path:
    """Return the path of a data file of the package that a module is in."""
    return Path(module_file).parent / DATA_FOLDER / name


def read_raw(path: Path) -> RawData:
    """Return what a file contains; raises msgspec.DecodeError and OSError.

    Of a CSV file it is a list with a table for each row, without the cells that are empty.
    """
    if path.suffix == ".csv":
        text = path.read_text(encoding="utf-8")
        rows = csv.DictReader(io.StringIO(text), restkey="", strict=True)
        return [{name: cell for name, cell in row.items() if cell} for row in rows]
    return msgspec.toml.decode(path.read_bytes())


def convert_data(raw: RawData, type_: type[T], name: str) -> T:
    """Return the content of the file `name` as its schema; raises msgspec.ValidationError.

    Cells of CSV are text, so numbers are read from text there.
    """
    return msgspec.convert(raw, type_, strict=not name.endswith(".csv"), str_keys=True)


def placeholders(*names: str) -> str:
    """Return the pattern of a template in which only these placeholders stand: `{name}`."""
    known = "|".join(names)
    return rf"^(?:[^{{}}]|\{{(?:{known})\}})*$"

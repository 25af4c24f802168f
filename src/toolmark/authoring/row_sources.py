"""Rows by the name of a file or data set, or from Python."""

from __future__ import annotations

import os
from pathlib import Path

from toolmark.authoring.python_rows import GivenRows, PythonRows
from toolmark.authoring.row_file_names import (
    DATASET_MARK,
    HUB_PREFIX,
    SPLITS_MARK,
    describe_endings,
    is_row_file,
)
from toolmark.authoring.row_files import RowFile
from toolmark.authoring.table_rows import DatasetRows, ParquetRows
from toolmark.authoring.text_rows import CsvRows, JsonArrayRows, JsonLinesRows, holds_json_lines
from toolmark.core.errors import DataError, UsageError
from toolmark.core.json_codec import InvalidJson, parse_json


def open_rows(source: str | os.PathLike[str] | GivenRows) -> RowFile:
    """Return the rows of a file or data set by its name, or those that Python gives.

    Raises UsageError where there are none.
    """
    if not isinstance(source, str | os.PathLike):
        return PythonRows(source)
    name = os.fspath(source)
    if name.startswith(HUB_PREFIX):
        return DatasetRows(name)
    path = Path(name)
    if path.is_dir():
        return DatasetRows(_dataset_folder(name))
    if not path.is_file():
        raise UsageError(f"no file {name} in {Path.cwd()}{_nearest_file(path)}")
    try:
        path.open("rb").close()
    except OSError as error:
        raise UsageError(f"{name}: cannot read: {error.strerror}") from None
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return CsvRows(name)
        case ".parquet":
            return ParquetRows(name)
        case ".json" if not holds_json_lines(path):
            return JsonArrayRows(name)
        case ".json" | ".jsonl" | ".ndjson":
            return JsonLinesRows(name)
    raise UsageError(f"{name}: {describe_endings()}")


def _dataset_folder(name: str) -> str:
    """Return the folder of a data set; of a set with one split, that of the split.

    Raises UsageError for a folder without a set, and for several splits.
    """
    folder = Path(name)
    if (folder / DATASET_MARK).is_file():
        return name
    if not (folder / SPLITS_MARK).is_file():
        raise UsageError(f"{name} is a folder without a data set; next: name a file of rows")
    try:
        found = parse_json((folder / SPLITS_MARK).read_text(encoding="utf-8"))
        splits = [str(each) for each in found["splits"]]
    except (OSError, UnicodeDecodeError, InvalidJson, TypeError, KeyError) as error:
        raise DataError(f"{name}: not a data set that can be read: {error!r:.200}") from None
    places = [str(folder / Path(split).name) for split in splits]
    if len(places) != 1:
        raise UsageError(
            f"{name} has {len(places)} splits; next: name one of {', '.join(places) or 'none'}"
        )
    return places[0]


def _nearest_file(path: Path) -> str:
    """Return which files of rows are in the folder of a missing one."""
    folder = path.parent
    known = sorted(
        each.name
        for each in (folder.iterdir() if folder.is_dir() else ())
        if is_row_file(str(each))
    )
    return f"; there are: {', '.join(known[:3])}" if known else ""

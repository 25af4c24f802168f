"""Steps in Parquet files, as `snapshot_export` writes them from MultiNet's TensorFlow snapshots.

Each row is one step. The rows of a group are together and in order:

    id       text          name of the row; without the column it is made of group and step
    group    text          the episode
    step     integer       its place in the episode, from 0
    image    bytes         the observation's picture, PNG or JPEG; null if there is none
    text     text          instruction or question; null if there is none
    answer   text          RoboVQA's answer; null for other families, which may omit the column
    action   list of float the action vector; null if there is none
    is_last  boolean       whether the episode ends here
    extras   text          a JSON object: the other members of the step; may be omitted

A text column may also be dictionary-encoded or a view, and an action a list of a fixed size. Files
are read row group by row group. Pictures are read on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from toolmark.core import files, json_codec
from toolmark.core.errors import DataError
from toolmark.core.number_format import format_count
from toolmark.core.records import Record

SUFFIX = ".parquet"
COLUMNS = ("id", "group", "step", "image", "text", "answer", "action", "is_last", "extras")
OPTIONAL_COLUMNS = ("id", "answer", "extras")
MAX_ROW_GROUP_VALUES = 10**6
"""The most rows, and values of a column, in one row group."""
MAX_ROW_GROUP_BYTES = 2**30
"""The largest row group after unpacking, in bytes."""
MAX_FILE_VALUES = 2**26
"""The most rows, and values of a column, in a file."""

MAX_TEXT_BYTES = 2**16
"""The limit for one text, in characters."""
MAX_FILE_TEXT_CHARS = 2**28
"""The limit for all texts of a file, in characters; adjacent equal texts count once."""

_COLUMNS_WITHOUT_IMAGE = tuple(name for name in COLUMNS if name != "image")
_TEXT_COLUMNS = ("id", "group", "text", "answer", "extras")
_DICTIONARY_COLUMNS = (*_TEXT_COLUMNS, "image")
_ROWS_PER_BATCH = 1024  # rows decoded at once
_PICTURES_PER_BATCH = 16
_MAX_CACHED_BYTES = 2**26  # limit of a cached row group; larger ones are read again


class StepRow(Record, frozen=True, kw_only=True):
    """One step without its picture; null values of the file are empty here.

    `extras` is a JSON object as text, because most rows never need it parsed.
    """

    id: str
    group: str
    step: int
    text: str
    answer: str
    action: tuple[float, ...]
    is_last: bool
    extras: str


def read_rows(path: Path, first: int = 0, stop: int | None = None) -> Iterator[StepRow]:
    """Yield the rows of a file, from `first` to before `stop`.

    Raises DataError, with file and row, for another kind of file, damage, or a file beyond the
    limits.
    """
    texts = _TextCache(path)
    with _open_checked(path) as file:
        starts = _row_group_starts(file)
        stop = starts[-1] if stop is None else min(stop, starts[-1])
        for group, at in enumerate(starts[:-1]):
            if at < stop and starts[group + 1] > first:
                yield from _read_row_group(file, path, texts, group, at, range(first, stop))


def read_picture(path: Path, row: int) -> bytes:
    """Return the picture of a row, b"" if it has none. Raises DataError as `read_rows` does."""
    with _open_checked(path) as file:
        starts = _row_group_starts(file)
        for group, at in enumerate(starts[:-1]):
            if at <= row < starts[group + 1]:
                if file.metadata.row_group(group).total_byte_size <= _MAX_CACHED_BYTES:
                    return (
                        _cached_pictures(path, group, path.stat().st_mtime_ns)[row - at].as_py()
                        or b""
                    )
                for batch in file.iter_batches(_PICTURES_PER_BATCH, [group], ["image"]):
                    if row < at + len(batch):
                        return batch.column(0)[row - at].as_py() or b""
                    at += len(batch)
    raise DataError(f"{path}: there is no row {row}")


@lru_cache(maxsize=1)
def _cached_pictures(path: Path, group: int, changed_ns: int) -> Any:
    """Return the pictures of the last row group; callers read those of one episode in order."""
    with _open_checked(path) as file:
        return file.read_row_group(group, ["image"]).column(0)


@contextmanager
def _open_checked(path: Path) -> Iterator[pq.ParquetFile]:
    with files.open_regular_file(path) as binary_file:
        try:
            metadata = pq.read_metadata(binary_file)
            _check_metadata(metadata, path)
            # dictionaries store a text that a million rows repeat only once
            with pq.ParquetFile(
                binary_file,
                metadata=metadata,
                page_checksum_verification=True,
                read_dictionary=[
                    name for name in _DICTIONARY_COLUMNS if name in metadata.schema.names
                ],
            ) as file:
                yield file
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: cannot read as Parquet: {str(error)[:200]}") from None


def _check_metadata(metadata: pq.FileMetaData, path: Path) -> None:
    """Raise DataError for other columns or types, or for a row group beyond the limits."""
    schema = metadata.schema.to_arrow_schema()
    present = [name for name in COLUMNS if name in schema.names]
    if missing := [name for name in COLUMNS if name not in (*present, *OPTIONAL_COLUMNS)]:
        raise DataError(
            f"{path}: no column {', '.join(missing)}; such files are written by python -m "
            "toolmark.suites.multinet.openx.snapshot_export, or by you: docs/suites/multinet.md "
            "lists the columns"
        )
    if mistyped := [
        name for name in present if not _has_expected_type(name, schema.field(name).type)
    ]:
        description = ", ".join(f"{name} is {schema.field(name).type}" for name in mistyped)
        raise DataError(f"{path}: columns of a wrong type: {description}")
    n = 0
    for k in range(metadata.num_row_groups):
        group = metadata.row_group(k)
        values = max(group.column(c).num_values for c in range(group.num_columns))
        n += max(group.num_rows, values)
        if (
            max(group.num_rows, values) > MAX_ROW_GROUP_VALUES
            or group.total_byte_size > MAX_ROW_GROUP_BYTES
        ):
            raise DataError(
                f"{path}: row group {k} is too large ({format_count(group.num_rows)} rows, "
                f"{format_count(group.total_byte_size)} bytes); write it in smaller row groups"
            )
    if n > MAX_FILE_VALUES:
        raise DataError(
            f"{path}: more than {format_count(MAX_FILE_VALUES)} values in a column; write more "
            "files"
        )


def _has_expected_type(name: str, column_type: pa.DataType) -> bool:
    """Return whether a column has the expected type."""
    if pa.types.is_dictionary(column_type) and name in _DICTIONARY_COLUMNS:
        column_type = column_type.value_type
    match name:
        case "step":
            return bool(pa.types.is_integer(column_type))
        case "is_last":
            return bool(pa.types.is_boolean(column_type))
        case "image":
            return bool(
                pa.types.is_binary(column_type) or pa.types.is_large_binary(column_type)
                or pa.types.is_binary_view(column_type)
            )  # fmt: skip
        case "action":
            lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
            return bool(
                any(each(column_type) for each in lists)
                and pa.types.is_floating(column_type.value_type)
            )
        case _:
            return bool(
                pa.types.is_string(column_type) or pa.types.is_large_string(column_type)
                or pa.types.is_string_view(column_type)
            )  # fmt: skip


def _row_group_starts(file: pq.ParquetFile) -> list[int]:
    """Return the number of the first row of each row group, and one past the last row."""
    metadata = file.metadata
    sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
    return list(accumulate(sizes, initial=0))


class _TextCache:
    """The texts of a file, batch by batch; a text that rows repeat is decoded and stored once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._n_chars = 0
        self._last: dict[str, dict[str, str]] = {}

    def decode_column(self, name: str, column: pa.Array) -> list[str]:
        """Return a column of a batch as texts, "" for null. Raises DataError over the limit."""
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        # the dictionary may cover a million rows: only the entries of this batch are decoded
        found = pc.unique(column.indices).drop_null()
        dictionary = column.dictionary.take(found)
        if (pc.max(pc.binary_length(dictionary)).as_py() or 0) > MAX_TEXT_BYTES:
            raise DataError(
                f"{self._path}: a text of more than {format_count(MAX_TEXT_BYTES)} bytes as {name}"
            )
        last = self._last.get(name, {})
        texts = [last.get(text, text) for text in dictionary.to_pylist()]
        self._last[name] = {text: text for text in texts}
        self._n_chars += sum(map(len, self._last[name].keys() - last.keys()))
        if self._n_chars > MAX_FILE_TEXT_CHARS:
            raise DataError(
                f"{self._path}: texts of more than {MAX_FILE_TEXT_CHARS >> 20} MB; write several "
                "files"
            )
        by_index = dict(zip(found.to_pylist(), texts, strict=True))
        return [by_index.get(at, "") for at in column.indices.to_pylist()]


def _read_row_group(
    file: pq.ParquetFile, path: Path, texts: _TextCache, group: int, at: int, row_range: range
) -> Iterator[StepRow]:
    """Yield the wanted rows of a row group; its first row is number `at` of the file."""
    present = [name for name in _COLUMNS_WITHOUT_IMAGE if name in file.schema_arrow.names]
    for batch in file.iter_batches(_ROWS_PER_BATCH, [group], present):
        low, high = max(row_range.start - at, 0), min(row_range.stop - at, len(batch))
        if low < high:
            part = batch.slice(low, high - low)
            values_by_column = {
                name: texts.decode_column(name, part.column(name))
                if name in _TEXT_COLUMNS
                else part.column(name).to_pylist()
                for name in present
            }
            # the column may be absent, but its cells may not be null
            values_by_column.setdefault("id", [None] * (high - low))
            blank = [""] * (high - low)
            columns = [values_by_column.get(name, blank) for name in _COLUMNS_WITHOUT_IMAGE]
            checked_extras = {""}
            for k, values in enumerate(zip(*columns, strict=True)):
                yield _build_row(values, f"{path}: row {at + low + k}", checked_extras)
        at += len(batch)


def _build_row(values: Sequence[Any], label: str, checked_extras: set[str]) -> StepRow:
    """Return a row; `checked_extras` are extras that were checked already."""
    id, group, step, text, answer, action, is_last, extras = values
    if id == "" or not group or step is None or is_last is None:
        raise DataError(f"{label}: id, group, step or is_last is empty")
    action = tuple(action or ())
    if None in action:
        raise DataError(f"{label}: an empty number in the action")
    if extras not in checked_extras:
        _require_json_object(extras, f"{label}: extras")
        checked_extras.add(extras)
    return StepRow(
        id=id or f"{group}-{step:04}", group=group, step=step, text=text, answer=answer,
        action=action, is_last=is_last, extras=extras or "{}",
    )  # fmt: skip


def _require_json_object(text: str, label: str) -> None:
    try:
        found = json_codec.parse_json(text)
    except json_codec.InvalidJson as error:
        raise DataError(f"{label}: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{label} is not a JSON object")

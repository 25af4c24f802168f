"""Steps in Parquet files, as `export` writes them out of MultiNet's TensorFlow snapshots.

One row a step, the rows of a group together and in order:

    id       text          name of the row
    group    text          the episode
    step     integer       its place in the episode, from 0
    image    bytes         the observation's picture, PNG or JPEG; null where there is none
    text     text          instruction or question; null where there is none
    answer   text          RoboVQA's answer; null for the others, who may leave the column out
    action   list of float the action vector; null where there is none
    is_last  boolean       whether the episode ends here
    extras   text          an object as JSON: what else the step holds; may be left out

Files are read row group by row group, and pictures only when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from toolmark import codec, files
from toolmark.errors import DataError
from toolmark.types import Record

SUFFIX = ".parquet"
COLUMNS = ("id", "group", "step", "image", "text", "answer", "action", "is_last", "extras")
OPTIONAL = ("answer", "extras")
MOST_ROWS = 10**6
"""The most rows, and values of a column, in one row group."""
MOST_BYTES = 2**30
"""The largest row group, unpacked."""

_PLAIN = tuple(name for name in COLUMNS if name != "image")
_SHORT = ("id", "group", "text", "answer", "extras", "image")
_ROWS = 1024  # at a time
_PICTURES = 16
_KEPT_BYTES = 2**26  # of a row group: larger ones are read anew for every picture


class Row(Record, frozen=True, kw_only=True):
    """One step without its picture; what is null in the file is empty here."""

    id: str
    group: str
    step: int
    text: str
    answer: str
    action: tuple[float, ...]
    is_last: bool
    extras: dict[str, Any]


def rows(path: Path, first: int = 0, stop: int | None = None) -> Iterator[Row]:
    """Go through the rows of a file, from `first` to before `stop`.

    Raises DataError, with file and row, for what is no such file, damaged, or beyond the limits.
    """
    with _opened(path) as file:
        starts = _starts(file)
        stop = starts[-1] if stop is None else min(stop, starts[-1])
        for group, at in enumerate(starts[:-1]):
            if at < stop and starts[group + 1] > first:
                yield from _within(file, path, group, at, range(first, stop))


def picture(path: Path, row: int) -> bytes:
    """Return the picture of a row, b"" where it has none. Raises DataError as `rows`."""
    with _opened(path) as file:
        starts = _starts(file)
        for group, at in enumerate(starts[:-1]):
            if at <= row < starts[group + 1]:
                if file.metadata.row_group(group).total_byte_size <= _KEPT_BYTES:
                    return _kept(path, group, path.stat().st_mtime_ns)[row - at].as_py() or b""
                for batch in file.iter_batches(_PICTURES, [group], ["image"]):
                    if row < at + len(batch):
                        return batch.column(0)[row - at].as_py() or b""
                    at += len(batch)
    raise DataError(f"{path}: there is no row {row}")


@lru_cache(maxsize=1)
def _kept(path: Path, group: int, changed_ns: int) -> Any:
    """Return the pictures of the last row group: those of an episode are asked for in a row."""
    with _opened(path) as file:
        return file.read_row_group(group, ["image"]).column(0)


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    with files.opened(path) as held:
        try:
            about = pq.read_metadata(held)
            _check(about, path)
            # with dictionaries, a text that a million rows repeat is held once
            with pq.ParquetFile(
                held, metadata=about, page_checksum_verification=True,
                read_dictionary=[name for name in _SHORT if name in about.schema.names],
            ) as file:  # fmt: skip
                yield file
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: cannot read as Parquet: {str(error)[:200]}") from None


def _check(about: pq.FileMetaData, path: Path) -> None:
    """Raise DataError for other columns or types, or a row group beyond the limits."""
    schema = about.schema.to_arrow_schema()
    there = [name for name in COLUMNS if name in schema.names]
    if lacking := [name for name in COLUMNS if name not in (*there, *OPTIONAL)]:
        raise DataError(
            f"{path}: no column {', '.join(lacking)}; such files are written by python -m "
            "toolmark.suites.multinet.openx.export, or by you: docs/multinet.md tells the columns"
        )
    if odd := [name for name in there if not _fits(name, schema.field(name).type)]:
        told = ", ".join(f"{name} is {schema.field(name).type}" for name in odd)
        raise DataError(f"{path}: columns of a wrong type: {told}")
    for k in range(about.num_row_groups):
        group = about.row_group(k)
        values = max(group.column(c).num_values for c in range(group.num_columns))
        if max(group.num_rows, values) > MOST_ROWS or group.total_byte_size > MOST_BYTES:
            raise DataError(
                f"{path}: row group {k} is too large ({group.num_rows:,} rows, "
                f"{group.total_byte_size:,} bytes); write it in smaller row groups"
            )


def _fits(name: str, kind: pa.DataType) -> bool:
    """Tell whether a column has the type that it should have."""
    match name:
        case "step":
            return bool(pa.types.is_integer(kind))
        case "is_last":
            return bool(pa.types.is_boolean(kind))
        case "image":
            return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
        case "action":
            lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
            return bool(lists and pa.types.is_floating(kind.value_type))
        case _:
            return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _starts(file: pq.ParquetFile) -> list[int]:
    """Return the number of the first row of each row group, and one past the last row."""
    about = file.metadata
    sizes = [about.row_group(k).num_rows for k in range(about.num_row_groups)]
    return list(accumulate(sizes, initial=0))


def _within(file: pq.ParquetFile, path: Path, group: int, at: int, wanted: range) -> Iterator[Row]:
    """Go through the wanted rows of a row group, whose first row is number `at`."""
    there = [name for name in _PLAIN if name in file.schema_arrow.names]
    for batch in file.iter_batches(_ROWS, [group], there):
        low, high = max(wanted.start - at, 0), min(wanted.stop - at, len(batch))
        if low < high:
            held = {**dict.fromkeys(OPTIONAL, [None] * (high - low)),
                    **batch.slice(low, high - low).to_pydict()}  # fmt: skip
            for k, values in enumerate(zip(*(held[name] for name in _PLAIN), strict=True)):
                yield _row(values, f"{path}: row {at + low + k}")
        at += len(batch)


def _row(values: Sequence[Any], told: str) -> Row:
    id, group, step, text, answer, action, is_last, extras = values
    if not id or not group or step is None or is_last is None:
        raise DataError(f"{told}: id, group, step or is_last is empty")
    action = tuple(action or ())
    if None in action:
        raise DataError(f"{told}: an empty number in the action")
    try:
        more = codec.loads(extras or "{}")
    except codec.BadJson as error:
        raise DataError(f"{told}: extras: {error}") from None
    if not isinstance(more, dict):
        raise DataError(f"{told}: extras is no JSON object")
    return Row(
        id=id, group=group, step=step, text=text or "", answer=answer or "", action=action,
        is_last=is_last, extras=more,
    )  # fmt: skip

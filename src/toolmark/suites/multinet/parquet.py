"""Steps in Parquet files, as `export` writes them out of MultiNet's TensorFlow snapshots.

One row a step, the rows of a group together and in order:

    id       text          name of the row; without the column it is that of group and step
    group    text          the episode
    step     integer       its place in the episode, from 0
    image    bytes         the observation's picture, PNG or JPEG; null where there is none
    text     text          instruction or question; null where there is none
    answer   text          RoboVQA's answer; null for the others, who may leave the column out
    action   list of float the action vector; null where there is none
    is_last  boolean       whether the episode ends here
    extras   text          an object as JSON: what else the step holds; may be left out

A text may also be encoded as a dictionary or be a view, and an action a list of a fixed size. Files
are read row group by row group, and pictures only when they are asked for.
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

from toolmark import codec, files
from toolmark.errors import DataError
from toolmark.types import Record

SUFFIX = ".parquet"
COLUMNS = ("id", "group", "step", "image", "text", "answer", "action", "is_last", "extras")
OPTIONAL = ("id", "answer", "extras")
MOST_ROWS = 10**6
"""The most rows, and values of a column, in one row group."""
MOST_BYTES = 2**30
"""The largest row group, unpacked."""
MOST_VALUES = 2**26
"""The most rows, and values of a column, in a file."""

MOST_TEXT = 2**16
"""Characters of one text."""
MOST_TEXTS = 2**28
"""Characters of all texts of a file; one that the rows around it repeat counts once."""

_PLAIN = tuple(name for name in COLUMNS if name != "image")
_TEXTS = ("id", "group", "text", "answer", "extras")
_SHORT = (*_TEXTS, "image")
_ROWS = 1024  # at a time
_PICTURES = 16
_KEPT_BYTES = 2**26  # of a row group: larger ones are read anew for every picture


class Row(Record, frozen=True, kw_only=True):
    """One step without its picture; what is null in the file is empty here.

    `extras` is an object as JSON: of a million rows few are asked for theirs.
    """

    id: str
    group: str
    step: int
    text: str
    answer: str
    action: tuple[float, ...]
    is_last: bool
    extras: str


def rows(path: Path, first: int = 0, stop: int | None = None) -> Iterator[Row]:
    """Go through the rows of a file, from `first` to before `stop`.

    Raises DataError, with file and row, for what is no such file, damaged, or beyond the limits.
    """
    texts = _Texts(path)
    with _opened(path) as file:
        starts = _starts(file)
        stop = starts[-1] if stop is None else min(stop, starts[-1])
        for group, at in enumerate(starts[:-1]):
            if at < stop and starts[group + 1] > first:
                yield from _within(file, path, texts, group, at, range(first, stop))


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
    n = 0
    for k in range(about.num_row_groups):
        group = about.row_group(k)
        values = max(group.column(c).num_values for c in range(group.num_columns))
        n += max(group.num_rows, values)
        if max(group.num_rows, values) > MOST_ROWS or group.total_byte_size > MOST_BYTES:
            raise DataError(
                f"{path}: row group {k} is too large ({group.num_rows:,} rows, "
                f"{group.total_byte_size:,} bytes); write it in smaller row groups"
            )
    if n > MOST_VALUES:
        raise DataError(f"{path}: more than {MOST_VALUES:,} values in a column; write more files")


def _fits(name: str, kind: pa.DataType) -> bool:
    """Tell whether a column has the type that it should have."""
    if pa.types.is_dictionary(kind) and name in _SHORT:
        kind = kind.value_type
    match name:
        case "step":
            return bool(pa.types.is_integer(kind))
        case "is_last":
            return bool(pa.types.is_boolean(kind))
        case "image":
            return bool(
                pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
                or pa.types.is_binary_view(kind)
            )  # fmt: skip
        case "action":
            lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
            return bool(any(each(kind) for each in lists) and pa.types.is_floating(kind.value_type))
        case _:
            return bool(
                pa.types.is_string(kind) or pa.types.is_large_string(kind)
                or pa.types.is_string_view(kind)
            )  # fmt: skip


def _starts(file: pq.ParquetFile) -> list[int]:
    """Return the number of the first row of each row group, and one past the last row."""
    about = file.metadata
    sizes = [about.row_group(k).num_rows for k in range(about.num_row_groups)]
    return list(accumulate(sizes, initial=0))


class _Texts:
    """The texts of a file, batch by batch: one that rows repeat is decoded, and held, once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._n = 0
        self._last: dict[str, dict[str, str]] = {}

    def column(self, name: str, column: pa.Array) -> list[str]:
        """Return the texts of a column of a batch, "" for null. Raises DataError for too many."""
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        # the dictionary may be that of a million rows: only what these have of it is decoded
        found = pc.unique(column.indices).drop_null()
        held = column.dictionary.take(found)
        if (pc.max(pc.binary_length(held)).as_py() or 0) > MOST_TEXT:
            raise DataError(f"{self._path}: a text of more than {MOST_TEXT:,} bytes as {name}")
        last = self._last.get(name, {})
        told = [last.get(text, text) for text in held.to_pylist()]
        self._last[name] = {text: text for text in told}
        self._n += sum(map(len, self._last[name].keys() - last.keys()))
        if self._n > MOST_TEXTS:
            raise DataError(
                f"{self._path}: texts of more than {MOST_TEXTS >> 20} MB; write several files"
            )
        by_index = dict(zip(found.to_pylist(), told, strict=True))
        return [by_index.get(at, "") for at in column.indices.to_pylist()]


def _within(
    file: pq.ParquetFile, path: Path, texts: _Texts, group: int, at: int, wanted: range
) -> Iterator[Row]:
    """Go through the wanted rows of a row group, whose first row is number `at`."""
    there = [name for name in _PLAIN if name in file.schema_arrow.names]
    for batch in file.iter_batches(_ROWS, [group], there):
        low, high = max(wanted.start - at, 0), min(wanted.stop - at, len(batch))
        if low < high:
            part = batch.slice(low, high - low)
            held = {name: texts.column(name, part.column(name)) if name in _TEXTS
                    else part.column(name).to_pylist() for name in there}  # fmt: skip
            held.setdefault("id", [None] * (high - low))  # the column may lack, its cells may not
            blank = [""] * (high - low)
            columns = [held.get(name, blank) for name in _PLAIN]
            sound = {""}
            for k, values in enumerate(zip(*columns, strict=True)):
                yield _row(values, f"{path}: row {at + low + k}", sound)
        at += len(batch)


def _row(values: Sequence[Any], told: str, sound: set[str]) -> Row:
    """Return a row; `sound` are extras that were checked."""
    id, group, step, text, answer, action, is_last, extras = values
    if id == "" or not group or step is None or is_last is None:
        raise DataError(f"{told}: id, group, step or is_last is empty")
    action = tuple(action or ())
    if None in action:
        raise DataError(f"{told}: an empty number in the action")
    if extras not in sound:
        _check_object(extras, f"{told}: extras")
        sound.add(extras)
    return Row(
        id=id or f"{group}-{step:04}", group=group, step=step, text=text, answer=answer,
        action=action, is_last=is_last, extras=extras or "{}",
    )  # fmt: skip


def _check_object(text: str, told: str) -> None:
    try:
        found = codec.loads(text)
    except codec.BadJson as error:
        raise DataError(f"{told}: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{told} is no JSON object")

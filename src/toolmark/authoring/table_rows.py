"""Tables of rows: Parquet files, and data sets of the `datasets` library."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

from toolmark.authoring.row_file_names import HUB_PREFIX
from toolmark.authoring.row_files import NumberedRow, RowFile
from toolmark.core import user_modules
from toolmark.core.errors import DataError, UsageError

_TABLE_EXTRA = "rows"
_BATCH_ROWS = 1000
_HUB_TIMEOUT_S = 10.0


class ParquetRows(RowFile):
    """A Parquet file; texts that begin with [ or { are JSON, nulls are left out."""

    unit = "row"
    row_form = "one row for each task"

    def read(self) -> Iterator[NumberedRow | DataError]:
        """Yield the rows, read in batches."""
        parquet = _import_table_library("pyarrow.parquet")
        number = 0
        try:
            with parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                    for fields in batch.to_pylist():
                        number += 1
                        yield NumberedRow(number, _read_table_row(self, number, fields))
        except (OSError, ValueError, NotImplementedError) as error:
            problem = " ".join(str(error).split())
            raise DataError(
                f"{self.name}: not a Parquet file that can be read: {problem}"
            ) from None


class DatasetRows(RowFile):
    """A set of the `datasets` library: a folder that it saved, or `hf:NAME[:SPLIT]` of the hub."""

    unit = "row"
    row_form = "one row for each task"

    def read(self) -> Iterator[NumberedRow | DataError]:
        """Yield the rows."""
        for number, fields in enumerate(self._dataset, 1):
            yield NumberedRow(number, _read_table_row(self, number, fields))

    @cached_property
    def _dataset(self) -> Any:
        datasets = _import_table_library("datasets")
        if self.name.startswith(HUB_PREFIX):
            return _load_hub_set(datasets, self.name)
        try:
            return datasets.load_from_disk(self.name)
        except (OSError, ValueError, KeyError, TypeError) as error:
            problem = " ".join(str(error).split())
            raise DataError(
                f"{self.name}: not a data set that can be read: {problem:.200}"
            ) from None

    @cached_property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._dataset)

    @cached_property
    def sha256(self) -> str:
        """The fingerprint that the library gives the set."""
        return str(self._dataset._fingerprint)


def _load_hub_set(datasets: Any, spec: str) -> Any:
    """Return a set of the hub. Raises UsageError, within seconds, where the hub gives none."""
    import huggingface_hub as hub
    from huggingface_hub.errors import HfHubHTTPError

    name, _, split = spec.removeprefix(HUB_PREFIX).partition(":")
    # the hub's transport differs by version; its errors and the hub's own share one base class
    of_transport = (kind for kind in HfHubHTTPError.__mro__ if kind not in _BASE_TYPES)
    try:
        if not hub.is_offline_mode():  # else `datasets` would try for half a minute
            hub.HfApi().dataset_info(name, timeout=_HUB_TIMEOUT_S)
        return datasets.load_dataset(name, split=split or "test")
    except (OSError, ValueError, RuntimeError, KeyError, *of_transport) as error:
        why = next(iter(str(error).splitlines()), "").rstrip(".") or type(error).__name__
        raise UsageError(
            f"{spec}: the Hugging Face hub did not give it: {why:.200}; next: check the name and "
            "the split (hf:NAME:SPLIT), or set HF_HUB_OFFLINE=1 for a set in the local cache"
        ) from None


_BASE_TYPES = (Exception, BaseException, object)


def _import_table_library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        step = user_modules.install_command(_TABLE_EXTRA)
        raise UsageError(f"{name.partition('.')[0]} is not installed; next: {step}") from None


def _read_table_row(rows: RowFile, number: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a table: nulls are left out, texts that hold JSON are read."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if value is None:
            continue
        if isinstance(value, str) and value[:1] in ("[", "{"):
            value = rows.decode_cell(number, name, value)
        try:
            found[name] = _plain_cell(value)
        except ValueError as error:
            rows.fail(number, f"{name}: {error}; write it as text or a number")
    return found


def _plain_cell(value: Any) -> Any:
    """Return a cell as JSON has it, without nulls: a table has every field that any row has.

    Raises ValueError for what JSON has not, such as bytes.
    """
    match value:
        case dict():
            return {key: _plain_cell(each) for key, each in value.items() if each is not None}
        case list() | tuple():
            return [_plain_cell(each) for each in value]
        case float() if not math.isfinite(value):
            raise ValueError(f"JSON has no {value}")
        case None | bool() | int() | float() | str():
            return value
        case datetime.date() | datetime.time():
            return value.isoformat()
    raise ValueError(f"JSON has no {type(value).__name__}")

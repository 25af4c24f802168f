"""`toolmark fetch multinet-...`: fetch what a public hub offers; for the rest, say where it is.

Of MultiNet's families only PIQA is on the Hugging Face hub as rows that can be read without running
a third-party script. It is loaded with `datasets` and written to the cache in the published layout,
`multinet/piqa/{public,train}/piqa.jsonl`: MultiNet's sample of 20 %, and the remaining rows for the
baselines. The run stores the SHA-256 of the rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from toolmark.core import files, user_modules
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError
from toolmark.suites.multinet.data_sources import data_sources
from toolmark.suites.multinet.multinet_families import Family
from toolmark.suites.multinet.published import piqa as piqa_files

PIQA_DATASET, PARQUET_BRANCH = "ybisk/piqa", "refs/convert/parquet"
"""The data set, and the branch of the hub with Parquet files; other branches need its script."""
_ROW_FIELDS = ("goal", "sol1", "sol2", "label")
_HUB_TIMEOUT_S = 10
_FILE_NAME = "piqa.jsonl"

_EXAMPLE_OPTIONS = {"openx": " -T morphology=bimanual"}  # options for the set named above


def piqa(folder: Path | None = None, source: str = PIQA_DATASET) -> Path:
    """Return the folder of PIQA in the published layout; fetch it if necessary.

    `folder` is the cache folder. `source` is a data set of the hub or a folder that `datasets`
    reads. Raises UsageError with the next step if it is not available, DataError if it is not PIQA.
    """
    cache_folder = (files.cache_folder() if folder is None else folder) / "multinet"
    final_folder = cache_folder / "piqa"
    if final_folder.is_dir():
        return final_folder
    rows = _check_rows(_load_training_rows(source), source)
    evaluated = frozenset(piqa_files.published_positions(len(rows)))
    parts = {
        "public": [row for at, row in enumerate(rows) if at in evaluated],
        "train": [row for at, row in enumerate(rows) if at not in evaluated],
    }
    try:
        cache_folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=cache_folder) as part:
            for name, split_rows in parts.items():
                _write_rows(Path(part, "piqa", name), split_rows)
            _move_into_place(Path(part, "piqa"), final_folder)
    except OSError as error:
        raise DataError(f"{cache_folder}: cannot keep PIQA: {error}") from None
    return final_folder


def sqa3d() -> NoReturn:
    """Raise an error that says where SQA3D is available."""
    _raise_manual_download("sqa3d")


def robovqa() -> NoReturn:
    """Raise an error that says where RoboVQA is available."""
    _raise_manual_download("robovqa")


def odinw() -> NoReturn:
    """Raise an error that says where ODinW is available."""
    _raise_manual_download("odinw")


def openx() -> NoReturn:
    """Raise an error that says where Open X-Embodiment is available."""
    _raise_manual_download("openx")


def _raise_manual_download(family: Family) -> NoReturn:
    command = (
        f"toolmark run multinet-{family} -T data=DIR{_EXAMPLE_OPTIONS.get(family, '')} -m MODEL"
    )
    raise UsageError(
        f"multinet-{family} stands on no hub as it is read here. It is had from "
        f"{data_sources()[family].download}. Then: `{command}`; the layout is described in "
        "docs/suites/multinet.md. "
        "Without the data a synthetic stand-in is asked"
    )


def _load_training_rows(source: str) -> Iterable[Mapping[str, Any]]:
    """Return the rows of the training split, in the order of its file."""
    try:
        import datasets
        import huggingface_hub as hub
        from huggingface_hub.errors import HfHubHTTPError
    except ModuleNotFoundError as error:
        next_ = user_modules.install_command("multinet-hub")
        raise UsageError(f"the hub is read by {error.name}, which is not here; {next_}") from None
    # the hub's transport differs by version; its errors and the hub's own share one base class
    connection_errors = tuple(
        kind for kind in HfHubHTTPError.__mro__ if kind not in (Exception, *_BASE_TYPES)
    )
    try:
        if Path(source).is_dir():
            found = datasets.load_dataset(source, split="train")
        else:  # one short request first: `datasets` itself would try for half a minute
            dataset_info = hub.HfApi().dataset_info(
                source, revision=PARQUET_BRANCH, timeout=_HUB_TIMEOUT_S
            )
            found = datasets.load_dataset(source, split="train", revision=dataset_info.sha)
    except (OSError, ValueError, RuntimeError, *connection_errors) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise UsageError(
            f"{source}: the Hugging Face hub did not give it: {why}. Try again where it is reached "
            "(HF_ENDPOINT names a mirror), or put PIQA's train.jsonl and train-labels.lst into "
            "DIR/piqa/public and say -T data=DIR"
        ) from None
    rows: Iterable[Mapping[str, Any]] = found
    return rows


_BASE_TYPES = (BaseException, object)


def _check_rows(rows: Iterable[Mapping[str, Any]], source: str) -> list[dict[str, Any]]:
    """Return the rows with ids. Raises DataError for data that are not PIQA's training file."""
    checked: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    for number, row in enumerate(rows):
        try:
            parsed = msgspec.convert(
                {name: row.get(name) for name in _ROW_FIELDS}, piqa_files.PiqaRow
            )
        except msgspec.ValidationError as error:
            raise DataError(f"{source}: row {number}: {describe_decode_error(error)}") from None
        if parsed.label not in (0, 1):
            raise DataError(f"{source}: row {number}: label {parsed.label}, not 0 or 1")
        name = piqa_files.row_id(parsed)
        counts[name] = counts.get(name, 0) + 1
        id = name if counts[name] == 1 else f"{name}-{counts[name]}"
        checked.append({"id": id, **{name: getattr(parsed, name) for name in _ROW_FIELDS}})
    if len(checked) != piqa_files.N_TRAIN:
        raise DataError(
            f"{source}: {len(checked)} rows; PIQA's training file has {piqa_files.N_TRAIN}"
        )
    return checked


def _write_rows(folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    folder.mkdir(parents=True)
    with (folder / _FILE_NAME).open("wb") as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")


def _move_into_place(draft_folder: Path, final_folder: Path) -> None:
    try:
        draft_folder.rename(final_folder)
    except OSError:
        if not final_folder.is_dir():  # else another process finished the same work first
            raise

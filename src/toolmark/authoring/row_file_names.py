"""How files and data sets of rows are named; a module of its own, as it loads no reader."""

from __future__ import annotations

from pathlib import Path

HUB_PREFIX = "hf:"
ROW_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
# in a folder that `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote
DATASET_MARK = "state.json"
SPLITS_MARK = "dataset_dict.json"


def is_row_file(name: str) -> bool:
    """Return whether a name is that of a file of rows, of a data set's folder or of a hub's set."""
    return (
        name.startswith(HUB_PREFIX)
        or name.lower().endswith(ROW_SUFFIXES)
        or any((Path(name) / mark).is_file() for mark in (DATASET_MARK, SPLITS_MARK))
    )


def describe_endings() -> str:
    """Return which files are read, and what to do with another."""
    return (
        f"files of rows end in {', '.join(ROW_SUFFIXES)}; next: save it as one of these, such as "
        "one JSON object for each line in a file named .jsonl"
    )

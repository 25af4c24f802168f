"""What the floors of a run score: keyless agents on the same tasks, in `floors.json`.

A floor is what an agent scores that needs no key: one that replies nothing, calls anything or does
not plan. A headline means something only above it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.core.files import read_head, write_atomically
from toolmark.core.records import Record, Score
from toolmark.statistics.score_columns import Columns, gather_columns

FLOORS_FILE = "floors.json"
MAX_FLOORS_BYTES = 128 * 2**20
T = TypeVar("T", bound=Record)


class Floor(Record, frozen=True, kw_only=True):
    """What one agent scores: its name, what it does, and its score of every task.

    `reason` says why there are no scores, "" where there are.
    """

    name: str
    description: str
    scores: tuple[Score, ...] = ()
    reason: str = ""


class StoredFloors(Record, frozen=True, kw_only=True):
    """The floors of a run. They hold for the tasks and the scorer with these hashes."""

    tasks_sha256: str
    scorer_sha256: str
    floors: tuple[Floor, ...] = ()


def compact_scores(scores: Iterable[Score]) -> tuple[Score, ...]:
    """Return scores without what explains them: numbers need outcomes, values, parts and traits."""
    return tuple(
        replace(
            score,
            verdicts={
                rule: replace(verdict, labels=()) for rule, verdict in score.verdicts.items()
            },
        )
        for score in scores
    )


def floor_columns(floor: Floor, rule: str) -> Columns:
    """Return the columns of a floor's scores under one grading rule."""
    return gather_columns(floor.scores, rule)


def write_floors(folder: Path, found: StoredFloors) -> None:
    """Store the floors of a run. Raises DataError for a full disk."""
    write_compact(folder / FLOORS_FILE, found)


def read_floors(folder: Path) -> StoredFloors | None:
    """Return the stored floors; None where the file is missing or damaged: they are derived."""
    return read_compact(folder / FLOORS_FILE, StoredFloors)


def write_compact(path: Path, record: Record) -> None:
    """Write a derived record without indentation. Raises DataError."""
    try:
        write_atomically(path, json_codec.encode_record(record) + b"\n")
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def read_compact(path: Path, kind: type[T]) -> T | None:
    """Return a derived record; None for a missing, damaged or too large file."""
    try:
        text = read_head(path, MAX_FLOORS_BYTES + 1)
        return json_codec.decode_record(text, kind) if len(text) <= MAX_FLOORS_BYTES else None
    except (OSError, DataError, msgspec.DecodeError):
        return None

"""The file of a run's scores, read by place: a page of many episodes need not hold them all."""

from __future__ import annotations

import weakref

from toolmark import codec
from toolmark.errors import DataError
from toolmark.runs.jsonl import BLOCK_BYTES, records
from toolmark.runs.store import Key, Run
from toolmark.types import Score


class Scores:
    """The scores of a run by (task, repeat), each read when it is asked for."""

    def __init__(self, run: Run) -> None:
        """Read the file once, for places. Raises DataError naming a broken line."""
        self.path = run.path / "scores.jsonl"
        self._places: dict[tuple[str, int], int] = {}
        place = 0
        with self.path.open("rb", buffering=BLOCK_BYTES) as file:
            for key, line in zip(records(self.path, Key), file, strict=False):
                self._places[key.task, key.repeat] = place
                place += len(line)
        self._file = self.path.open("rb")
        weakref.finalize(self, self._file.close)

    def __getitem__(self, key: tuple[str, int]) -> Score:
        """Return a score. Raises DataError where there is none of that episode."""
        if key not in self._places:
            raise DataError(f"{self.path}: no score of {key}")
        self._file.seek(self._places[key])
        return codec.decode(self._file.readline(), Score)

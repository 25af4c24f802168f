"""Labels of people: whether an episode passes. They are stored in the run folder, one per line."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, TypeAlias

from toolmark.core.records import Record
from toolmark.runs.record_files import read_records
from toolmark.runs.run_store import Run

LABELS_FILE = "labels.jsonl"
LabelChoice: TypeAlias = Literal["pass", "fail"]


class EpisodeLabel(Record, frozen=True, kw_only=True):
    """Whether an episode passes, as one person decided who saw neither judge nor model. UTC."""

    task: str
    repeat: int
    label: LabelChoice
    reviewer: str
    time: str
    note: str = ""

    @property
    def key(self) -> Hashable:
        """The subject of the label, separate for each reviewer: a later one replaces it."""
        return self.task, self.repeat, self.reviewer


def read_labels(run: Run) -> dict[tuple[str, int], float]:
    """Return the share of people who let each labelled episode pass, by (task, repeat).

    The last label of each person on an episode counts. Raises DataError that names a broken line.
    """
    last = {
        label.key: label
        for label in read_records(run.path / LABELS_FILE, EpisodeLabel, missing_ok=True)
    }
    passes: dict[tuple[str, int], list[bool]] = {}
    for label in last.values():
        passes.setdefault((label.task, label.repeat), []).append(label.label == "pass")
    return {key: sum(each) / len(each) for key, each in passes.items()}

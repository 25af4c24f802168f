"""What readers of a run need besides its scores, as data: to open a folder runs no suite's code.

It is written whenever a run is scored, before the summary (`runs.presenting`). `presentation.json`
holds the metrics by reading, the tables and charts, and the suite's words; `views.jsonl` a line for
each episode that has something to look at. A run folder may be a stranger's: what is read here is
checked for types and size, and a drawing is shown only as `report.drawings` leaves it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import msgspec

from toolmark import codec
from toolmark.errors import DataError, UsageError, traced
from toolmark.files import head
from toolmark.runs.damage import holds, lost
from toolmark.runs.jsonl import at, placed
from toolmark.runs.lifecycle import SUMMARY, finishing_command, is_alive
from toolmark.runs.store import Run
from toolmark.stats.formulas import Metric
from toolmark.types import Audio, Chart, Drawing, Record, Table

FILE = "presentation.json"
VIEWS = "views.jsonl"
LARGEST = 16 * 2**20  # bytes of the file; of larger tables only the titles are stored
LARGEST_VIEWS = 4 * 2**20  # bytes of one episode's views

View: TypeAlias = Table | Drawing | Audio


class Presentation(Record, frozen=True, kw_only=True):
    """How readers see a run's scores.

    `readings`: the first is the headline. `metrics` are those of each reading, the headline first.
    `tables` stand on the run's page. `levels` names the levels of the axes by which two runs are
    compared, by axis and level. `natives` are readers' words for the suite's own classes of
    failure. `across` and `profile` name what is shown of several runs together
    (`suites.OVERVIEWS`, `suites.PROFILES`). `caution` is what readers must know first.
    """

    readings: tuple[str, ...]
    metrics: dict[str, tuple[Metric, ...]] = {}
    tables: tuple[Table | Chart, ...] = ()
    levels: dict[str, dict[str, str]] = {}
    natives: dict[str, str] = {}
    across: str = ""
    profile: str = ""
    caution: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError unless there is a reading, and a metric of each."""
        if not self.readings:
            raise ValueError("there is no reading")
        for name in self.readings:
            if not self.metrics.get(name):
                raise ValueError(f"there is no metric of the reading {name!r}")


def left_out(title: str, size_bytes: int) -> Table:
    """Return what stands in the place of tables or views that are too large to store."""
    return Table(title=title, head=(), rows=(), note=f"Left out: they take {size_bytes:,} bytes.")


class _Which(Record, frozen=True, kw_only=True):
    task: str
    repeat: int = 0


class EpisodeViews(Record, frozen=True, kw_only=True):
    """What there is to look at of one episode."""

    task: str
    repeat: int = 0
    views: tuple[View, ...] = ()


# --- reading ----------------------------------------------------------------------------


def read_presentation(run: Run) -> Presentation | None:
    """Return what was stored when the run was scored, None where that was not done yet.

    Raises DataError naming the file for what is no presentation, such as one with a formula that
    is not in the list (`stats.formulas.Formula`).
    """
    path = run.path / FILE
    if not run.finished or not holds(path):
        return None  # what is stored is of other scores
    text = head(path, LARGEST + 1)
    if len(text) > LARGEST:
        raise DataError(f"{path}: larger than {LARGEST:,} bytes; {lost(path, line=False)}")
    try:
        return codec.decode(text, Presentation)
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: {error}; {lost(path, line=False)}") from None


@contextmanager
def fitting(*runs: Run) -> Iterator[None]:
    """Turn what goes wrong with stored numbers and scores into one line: the folder is damaged.

    What is stored is of the right types, but a stranger's numbers may still be such as no formula
    and no chart takes. Raises DataError naming the folders.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, UsageError,
            ValueError) as error:  # fmt: skip
        places = " and ".join(dict.fromkeys(str(run.path) for run in runs))
        raise DataError(
            f"{places}: the scores and {FILE} do not fit together: {traced(error)}; "
            f"next: {finishing(runs[0])}"
        ) from error


def provisional(run: Run) -> Presentation:
    """Return how a run that is not scored is shown: the mean value of what has a score."""
    score = next((score for score in run.scores() if score.readings), None)
    readings = tuple(score.readings) if score is not None else ("score",)
    metrics: dict[str, tuple[Metric, ...]] = dict.fromkeys(readings, (Metric("score"),))
    return Presentation(readings=readings, metrics=metrics, caution=unfinished(run))


def unfinished(run: Run) -> str:
    """Say that a run is not scored as a whole, and the command that does it."""
    sign = run.sign()
    working = is_alive(sign) and sign.pid != os.getpid()  # which may have left it
    when = (
        f"Process {sign.pid} on {sign.host} works on it; when that has ended, " if working else ""
    )
    return f"This run is not finished: what is stored is shown. {when}next: {finishing(run)}"


def lacking(run: Run) -> str:
    """Say what a run lacks for `read_presentation`: the scores, or a file made of them."""
    if not holds(run.path / "scores.jsonl"):
        return "no scores"
    there = {FILE: holds(run.path / FILE), SUMMARY: run.finished}
    return f"scores, but no {' and no '.join(name for name in there if not there[name])}"


def finishing(run: Run) -> str:
    """Return the command that scores and finishes what a run has stored."""
    return finishing_command(run.path, run.info.plan.spec)


class Views:
    """The views of a run's episodes, each read when it is asked for."""

    def __init__(self, run: Run) -> None:
        """Read the file once, for places. Raises DataError naming a broken line."""
        self._path = run.path / VIEWS
        found = placed(self._path, _Which, missing_ok=True)
        self._places = {(which.task, which.repeat): place for place, which in found}

    def __getitem__(self, key: tuple[str, int]) -> tuple[View, ...]:
        """Return what there is to look at of an episode; nothing of one that has no views."""
        place = self._places.get(key)
        if place is None:
            return ()
        if place.length > LARGEST_VIEWS:
            return (left_out("Views", place.length),)
        return at(self._path, place, EpisodeViews).views

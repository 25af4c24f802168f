"""What readers of a run need besides its scores, as data: to open a folder runs no suite's code.

It is written whenever a run is scored, before the summary (`runs.presentation_writer`).
`presentation.json` contains the metrics by grading rule, the tables and charts, and the suite's
texts. `views.jsonl` has one line for each episode that has views. A run folder may come from a
stranger: what is read here is checked for types and size, and a drawing is shown only after
`reports.svg_sanitizer` has cleaned it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import msgspec

from toolmark.core import json_codec
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError, describe_error
from toolmark.core.files import read_head
from toolmark.core.number_format import format_count
from toolmark.core.records import Audio, Chart, Drawing, Record, Table
from toolmark.runs.damaged_files import damage_advice, has_content
from toolmark.runs.record_files import read_located_records, read_record_at
from toolmark.runs.run_lifecycle import SUMMARY_FILE, finishing_command, is_alive
from toolmark.runs.run_store import Run
from toolmark.statistics.metric_formulas import Metric

PRESENTATION_FILE = "presentation.json"
VIEWS_FILE = "views.jsonl"
# bytes of the file; of larger tables only the titles are stored
MAX_PRESENTATION_BYTES = 16 * 2**20
MAX_VIEWS_BYTES = 4 * 2**20  # bytes of one episode's views

View: TypeAlias = Table | Drawing | Audio


class StoredPresentation(Record, frozen=True, kw_only=True):
    """How readers see a run's scores.

    - `rules`: names of the grading rules. The first is the headline.
    - `metrics`: the metrics of each grading rule, the headline first.
    - `tables`: tables and charts on the run's page.
    - `level_names`: names of the levels of the axes by which two runs are compared, by axis and
      level.
    - `failure_names`: readable words for the suite's own classes of failure.
    - `overview`, `profile`: name what is shown of several runs together
      (`suite_registry.OVERVIEWS`, `suite_registry.PROFILES`).
    - `caution`: what readers must know first.
    """

    rules: tuple[str, ...]
    metrics: dict[str, tuple[Metric, ...]] = {}
    tables: tuple[Table | Chart, ...] = ()
    level_names: dict[str, dict[str, str]] = {}
    failure_names: dict[str, str] = {}
    overview: str = ""
    profile: str = ""
    caution: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError unless there is a grading rule, and a metric of each."""
        if not self.rules:
            raise ValueError("there is no rule")
        for name in self.rules:
            if not self.metrics.get(name):
                raise ValueError(f"there is no metric of the rule {name!r}")


def omitted_table(title: str, size_bytes: int) -> Table:
    """Return the table that replaces tables or views that are too large to store."""
    return Table(
        title=title, head=(), rows=(), note=f"Left out: they take {format_count(size_bytes)} bytes."
    )


class _EpisodeRef(Record, frozen=True, kw_only=True):
    task: str
    repeat: int = 0


class EpisodeViews(Record, frozen=True, kw_only=True):
    """The tables, drawings and recordings of one episode."""

    task: str
    repeat: int = 0
    views: tuple[View, ...] = ()


# --- reading ----------------------------------------------------------------------------


def read_presentation(run: Run) -> StoredPresentation | None:
    """Return what was stored when the run was scored, None where the run is not scored yet.

    Raises DataError naming the file for content that is not a presentation, such as one with an
    unknown formula (`statistics.metric_formulas.Formula`).
    """
    path = run.path / PRESENTATION_FILE
    if not run.is_finished or not has_content(path):
        return None  # what is stored belongs to other scores
    text = read_head(path, MAX_PRESENTATION_BYTES + 1)
    if len(text) > MAX_PRESENTATION_BYTES:
        raise DataError(
            f"{path}: larger than {format_count(MAX_PRESENTATION_BYTES)} bytes; "
            f"{damage_advice(path, line=False)}"
        )
    try:
        return json_codec.decode_record(text, StoredPresentation)
    except msgspec.DecodeError as error:
        raise DataError(
            f"{path}: {describe_decode_error(error)}; {damage_advice(path, line=False)}"
        ) from None


@contextmanager
def report_mismatch_as_damage(*runs: Run) -> Iterator[None]:
    """Turn any error with stored numbers and scores into a DataError: the folder is damaged.

    Stored values have the right types, but a stranger's numbers may still fit no formula and no
    chart. Raises DataError naming the folders.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, UsageError,
            ValueError) as error:  # fmt: skip
        paths = " and ".join(dict.fromkeys(str(run.path) for run in runs))
        raise DataError(
            f"{paths}: the scores and {PRESENTATION_FILE} do not fit together: "
            f"{describe_error(error)}; next: {finishing_command_of(runs[0])}"
        ) from error


def provisional_presentation(run: Run) -> StoredPresentation:
    """Return the presentation of a run that is not scored: the mean value of what has a score."""
    score = next((score for score in run.scores() if score.verdicts), None)
    rules = tuple(score.verdicts) if score is not None else ("score",)
    metrics: dict[str, tuple[Metric, ...]] = dict.fromkeys(rules, (Metric("score"),))
    return StoredPresentation(rules=rules, metrics=metrics, caution=unfinished_notice(run))


def unfinished_notice(run: Run) -> str:
    """Return a text that says that a run is not finished, with the command that finishes it."""
    heartbeat = run.heartbeat()
    is_in_progress = is_alive(heartbeat) and heartbeat.pid != os.getpid()  # else our own
    hint = (
        f"Process {heartbeat.pid} on {heartbeat.host} works on it; when that has ended, "
        if is_in_progress
        else ""
    )
    return (
        f"This run is not finished: what is stored is shown. {hint}next: "
        f"{finishing_command_of(run)}"
    )


def missing_files_message(run: Run) -> str:
    """Say what a run lacks for `read_presentation`: the scores, or a file made from them."""
    if not has_content(run.path / "scores.jsonl"):
        return "no scores"
    existing = {
        PRESENTATION_FILE: has_content(run.path / PRESENTATION_FILE),
        SUMMARY_FILE: run.is_finished,
    }
    return f"scores, but no {' and no '.join(name for name in existing if not existing[name])}"


def finishing_command_of(run: Run) -> str:
    """Return the command that scores and finishes what a run has stored."""
    return finishing_command(run.path, run.info.plan.spec)


class StoredViews:
    """The views of a run's episodes, each read when it is asked for."""

    def __init__(self, run: Run) -> None:
        """Read the file once, for locations. Raises DataError naming a broken line."""
        self._path = run.path / VIEWS_FILE
        found = read_located_records(self._path, _EpisodeRef, missing_ok=True)
        self._locations = {(episode.task, episode.repeat): place for place, episode in found}

    def __getitem__(self, key: tuple[str, int]) -> tuple[View, ...]:
        """Return the views of an episode; empty for one without views.

        Views over `MAX_VIEWS_BYTES` are replaced by a table that says so.
        """
        location = self._locations.get(key)
        if location is None:
            return ()
        if location.length > MAX_VIEWS_BYTES:
            return (omitted_table("Views", location.length),)
        return read_record_at(self._path, location, EpisodeViews).views

"""What a tuning gives: the kept items in the published layout, and the history of every item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from toolmark import codec
from toolmark.runs import dataset
from toolmark.runs.suite import Suite
from toolmark.suites.mfcl.vision import wording
from toolmark.suites.mfcl.vision.score import truth_of
from toolmark.suites.mfcl.vision.tune.folder import SET, STATUSES, Item, Status, Tuning
from toolmark.suites.mfcl.vision.tune.outcome import failed
from toolmark.suites.mfcl.vision.tune.records import FAILURES, Mark, Outcome, Request, Version
from toolmark.types import Record, Table, Task

HISTORY = "history.jsonl"
ABOUT = "Vision items that people can solve and most of a panel of models failed."


class Tried(Record, frozen=True, kw_only=True):
    """How a model fared at a version; `fails` is None where it could not be asked to the end.

    `outcomes`, `answers` and `modes` have one entry for each attempt that ran.
    """

    model: str
    fails: bool | None
    outcomes: tuple[Outcome, ...] = ()
    answers: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()


class Chapter(Record, frozen=True, kw_only=True):
    """A version: what was changed, what was asked then, who failed how, what people said."""

    version: int
    question: str
    answers: tuple[str, ...]
    edit: str = ""
    told: str = ""
    panel: tuple[Tried, ...] = ()
    marks: tuple[Mark, ...] = ()


class History(Record, frozen=True, kw_only=True):
    """An item from its first version to the one that stands."""

    id: str
    status: Status
    chapters: tuple[Chapter, ...]


def publish(tuning: Tuning, suite: Suite) -> Path | None:
    """Write the kept items to the folder's `set`, anew; None where nothing is kept.

    Raises UsageError where files of the set were changed.
    """
    kept = [task for item in tuning.items.values() for task in _kept(item, tuning.request)]
    if not kept:
        return None
    publisher = replace(
        suite.publisher,
        files={**suite.publisher.files, HISTORY: "every item that was tuned, kept or not: what was "
               "changed, who failed how, what people said"},
        more=lambda folder: _more(folder, tuning, suite),
    )  # fmt: skip
    told = replace(suite, publisher=publisher, media=tuning.media)
    dataset.write(tuning.path / SET, told, kept, about=ABOUT)
    return tuning.path / SET


def _kept(item: Item, request: Request) -> Iterator[Task]:
    if item.status(request) == "kept":
        yield item.last.task


def _more(folder: Path, tuning: Tuning, suite: Suite) -> Sequence[Table]:
    tables = list(suite.publisher.more(folder))
    with (folder / HISTORY).open("wb") as lines:
        for item in tuning.items.values():
            lines.write(codec.encode(history(item, tuning.request)) + b"\n")
    return [*tables, *summary(tuning)]


def history(item: Item, request: Request) -> History:
    """Return the history of an item."""
    chapters = tuple(_chapter(item, version, request) for version in item.versions)
    return History(id=item.id, status=item.status(request), chapters=chapters)


def _chapter(item: Item, version: Version, request: Request) -> Chapter:
    truth = truth_of(version.task)
    return Chapter(
        version=version.number,
        question=wording.question(truth.asked),
        answers=truth.answers,
        edit=version.edit,
        told=version.told or version.broken,
        panel=tuple(_tried(item, name, version.number, request) for name in request.models),
        marks=tuple(mark for mark in item.marks if mark.version == version.number),
    )


def _tried(item: Item, model: str, version: int, request: Request) -> Tried:
    trials = item.of(model, version)
    ran = [trial for trial in trials if trial.outcome != "not_run"]
    return Tried(
        model=model,
        fails=failed(trials, request.plan.repeats),
        outcomes=tuple(trial.outcome for trial in ran),
        answers=tuple(trial.answer for trial in ran),
        modes=tuple(trial.mode for trial in ran),
    )


def summary(tuning: Tuning) -> list[Table]:
    """Return what became of the items, what each edit did, and how each model failed."""
    return [_statuses(tuning), _edits(tuning), _panel(tuning)]


def _statuses(tuning: Tuning) -> Table:
    rows = tuple((name, n, STATUSES[name]) for name, n in tuning.count().items() if n)
    return Table(title="Items by how they stand", head=("", "items", "which means"), rows=rows)


def _edits(tuning: Tuning) -> Table:
    made: Counter[str] = Counter()
    hard: Counter[str] = Counter()
    for item in tuning.items.values():
        made.update(version.edit or "as it came" for version in item.versions)
        if item.ruling(tuning.request) == "hard":
            hard[item.last.edit or "as it came"] += 1
    rows = tuple((edit, n, hard[edit]) for edit, n in made.items())
    return Table(
        title="Edits", head=("edit", "versions", "last before most failed"), rows=rows
    )  # fmt: skip


def _panel(tuning: Tuning) -> Table:
    head = ("model", "versions failed", "solved", *(name.replace("_", "-") for name in FAILURES))
    rows: list[tuple[str | int, ...]] = []
    for name in tuning.request.models:
        found: Counter[str] = Counter()
        n_failed = 0
        for item in tuning.items.values():
            for version in item.versions:
                trials = item.of(name, version.number)
                found.update(trial.outcome for trial in trials)
                n_failed += failed(trials, tuning.request.plan.repeats) is True
        rows.append((name, n_failed, found["solved"], *(found[each] for each in FAILURES)))
    note = "Beside the versions failed, attempts by what they came to."
    return Table(title="Panel", head=head, rows=tuple(rows), note=note)

"""The output of a tuning: the accepted items in the published layout, and every item's history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from toolmark.core import json_codec
from toolmark.core.records import Record, Table, Task
from toolmark.core.task_data import read_task_data
from toolmark.runs import dataset_folder
from toolmark.runs.suite import Suite
from toolmark.studio.vision_tuning.attempt_outcome import fails_version
from toolmark.studio.vision_tuning.tuning_folder import (
    SET_FOLDER,
    STATUS_DESCRIPTIONS,
    ItemStatus,
    TunedItem,
    TuningFolder,
)
from toolmark.studio.vision_tuning.tuning_records import (
    FAILURE_OUTCOMES,
    ItemVersion,
    ReviewMark,
    TrialOutcome,
    TuningRequest,
)
from toolmark.suites.mfcl_vision import prompts
from toolmark.suites.mfcl_vision.item_records import ItemTruth

HISTORY_FILE = "history.jsonl"
SET_DESCRIPTION = "Vision items that people can solve and most of a panel of models failed."


class PanelResult(Record, frozen=True, kw_only=True):
    """The result of a model on a version; `is_failed` is None where not all attempts ran.

    `outcomes`, `answers` and `modes` have one entry for each attempt that ran.
    """

    model: str
    is_failed: bool | None
    outcomes: tuple[TrialOutcome, ...] = ()
    answers: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()


class VersionHistory(Record, frozen=True, kw_only=True):
    """A version: the change, the question, the results of the panel, and the marks of people."""

    version: int
    question: str
    answers: tuple[str, ...]
    edit: str = ""
    change: str = ""
    panel: tuple[PanelResult, ...] = ()
    decisions: tuple[ReviewMark, ...] = ()


class ItemHistory(Record, frozen=True, kw_only=True):
    """An item from its first version to the current one."""

    id: str
    status: ItemStatus
    versions: tuple[VersionHistory, ...]


def publish_set(tuning: TuningFolder, suite: Suite) -> Path | None:
    """Write the accepted items to the folder's `set` again; return None where there are none.

    Raises UsageError where files of the set were changed.
    """
    accepted = [
        task for item in tuning.items.values() for task in _accepted_tasks(item, tuning.request)
    ]
    if not accepted:
        return None
    export = replace(
        suite.provenance.export,
        files={
            **suite.provenance.export.files,
            HISTORY_FILE: "every item that was tuned, accepted or not: what was "
            "changed, who failed how, what people said",
        },
        write_extra_files=lambda folder: _write_history(folder, tuning, suite),
    )
    tuned_suite = replace(
        suite, provenance=replace(suite.provenance, export=export, media=tuning.media)
    )
    dataset_folder.write_dataset(
        tuning.path / SET_FOLDER, tuned_suite, accepted, description=SET_DESCRIPTION
    )
    return tuning.path / SET_FOLDER


def _accepted_tasks(item: TunedItem, request: TuningRequest) -> Iterator[Task]:
    if item.status(request) == "accepted":
        yield item.latest_version.task


def _write_history(folder: Path, tuning: TuningFolder, suite: Suite) -> Sequence[Table]:
    tables = list(suite.provenance.export.write_extra_files(folder))
    with (folder / HISTORY_FILE).open("wb") as lines:
        for item in tuning.items.values():
            lines.write(json_codec.encode_record(item_history(item, tuning.request)) + b"\n")
    return [*tables, *summary_tables(tuning)]


def item_history(item: TunedItem, request: TuningRequest) -> ItemHistory:
    """Return the history of an item."""
    chapters = tuple(_version_history(item, version, request) for version in item.versions)
    return ItemHistory(id=item.id, status=item.status(request), versions=chapters)


def _version_history(
    item: TunedItem, version: ItemVersion, request: TuningRequest
) -> VersionHistory:
    truth = read_task_data(version.task, ItemTruth)
    return VersionHistory(
        version=version.number,
        question=prompts.question_text(truth.question),
        answers=truth.answers,
        edit=version.edit,
        change=version.change or version.failure,
        panel=tuple(_panel_result(item, name, version.number, request) for name in request.models),
        decisions=tuple(mark for mark in item.decisions if mark.version == version.number),
    )


def _panel_result(item: TunedItem, model: str, version: int, request: TuningRequest) -> PanelResult:
    trials = item.attempts(model, version)
    ran = [trial for trial in trials if trial.outcome != "not_run"]
    return PanelResult(
        model=model,
        is_failed=fails_version(trials, request.plan.repeats),
        outcomes=tuple(trial.outcome for trial in ran),
        answers=tuple(trial.answer for trial in ran),
        modes=tuple(trial.mode for trial in ran),
    )


def summary_tables(tuning: TuningFolder) -> list[Table]:
    """Return tables of the items by status, of the edits, and of the failures of each model."""
    return [_status_table(tuning), _edit_table(tuning), _panel_table(tuning)]


def _status_table(tuning: TuningFolder) -> Table:
    rows = tuple(
        (name, n, STATUS_DESCRIPTIONS[name]) for name, n in tuning.count_statuses().items() if n
    )
    return Table(title="Items by how they stand", head=("", "items", "which means"), rows=rows)


def _edit_table(tuning: TuningFolder) -> Table:
    n_versions: Counter[str] = Counter()
    n_hard: Counter[str] = Counter()
    for item in tuning.items.values():
        n_versions.update(version.edit or "as it came" for version in item.versions)
        if item.ruling(tuning.request) == "hard":
            n_hard[item.latest_version.edit or "as it came"] += 1
    rows = tuple((edit, n, n_hard[edit]) for edit, n in n_versions.items())
    return Table(
        title="Edits", head=("edit", "versions", "last before most failed"), rows=rows
    )  # fmt: skip


def _panel_table(tuning: TuningFolder) -> Table:
    head = (
        "model",
        "versions failed",
        "solved",
        *(name.replace("_", "-") for name in FAILURE_OUTCOMES),
    )
    rows: list[tuple[str | int, ...]] = []
    for name in tuning.request.models:
        found: Counter[str] = Counter()
        n_failed = 0
        for item in tuning.items.values():
            for version in item.versions:
                trials = item.attempts(name, version.number)
                found.update(trial.outcome for trial in trials)
                n_failed += fails_version(trials, tuning.request.plan.repeats) is True
        rows.append(
            (name, n_failed, found["solved"], *(found[outcome] for outcome in FAILURE_OUTCOMES))
        )
    note = "Next to the versions failed, attempts by what they came to."
    return Table(title="Panel", head=head, rows=tuple(rows), note=note)

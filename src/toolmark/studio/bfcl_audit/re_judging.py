"""One model's published results judged again, entry by entry, and why verdicts differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolmark.core import json_codec
from toolmark.core.records import Record, Task, ToolFormat, Trajectory, Verdict
from toolmark.formats.parse import foreign_calls
from toolmark.official_bfcl import errata, official_data, official_models, reply_decoding
from toolmark.official_bfcl.handler_replies import MalformedResult
from toolmark.scoring.episode import Episode
from toolmark.studio.bfcl_audit import published_readings, published_rows
from toolmark.studio.bfcl_audit.difference_reasons import (
    DifferenceReason,
    error_type_of,
    explain_difference,
)
from toolmark.studio.bfcl_audit.published_entries import PublishedEntries
from toolmark.studio.bfcl_audit.published_layouts import PublishedModel
from toolmark.studio.bfcl_audit.published_readings import ChosenReading, EntryEvidence
from toolmark.studio.bfcl_audit.published_rows import PublishedFailure, PublishedScore
from toolmark.studio.bfcl_interchange.result_rows import ResultRow
from toolmark.suites.bfcl import bfcl_scorer

MAX_PROBLEMS = 20  # of one model that are listed
_MAX_DETAIL_CHARS = 160


class Difference(Record, frozen=True, kw_only=True):
    """An entry whose verdict today is not the published one; None: there is no such verdict."""

    model: str
    category: str
    entry: str
    published: bool | None
    reproduced: bool | None
    reason: DifferenceReason
    detail: str = ""


class JudgedEntry(NamedTuple):
    """An entry of one model.

    `published` is None without a score file. `reproduced`: the official rule on today's data.
    `amended` is the verdict with the errata's reference. `is_set_aside`: the errata say that no
    answer can be scored fairly. `is_asked_otherwise`: its question or functions changed since, and
    its reference with them.
    """

    task: Task
    published: bool | None
    reproduced: bool
    amended: bool
    is_set_aside: bool
    is_asked_otherwise: bool
    is_api_error: bool
    leaked_syntax: str = ""


class JudgedModel(NamedTuple):
    """All entries of one model, its score files, and what was wrong with its files."""

    name: str
    reading: ChosenReading
    underscores_for_dots: bool | None
    entries: list[JudgedEntry]
    scores: dict[str, PublishedScore]
    differences: list[Difference]
    problems: list[str]


class _Category(NamedTuple):
    rows: published_rows.ResultFile
    score: PublishedScore | None


def judge_model(
    model: PublishedModel,
    tasks: Mapping[str, Sequence[Task]],
    entries: PublishedEntries,
    tool_formats: Mapping[str, ToolFormat],
) -> JudgedModel:
    """Judge a model's results anew by the official rule; `tasks` are those of each category."""
    categories = {category: _read_category(model, category) for category in model.results}
    evidence = [
        EntryEvidence(task, row, read.score.failures.get(task.id) if read.score else None)
        for category, read in categories.items()
        if read.score is not None
        for task in tasks[category]
        if (row := read.rows.rows.get(task.id)) is not None
    ]
    reading = published_readings.choose_reading(
        model.name,
        is_current=model.kind != "2024",
        evidence=evidence or _unscored_evidence(categories, tasks),
        tool_formats=tool_formats,
    )
    judge = _EntryJudge(model.name, reading, entries, tool_formats)
    judge.choose_tool_names(evidence)
    judged: list[JudgedEntry] = []
    differences: list[Difference] = []
    problems: list[str] = [f"{path.name}: no category of BFCL V4" for path in model.unknown]
    for category, read in categories.items():
        problems += _file_problems(category, read)
        known = {task.id for task in tasks[category]}
        differences += _surplus_differences(model.name, category, read, known)
        for task in tasks[category]:
            row = read.rows.rows.get(task.id)
            failed = read.score is not None and task.id in read.score.failures
            if row is None:
                published = False if failed else None
                differences.append(
                    _make_difference(
                        model.name, task, published, None, "missing entry", "no row in the results"
                    )
                )
                continue
            published = None if read.score is None else not failed
            entry, difference = judge.judge_entry(
                task, row, published, read.score.failures.get(task.id) if read.score else None
            )
            judged.append(entry)
            if difference is not None:
                differences.append(difference)
    return JudgedModel(
        model.name,
        reading,
        judge.underscores_for_dots,
        judged,
        {name: read.score for name, read in categories.items() if read.score is not None},
        differences,
        problems[:MAX_PROBLEMS],
    )


def _read_category(model: PublishedModel, category: str) -> _Category:
    rows = published_rows.read_result_file(model.results[category])
    path = model.scores.get(category)
    score = published_rows.read_score_file(path, rows.order) if path is not None else None
    return _Category(rows, score)


def _unscored_evidence(
    categories: Mapping[str, _Category], tasks: Mapping[str, Sequence[Task]]
) -> list[EntryEvidence]:
    """Return rows of which nothing was published: only their shape can tell how they are read."""
    return [
        EntryEvidence(tasks[name][0], row, PublishedFailure(id=row.id))
        for name, read in categories.items()
        if tasks[name]
        for row in read.rows.rows.values()
    ]


def _file_problems(category: str, read: _Category) -> list[str]:
    problems = [f"{category}: {text}" for text in read.rows.problems]
    if read.score is None:
        return [*problems, f"{category}: no score file"]
    problems += [f"{category}: score file: {text}" for text in read.score.problems]
    score = read.score
    if score.n_correct is not None and score.n_total is not None:
        n_failed = score.n_total - score.n_correct
        if n_failed != len(score.failures):
            problems.append(
                f"{category}: the score file's header says {n_failed} failures, it lists "
                f"{len(score.failures)}"
            )
    return problems


def _surplus_differences(
    model: str, category: str, read: _Category, known: set[str]
) -> list[Difference]:
    """Return rows that are doubled, and rows of entries that today's data do not have."""
    found = [
        Difference(
            model=model,
            category=category,
            entry=id,
            published=None,
            reproduced=None,
            reason="doubled entry",
            detail="only the first row was judged",
        )
        for id in read.rows.doubled
    ]
    for id in read.rows.rows:
        if id not in known:
            failed = read.score is not None and id in read.score.failures
            found.append(
                Difference(
                    model=model,
                    category=category,
                    entry=json_codec.escape_surrogates(id)[:80],
                    published=None if read.score is None else not failed,
                    reproduced=None,
                    reason="foreign entry",
                    detail="today's data have no entry of this id",
                )
            )
    return found


def _make_difference(
    model: str,
    task: Task,
    published: bool | None,
    reproduced: bool | None,
    reason: DifferenceReason,
    detail: str,
) -> Difference:
    return Difference(
        model=model,
        category=task.category,
        entry=task.id,
        published=published,
        reproduced=reproduced,
        reason=reason,
        detail=json_codec.escape_surrogates(detail)[:_MAX_DETAIL_CHARS],
    )


class _EntryJudge:
    """Judges the entries of one model."""

    def __init__(
        self,
        model: str,
        reading: ChosenReading,
        entries: PublishedEntries,
        tool_formats: Mapping[str, ToolFormat],
    ) -> None:
        self.model = model
        self.reading = reading.reading
        self.entries = entries
        self.tool_formats = tool_formats
        self.underscores_for_dots: bool | None = None
        if reading.from_handler:
            _, listed = official_models.find_model(official_data.fetch_wheel(), model)
            self.underscores_for_dots = listed.underscores_for_dots if listed else None

    def choose_tool_names(self, evidence: Sequence[EntryEvidence]) -> None:
        """Choose how dots in names of tools are written: as most published verdicts have it.

        Only entries whose tools have a dot in their name can tell. Where the verdicts do not
        tell, both ways are accepted.
        """
        if self.underscores_for_dots is not None:
            return
        dotted = [
            each
            for each in evidence
            if len(each.task.turns) == 1 and any("." in tool.name for tool in each.task.tools)
        ]
        best, chosen = -1, self.underscores_for_dots
        for way in (None, False, True):
            self.underscores_for_dots = way
            n = sum(
                (self._verdict(each.task, each.row).outcome == "correct") == (each.failure is None)
                for each in dotted
            )
            if n > best:
                best, chosen = n, way
        self.underscores_for_dots = chosen

    def _trajectory(self, task: Task, row: ResultRow) -> Trajectory | None:
        try:
            return published_readings.read_trajectory(
                self.reading,
                task,
                row,
                self.tool_formats,
                underscores_for_dots=self.underscores_for_dots,
            )
        except MalformedResult:
            return None

    def _verdict(self, task: Task, row: ResultRow) -> Verdict:
        trajectory = self._trajectory(task, row)
        if trajectory is None:
            return Verdict(outcome="incorrect", value=0.0)
        return bfcl_scorer.score_episode(Episode(task, trajectory))["official"]

    def judge_entry(
        self, task: Task, row: ResultRow, published: bool | None, failure: PublishedFailure | None
    ) -> tuple[JudgedEntry, Difference | None]:
        """Judge one entry, and explain a verdict that is not the published one."""
        trajectory = self._trajectory(task, row)
        if trajectory is None:
            verdicts: Mapping[str, Verdict] = {}
        else:
            verdicts = bfcl_scorer.score_episode(Episode(task, trajectory))
        official = verdicts.get("official")
        reproduced = official is not None and official.outcome == "correct"
        amended = reproduced
        if task.item in errata.errata().amended and (fair := verdicts.get("fair")) is not None:
            amended = fair.outcome == "correct"
        entry = JudgedEntry(
            task=task,
            published=published,
            reproduced=reproduced,
            amended=amended,
            is_set_aside=task.item in errata.set_aside()
            or task.item in errata.errata().questionable,
            is_asked_otherwise=self.entries.is_asked_otherwise(task),
            is_api_error=published_rows.is_api_error(row),
            leaked_syntax=_leaked_syntax(task, trajectory),
        )
        if published is None or published == reproduced:
            return entry, None
        reason, detail = explain_difference(
            task, trajectory, error_type_of(official), published, failure, self.entries
        )
        return entry, _make_difference(self.model, task, published, reproduced, reason, detail)


def _leaked_syntax(task: Task, trajectory: Trajectory | None) -> str:
    """Return the syntax of a call that stands in the text and was not read as one, "" for none."""
    if trajectory is None or not trajectory.steps or bfcl_scorer.is_error_row(trajectory):
        return ""
    last = trajectory.steps[-1]
    if last.calls or last.reply.calls:
        return ""
    if len(task.turns) == 1 and reply_decoding.decode_reply(task, trajectory).calls:
        return ""
    text = json_codec.restore_surrogates(last.reply.text)
    if not foreign_calls.may_have_call(text):
        return ""
    found = foreign_calls.find_foreign_call(text, [tool.name for tool in task.tools])
    return found.syntax.name if found else ""


def read_published_entries(models: Sequence[PublishedModel]) -> PublishedEntries:
    """Return what the score files of all models publish of the entries."""
    entries = PublishedEntries()
    for model in models:
        for category in model.results:
            read = _read_category(model, category)
            if read.score is not None:
                entries.add_failures(read.score.failures.values())
    return entries


__all__ = [
    "Difference",
    "DifferenceReason",
    "JudgedEntry",
    "JudgedModel",
    "judge_model",
    "read_published_entries",
]

"""An audit of a folder of published BFCL results, model by model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolmark.core.records import Task
from toolmark.official_bfcl import official_data
from toolmark.studio.bfcl_audit import audit_report, published_layouts, re_judging
from toolmark.studio.bfcl_audit.audit_report import AuditReport, ScoreTable
from toolmark.suites import suite_registry
from toolmark.suites.bfcl import leaderboard


def audit_folder(
    folder: Path, *, show_progress: Callable[[int, int, str], None] = lambda *_: None
) -> AuditReport:
    """Judge a folder of published results again, and say what differs and why.

    `show_progress` gets the number of models done, of all models, and the name of the next. The
    time grows with the number of models. Nothing in the files is evaluated, and nothing is
    written. Raises UsageError for a folder without results.
    """
    models = published_layouts.find_published_models(folder)
    present = {category for model in models for category in model.results}
    categories = [name for name in leaderboard_order() if name in present]
    suite = suite_registry.load_suite("bfcl", category=tuple(categories))
    tasks: dict[str, list[Task]] = {name: [] for name in categories}
    for task in suite:
        if task.kind == "scored":
            tasks[task.category].append(task)
    entries = re_judging.read_published_entries(models)
    table, audits, differences = ScoreTable(), [], []
    for number, model in enumerate(models):
        show_progress(number, len(models), model.name)
        judged = re_judging.judge_model(model, tasks, entries, suite.tool_formats)
        audits.append(audit_report.summarise_model(judged, categories))
        differences += judged.differences
        table.add_model(judged)
    show_progress(len(models), len(models), "")
    all_tasks = [task for each in tasks.values() for task in each]
    return audit_report.make_report(
        kind=models[0].kind,
        folder=folder.resolve().name,
        categories=categories,
        models=audits,
        changed_entries=[change for task in all_tasks if (change := entries.find_change(task))],
        n_entries=len(all_tasks),
        n_described=sum(task.id in entries.by_id for task in all_tasks),
        differences=differences,
        table=table,
        notes=_folder_notes(models),
    )


def leaderboard_order() -> tuple[str, ...]:
    """Return all categories in the order of the leaderboard, the one it does not score last."""
    return (*official_data.category_sizes(), leaderboard.UNSCORED)


def _folder_notes(models: list[published_layouts.PublishedModel]) -> list[str]:
    retired = sorted({name for model in models for name in model.retired})
    notes = []
    if retired:
        notes.append(
            "categories that BFCL V4 does not have or does not score: " + ", ".join(retired[:12])
        )
    if not any(model.scores for model in models):
        notes.append("no score files next to the results: nothing to compare the verdicts with")
    return notes

"""The tables of an audit, for the terminal and for the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from toolmark.core import number_format
from toolmark.core.number_format import DASH
from toolmark.core.records import Cell, Table
from toolmark.studio.bfcl_audit import audit_report
from toolmark.studio.bfcl_audit.audit_report import (
    AuditReport,
    CategoryAudit,
    ModelAudit,
    RankedModel,
    Ranking,
)
from toolmark.studio.bfcl_audit.difference_reasons import REASON_MEANINGS
from toolmark.studio.bfcl_audit.re_judging import Difference


def model_table(report: AuditReport) -> Table:
    """Return one row per model: shares as published, judged again, after corrections, and ranks."""
    before = _ranks_by_model(report.rankings, "as published")
    after = _ranks_by_model(report.rankings, "after corrections")
    order = {name: place for place, name in enumerate(before or after)}
    rows = []
    for model in sorted(report.models, key=lambda each: (order.get(each.model, 0), each.model)):
        total = model.total
        rows.append(
            (
                model.model,
                _percent_text(total.published),
                number_format.format_share(total.reproduced),
                total.n_differences,
                total.n_api_errors,
                total.n_leaked_calls,
                number_format.format_share(total.corrected),
                rank_text(before.get(model.model)),
                rank_text(after.get(model.model)),
            )
        )
    return Table(
        title=f"{number_format.pluralize(len(rows), 'model')}, all categories together",
        head=(
            "model",
            "published",
            "judged again",
            "differences",
            "API errors",
            "leaked calls",
            "corrected",
            "rank published",
            "rank corrected",
        ),
        rows=tuple(rows),
        note=(
            "Brackets are 95 % intervals. Ranks have their joint 95 % confidence sets. Corrected: "
            "errata applied; API errors and entries that ask for another answer today are not "
            "counted; leaked calls are taken as calls."
            + "".join(f" Warning: {warning}." for warning in _ranking_warnings(report))
        ),
    )


def _ranking_warnings(report: AuditReport) -> list[str]:
    """Return the warnings of the rankings in this table, each once."""
    shown = [x for x in report.rankings if x.title in ("as published", "after corrections")]
    return list(dict.fromkeys(warning for ranking in shown for warning in ranking.warnings))


def _ranks_by_model(rankings: Sequence[Ranking], title: str) -> dict[str, RankedModel]:
    return {
        ranked.model: ranked
        for ranking in rankings
        if ranking.title == title
        for ranked in ranking.models
    }


def rank_text(ranked: RankedModel | None) -> str:
    """Return "3 [1, 16]": a rank and its confidence set."""
    if ranked is None:
        return DASH
    return f"{ranked.rank} [{ranked.low}, {ranked.high}]"


def _percent_text(share: float | None) -> str:
    return DASH if share is None else number_format.format_percent(share, 2)


def reason_table(report: AuditReport) -> Table:
    """Return the number of differences by reason, and what each means."""
    counts = audit_report.count_reasons(report)
    entries: dict[str, set[str]] = defaultdict(set)
    for each in report.differences:
        entries[each.reason].add(each.entry)
    return Table(
        title="Why verdicts differ from the published ones",
        head=("reason", "verdicts", "entries", "what it means"),
        rows=tuple(
            (reason, n, len(entries[reason]), REASON_MEANINGS[reason])
            for reason, n in counts.items()
        ),
        note=(
            f"{number_format.format_count(report.n_verdicts)} verdicts were compared. "
            "Reasons are found by putting back what was published, one thing after the other."
        ),
    )


def entry_table(report: AuditReport, max_rows: int) -> Table:
    """Return the entries with most differences: the reason, and how many models gain by it."""
    found: dict[tuple[str, str], list[Difference]] = defaultdict(list)
    for each in report.differences:
        found[each.entry, each.reason].append(each)
    ordered = sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    rows: list[tuple[Cell, ...]] = [
        (
            entry,
            reason,
            sum(bool(each.reproduced) for each in differences),
            sum(bool(each.published) for each in differences),
            differences[0].detail,
        )
        for (entry, reason), differences in ordered
    ]
    n_more = len(rows) - max_rows
    return Table(
        title="Entries that differ, the most frequent first",
        head=("entry", "reason", "models it helps", "models it costs", "then and now"),
        rows=tuple(rows[:max_rows]),
        note=f"{number_format.format_count(n_more)} more are in the JSON." if n_more > 0 else "",
    )


def category_table(report: AuditReport) -> Table:
    """Return one row per model and category."""
    rows = [
        (model.model, *_category_cells(category))
        for model in report.models
        for category in model.categories
    ]
    return Table(
        title="By model and category",
        head=(
            "model",
            "category",
            "published",
            "judged again",
            "differences",
            "API errors",
            "leaked calls",
            "after errata",
            "without changed entries",
            "without API errors",
            "with leaked calls",
            "corrected",
        ),
        rows=tuple(rows),
        is_collapsed=True,
    )


def _category_cells(category: CategoryAudit) -> tuple[Cell, ...]:
    return (
        category.category,
        _percent_text(category.published),
        number_format.format_share(category.reproduced),
        category.n_differences,
        category.n_api_errors,
        category.n_leaked_calls,
        *(_percent_text(category.after[name]) for name in audit_report.CORRECTIONS),
        number_format.format_share(category.corrected),
    )


def mean_table(report: AuditReport) -> Table:
    """Return the categories with the sums of all models: published and reproduced counts."""
    rows: list[tuple[Cell, ...]] = []
    for name in report.categories:
        parts = [
            each for model in report.models for each in model.categories if each.category == name
        ]
        scored = [each for each in parts if each.published is not None]
        n_equal = sum(
            each.n_published_correct == each.n_reproduced_correct and not each.n_differences
            for each in scored
        )
        rows.append(
            (
                name,
                sum(each.reproduced.n for each in parts),
                sum(each.n_differences for each in parts),
                f"{n_equal} of {len(scored)}",
                sum(each.n_reproduced_correct - (each.n_published_correct or 0) for each in scored),
            )
        )
    return Table(
        title="By category, all models together",
        head=(
            "category",
            "verdicts",
            "differences",
            "models without one",
            "correct entries won",
        ),
        rows=tuple(rows),
    )


def change_table(report: AuditReport, max_rows: int) -> Table:
    """Return the entries that are not today what was published next to the results."""
    rows = [
        (
            each.id,
            ", ".join(
                name
                for name, is_changed in (
                    ("question", each.question),
                    ("functions", each.functions),
                    ("reference", each.reference),
                )
                if is_changed
            ),
            each.reference_then,
            each.reference_now,
        )
        for each in report.changed_entries
    ]
    described = number_format.format_count(report.n_described)
    return Table(
        title="Entries that changed since",
        head=("entry", "what changed", "reference then", "reference now"),
        rows=tuple(rows[:max_rows]),
        note=(
            f"Of {described} of {number_format.format_count(report.n_entries)} entries something "
            f"was published next to a failure; {number_format.format_count(len(rows))} of them "
            "changed. Of the others only the id is known."
        ),
        is_collapsed=True,
    )


def reading_table(report: AuditReport) -> Table:
    """Return how each model's replies were read, and how often that is what was published."""
    return Table(
        title="How replies were read",
        head=("model", "reading", "agrees", "compared", "what is wrong with the files"),
        rows=tuple(_reading_row(model) for model in report.models),
        note=(
            "Score files say which calls were read of a failure. The reading is chosen that finds "
            "them most often, on at most 150 failures and 150 successes."
        ),
        is_collapsed=True,
    )


def _reading_row(model: ModelAudit) -> tuple[Cell, ...]:
    return (
        model.model,
        model.reading,
        model.n_reading_agrees,
        model.n_reading_compared,
        "; ".join(model.problems[:3]),
    )


def ranking_table(ranking: Ranking) -> Table:
    """Return a ranking with its confidence sets."""
    return Table(
        title=f"Ranks {ranking.title}",
        head=("rank", "confidence set", "model", "correct"),
        rows=tuple(
            (each.rank, f"{each.low} to {each.high}", each.model, _percent_text(each.value))
            for each in ranking.models
        ),
        note=(
            f"{number_format.format_count(ranking.n_entries)} entries in "
            f"{number_format.format_count(ranking.n_clusters)} groups; differences count beyond "
            f"{number_format.format_fixed(ranking.critical_value, 2)} standard errors. All sets "
            "hold together with probability 95 % (Mogstad, Romano, Shaikh and Wilhelm 2024)."
            + "".join(f" Warning: {warning}." for warning in ranking.warnings)
        ),
        is_collapsed=True,
    )


def headline_sentences(report: AuditReport) -> list[str]:
    """Return what an audit found, in a few sentences."""
    n_differences = sum(
        each.published is not None and each.reproduced is not None for each in report.differences
    )
    n = report.n_verdicts
    share = number_format.format_percent(1 - n_differences / n, 2) if n else DASH
    n_scored = sum(model.total.published is not None for model in report.models)
    sentences = [
        f"{number_format.pluralize(len(report.models), 'model')} in the layout of {report.kind}, "
        f"{number_format.format_count(n)} verdicts judged again with {report.data}."
    ]
    if n_scored:
        sentences.append(
            f"{share} are the published ones; {number_format.format_count(n_differences)} differ."
        )
    rankings = {ranking.title: ranking for ranking in report.rankings}
    if "as published" in rankings and "after corrections" in rankings:
        before, after = rankings["as published"], rankings["after corrections"]
        places = {each.model: each.rank for each in before.models}
        n_moved = sum(each.rank != places[each.model] for each in after.models)
        widths = [each.high - each.low + 1 for each in after.models]
        sentences.append(
            f"Corrections move {number_format.pluralize(n_moved, 'model')} to another rank. The "
            f"data allow {number_format.format_short(sum(widths) / len(widths), 2)} ranks per "
            "model on average."
        )
    return sentences

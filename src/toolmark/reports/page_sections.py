"""Sections of a page: tables and charts of one suite, and those of several runs together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolmark.core.errors import DataError, suggest_names
from toolmark.core.records import Chart, Table
from toolmark.core.svg import Markup
from toolmark.reports import charts, run_names, table_format
from toolmark.reports.table_format import Grid
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import (
    PRESENTATION_FILE,
    StoredPresentation,
    report_mismatch_as_damage,
)
from toolmark.runs.suite import ComparedRun
from toolmark.statistics.score_columns import Columns
from toolmark.suites import suite_registry


@dataclass(frozen=True, slots=True)
class PageSection:
    """Charts side by side, or one table, as the suite made them and in its order."""

    charts: list[tuple[Chart, Markup]]
    table: Grid | None


def suite_overviews(
    runs: Sequence[Run],
    run_labels: Sequence[str],
    presentations: Sequence[StoredPresentation],
    tables: Sequence[Mapping[str, Columns]],
) -> dict[str, list[PageSection]]:
    """Return the joint sections of each suite's runs; none for a suite with a single run.

    `run_labels` are the names of the runs on the page, `tables` their columns by grading rule.

    Raises DataError for an unknown overview and for scores that it cannot show.
    """
    overviews: dict[str, list[PageSection]] = {}
    for suite in dict.fromkeys(run.info.plan.suite for run in runs):
        indices = [i for i, run in enumerate(runs) if run.info.plan.suite == suite]
        first = presentations[indices[0]]
        indices = [
            i
            for i in indices
            if first.rules == presentations[i].rules and presentations[i].overview
        ]
        if len(indices) < 2 or not first.overview:
            continue
        _check_overview_name(runs[indices[0]], first.overview, suite_registry.OVERVIEWS)
        columns_by_rule = {
            name: {run_labels[i]: tables[i][name] for i in indices} for name in first.rules
        }
        with report_mismatch_as_damage(*(runs[i] for i in indices)):
            if found := list(
                make_sections(suite_registry.load_overview(first.overview)(columns_by_rule))
            ):
                overviews[suite] = found
    return overviews


def _check_overview_name(run: Run, name: str, known_names: Iterable[str]) -> None:
    """Raise DataError for an overview name that toolmark does not have."""
    if name not in known_names:
        raise DataError(
            f"{run.path / PRESENTATION_FILE}: no overview "
            f"{name!r}{suggest_names(name, known_names)}"
        )


def suite_profiles(
    runs: Sequence[Run],
    run_labels: Sequence[str],
    presentations: Sequence[StoredPresentation],
    tables: Sequence[Mapping[str, Columns]],
) -> dict[str, list[PageSection]]:
    """Return the joint sections of suites with one profile; none for a single suite.

    Raises DataError for an unknown profile and for scores that it cannot show.
    """
    sections: dict[str, list[PageSection]] = {}
    models = run_names.distinct_model_names(runs)
    for profile in dict.fromkeys(each.profile for each in presentations if each.profile):
        compared_runs = [
            ComparedRun(run.info.plan.suite, model, label, found, distinguishing, run.info.created)
            for run, model, distinguishing, label, presentation, found in zip(
                runs,
                models,
                run_names.distinguishing_settings(runs, models),
                run_labels,
                presentations,
                tables,
                strict=True,
            )
            if presentation.profile == profile
        ]
        suite_names = dict.fromkeys(each.suite for each in compared_runs)
        if len(suite_names) < 2:
            continue
        owner = next(
            run
            for run, presentation in zip(runs, presentations, strict=True)
            if presentation.profile == profile
        )
        _check_overview_name(owner, profile, suite_registry.PROFILES)
        with report_mismatch_as_damage(*runs):
            if found := list(make_sections(suite_registry.load_profile(profile)(compared_runs))):
                sections[", ".join(suite_names)] = found
    return sections


def make_sections(
    items: Iterable[Table | Chart], run_index: int | None = None, *, has_variations: bool = False
) -> Iterator[PageSection]:
    """Yield the sections in the suite's order; adjacent charts share a row.

    `run_index` is the run that cells link to, None for sections of several runs. With
    `has_variations` the page lists varied tasks too.
    """
    group_charts: list[tuple[Chart, Markup]] = []
    for item in items:
        if isinstance(item, Chart):
            group_charts.append((charts.visible_chart(item), charts.draw_chart(item)))
            continue
        if group_charts:
            yield PageSection(group_charts, None)
            group_charts = []
        grid = table_format.make_grid(item, run_index, has_variations=has_variations)
        yield PageSection([], grid)
    if group_charts:
        yield PageSection(group_charts, None)

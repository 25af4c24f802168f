"""What the page shows of one run, computed from its scores in one pass per grading rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from toolmark.core import json_codec, number_format
from toolmark.core.errors import DataError, suggest_names
from toolmark.core.records import Chart, Estimate, Table
from toolmark.core.svg import Markup
from toolmark.reports import (
    charts,
    cost_text,
    failure_causes,
    floor_text,
    reply_tables,
    run_names,
    run_series,
    table_format,
    usage_text,
)
from toolmark.reports.failure_causes import Causes
from toolmark.reports.table_format import Grid
from toolmark.runs.costs.run_usage import RunUsage, run_usage
from toolmark.runs.floors import floor_numbers
from toolmark.runs.floors.floor_numbers import FloorNumbers
from toolmark.runs.run_plan import PlannedDraw
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import (
    PRESENTATION_FILE,
    StoredPresentation,
    report_mismatch_as_damage,
)
from toolmark.runs.suite import ComparedRun
from toolmark.statistics.estimates import count_groups, estimate_repeat_noise
from toolmark.statistics.interval_limits import NORMAL_QUANTILE
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns, gather_columns, without_variations
from toolmark.suites import suite_registry

MAX_NOTES = 20  # notes on one part of the environment
MAX_NOTE_LENGTH = 600
MAX_IDS_LISTED = 4  # ids of a selection that are named


@dataclass(frozen=True, slots=True)
class RuleNumbers:
    """The numbers of one grading rule: the headline first, then its parts.

    `units` are what n counts. `n_groups_by_name` are the numbers of groups, where rows are grouped.
    `title_by_name` are the labels that readers see instead of the names of parts.
    `title_in_whole_by_name` are the names that parts take next to runs of which they are a part.
    """

    name: str
    estimates: list[Estimate]
    units: Mapping[str, str]
    n_groups_by_name: Mapping[str, int]
    title_by_name: Mapping[str, str]
    title_in_whole_by_name: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PageSection:
    """Charts side by side, or one table, as the suite made them and in its order."""

    charts: list[tuple[Chart, Markup]]
    table: Grid | None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run as the page shows it; `index` is its position on the page."""

    index: int
    name: str
    suite: str
    data_label: str
    model: str
    setting_text: str
    caution: str
    headline: Estimate
    floors: FloorNumbers | None
    rules: list[RuleNumbers]
    noise_note: str
    notes: list[str]
    n_planned: int
    n_not_run: int
    settings: list[tuple[str, str]]
    origins: list[tuple[str, str]]
    environment: Grid
    replies: list[Grid]
    groups: list[PageSection]
    causes: list[Causes]
    not_run_reasons: Grid
    not_run_rows: Grid

    @property
    def suite_text(self) -> str:
        """The suite, and what its tasks are where they are not published."""
        return run_names.label_suite(self.suite, self.data_label)

    @property
    def floor_lines(self) -> list[str]:
        """What is said of the floors next to the headline."""
        return [] if self.floors is None else floor_text.floors_lines(self.floors)

    @property
    def floor_value(self) -> float | None:
        """The highest floor, where it is a share."""
        highest = self.floors.highest if self.floors is not None else None
        return highest.value if highest is not None and self.headline.is_share else None

    @property
    def floor_cells(self) -> tuple[str, str]:
        """The highest floor with its agent, and the difference from it; dashes without one."""
        return floor_text.floor_cells(self.floors)

    @property
    def group_note(self) -> str:
        """The text for the number of groups of the headline's n, "" without groups."""
        n = self.rules[0].n_groups_by_name.get(self.headline.name, 0)
        return f" in {number_format.pluralize(n, 'group')}" if 0 < n < self.headline.n else ""


def gather_run_facts(
    index: int, run: Run, presentation: StoredPresentation, name: str
) -> tuple[RunFacts, dict[str, Columns]]:
    """Compute a run's facts, and the columns of each grading rule.

    Raises DataError for a damaged folder.
    """
    with report_mismatch_as_damage(run):
        by_rule = {rule: gather_columns(run.scores(), rule) for rule in presentation.rules}
        return _run_facts(index, run, presentation, name, by_rule), by_rule


def _run_facts(
    index: int,
    run: Run,
    presentation: StoredPresentation,
    name: str,
    by_rule: Mapping[str, Columns],
) -> RunFacts:
    first = by_rule[presentation.rules[0]]
    plan = run.info.plan
    measured = [
        _measure_rule(rule, table, presentation.metrics[rule]) for rule, table in by_rule.items()
    ]
    reasons, absent = failure_causes.not_run_grids(
        without_variations(run.scores()), presentation.rules[0]
    )
    suite_tables, used = presentation.tables, run_usage(run)
    repeated_tables = [
        table
        for table in suite_tables
        if isinstance(table, Table) and _repeats_numbers(table, measured)
    ]
    return RunFacts(
        index=index,
        name=name,
        suite=plan.suite,
        data_label=table_format.visible_text(run.info.data_label),
        model=table_format.visible_text(run_names.short_model_name(plan.model)),
        setting_text=_run_description(run),
        caution=table_format.visible_text(presentation.caution),
        headline=measured[0].estimates[0],
        floors=floor_numbers.read_floor_numbers(
            run, first, presentation.metrics[presentation.rules[0]][0], presentation.rules[0]
        ),
        rules=measured,
        noise_note=_noise_sentence(first),
        notes=list(filter(None, (_remove_interval_note(table.note) for table in repeated_tables))),
        n_planned=run.info.n_planned,
        n_not_run=int((~first.run).sum()),
        settings=[(key, value) for key, value in _setting_rows(run, used) if value],
        origins=_origin_rows(run),
        environment=_environment_grid(run),
        replies=list(map(table_format.make_grid, reply_tables.run_tables(used.replies))),
        groups=list(
            _page_sections((item for item in suite_tables if item not in repeated_tables), index)
        ),
        causes=failure_causes.merge_equal_causes(
            [
                failure_causes.count_causes(
                    index, without_variations(run.scores()), name, presentation.failure_names
                )
                for name in presentation.rules
            ]
        ),
        not_run_reasons=reasons,
        not_run_rows=absent,
    )


def _measure_rule(rule: str, table: Columns, metrics: Sequence[Metric]) -> RuleNumbers:
    """Compute the metrics of a grading rule; its numbers get the labels that readers see."""
    labels = {m.name: table_format.visible_text(m.label) for m in metrics}
    found = [replace(m.measure(table), name=labels[m.name]) for m in metrics]
    units = {labels[m.name]: m.unit for m in metrics}
    group_counts = {labels[m.name]: count_groups(m.select_rows(table)) for m in metrics}
    label_by_name = {m.name: labels[m.name] for m in metrics if m.title}
    names_in_whole = {labels[m.name]: m.title_in_whole for m in metrics if m.title_in_whole}
    return RuleNumbers(
        rule,
        found,
        units,
        {name: n for name, n in group_counts.items() if n},
        label_by_name,
        names_in_whole,
    )


def suite_overviews(
    runs: Sequence[Run],
    shown_runs: Sequence[RunFacts],
    presentations: Sequence[StoredPresentation],
    tables: Sequence[Mapping[str, Columns]],
) -> dict[str, list[PageSection]]:
    """Return the joint sections of each suite's runs; none for a suite with a single run.

    Raises DataError for an unknown overview and for scores that it cannot show.
    """
    overviews: dict[str, list[PageSection]] = {}
    for suite in dict.fromkeys(shown_run.suite for shown_run in shown_runs):
        indices = [i for i, shown_run in enumerate(shown_runs) if shown_run.suite == suite]
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
            name: {shown_runs[i].name: tables[i][name] for i in indices} for name in first.rules
        }
        with report_mismatch_as_damage(*(runs[i] for i in indices)):
            if found := list(
                _page_sections(suite_registry.load_overview(first.overview)(columns_by_rule))
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
    shown_runs: Sequence[RunFacts],
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
            ComparedRun(
                shown_run.suite, model, shown_run.name, found, distinguishing, run.info.created
            )
            for run, model, distinguishing, shown_run, presentation, found in zip(
                runs,
                models,
                run_names.distinguishing_settings(runs, models),
                shown_runs,
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
            if found := list(_page_sections(suite_registry.load_profile(profile)(compared_runs))):
                sections[", ".join(suite_names)] = found
    return sections


def _remove_interval_note(note: str) -> str:
    """Remove the text that the page's own table already has."""
    return note.removeprefix("95 % intervals.").strip()


def runs_by_caution(shown_runs: Sequence[RunFacts]) -> dict[str, list[str]]:
    """Return the cautions that readers must know first, each with the names of its runs."""
    found: dict[str, list[str]] = {}
    for shown_run in shown_runs:
        if shown_run.caution:
            found.setdefault(shown_run.caution, []).append(shown_run.name)
    return found


def _repeats_numbers(table: Table, rule_numbers: Sequence[RuleNumbers]) -> bool:
    """Return whether a table of values and intervals only repeats the page's own numbers."""
    head = table.head
    if len(head) < 4 or head[2:4] != ("low", "high") or set(head[4:]) - {"n"}:
        return False
    for read in rule_numbers:
        estimates = {(x.name, x.value, x.low, x.high) for x in read.estimates}
        if all(row[:4] in estimates for row in table.rows):
            return True
    return False


def _run_description(run: Run) -> str:
    info = run.info
    served = [name for name in info.served_models if name != info.plan.model]
    return " · ".join(
        part
        for part in (
            f"tool format {info.plan.tool_format}",
            number_format.pluralize(info.n_tasks, "task"),
            run_names.sample_label(info.plan.sample) if info.plan.limit is None else "",
            f"{info.plan.repeats} repeats" if info.plan.repeats > 1 else "",
            f"seed {info.seed}",
            f"served as {table_format.visible_text(', '.join(served))}" if served else "",
            _format_time(info.created),
        )
        if part
    )


def _format_time(created: str) -> str:
    """Shorten "2026-01-02T03:04:05+00:00" to minutes; return other forms unchanged."""
    if not created.endswith("+00:00"):
        return created
    return f"{created[:16].replace('T', ' ')} UTC"


def _noise_sentence(table: Columns) -> str:
    """Return a sentence on the noise floor, "" without repeats."""
    floor = estimate_repeat_noise(table)
    if floor.value is None:
        return ""
    run_sd = floor.value / np.sqrt(max(1, int(table.run.sum())))
    task_sd = number_format.format_fixed(floor.value, 3)
    shift = number_format.format_fixed(100 * NORMAL_QUANTILE * np.sqrt(2) * run_sd, 1)
    return (
        f"Noise floor: repeats of one task scatter with a standard deviation of {task_sd} "
        f"({number_format.pluralize(floor.n, 'task')}), so the same model asked again would move "
        f"this score by about ±{shift} points for that reason alone."
    )


def _setting_rows(run: Run, used: RunUsage) -> Iterator[tuple[str, str]]:
    info, plan = run.info, run.info.plan
    yield "suite", run_names.label_suite(plan.suite, info.data_label)
    yield "model", table_format.visible_text(plan.model)
    yield "base URL", plan.base_url
    yield "simulated user", table_format.visible_text(plan.user.get("model", ""))
    yield "served as", table_format.visible_text(", ".join(info.served_models))
    yield "tool format", plan.tool_format
    yield "parameters", _settings_text(plan.parameters)
    yield "sampling", _settings_text(msgspec.to_builtins(plan.sampling)) or "the endpoint's own"
    yield "left out", "; ".join(run_names.left_out_settings(info))
    yield "seed", str(info.seed)
    yield "tasks × repeats", f"{number_format.format_count(info.n_tasks)} × {plan.repeats}"
    yield "selection", _selection_text(run)
    series = run_series.find_series(run)
    yield "runs", run_series.describe_series(series)
    yield "logbook", table_format.visible_text("; ".join(series.faults if series else ()))
    yield "created", info.created
    yield "took", usage_text.usage_line(used)
    yield (
        "cost",
        table_format.visible_text(
            cost_text.cost_line(used).removeprefix("cost ").removeprefix("of ")
        ),
    )
    yield "command", table_format.visible_text(info.command)
    yield "folder", table_format.visible_text(str(run.path))


def _selection_text(run: Run) -> str:
    plan = run.info.plan
    chosen = {
        "limit": plan.limit,
        "sample": plan.sample,
        "tasks": plan.tasks,
        "plan": "" if plan.study is None else _draw_text(plan.study),
        "ids": list(plan.ids) if len(plan.ids) <= MAX_IDS_LISTED else _shortened_ids(plan.ids),
    }
    return _settings_text(chosen)


def _draw_text(draw: PlannedDraw) -> str:
    n_items = number_format.pluralize(draw.n_items, "item")
    without = (
        f", without {number_format.format_count(len(draw.excluded_items))} of the pilot"
        if draw.excluded_items
        else ""
    )
    return f"{n_items}{without} (seed {draw.seed}, sha256 {draw.plan_sha256[:12]})"


def _shortened_ids(ids: Sequence[str]) -> str:
    return f"{number_format.format_count(len(ids))} ids ({', '.join(ids[:MAX_IDS_LISTED])}, …)"


def _settings_text(values: Mapping[str, Any]) -> str:
    """Return settings as text; unset ones are omitted."""
    unset: tuple[Any, ...] = (None, "", [], (), {})
    return ", ".join(f"{key} = {_setting_text(x)}" for key, x in values.items() if x not in unset)


def _setting_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_setting_text, value))}]"
    text = (
        value
        if isinstance(value, str)
        else json_codec.encode_record(json_codec.to_plain_json(value)).decode()
    )
    return table_format.visible_text(text)


def _origin_rows(run: Run) -> list[tuple[str, str]]:
    info = run.info
    hashes = {"tasks": info.tasks_sha256, **info.hashes}
    hash_rows = [(f"sha256 {name}", value) for name, value in hashes.items() if value]
    return [*info.versions.items(), *hash_rows]


def _environment_grid(run: Run) -> Grid:
    """Return the missing parts of the environment and the notes on them, by part."""
    info = run.info
    rows = [
        (name, "cannot run", reason.replace("\n", "; "))
        for name, reason in info.missing_parts.items()
    ]
    n_omitted = 0
    for name, notes in info.notes.items():
        n_omitted += max(0, len(notes) - MAX_NOTES)
        rows += [(name, "noted", note) for note in notes[:MAX_NOTES]]
    shown_rows = tuple(
        (name, what, text[:MAX_NOTE_LENGTH]) for name, what, text in sorted(rows, key=_first_cell)
    )
    note = f"{number_format.pluralize(n_omitted, 'further note')} in run.json" if n_omitted else ""
    is_data_only = all(name == "data" and what == "noted" for name, what, _ in rows)
    title = "Of the data" if is_data_only else "What could not run, or had trouble"
    head = ("part", "", "what is known")
    return table_format.make_grid(Table(title=title, head=head, rows=shown_rows, note=note))


def _first_cell(row: tuple[str, str, str]) -> str:
    return row[0]


def _page_sections(
    items: Iterable[Table | Chart], run_index: int | None = None
) -> Iterator[PageSection]:
    """Yield the sections in the suite's order; adjacent charts share a row.

    `run_index` is the run that cells link to, None for sections of several runs.
    """
    group_charts: list[tuple[Chart, Markup]] = []
    for item in items:
        if isinstance(item, Chart):
            group_charts.append((charts.visible_chart(item), charts.draw_chart(item)))
            continue
        if group_charts:
            yield PageSection(group_charts, None)
            group_charts = []
        yield PageSection([], table_format.make_grid(item, run_index))
    if group_charts:
        yield PageSection(group_charts, None)

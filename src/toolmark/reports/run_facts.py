"""What the page shows of one run, computed from its scores in one pass per grading rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.records import EpisodeFilter, Estimate, Table
from toolmark.reports import (
    failure_causes,
    floor_text,
    page_sections,
    reply_tables,
    run_names,
    run_setting_rows,
    table_format,
)
from toolmark.reports.failure_causes import Causes
from toolmark.reports.table_format import Grid
from toolmark.runs.costs.run_usage import run_usage
from toolmark.runs.floors import floor_numbers
from toolmark.runs.floors.floor_numbers import FloorNumbers
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import StoredPresentation, report_mismatch_as_damage
from toolmark.statistics.episode_filters import FilterFinder
from toolmark.statistics.estimates import (
    count_groups,
    estimate_repeat_error,
    estimate_repeat_noise,
)
from toolmark.statistics.interval_limits import NORMAL_QUANTILE
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns, gather_columns, without_variations


@dataclass(frozen=True, slots=True)
class RuleNumbers:
    """The numbers of one grading rule: the headline first, then its parts.

    `units` are what n counts. `n_groups_by_name` are the numbers of groups, where rows are grouped.
    `title_by_name` are the labels that readers see instead of the names of parts.
    `title_in_whole_by_name` are the names that parts take next to runs of which they are a part.
    `episodes_by_name` selects the episodes behind a number; None where none ran.
    """

    name: str
    estimates: list[Estimate]
    units: Mapping[str, str]
    n_groups_by_name: Mapping[str, int]
    title_by_name: Mapping[str, str]
    title_in_whole_by_name: Mapping[str, str]
    episodes_by_name: Mapping[str, EpisodeFilter | None]


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
    groups: list[page_sections.PageSection]
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
        model=table_format.visible_text(run_names.player_name(plan.agent, plan.model)),
        setting_text=_run_description(run),
        caution=table_format.visible_text(presentation.caution),
        headline=measured[0].estimates[0],
        floors=floor_numbers.read_floor_numbers(
            run, first, presentation.metrics[presentation.rules[0]][0], presentation.rules[0]
        ),
        rules=measured,
        noise_note=_noise_sentence(presentation.metrics[presentation.rules[0]][0], first),
        notes=list(filter(None, (_remove_interval_note(table.note) for table in repeated_tables))),
        n_planned=run.info.n_planned,
        n_not_run=int((~first.run).sum()),
        settings=[(key, value) for key, value in run_setting_rows.setting_rows(run, used) if value],
        origins=run_setting_rows.origin_rows(run),
        environment=run_setting_rows.environment_grid(run),
        replies=list(map(table_format.make_grid, reply_tables.run_tables(used.replies))),
        groups=list(
            page_sections.make_sections(
                (item for item in suite_tables if item not in repeated_tables),
                index,
                has_variations=bool(plan.vary),
            )
        ),
        causes=failure_causes.merge_equal_causes(
            [
                failure_causes.count_causes(
                    index,
                    without_variations(run.scores()),
                    name,
                    presentation.failure_names,
                    has_variations=bool(plan.vary),
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
    finder = FilterFinder(table)
    behind = {labels[m.name]: m.rows_behind(table) for m in metrics}
    names_in_whole = {labels[m.name]: m.title_in_whole for m in metrics if m.title_in_whole}
    return RuleNumbers(
        rule,
        found,
        units,
        {name: n for name, n in group_counts.items() if n},
        label_by_name,
        names_in_whole,
        {name: finder.find_cover(rows.where(rows.run)) for name, rows in behind.items()},
    )


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


def _noise_sentence(metric: Metric, table: Columns) -> str:
    """Return a sentence on the noise floor of the headline, "" without repeats."""
    floor = estimate_repeat_noise(metric.select_rows(table))
    error = estimate_repeat_error(metric.linearise(table), table)
    if floor.value is None or error is None:
        return ""
    task_sd = number_format.format_fixed(floor.value, 3)
    shift = number_format.format_size(NORMAL_QUANTILE * 2**0.5 * error, metric.formula.is_share)
    return (
        f"Noise floor: repeats of one task scatter with a standard deviation of {task_sd} "
        f"({number_format.pluralize(floor.n, 'task')}), so the same model asked again would move "
        f"this score by about ±{shift} for that reason alone."
    )

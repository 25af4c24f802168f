"""How many items and repeats a run needs: planned from pilots, or from an expected score."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from toolmark.core.errors import UsageError
from toolmark.core.number_format import format_fixed, format_short, pluralize
from toolmark.core.records import Record, Task
from toolmark.core.version import TOOLMARK_VERSION
from toolmark.runs.planning.pilot_runs import Pilot, difference_components, number_components
from toolmark.runs.planning.planned_items import divide_in_proportion, order_items
from toolmark.runs.planning.study_plan import PLAN_FORMAT, StudyGoal, StudyPlan
from toolmark.runs.suite import Suite
from toolmark.statistics import planned_precision
from toolmark.statistics.interval_limits import FEWEST_GROUPS
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.planned_precision import DesignSizes, PlannedNumber
from toolmark.statistics.score_columns import Columns, Numbers
from toolmark.statistics.variance_components import VarianceComponents

_CURVE_SHARES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # of the planned number of items
_FEWEST_ITEMS = 5


class CurvePoint(Record, frozen=True, kw_only=True):
    """What a run of so many items and repeats would show and cost.

    `half_width` is None where only the variance of a difference is known, `power` without a wanted
    difference, `detectable` where no difference is found with the wanted power.
    """

    n_items: int
    repeats: int
    n_episodes: int
    half_width: float | None = None
    detectable: float | None = None
    power: float | None = None
    cost_usd: float | None = None


class StudyForecast(Record, frozen=True, kw_only=True):
    """A plan with its curve. `is_share`: the headline is displayed in per cent."""

    plan: StudyPlan
    curve: tuple[CurvePoint, ...]
    metric: str
    is_share: bool
    n_clusters: int
    separated: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """What is planned: a goal, and what is known of the scores and of the costs.

    `expected` is the expected score where there is no pilot. `usd_per_episode` is None where the
    costs are not known.
    """

    goal: StudyGoal
    pilots: Sequence[Pilot] = ()
    expected: float | None = None
    usd_per_episode: float | None = None
    draw_seed: int = 0


class _Designs:
    """The designs that a suite allows; `measure_items` gives their sizes by the number of items."""

    def __init__(self, suite: Suite, request: StudyRequest) -> None:
        tasks = [task for task in suite.tasks if task.kind == "scored"]
        excluded = {item for pilot in request.pilots for item in pilot.items}
        self._check_items(tasks, request.pilots)
        unsampled = suite.defaults.unsampled_categories
        ordered = order_items(tasks, request.draw_seed, excluded, unsampled)
        self.sizes = {name: len(each) for name, each in ordered.items()}
        self.n_available = sum(self.sizes.values())
        if not self.n_available:
            raise UsageError(
                "the pilot asked every item of the suite, and none is left for the run; next: a "
                "pilot of fewer items, by --sample"
            )
        names = [*ordered]
        place = {
            item: (code, rank)
            for code, name in enumerate(names)
            for rank, item in enumerate(ordered[name])
        }
        chosen = [task for task in tasks if (task.item or task.id) in place]
        places = [place[task.item or task.id] for task in chosen]
        self._category = np.array([code for code, _ in places], dtype=np.int64)
        self._rank = np.array([rank for _, rank in places], dtype=np.int64)
        self._rows = _task_columns(suite, chosen, request)
        self._metrics = suite.scorer.metrics
        self.head = self._metrics(self._rows)[0]
        self.measure_items = functools.lru_cache(maxsize=None)(self._measure_items)

    @staticmethod
    def _check_items(tasks: Sequence[Task], pilots: Sequence[Pilot]) -> None:
        """Raise UsageError for a pilot with items that the suite does not have."""
        known = {task.item or task.id for task in tasks}
        for pilot in pilots:
            if unknown := sorted(pilot.items - known):
                raise UsageError(
                    f"{pilot.record.run}: the suite has no item {unknown[0]!r}; next: a pilot of "
                    "the same suite, parameters and seed"
                )

    def _mask(self, n_items: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        counts = divide_in_proportion(self.sizes, n_items)
        limits = np.array([counts[name] for name in self.sizes], dtype=np.int64)
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = self._rank < limits[self._category]
        return found

    def _measure_items(self, n_items: int) -> DesignSizes | None:
        """Return the sizes, None where so few items have another headline than all have.

        Some suites report a weighted score only where every category has rows.
        """
        rows = self._rows.where(self._mask(n_items))
        if self._metrics(rows)[0].name != self.head.name:
            return None
        return planned_precision.measure_design(self.head.select_rows(rows), self.head.formula)

    def count_tasks(self, n_items: int) -> int:
        """Return the number of tasks of so many items."""
        return int(self._mask(n_items).sum())


def _task_columns(suite: Suite, tasks: Sequence[Task], request: StudyRequest) -> Columns:
    """Return a row per task, with the value and the parts of a pilot's row of its category.

    Without a pilot the values are right and wrong at random with the expected score. Only weights
    are computed from these rows.
    """
    n = len(tasks)
    rng = np.random.default_rng(0)
    category = np.array([task.category for task in tasks], dtype=object)
    names = {name for task in tasks for name in task.axes}
    axes = {
        name: np.array([task.axes.get(name, "") for task in tasks], dtype=object) for name in names
    }
    groups = [task.axes.get("group") or suite.scorer.group(task) for task in tasks]
    if any(groups):
        axes["group"] = np.array(groups, dtype=object)
    if request.pilots:
        rows = request.pilots[0].columns
        at = _rows_like(category, rows, rng)
        value, parts = rows.value[at], {name: each[at] for name, each in rows.parts.items()}
    else:
        value = (rng.random(n) < (request.expected or 0.0)).astype(np.float64)
        parts = {}
    empty = np.full(n, "", dtype=object)
    return Columns(
        task=np.array([task.id for task in tasks], dtype=object),
        item=np.array([task.item or task.id for task in tasks], dtype=object),
        category=category,
        repeat=np.zeros(n, dtype=np.int64),
        run=np.ones(n, dtype=bool),
        correct=value == 1,
        value=value,
        cause=empty,
        suite_cause=empty,
        axes=axes,
        parts=parts,
    )


def _rows_like(
    category: np.ndarray[tuple[int], np.dtype[np.object_]],
    rows: Columns,
    rng: np.random.Generator,
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return for each task a row of its category that ran, or any that ran."""
    ran = np.flatnonzero(rows.run)
    found = ran[rng.integers(0, len(ran), len(category))]
    for name in set(category):
        own = ran[rows.category[ran] == name]
        if len(own):
            at = np.flatnonzero(category == name)
            found[at] = own[rng.integers(0, len(own), len(at))]
    return found


# --- the plan ---------------------------------------------------------------------------


def plan_study(suite: Suite, request: StudyRequest) -> StudyForecast:
    """Return the cheapest run that reaches the goal, with what other sizes would show.

    Where the suite has too few items, the plan has all of them and `is_reached` is False. Raises
    UsageError for a goal that makes no sense, and where nothing varies.
    """
    goal, pilots = request.goal, request.pilots
    designs = _Designs(suite, request)
    number, difference = _planned_numbers(request, designs.head)
    check_goal(goal, is_share=number.is_share)
    planned = number if goal.half_width is not None else difference
    # answers that never differ from asking again are not asked again
    can_repeat = "repeat" in number.components.separated and planned.components.repeat > 0

    def reaches(sizes: DesignSizes, repeats: int) -> bool:
        if goal.half_width is not None:
            return planned_precision.plan_half_width(sizes, repeats, number) <= goal.half_width
        assert goal.difference is not None
        found = planned_precision.plan_power(sizes, repeats, goal.difference, difference)
        return found >= goal.power

    chosen = planned_precision.choose_design(
        designs.measure_items, reaches, designs.n_available, can_repeat=can_repeat
    )

    def measure_point(n_items: int, repeats: int) -> CurvePoint | None:
        sizes = designs.measure_items(n_items)
        if sizes is None:
            return None
        n_episodes = designs.count_tasks(n_items) * repeats
        usd = request.usd_per_episode
        return CurvePoint(
            n_items=n_items,
            repeats=repeats,
            n_episodes=n_episodes,
            half_width=planned_precision.plan_half_width(sizes, repeats, number),
            detectable=planned_precision.plan_detectable(sizes, repeats, difference, goal.power),
            power=None
            if goal.difference is None
            else planned_precision.plan_power(sizes, repeats, goal.difference, difference),
            cost_usd=None if usd is None else usd * n_episodes,
        )

    point = measure_point(chosen.n_items, chosen.repeats)
    assert point is not None  # it was chosen by its sizes
    points = (
        measure_point(n, repeats)
        for n, repeats in _curve_sizes(chosen.n_items, chosen.repeats, designs, can_repeat)
    )
    plan = StudyPlan(
        format=PLAN_FORMAT,
        suite=suite.name,
        parameters=dict(suite.parameters),
        suite_seed=suite.provenance.seed,
        goal=goal,
        n_items=chosen.n_items,
        repeats=chosen.repeats,
        draw_seed=request.draw_seed,
        n_available=designs.n_available,
        is_reached=chosen.is_reached,
        value=number.value,
        components=planned.components,
        n_episodes=point.n_episodes,
        half_width=point.half_width,
        detectable=point.detectable,
        power=point.power,
        excluded_items=tuple(sorted({item for pilot in pilots for item in pilot.items})),
        pilots=tuple(pilot.record for pilot in pilots),
        cost_usd=point.cost_usd,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=TOOLMARK_VERSION,
    )
    return StudyForecast(
        plan=plan,
        curve=tuple(each for each in points if each is not None),
        metric=designs.head.label,
        is_share=number.is_share,
        n_clusters=chosen.sizes.n_clusters,
        separated=number.components.separated,
        warnings=tuple(_plan_warnings(request, number.components, chosen.sizes, designs.head)),
    )


def check_goal(goal: StudyGoal, *, is_share: bool) -> None:
    """Raise UsageError unless exactly one goal is given, within its bounds."""
    width, difference = goal.half_width, goal.difference
    if (width is None) == (difference is None):
        raise UsageError(
            "a plan has one goal; next: --half-width 0.05 (an interval of plus and minus five "
            "points), or --difference 0.05 (between two runs)"
        )
    if width is not None and not (0 < width <= 0.5 if is_share else width > 0):
        raise UsageError(
            f"--half-width {format_short(width)}: above 0 and at most 0.5, as a share; "
            "next: --half-width 0.05 for five points"
        )
    if difference is not None and not (0 < difference <= 1 if is_share else difference > 0):
        raise UsageError(
            f"--difference {format_short(difference)}: above 0 and at most 1, as a share; "
            "next: --difference 0.05 for five points"
        )
    if not 0.5 <= goal.power <= 0.99:
        raise UsageError(f"--power {format_short(goal.power)}: from 0.5 to 0.99; next: --power 0.8")


def _planned_numbers(request: StudyRequest, head: Metric) -> tuple[PlannedNumber, PlannedNumber]:
    """Return the headline, and the difference of two runs in it."""
    goal, correlation = request.goal, request.goal.correlation or 0.0
    if not request.pilots:
        return _expected_numbers(request.expected, goal.difference or 0.0, correlation)
    pilot = request.pilots[0]
    number = number_components(pilot, head)
    if len(request.pilots) == 2:
        return number, difference_components(pilot, request.pilots[1], head)
    related = planned_precision.relate_runs(number.components, correlation)
    return number, replace(number, components=related)


def _expected_numbers(
    expected: float | None, difference: float, correlation: float
) -> tuple[PlannedNumber, PlannedNumber]:
    if expected is None:
        raise UsageError(
            "a plan needs a pilot or an expected score; next: --pilot RUN, or --expect 0.6"
        )
    if not 0 < expected < 1:
        raise UsageError(
            f"--expect {format_short(expected)}: answers of such a score do not vary; "
            "next: a score between 0 and 1, such as --expect 0.6"
        )
    other = expected + difference if expected + difference < 1 else expected - difference
    if not 0 < other < 1:
        raise UsageError(
            f"--difference {format_short(difference)} from {format_short(expected)} is outside 0 "
            "to 1; next: a smaller one"
        )
    one, two = expected * (1 - expected), other * (1 - other)
    variance = one + two - 2 * correlation * math.sqrt(one * two)
    if variance + difference**2 < difference - 1e-9 or not -1 <= correlation < 1:
        most = (one + two + difference**2 - difference) / (2 * math.sqrt(one * two))
        raise UsageError(
            f"--correlation {format_short(correlation)}: scores of {format_short(expected)} and "
            f"{format_short(other)} cannot correlate more than "
            f"{format_fixed(min(most, 0.99), 2)}; next: --correlation up to that"
        )

    def make_number(total: float) -> PlannedNumber:
        return PlannedNumber(expected, VarianceComponents(item=total), has_bound=False)

    return make_number(one), make_number(variance)


def _curve_sizes(
    n_items: int, repeats: int, designs: _Designs, can_repeat: bool
) -> list[tuple[int, int]]:
    """Return the sizes of the curve; where all items are asked, further repeats too."""
    most = designs.n_available
    counts = {min(most, max(_FEWEST_ITEMS, round(n_items * share))) for share in _CURVE_SHARES}
    counts |= {n_items, most}
    sizes = [(n, repeats) for n in sorted(min(n, most) for n in counts)]
    if can_repeat:
        further = {1, 2, 4, planned_precision.MAX_REPEATS} - {repeats}
        sizes += [(n_items, each) for each in sorted(further)]
    return sizes


def _plan_warnings(
    request: StudyRequest, components: VarianceComponents, sizes: DesignSizes, head: Metric
) -> list[str]:
    goal, found = request.goal, []
    for pilot in request.pilots[:1]:
        if pilot.headline != head.label:
            found.append(
                f"the pilot's headline is {pilot.headline}, that of the plan is {head.label}: what "
                "the pilot lacks of it is taken to be like the rest"
            )
    has_groups = sizes.n_clusters < sizes.n_items
    if has_groups and "item" not in components.separated:
        found.append(
            f"the tasks are in {pluralize(sizes.n_clusters, 'group')}, and nothing here shows how "
            "alike answers of a group are: they are taken as independent, which is the best case"
        )
    if request.pilots and "repeat" not in components.separated:
        found.append(
            "the pilot asked nothing twice, so what repeats would help is not known: each task is "
            "asked once"
        )
    if len(request.pilots) != 2 and goal.correlation is None:
        found.append(
            "differences: the answers of two runs are taken as unrelated, which costs most; "
            "--correlation, or two pilots by --pilot A --pilot B, say more"
        )
    if min(sizes.n_clusters, sizes.n_effective) < FEWEST_GROUPS:
        units = pluralize(sizes.n_clusters, "group" if has_groups else "item")
        found.append(
            f"the interval will rest on {units}; with fewer than {FEWEST_GROUPS} it may be too "
            "narrow, and power may be less"
        )
    return found


def component_shares(components: VarianceComponents) -> Mapping[str, float]:
    """Return the share of each component in the variance of one answer."""
    parts: Numbers = np.array(
        [components.group, components.item, components.variant, components.repeat]
    )
    names = ("group", "item", "variant", "repeat")
    total = float(parts.sum()) or 1.0
    return {name: float(part) / total for name, part in zip(names, parts, strict=True)}

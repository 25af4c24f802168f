"""The columns of Table 1: categories, and the groups over which they are averaged."""

from __future__ import annotations

from toolmark.core.records import Estimate
from toolmark.official_bfcl.official_data import category_sizes
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.metric_formulas import StratifiedMean
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.weighted_means import EvenGroup, Group, PooledGroup, group_categories
from toolmark.suites.mfcl_speech import speech_items

EXPERT = EvenGroup("expert", speech_items.GROUPS["expert"])
COMMUNITY = PooledGroup("community", speech_items.GROUPS["community"])
MULTI_TURN = EvenGroup("multi_turn", speech_items.GROUPS["multi_turn"])
HALLUCINATION = EvenGroup("hallucination", (*speech_items.GROUPS["relevance"], "irrelevance"))
OVERALL = EvenGroup("overall", (EXPERT, COMMUNITY, MULTI_TURN, HALLUCINATION))
GROUPS: tuple[Group, ...] = (EXPERT, COMMUNITY, MULTI_TURN, HALLUCINATION)
COLUMN_LABELS = {
    "simple_python": "expert simple", "multiple": "expert multiple",
    "parallel": "expert parallel", "parallel_multiple": "expert parallel multiple",
    "live_simple": "community simple", "live_multiple": "community multiple",
    "live_parallel": "community parallel",
    "live_parallel_multiple": "community parallel multiple",
    "multi_turn_base": "multi-turn base", "multi_turn_miss_func": "multi-turn miss func",
    "multi_turn_miss_param": "multi-turn miss param",
    "live_relevance": "relevance", "irrelevance": "irrelevance",
}  # fmt: skip
"""The columns of Table 1 by category; irrelevance includes the community's entries."""


def group_formula(group: Group) -> StratifiedMean:
    """Return a group's mean as a formula; irrelevance includes the community's answers."""
    names = group_categories(group)
    _, *community = speech_items.GROUPS["irrelevance"]
    joined = {"irrelevance": tuple(community)} if "irrelevance" in names else {}
    return StratifiedMean(
        group=group, entries={x: category_sizes()[x] for x in names}, joined=joined
    )


def measure_group(group: Group, columns: Columns) -> Estimate:
    """Return a group's mean with its interval; `partial` where it lacks a category."""
    return group_formula(group).measure(columns)


def column_mean(columns: Columns, name: str) -> Estimate:
    """Return the mean of one of Table 1's columns."""
    return estimate_mean(column_rows(columns, name), name)


def column_filter(name: str) -> RowFilter:
    """Return the filter to the answers that count in one of Table 1's columns."""
    names = speech_items.GROUPS["irrelevance"] if name == "irrelevance" else (name,)
    return RowFilter(column="category", values=names)


def column_rows(columns: Columns, name: str) -> Columns:
    """Return the answers that count in one of Table 1's columns."""
    return column_filter(name).select_rows(columns)


def has_answers(group: Group, columns: Columns) -> bool:
    """Return whether a group has any answers."""
    return any(len(column_rows(columns, name)) for name in group_categories(group))


def is_complete(group: Group, columns: Columns) -> bool:
    """Return whether every category of a group was asked."""
    return all(len(column_rows(columns, name)) for name in group_categories(group))


def find_whole_group(columns: Columns) -> Group | None:
    """Return the group that covers all answers: overall, or the only one; else None."""
    present_groups = [group for group in GROUPS if has_answers(group, columns)]
    candidates: list[Group] = [OVERALL, *(present_groups if len(present_groups) == 1 else [])]
    return next((group for group in candidates if is_complete(group, columns)), None)

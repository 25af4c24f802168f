"""The leaderboard's numbers: every category, the groups, and the weighted overall score.

A group is a weighted mean of its members (`StratifiedMean`). A category without a result counts as
0, as on the leaderboard. Such a category has no value and n = 0; its groups are marked by
`partial`.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.official_bfcl import prompt_formats
from toolmark.official_bfcl.official_data import category_sizes
from toolmark.statistics.metric_formulas import (
    FilteredFormula,
    Mean,
    Metric,
    StratifiedMean,
)
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.weighted_means import (
    EvenGroup,
    Group,
    PooledGroup,
    WeightedGroup,
    group_categories,
)

UNSCORED = "format_sensitivity"


SIMPLE = EvenGroup("simple_ast", ("simple_python", "simple_java", "simple_javascript"))
NON_LIVE = EvenGroup("non_live", (SIMPLE, "multiple", "parallel", "parallel_multiple"))
LIVE = PooledGroup(
    "live", ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
)
IRRELEVANCE = EvenGroup("irrelevance_detection", ("irrelevance", "live_irrelevance"))
MULTI_TURN = EvenGroup(
    "multi_turn",
    (
        "multi_turn_base",
        "multi_turn_miss_func",
        "multi_turn_miss_param",
        "multi_turn_long_context",
    ),
)
WEB_SEARCH = EvenGroup("web_search", ("web_search_base", "web_search_no_snippet"))
MEMORY = EvenGroup("memory", ("memory_kv", "memory_vector", "memory_rec_sum"))
AGENTIC = EvenGroup("agentic", (WEB_SEARCH, MEMORY))
OVERALL = WeightedGroup(
    "overall", (NON_LIVE, LIVE, IRRELEVANCE, MULTI_TURN, AGENTIC), (10, 10, 10, 30, 40)
)

GROUPS: tuple[Group, ...] = (
    SIMPLE,
    NON_LIVE,
    LIVE,
    IRRELEVANCE,
    MULTI_TURN,
    WEB_SEARCH,
    MEMORY,
    AGENTIC,
    OVERALL,
)


_SCORED_OR_ALONE = RowFilter(
    column="category", values=(UNSCORED,), is_excluding=True, all_if_none=True
)


def leaderboard_metrics(columns: Columns) -> list[Metric]:
    """Return the headline, then every category and group, and the prompt formats that were run.

    The headline is the overall score where every scored category ran, else plain accuracy: with
    categories missing, the overall score says more about the selection than about the model. Format
    sensitivity counts in plain accuracy only where no other category ran.
    """
    accuracy = Metric("accuracy", FilteredFormula(filters=(_SCORED_OR_ALONE,), formula=Mean()))
    groups = [
        Metric(
            group.name,
            StratifiedMean(
                group=group, entries={x: category_sizes()[x] for x in group_categories(group)}
            ),
        )
        for group in GROUPS
    ]
    present = set(columns.category)
    parts = [
        Metric(
            name,
            FilteredFormula(
                filters=(RowFilter(column="category", values=(name,)),), formula=Mean()
            ),
        )
        for name in (*category_sizes(), *sorted(present - set(category_sizes())))
    ]
    spread = prompt_formats.format_metrics(columns.where(columns.run))
    if not missing_categories(columns):
        extra = sorted(present - set(group_categories(OVERALL)))  # the official score leaves it out
        label = f"overall (without {', '.join(extra)})" if extra else ""
        head = replace(groups[-1], title=label)
        return [head, accuracy, *parts, *groups[:-1], *spread]
    return [accuracy, *parts, *groups, *spread]


def missing_categories(columns: Columns) -> list[str]:
    """Return the scored categories without any result."""
    with_results = set(columns.category[columns.run])
    return [name for name in category_sizes() if name not in with_results]

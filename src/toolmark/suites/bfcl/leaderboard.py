"""The leaderboard's numbers: every category, the groups, and the weighted overall score.

A group is a weighted mean of its members (`stats.strata`). A category that has no result counts as
0, as on the leaderboard; it is marked by having no value and n = 0 itself, and its groups by
`partial`.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.stats.columns import Columns
from toolmark.stats.formulas import Filter, Mean, Metric, Of, Stratified
from toolmark.stats.strata import Even, Group, Pooled, Weighted, leaves
from toolmark.suites.bfcl import formats

# entries of each scored category in the published data, in the order of the leaderboard
ENTRIES: dict[str, int] = {
    "simple_python": 400,
    "simple_java": 100,
    "simple_javascript": 50,
    "multiple": 200,
    "parallel": 200,
    "parallel_multiple": 200,
    "irrelevance": 240,
    "live_simple": 258,
    "live_multiple": 1053,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "live_irrelevance": 884,
    "live_relevance": 16,
    "multi_turn_base": 200,
    "multi_turn_miss_func": 200,
    "multi_turn_miss_param": 200,
    "multi_turn_long_context": 200,
    "web_search_base": 100,
    "web_search_no_snippet": 100,
    "memory_kv": 155,
    "memory_vector": 155,
    "memory_rec_sum": 155,
}
UNSCORED = "format_sensitivity"


SIMPLE = Even("simple_ast", ("simple_python", "simple_java", "simple_javascript"))
NON_LIVE = Even("non_live", (SIMPLE, "multiple", "parallel", "parallel_multiple"))
LIVE = Pooled("live", ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"))
IRRELEVANCE = Even("irrelevance_detection", ("irrelevance", "live_irrelevance"))
MULTI_TURN = Even(
    "multi_turn",
    (
        "multi_turn_base",
        "multi_turn_miss_func",
        "multi_turn_miss_param",
        "multi_turn_long_context",
    ),
)
WEB_SEARCH = Even("web_search", ("web_search_base", "web_search_no_snippet"))
MEMORY = Even("memory", ("memory_kv", "memory_vector", "memory_rec_sum"))
AGENTIC = Even("agentic", (WEB_SEARCH, MEMORY))
OVERALL = Weighted(
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


_ALONE = Filter(column="category", values=(UNSCORED,), other=True, or_all=True)


def metrics(columns: Columns) -> list[Metric]:
    """Return the headline, then every category and group, and the prompt formats that were run.

    The headline is the overall score where every scored category ran, else plain accuracy:
    with categories missing the overall score says more about the selection than about the model.
    Format sensitivity counts in plain accuracy only where it is alone.
    """
    accuracy = Metric("accuracy", Of(rows=(_ALONE,), formula=Mean()))
    groups = [
        Metric(group.name, Stratified(group=group, entries={x: ENTRIES[x] for x in leaves(group)}))
        for group in GROUPS
    ]
    present = set(columns.category)
    parts = [
        Metric(name, Of(rows=(Filter(column="category", values=(name,)),), formula=Mean()))
        for name in (*ENTRIES, *sorted(present - set(ENTRIES)))
    ]
    spread = formats.metrics(columns.where(columns.run))
    if not missing(columns):
        beside = sorted(present - set(leaves(OVERALL)))  # which the official score leaves out
        told = f"overall (without {', '.join(beside)})" if beside else ""
        head = replace(groups[-1], told=told)
        return [head, accuracy, *parts, *groups[:-1], *spread]
    return [accuracy, *parts, *groups, *spread]


def missing(columns: Columns) -> list[str]:
    """Return the scored categories without any result."""
    ran = set(columns.category[columns.run])
    return [name for name in ENTRIES if name not in ran]

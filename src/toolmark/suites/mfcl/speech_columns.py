"""The columns of Table 1: categories, and the groups that they are averaged in."""

from __future__ import annotations

from toolmark.stats.columns import Columns
from toolmark.stats.formulas import Filter, Stratified
from toolmark.stats.strata import Even, Group, Pooled, leaves
from toolmark.stats.summary import mean
from toolmark.suites.bfcl.leaderboard import ENTRIES
from toolmark.suites.mfcl import items
from toolmark.types import Estimate

EXPERT = Even("expert", items.GROUPS["expert"])
COMMUNITY = Pooled("community", items.GROUPS["community"])
MULTI_TURN = Even("multi_turn", items.GROUPS["multi_turn"])
HALLUCINATION = Even("hallucination", (*items.GROUPS["relevance"], "irrelevance"))
OVERALL = Even("overall", (EXPERT, COMMUNITY, MULTI_TURN, HALLUCINATION))
GROUPS: tuple[Group, ...] = (EXPERT, COMMUNITY, MULTI_TURN, HALLUCINATION)
TOLD = {
    "simple_python": "expert simple", "multiple": "expert multiple",
    "parallel": "expert parallel", "parallel_multiple": "expert parallel multiple",
    "live_simple": "community simple", "live_multiple": "community multiple",
    "live_parallel": "community parallel",
    "live_parallel_multiple": "community parallel multiple",
    "multi_turn_base": "multi-turn base", "multi_turn_miss_func": "multi-turn miss func",
    "multi_turn_miss_param": "multi-turn miss param",
    "live_relevance": "relevance", "irrelevance": "irrelevance",
}  # fmt: skip
"""The columns of Table 1 by category; irrelevance holds the community's too."""


def formula(group: Group) -> Stratified:
    """Return a group's mean as a formula; irrelevance holds the community's answers too."""
    names = leaves(group)
    _, *more = items.GROUPS["irrelevance"]
    joined = {"irrelevance": tuple(more)} if "irrelevance" in names else {}
    return Stratified(group=group, entries={x: ENTRIES[x] for x in names}, joined=joined)


def measure(group: Group, columns: Columns) -> Estimate:
    """Return a group's mean with its interval; `partial` where it lacks a category."""
    return formula(group).measure(columns)


def leaf(columns: Columns, name: str) -> Estimate:
    """Return the mean of one of Table 1's columns."""
    return mean(column(columns, name), name)


def only(name: str) -> Filter:
    """Return the filter to the answers that count in one of Table 1's columns."""
    names = items.GROUPS["irrelevance"] if name == "irrelevance" else (name,)
    return Filter(column="category", values=names)


def column(columns: Columns, name: str) -> Columns:
    """Return the answers that count in one of Table 1's columns."""
    return only(name).rows(columns)


def present(group: Group, columns: Columns) -> bool:
    """Tell whether a group has any answers."""
    return any(len(column(columns, name)) for name in leaves(group))


def complete(group: Group, columns: Columns) -> bool:
    """Tell whether every category of a group was asked."""
    return all(len(column(columns, name)) for name in leaves(group))


def whole(columns: Columns) -> Group | None:
    """Return the group that all answers together are: overall, or the only one; else none."""
    here = [group for group in GROUPS if present(group, columns)]
    candidates: list[Group] = [OVERALL, *(here if len(here) == 1 else [])]
    return next((group for group in candidates if complete(group, columns)), None)

"""A ranking of runs as records and as tables."""

from __future__ import annotations

from collections.abc import Sequence

from toolmark.core import number_format
from toolmark.core.number_format import DASH
from toolmark.core.records import Cell, Estimate, Record, Table
from toolmark.reports import run_names
from toolmark.statistics.interval_limits import NORMAL_QUANTILE

MAX_ITEMS_LISTED = 30


class RankedRun(Record, frozen=True, kw_only=True):
    """A run's place.

    `low` and `high` are its joint 95 % confidence set. `share_first` is how often it is first when
    items are drawn again. `items_equal` and `categories_equal` are its ranks under these weights,
    `lowest` and `highest` those that hold 95 % of random weights; all None where the number is no
    weighted mean of the items' scores. `rule_ranks` are its ranks under the other grading rules.
    `n_not_run` counts common items that its value does not rest on. `above_floor` is the run minus
    the best floor of the first run, None where that has no stored floor.
    """

    run: str
    value: float
    rank: int
    low: int
    high: int
    share_first: float
    items_equal: int | None
    categories_equal: int | None
    lowest: int | None
    highest: int | None
    rule_ranks: dict[str, int]
    n_not_run: int = 0
    above_floor: Estimate | None = None


class RankedItem(Record, frozen=True, kw_only=True):
    """An item: the share of runs that do not solve it, and its item-rest correlation.

    `slope` is that of its logistic curve, None with fewer than 50 runs.
    """

    item: str
    category: str
    difficulty: float
    discrimination: float
    upper: float
    slope: float | None


class RunRanking(Record, frozen=True, kw_only=True):
    """Runs of one suite, ranked by a metric of the first over their common items.

    `n_categories` is 0 where the number is no weighted mean of the items' scores.
    """

    suite: str
    rule: str
    metric: str
    is_share: bool = True
    lower_is_better: bool = False
    n_items: int
    n_clusters: int
    n_categories: int
    critical_value: float
    repeat_error: float | None
    runs: list[RankedRun]
    wrong_items: list[RankedItem]
    median_discrimination: float | None
    warnings: list[str]
    data_label: str = ""
    floor: str = ""
    floor_value: float | None = None


def ranking_tables(found: RunRanking) -> list[Table]:
    """Return the tables of a ranking: the runs, and items that discriminate the wrong way."""
    metric = f"{found.metric} (less is better)" if found.lower_is_better else found.metric
    above = ("above the floor",) if found.floor else ()
    other_ranks = _other_ranks(found)
    differing = {name: ranks for name, ranks in other_ranks.items() if not _are_same(found, ranks)}
    head = ("rank", "set", "run", metric, *above, "first in draws", *differing)
    suite = run_names.label_suite(found.suite, found.data_label)
    tables = [
        Table(
            title=f"{len(found.runs)} runs of {suite}, rule {found.rule}",
            head=head,
            rows=tuple(
                (*_run_cells(found, each), *(ranks[at] for ranks in differing.values()))
                for at, each in enumerate(found.runs)
            ),
            note=_ranking_note(found, [name for name in other_ranks if name not in differing]),
        )
    ]
    if found.wrong_items:
        tables.append(
            Table(
                title="Items that good runs fail and bad runs solve: look at their reference",
                head=("item", "category", "not solved by", "discrimination", "slope"),
                rows=tuple(
                    (
                        each.item,
                        each.category,
                        number_format.format_percent(each.difficulty, 0),
                        number_format.format_fixed(each.discrimination, 2, signed=True),
                        DASH
                        if each.slope is None
                        else number_format.format_fixed(each.slope, 2, signed=True),
                    )
                    for each in found.wrong_items[:MAX_ITEMS_LISTED]
                ),
                note=(
                    f"{number_format.pluralize(len(found.wrong_items), 'item')}; by chance about "
                    "2.5 % of items without any discrimination are listed."
                ),
            )
        )
    return tables


def _other_ranks(found: RunRanking) -> dict[str, list[Cell]]:
    """Return the ranks of all runs by other weights and rules, by what differs."""
    ranks: dict[str, list[Cell]] = {}
    if found.n_categories:
        ranks["items equal"] = [each.items_equal for each in found.runs]
        ranks["categories equal"] = [each.categories_equal for each in found.runs]
        ranks["random weights"] = [f"{each.lowest} to {each.highest}" for each in found.runs]
    for rule in found.runs[0].rule_ranks:
        ranks[f"rule {rule}"] = [each.rule_ranks[rule] for each in found.runs]
    return ranks


def _are_same(found: RunRanking, ranks: Sequence[Cell]) -> bool:
    """Return whether these ranks are those of the ranking itself."""
    return all(
        other in (each.rank, f"{each.rank} to {each.rank}")
        for each, other in zip(found.runs, ranks, strict=True)
    )


def _run_cells(found: RunRanking, each: RankedRun) -> tuple[Cell, ...]:
    value = Estimate(name="", value=each.value, is_share=found.is_share)
    return (
        each.rank,
        f"{each.low} to {each.high}",
        each.run,
        number_format.format_estimate(value),
        *(
            [number_format.format_difference(each.above_floor)]
            if each.above_floor is not None
            else []
        ),
        number_format.format_percent(each.share_first, 0),
    )


def _ranking_note(found: RunRanking, same_by: Sequence[str]) -> str:
    parts = [
        f"{number_format.format_count(found.n_items)} items in "
        f"{number_format.format_count(found.n_clusters)} groups. All sets hold together with "
        "probability 95 %. First in draws: the share of draws of the items in which a run is "
        "first, no probability that it is the best."
    ]
    if not found.n_categories:
        parts.append(
            "The number is no weighted mean of the items' scores, so there are no other weights."
        )
    if same_by:
        parts.append(f"The ranks are the same by: {', '.join(same_by)}.")
    if found.floor_value is not None:
        floor = number_format.format_estimate(
            Estimate(name="", value=found.floor_value, is_share=found.is_share)
        )
        parts.append(f"Floor: {floor} ({found.floor}, no model); differences are paired.")
    if found.repeat_error is not None:
        size = NORMAL_QUANTILE * 2**0.5 * found.repeat_error
        limit = number_format.format_size(size, found.is_share)
        parts.append(
            f"From asking again alone two runs of one model differ by at most {limit} in 95 % of "
            "cases."
        )
    return " ".join(parts)

"""How often intervals cover the truth, how wide they are, and how often equal runs look different.

    python benchmarks/coverage.py [--draws 2000] [--nulls 10000]
                                  [--part intervals|table|tests|power]

Right and wrong are drawn for the items of BFCL, with its categories and groups, for a designed grid
and for flat clustered samples. The answers of a group have the latent correlation of the cell: an
answer is right where a normal number, which is the sum of one of the group and one of the item, is
below the quantile of the category's share. Groups and items are drawn anew each time.

*Intervals*: the share of draws in which the 95 % interval covers the true value, and the mean width
of the interval over 3.92 times the standard deviation of the value between draws (the ideal).
Memory, which rests on five conversations, must have a warning in every draw, the others in none.
*Table*: the coverage of flat clustered samples whose groups have rates from a beta distribution, as
rows of docs/explanation/statistics.md.
*Tests*: the share of draws in which a comparison of two equal models has p <= 0.05. *Power*: how
often a comparison finds the difference that an earlier one named as detectable.

The standard error of a share of 2,000 draws near 95 % is 0.5 points, of 10,000 near 5 % 0.2 points.
Bars: the limits of each cell, less three standard errors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

import toolmark as tm
from toolmark.official_bfcl import entry_groups
from toolmark.official_bfcl.official_data import category_sizes
from toolmark.statistics import weighted_means
from toolmark.statistics.level_formulas import LevelMean
from toolmark.statistics.metric_formulas import Formula, Mean, PooledRate, StratifiedMean
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.score_columns import Columns
from toolmark.suites.bfcl import leaderboard

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """The rows of a sample: categories and levels, the group of each, and each row's true share.

    `item` is the item of each row: rows of one item are correlated as rows of a group are.
    """

    category: NDArray[np.object_]
    group: NDArray[np.object_]
    item: NDArray[np.object_]
    share: Numbers
    level: NDArray[np.object_]


def names(prefix: str, codes: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return names of the codes."""
    return np.array([f"{prefix}{code}" for code in codes], dtype=object)


def columns_of(design: Design, value: Numbers) -> Columns:
    """Return the scores of a run of this design."""
    n = len(value)
    empty = np.full(n, "", dtype=object)
    return Columns(
        task=names("t", np.arange(n)),
        item=design.item,
        category=design.category,
        repeat=np.zeros(n, dtype=np.int64),
        run=np.ones(n, dtype=bool),
        correct=value == 1,
        value=value,
        cause=empty,
        suite_cause=empty,
        axes={"group": design.group, "level": design.level},
        parts={},
    )


def draw_values(
    rng: np.random.Generator, design: Design, correlation: float, item_part: Numbers | None = None
) -> Numbers:
    """Return 0 or 1 for each row; the latent numbers of a group have this correlation.

    With `item_part`, the latent number of each row that two runs have in common, it is half of the
    rest.
    """
    names_of_groups, code = np.unique(design.group.astype(str), return_inverse=True)
    common = rng.normal(size=len(names_of_groups))[code]
    own = rng.normal(size=len(code))
    if item_part is not None:
        own = (own + item_part) / np.sqrt(2)
    latent = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    right: Numbers = (latent < ndtri(design.share)).astype(np.float64)
    return right


# --- designs ----------------------------------------------------------------------------


@cache
def scored_bfcl_tasks() -> list[tuple[str, str]]:
    """Return category and group of every scored entry."""
    suite = tm.load("bfcl", category="all_scoring")
    return [
        (task.category, entry_groups.entry_group(task))
        for task in suite.tasks
        if task.kind == "scored"
    ]


def bfcl_design(shares: dict[str, float]) -> Design:
    """Return all scored entries of BFCL with their groups, and a true share by category."""
    tasks = scored_bfcl_tasks()
    category = np.array([category for category, _ in tasks], dtype=object)
    group = np.array([group for _, group in tasks], dtype=object)
    share = np.array([shares[str(name)] for name in category])
    item = names("i", np.arange(len(category)))
    return Design(category, group, item, share, np.full(len(category), "", dtype=object))


def flat_design(n_groups: int, size: int | str, share: float) -> Design:
    """Return groups of one category: of this size, log-normal around 8, or a fifth of 40."""
    rng = np.random.default_rng(1)
    match size:
        case "log-normal":
            sizes = np.maximum(1, np.round(8 * np.exp(rng.normal(0, 0.8, n_groups)))).astype(int)
        case "a fifth of 40":
            sizes = np.where(np.arange(n_groups) < n_groups // 5, 40, 5)
        case _:
            sizes = np.full(n_groups, int(size))
    code = np.repeat(np.arange(n_groups), sizes)
    n = len(code)
    empty = np.full(n, "", dtype=object)
    return Design(empty, names("g", code), names("i", np.arange(n)), np.full(n, share), empty)


def grid_design(n_settings: int, n_items: int) -> Design:
    """Return a grid of settings from easy to hard, each with its own items."""
    setting = np.repeat(np.arange(n_settings), n_items)
    share = np.linspace(0.98, 0.02, n_settings)[setting]
    n = len(setting)
    item = names("i", np.arange(n))
    return Design(names("c", setting), item, item, share, names("l", setting))


def repeated_design(n_items: int, shares: tuple[float, ...]) -> Design:
    """Return items that are each asked in every level, with a share by level."""
    item = np.tile(np.arange(n_items), len(shares))
    level = np.repeat(np.arange(len(shares)), n_items)
    share = np.array(shares)[level]
    found = names("i", item)
    return Design(np.full(len(item), "", dtype=object), found, found, share, names("l", level))


# --- intervals --------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A number of a design with its bars: least coverage and greatest relative width."""

    name: str
    formula: Formula
    design: Design
    correlation: float
    least_coverage: float
    most_width: float = float("inf")


def leaderboard_formula(name: str) -> Formula:
    """Return the formula of one of the leaderboard's groups."""
    return StratifiedMean(group=next(each for each in leaderboard.GROUPS if each.name == name))


def true_value(formula: Formula, design: Design) -> float:
    """Return the formula's value of the true shares."""
    value = formula.linearise(columns_of(design, design.share)).value
    assert value is not None
    return value


SHARES: dict[str, Callable[[str], float]] = {
    "half": lambda name: 0.5,
    "mixed": lambda name: (
        0.35 if name.startswith("multi_turn") else
        0.25 if name.startswith("memory") else
        0.6 if name.startswith("web") else
        0.95 if name.startswith("parallel") else 0.85
    ),
    "good": lambda name: 0.75 if name.startswith(("multi_turn", "memory", "web")) else 0.93,
}  # fmt: skip
BFCL_BARS = {
    "overall": (92.0, 1.25),
    "multi_turn": (92.0, 1.25),
    "live": (92.0, 1.25),
    "memory": (90.0, 1.45),
}


def interval_cells() -> Iterator[tuple[str, list[Cell]]]:
    """Yield the cells that are measured on the same draws, with their title."""
    for label, share_of in SHARES.items():
        design = bfcl_design({name: share_of(name) for name in category_sizes()})
        for correlation in (0.0, 0.1, 0.3):
            yield (
                f"BFCL, {label}, correlation {correlation}",
                [
                    Cell(name, leaderboard_formula(name), design, correlation, *bars)
                    for name, bars in BFCL_BARS.items()
                ],
            )
    for n_items in (5, 10, 30):
        design = grid_design(20, n_items)
        formula = Mean(strata=("category",))
        yield (
            f"grid of 20 settings, {n_items} items each",
            [Cell("success", formula, design, 0.0, 92.0, 1.1)],
        )
    for correlation in (0.0, 0.3):
        design = repeated_design(50, (0.9, 0.8, 0.6, 0.5, 0.3, 0.2))
        yield f"50 items in 6 variations, correlation {correlation}", [
            Cell("mean of levels", LevelMean(axis="level", levels_label="levels"), design,
                 correlation, 92.0, 1.1)
        ]  # fmt: skip
    for size in (3, 8, "log-normal", "a fifth of 40"):
        for n_groups in (10, 20, 40):
            for share, correlation in ((0.5, 0.0), (0.5, 0.3), (0.3, 0.6), (0.1, 0.3)):
                least = 90.0 if n_groups < 20 else 86.0 if share == 0.1 else 90.0
                yield (
                    f"flat: {n_groups} groups of {size}, {share}, {correlation}",
                    [Cell("mean", Mean(), flat_design(n_groups, size, share), correlation, least)],
                )


def measure_intervals(n_draws: int) -> bool:
    """Print coverage and width of every cell; tell whether all bars hold."""
    print(f"{'cell':52} {'number':14} covers  ± s.e.  width  value")
    holds = True
    for title, cells in interval_cells():
        rng = np.random.default_rng(1)
        found: dict[str, list[tuple[float, float, float]]] = {each.name: [] for each in cells}
        n_warned = dict.fromkeys(found, 0)
        design, correlation = cells[0].design, cells[0].correlation
        for _ in range(n_draws):
            columns = columns_of(design, draw_values(rng, design, correlation))
            for cell in cells:
                estimate = cell.formula.measure(columns)
                assert estimate.value is not None
                assert estimate.low is not None and estimate.high is not None
                found[cell.name].append((estimate.value, estimate.low, estimate.high))
                n_warned[cell.name] += bool(estimate.warning)
        for cell in cells:
            value, low, high = np.array(found[cell.name]).T
            truth = true_value(cell.formula, design)
            covers = float(np.mean((low <= truth) & (truth <= high)))
            error = 100 * float(np.sqrt(max(covers * (1 - covers), 1e-4) / n_draws))
            width = float((high - low).mean()) / (3.92 * float(value.std()))
            bad = 100 * covers < cell.least_coverage - 3 * error or width > cell.most_width
            if title.startswith("BFCL"):
                bad |= n_warned[cell.name] != (n_draws if cell.name == "memory" else 0)
            holds &= not bad
            print(
                f"{title:52} {cell.name:14} {100 * covers:5.1f}  {error:5.2f}  {width:6.3f}"
                f"  {truth:.3f}{'  MISSED' if bad else ''}",
                flush=True,
            )
    return holds


# --- table ------------------------------------------------------------------------------

TABLE_SIZES: dict[str, int | str] = {
    "3 each": 3,
    "8 each": 8,
    "1 000 each": 1000,
    "log-normal around 8": "log-normal",
    "a fifth have 40, the others 5": "a fifth of 40",
}
TABLE_CELLS = ((0.5, 0.0), (0.5, 0.3), (0.3, 0.6), (0.1, 0.3), (0.1, 0.6), (0.05, 0.6))


def print_table(n_draws: int) -> bool:
    """Print a row of coverages, in per cent, for each size and number of groups.

    A group is one row of `PooledRate`, whose interval is that of the mean of the group's rows.
    """
    formula = PooledRate(part="hits", total_part="size")
    for label, size in TABLE_SIZES.items():
        for n_groups in (10, 20, 40):
            sizes = np.unique(flat_design(n_groups, size, 0.5).group, return_counts=True)[1]
            design = flat_design(n_groups, 1, 0.5)
            blank = columns_of(design, design.share)
            cells = []
            for share, alike in TABLE_CELLS:
                rng = np.random.default_rng(4)
                hits = 0
                for _ in range(n_draws):
                    rate: Numbers = np.full(n_groups, share)
                    if alike:
                        spread = (1 - alike) / alike
                        rate = rng.beta(share * spread, (1 - share) * spread, n_groups)
                    parts = {
                        "hits": rng.binomial(sizes, rate).astype(float),
                        "size": sizes.astype(float),
                    }
                    found = formula.measure(replace(blank, parts=parts))
                    assert found.low is not None and found.high is not None
                    hits += found.low <= share <= found.high
                cells.append(f"{100 * hits / n_draws:.0f}")
            name = label if n_groups == 10 else ""
            print(
                f"| {name} | {n_groups} | {' | '.join(cells)} |".replace("|  |", "| |"), flush=True
            )
    return True


# --- tests ------------------------------------------------------------------------------


def test_cells() -> Iterator[tuple[str, Formula, Design, float]]:
    """Yield designs in which two equal models are compared."""
    for n in (20, 50, 200):
        for share in (0.5, 0.9):
            yield f"{n} single items, {share}", Mean(), flat_design(n, 1, share), 0.0
    for size in (3, 8, "log-normal", "a fifth of 40"):
        for n_groups in (10, 20, 40):
            for share, correlation in ((0.5, 0.0), (0.5, 0.3), (0.9, 0.3), (0.5, 0.6)):
                title = f"{n_groups} groups of {size}, {share}, {correlation}"
                yield title, Mean(), flat_design(n_groups, size, share), correlation
    yield "grid of 20 settings, 5 each", Mean(strata=("category",)), grid_design(20, 5), 0.0


def bfcl_test_cells() -> Iterator[tuple[str, Formula, Design, float]]:
    """Yield BFCL's numbers, of which a draw takes longer."""
    design = bfcl_design({name: SHARES["mixed"](name) for name in category_sizes()})
    for name in ("overall", "multi_turn", "live"):
        group = next(each for each in leaderboard.GROUPS if each.name == name)
        formula = StratifiedMean(group=group)
        at = np.isin(design.category, weighted_means.group_categories(group))
        part = Design(*(getattr(design, each)[at] for each in Design.__dataclass_fields__))
        yield f"BFCL {name}", formula, part, 0.2


def measure_tests(n_draws: int) -> bool:
    """Print how often equal models look different; tell whether all bars hold."""
    print(f"{'cell':52} rejected ± s.e.")
    holds = True
    cells = [(each, n_draws) for each in test_cells()]
    cells += [(each, max(100, n_draws // 5)) for each in bfcl_test_cells()]
    for (title, formula, design, correlation), n in cells:
        rng = np.random.default_rng(2)
        hits = 0
        blank = columns_of(design, design.share)
        for _ in range(n):
            item = rng.normal(size=len(design.share))
            one, two = (
                replace(blank, value=draw_values(rng, design, correlation, item)) for _ in "ab"
            )
            p = compare_paired(one, two, formula).p
            hits += p is not None and p <= 0.05
        rate = hits / n
        error = 100 * float(np.sqrt(max(rate * (1 - rate), 1e-5) / n))
        bad = 100 * rate > 5.7 + 3 * error and "10 groups" not in title
        holds &= not bad
        print(f"{title:52} {100 * rate:8.2f} {error:6.2f}{'  MISSED' if bad else ''}", flush=True)
    return holds


# --- power ------------------------------------------------------------------------------


def measure_power(n_draws: int) -> bool:
    """Print how often the detectable difference is found; tell whether all bars hold."""
    print(f"{'cell':52} found ± s.e. detectable")
    holds = True
    cells: list[tuple[str, Callable[[np.random.Generator, float], tuple[Columns, Columns]]]] = []
    for n in (100, 400):
        for discordant in (0.2, 0.5):
            title = f"{n} single items, {discordant} discordant"
            cells.append((title, single_pairs(n, discordant)))
    for n in (100, 200):
        cells.append((f"{n} groups of 3, means", group_means(n)))
    for title, draw in cells:
        rng = np.random.default_rng(3)
        hits, sizes = 0, []
        for _ in range(n_draws):
            size = compare_paired(*draw(rng, 0.0)).detectable
            assert size is not None
            sizes.append(size)
            p = compare_paired(*draw(rng, size)).p
            hits += p is not None and p <= 0.05
        rate = hits / n_draws
        error = float(np.sqrt(rate * (1 - rate) / n_draws))
        bad = not 0.77 - 3 * error <= rate <= 0.83 + 3 * error
        holds &= not bad
        print(
            f"{title:52} {100 * rate:5.1f} {100 * error:5.2f} {np.mean(sizes):8.4f}"
            f"{'  MISSED' if bad else ''}",
            flush=True,
        )
    return holds


def single_pairs(
    n: int, discordant: float
) -> Callable[[np.random.Generator, float], tuple[Columns, Columns]]:
    """Return a draw of single 0/1 pairs with this share of discordant ones."""
    design = flat_design(n, 1, 0.5)
    blank = columns_of(design, design.share)

    def draw(rng: np.random.Generator, difference: float) -> tuple[Columns, Columns]:
        rate = max(discordant, difference)
        flips = rng.random(n) < rate
        for_a = rng.random(n) < (1 + difference / rate) / 2
        same = (rng.random(n) < 0.5).astype(float)
        a = np.where(flips, for_a, same).astype(float)
        b = np.where(flips, ~for_a, same).astype(float)
        return replace(blank, value=a), replace(blank, value=b)

    return draw


def group_means(n: int) -> Callable[[np.random.Generator, float], tuple[Columns, Columns]]:
    """Return a draw of groups of three values within 0 and 1."""
    design = flat_design(n, 3, 0.5)
    blank = columns_of(design, design.share)

    def draw(rng: np.random.Generator, difference: float) -> tuple[Columns, Columns]:
        base = 0.35 + 0.2 * rng.random(3 * n)
        made = []
        for shift in (difference, 0.0):
            of_group = np.repeat(rng.normal(0, 0.05, n), 3)
            made.append(np.clip(base + shift + of_group + rng.normal(0, 0.05, 3 * n), 0, 1))
        return replace(blank, value=made[0]), replace(blank, value=made[1])

    return draw


def main() -> int:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--nulls", type=int, default=10_000)
    parser.add_argument("--part", choices=("intervals", "table", "tests", "power"))
    asked = parser.parse_args()
    holds = []
    if asked.part in (None, "intervals"):
        holds.append(measure_intervals(asked.draws))
    if asked.part in (None, "table"):
        holds.append(print_table(asked.draws))
    if asked.part in (None, "tests"):
        holds.append(measure_tests(asked.nulls))
    if asked.part in (None, "power"):
        holds.append(measure_power(asked.draws))
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())

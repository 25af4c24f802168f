"""How often a run that `toolmark plan` sized has the half-width that was wanted.

    python benchmarks/planned_widths.py [--draws 500]

In each draw a pilot is drawn, the number of items is planned from it, and a run of that size is
drawn from the same truth. The table has the share of runs whose 95 % interval has at most the
wanted half-width, with its standard error, and the median of the planned numbers of items. The
answers of a group have rates from a beta distribution. Bar: at least 80 %, less three standard
errors.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks.coverage import Design, columns_of, flat_design, names

from toolmark.statistics import planned_precision
from toolmark.statistics.cluster_inference import measure_with_interval
from toolmark.statistics.metric_formulas import Formula, Mean, StratifiedMean
from toolmark.statistics.planned_precision import DesignSizes, PlannedNumber, plan_half_width
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.variance_components import ASSURANCE, estimate_components
from toolmark.statistics.weighted_means import WeightedGroup

GROUP_SIZE = 5
MAX_ITEMS = 4000


@dataclass(frozen=True)
class Cell:
    """One kind of study: its headline, the pilot's items, the wanted half-width, and how to draw.

    `draw` returns the scores of this many items; `shape` returns columns of that design whose
    values do not matter.
    """

    title: str
    formula: Formula
    n_pilot: int
    half_width: float
    draw: Callable[[np.random.Generator, int], Columns]
    shape: Callable[[int], Columns]


def single_items(share: float) -> Cell:
    """Return independent items, right with this probability."""

    def draw(rng: np.random.Generator, n: int) -> Columns:
        return columns_of(flat_design(n, 1, share), (rng.random(n) < share).astype(float))

    return Cell(f"single items, share {share}", Mean(), 60, 0.05, draw, alternate(draw))


def grouped_items(n_groups: int, share: float, alike: float) -> Cell:
    """Return groups of five items whose answers are alike; the pilot has `n_groups` of them."""

    def draw(rng: np.random.Generator, n: int) -> Columns:
        design = flat_design(math.ceil(n / GROUP_SIZE), GROUP_SIZE, share)
        a, b = share * (1 - alike) / alike, (1 - share) * (1 - alike) / alike
        rates = np.repeat(rng.beta(a, b, math.ceil(n / GROUP_SIZE)), GROUP_SIZE)
        columns = columns_of(design, (rng.random(len(rates)) < rates).astype(float))
        return columns.where(np.arange(len(rates)) < n)

    title = f"pilot of {n_groups} groups of {GROUP_SIZE}, share {share}, alike {alike}"
    return Cell(title, Mean(), n_groups * GROUP_SIZE, 0.06, draw, alternate(draw))


def weighted_items(weight: float, share: float) -> Cell:
    """Return items of two categories in turn, of which the first has this weight."""
    group = WeightedGroup("overall", ("a", "b"), (weight, 1 - weight))

    def draw(rng: np.random.Generator, n: int) -> Columns:
        category = np.array(["ab"[i % 2] for i in range(n)], dtype=object)
        item = names("i", np.arange(n))
        empty = np.full(n, "", dtype=object)
        design = Design(category, empty, item, np.full(n, share), empty)
        return columns_of(design, (rng.random(n) < share).astype(float))

    title = f"two categories, weights {weight} and {1 - weight:.2f}, share {share}"
    return Cell(title, StratifiedMean(group=group), 60, 0.06, draw, alternate(draw))


def alternate(draw: Callable[[np.random.Generator, int], Columns]) -> Callable[[int], Columns]:
    """Return a function that draws a design of a size always alike."""
    return lambda n: draw(np.random.default_rng(0), n)


def list_cells() -> Iterator[Cell]:
    """Yield the studies of the table."""
    for share in (0.3, 0.5, 0.7, 0.85, 0.9):
        yield single_items(share)
    for n_groups in (20, 30):
        for share, alike in ((0.6, 0.25), (0.8, 0.1), (0.5, 0.5)):
            yield grouped_items(n_groups, share, alike)
    for weight in (0.5, 0.8, 0.95):
        yield weighted_items(weight, 0.7)


def measure_cell(cell: Cell, n_draws: int) -> tuple[float, int, int]:
    """Return the share of runs with the wanted half-width, of how many, and the median of items.

    A pilot whose answers are all equal plans nothing and is drawn again.
    """
    rng = np.random.default_rng(4)

    @cache
    def measure_design(n: int) -> DesignSizes:
        return planned_precision.measure_design(cell.shape(n), cell.formula)

    n_reached = 0
    planned: list[int] = []
    while len(planned) < n_draws:
        pilot = cell.draw(rng, cell.n_pilot)
        if pilot.value.min() == pilot.value.max():
            continue
        found = cell.formula.linearise(pilot)
        number = PlannedNumber(found.value or 0.0, estimate_components(found, pilot))

        def is_enough(sizes: DesignSizes, repeats: int, number: PlannedNumber = number) -> bool:
            return plan_half_width(sizes, repeats, number) <= cell.half_width

        chosen = planned_precision.choose_design(
            measure_design, is_enough, MAX_ITEMS, can_repeat=False
        )
        run = cell.draw(rng, chosen.n_items)
        interval = measure_with_interval(cell.formula.linearise(run), run)
        width = (interval.high if interval.high is not None else 1.0) - (interval.low or 0.0)
        n_reached += width / 2 <= cell.half_width
        planned.append(chosen.n_items)
    return n_reached / n_draws, n_draws, int(np.median(planned))


def main() -> int:
    """Print the table; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=500)
    n_draws = parser.parse_args().draws
    holds = True
    print(f"{'cell':56} wanted reached ± s.e. items")
    for cell in list_cells():
        share, n, n_items = measure_cell(cell, n_draws)
        error = math.sqrt(share * (1 - share) / n)
        is_met = share >= ASSURANCE - 3 * error
        holds &= is_met
        print(
            f"{cell.title:56} {cell.half_width:6.2f} {100 * share:7.1f} {100 * error:6.2f} "
            f"{n_items:5}{'' if is_met else '  MISSED'}",
            flush=True,
        )
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

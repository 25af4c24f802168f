"""What a ranking of runs costs, and how often its confidence sets are wrong.

    python benchmarks/rank.py [--draws 400] [--runs 20] [--items 5000] [--part time|sets]

*Time*: seconds of the processor in which `toolmark rank` ranks stored runs, from reading their
scores to the tables. *Sets*: five models answer the items of BFCL, or flat groups of items, as in
`coverage.py`. Answers of a group have a latent correlation, and models find the same items hard. In
half of the cells the models are equal: the table has the share of draws that name a sole winner,
and that tell any two models apart. In the others two models are equal and the others are not: it
has the share of draws in which the sets have all true ranks of all models. Sets over fewer than 20
groups must have a warning; they are shown, and have no other bar.

Bars: 30 seconds; at most 5 % of draws that tell equal models apart, and at least 95 % in which all
sets cover, less three standard errors.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks import coverage
from benchmarks.compare import SCORER, make
from benchmarks.coverage import Design

from toolmark.official_bfcl.official_data import category_sizes
from toolmark.reports import rank_report, rank_tables, table_format
from toolmark.runs import run_finalization
from toolmark.statistics import weighted_means
from toolmark.statistics.metric_formulas import Formula, Mean, StratifiedMean
from toolmark.statistics.run_ranking import rank_numbers
from toolmark.suites.bfcl import leaderboard

MOST_SECONDS = 30.0
MOST_FALSE, LEAST_COVERED = 0.05, 0.95
EQUAL = (0.0,) * 5
DIFFERENT = (0.3, 0.1, 0.1, 0.0, -0.2)  # of the models, on the latent scale
SET_DRAWS = 2000  # of a critical value


def measure_time(n_runs: int, n_items: int) -> bool:
    """Print the seconds that ranking stored runs takes; tell whether the bar holds."""
    with tempfile.TemporaryDirectory() as name:
        runs = []
        for number in range(n_runs):
            runs.append(make(Path(name), n_items, 1, f"model-{number}", 0.4 + 0.02 * number))
            run_finalization.rescore_run(runs[-1], SCORER)
        gc.collect()
        start = time.process_time()
        found = rank_report.rank_stored_runs(runs)
        for table in rank_tables.ranking_tables(found):
            table_format.render_text(table)
        seconds = time.process_time() - start
    is_met = seconds <= MOST_SECONDS
    print(
        f"{n_runs} runs x {n_items:,} items: {seconds:.1f} s of the processor"
        f"{'' if is_met else '  MISSED'}",
        flush=True,
    )
    return is_met


# --- sets -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """Models that differ so much on a design, ranked by a number."""

    title: str
    formula: Formula
    design: Design
    correlation: float
    is_warned: bool = False


def list_cells() -> Iterator[Cell]:
    """Yield the designs: BFCL's overall score and its memory, and flat samples."""
    whole = coverage.bfcl_design({x: coverage.SHARES["mixed"](x) for x in category_sizes()})
    for name in ("overall", "memory"):
        group = next(each for each in leaderboard.GROUPS if each.name == name)
        at = np.isin(whole.category, weighted_means.group_categories(group))
        part = Design(*(getattr(whole, each)[at] for each in Design.__dataclass_fields__))
        yield Cell(f"BFCL {name}", StratifiedMean(group=group), part, 0.2, name == "memory")
    for n_groups, size in ((400, 1), (40, 8), (20, 3), (40, "log-normal"), (40, "a fifth of 40")):
        design = coverage.flat_design(n_groups, size, 0.5)
        sizes = np.unique(design.group, return_counts=True)[1]
        effective = sizes.sum() ** 2 / np.square(sizes).sum()
        yield Cell(f"{n_groups} groups of {size}", Mean(), design, 0.3, effective < 20)


def measure_cell(cell: Cell, shifts: tuple[float, ...], n_draws: int) -> tuple[float, float, float]:
    """Return the shares of draws with a sole winner, with any model told apart, and covered.

    The last share is that in which every set has all ranks that a model may truly have. Raises
    AssertionError where a warning is missing, or is none.
    """
    rng = np.random.default_rng(6)
    designs = [replace(cell.design, share=ndtr(ndtri(cell.design.share) + x)) for x in shifts]
    blank = coverage.columns_of(cell.design, cell.design.share)
    truth = np.array([coverage.true_value(cell.formula, each) for each in designs])
    best = 1 + (truth[None, :] > truth[:, None] + 1e-9).sum(axis=1)
    worst = (truth[None, :] > truth[:, None] - 1e-9).sum(axis=1)
    n_sole = n_apart = n_covered = 0
    for _ in range(n_draws):
        item = rng.normal(size=len(blank))
        rows = [
            replace(blank, value=coverage.draw_values(rng, each, cell.correlation, item))
            for each in designs
        ]
        found = rank_numbers([cell.formula.linearise(x) for x in rows], rows, draws=SET_DRAWS)
        assert bool(found.warning) == cell.is_warned, (cell.title, found.warning)
        sets = found.sets
        n_sole += bool((sets.high == 1).any())
        n_apart += bool(sets.wins.any())
        n_covered += bool((sets.low <= best).all() and (sets.high >= worst).all())
    return n_sole / n_draws, n_apart / n_draws, n_covered / n_draws


def measure_sets(n_draws: int) -> bool:
    """Print how often the sets of each cell are wrong; tell whether all bars hold."""
    head = "five models, by"
    print(f"{head:28} equal: sole winner, any apart ± s.e.   different: covered ± s.e.")
    holds = True
    for cell in list_cells():
        sole, apart, _ = measure_cell(cell, EQUAL, n_draws)
        *_, covered = measure_cell(cell, DIFFERENT, n_draws)
        errors = [math.sqrt(max(x * (1 - x), 1e-4) / n_draws) for x in (apart, covered)]
        is_met = apart <= MOST_FALSE + 3 * errors[0] and covered >= LEAST_COVERED - 3 * errors[1]
        note = "  warned" if cell.is_warned else "" if is_met else "  MISSED"
        holds &= is_met or cell.is_warned
        print(
            f"{cell.title:28} {100 * sole:18.1f} {100 * apart:10.1f} {100 * errors[0]:6.1f}"
            f" {100 * covered:20.1f} {100 * errors[1]:6.1f}{note}",
            flush=True,
        )
    return holds


def main() -> int:
    """Run the parts that are asked for; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--part", choices=("time", "sets"))
    asked = parser.parse_args()
    holds = []
    if asked.part in (None, "time"):
        holds.append(measure_time(asked.runs, asked.items))
    if asked.part in (None, "sets"):
        holds.append(measure_sets(asked.draws))
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())

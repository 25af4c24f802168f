"""The paper's results in tables of their own: its models were asked with other words."""

from __future__ import annotations

from collections.abc import Iterator

from toolmark.core import number_format
from toolmark.core.records import Cell, Table
from toolmark.statistics.score_columns import Columns
from toolmark.suites.funcbench import funcbench_paper_results
from toolmark.suites.funcbench.call_classes import CLASS_LABELS
from toolmark.suites.funcbench.column_slices import core_sizes
from toolmark.suites.funcbench.funcbench_paper_results import CORE_SIZES

ASKED_OTHERWISE = "asked with other words"
_NOTE = (
    "Published results (arXiv 2509.26553), not run here. The models were asked with the authors'"
    " texts, which are not these: the numbers are no row of the tables above."
)


def make_reference_tables(columns: Columns) -> Iterator[Table]:
    """Yield the paper's tables where the run has a core size of the paper."""
    sizes = [core for core in core_sizes(columns) if core in CORE_SIZES]
    if not sizes:
        return
    yield _success_reference(sizes)
    yield _error_reference()


def _success_reference(sizes: list[int]) -> Table:
    """Return success and calls by model, for the core sizes that the run has."""
    alone = funcbench_paper_results.success_without_irrelevant()
    calls = funcbench_paper_results.calls_per_trial()
    rows: list[tuple[Cell, ...]] = []
    for model, success in funcbench_paper_results.success_rates().items():
        for core in sizes:
            at = CORE_SIZES.index(core)
            rates = [number_format.format_percent(x[at] / 100) for x in (success, alone[model])]
            rows.append((model, core, *rates, *calls[model][at]))
    restated = (
        f"{model}, core {core}: {before} % plain, {after} % restated (Fig. 8)."
        for core, (model, before, after) in funcbench_paper_results.RESTATE_RATES.items()
        if core in sizes
    )
    return Table(
        title=f"The paper's models, {ASKED_OTHERWISE} (Tables 2, 5)",
        head=(
            "model", "core", "success", "success, none irrelevant", "calls in successes",
            "calls in failures",
        ),
        rows=tuple(rows),
        note=" ".join([_NOTE, "Main experiment: all depths, 0 to 40 irrelevant.", *restated]),
        is_collapsed=True,
    )  # fmt: skip


def _error_reference() -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            paper.model,
            paper.errors,
            *(number_format.format_percent(getattr(paper, name) / 100) for name in CLASS_LABELS),
        )
        for paper in funcbench_paper_results.error_shares()
    )
    return Table(
        title=f"Bad calls of the paper's models, {ASKED_OTHERWISE} (Table 3)",
        head=("model", "errors", *CLASS_LABELS.values()),
        rows=rows,
        note=_NOTE,
        is_collapsed=True,
    )

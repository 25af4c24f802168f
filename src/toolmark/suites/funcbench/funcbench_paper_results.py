"""The paper's figures, to be shown next to yours (arXiv 2509.26553, Tables 1-3, 5, Fig. 8).

Success rates and shares are in per cent, as printed.
"""

from __future__ import annotations

from functools import cache

from toolmark.core.data_files import DataRecord, read_table

CORE_SIZES = (5, 10, 20)
RESTATE_RATES = {5: ("GPT-5", 62.5, 81.3)}
"""Success plain and restated, with connected irrelevant functions only."""


class PaperCell(DataRecord, frozen=True):
    """A model's figures for one number of core functions; no calls where no trial succeeded."""

    model: str
    core_size: int
    success: float
    success_without_irrelevant: float
    calls_in_failures: float
    calls_in_successes: float | None = None


class PaperErrors(DataRecord, frozen=True):
    """A model's errors in total, and the share of each class."""

    model: str
    errors: int
    not_found: float
    wrong_inputs: float
    not_known: float
    incorrect: float


@cache
def success_rates() -> dict[str, tuple[float, ...]]:
    """Return success by model in the main experiment, by number of core functions."""
    return {model: tuple(cell.success for cell in row) for model, row in _cells_by_model().items()}


@cache
def success_without_irrelevant() -> dict[str, tuple[float, ...]]:
    """Return success by model without irrelevant functions (Table 5)."""
    return {
        model: tuple(cell.success_without_irrelevant for cell in row)
        for model, row in _cells_by_model().items()
    }


@cache
def calls_per_trial() -> dict[str, tuple[tuple[float | None, float], ...]]:
    """Return the calls in successful and in failed trials by model (Table 2)."""
    return {
        model: tuple((cell.calls_in_successes, cell.calls_in_failures) for cell in row)
        for model, row in _cells_by_model().items()
    }


def error_shares() -> tuple[PaperErrors, ...]:
    """Return the errors of each model (Table 3)."""
    return read_table(__file__, "paper_errors.csv", tuple[PaperErrors, ...])


def _cells_by_model() -> dict[str, list[PaperCell]]:
    """Return the cells of each model, in the order of the sizes."""
    found: dict[str, list[PaperCell]] = {}
    for cell in read_table(__file__, "paper_by_size.csv", tuple[PaperCell, ...]):
        found.setdefault(cell.model, []).append(cell)
    return found

"""Cells of tables that several suites and pages show."""

from __future__ import annotations

import math

from toolmark.core import number_format
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.score_columns import Columns


def mean_share_cell(columns: Columns) -> str:
    """Return the mean value of the rows as a share with its interval."""
    return number_format.format_share(estimate_mean(columns, ""))


def p_value_cell(p: float | None) -> str | None:
    """Return a p-value as text, None where no test was made."""
    return None if p is None else number_format.format_p_value(p)


def none_if_nan(number: float) -> float | None:
    """Return a number, None for nan: it prints as a dash."""
    return None if math.isnan(number) else number

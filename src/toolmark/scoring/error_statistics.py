"""Statistics of the errors of rows: mean, normalised mean, quantile filter, outliers.

Measures that need exact quantiles store one number per row, or two with a baseline; all others are
sums. Rows may come at once or in chunks.

The grading rules are `paper` (MultiNet v1.0, section on metrics) and `reference`, its published
code. In `paper` the quantile filter selects rows between the 5th and the 95th percentile. The
reference passes 0.05 to a function of percentiles, so its filter is at the 0.05th and 99.95th.
"""

from __future__ import annotations

from array import array
from math import inf, isnan, nan, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import UsageError, suggest_names

GradingRule: TypeAlias = Literal["paper", "reference"]
Numbers: TypeAlias = NDArray[np.float64]

GRADING_RULES: tuple[GradingRule, ...] = get_args(GradingRule)
FILTER_PERCENTILES: dict[GradingRule, float] = {"paper": 5.0, "reference": 0.05}
LARGEST_ERROR = float(np.finfo(np.float64).max)
"""The largest error; an error that overflows is set to it."""
OUTLIER_MEDIANS = 3.0
"""An error of more than so many medians is an outlier."""
_BLOCK_SIZE = 65_536  # numbers processed at a time, to limit memory
_NUMBER_TYPES = (float, int, np.floating, np.integer)
_ZERO_MEDIAN = 1e-10  # used by the reference in place of a median of 0


def check_rule(rule: str) -> None:
    """Raise UsageError for an unknown grading rule."""
    if rule not in GRADING_RULES:
        raise UsageError(f"no rule {rule!r}{suggest_names(rule, GRADING_RULES)}")


def parse_floats(values: Any, n: int) -> tuple[float, ...] | None:
    """Return the n numbers of a list, tuple or array (n,) as floats; None for anything else.

    A bool counts as a number. Text does not, nor does an integer too large for a float.
    """
    if isinstance(values, np.ndarray):
        values = values.tolist()  # a plain number for an array of no dimensions
    if not isinstance(values, (list, tuple)) or len(values) != n:
        return None
    if not all(isinstance(value, _NUMBER_TYPES) for value in values):
        return None
    try:
        return tuple(map(float, values))
    except OverflowError:
        return None


class Moments:
    """Count, sum, extremes and standard deviation of numbers that come in chunks."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.low = inf
        self.high = -inf
        self._squares = 0.0  # of deviations from the mean

    def feed(self, values: Numbers) -> None:
        """Add numbers."""
        for start in range(0, len(values), _BLOCK_SIZE):
            self._feed_block(values[start : start + _BLOCK_SIZE])

    def _feed_block(self, values: Numbers) -> None:
        n = len(values)
        with np.errstate(over="ignore", invalid="ignore"):
            total = values.sum()
            mean_difference = total / n - self.mean if self.n else np.float64(0)
            within = np.square(values - total / n).sum()
            between = mean_difference * mean_difference * (self.n * n / (self.n + n))
            self._squares += float(within + between)
        self.n += n
        self.total += float(total)
        # once a nan was added, the extremes stay nan
        self.low = float(np.minimum(self.low, values.min()))
        self.high = float(np.maximum(self.high, values.max()))

    @property
    def mean(self) -> float:
        """The mean; nan without numbers."""
        return self.total / self.n if self.n else nan

    @property
    def std(self) -> float:
        """The population standard deviation; nan without numbers."""
        return sqrt(self._squares / self.n) if self.n else nan

    @property
    def normalised(self) -> float:
        """The mean of (x - min) / (max - min); nan where that is 0/0."""
        width = self.high - self.low
        return (self.mean - self.low) / width if self.n and width > 0 else nan


class ErrorQuantiles(NamedTuple):
    """Statistics of errors that depend on quantiles.

    `n_inside` is the number of rows between the quantiles of the filter, `normalised` their min-max
    normalised mean, `total` the sum of their errors, and `base_total` the sum of the baseline's
    errors over these rows (nan without a baseline). `max_relative` is the largest error over the
    median. `outlier_share` is the share of rows with an error strictly larger than three medians.
    """

    n_inside: int = 0
    normalised: float = nan
    total: float = nan
    base_total: float = nan
    max_relative: float = nan
    outlier_share: float = nan


def error_quantiles(
    errors: Numbers, rule: GradingRule = "paper", base: Numbers | None = None
) -> ErrorQuantiles:
    """Return quantile statistics of errors (N,); `base` has the baseline's errors (N,).

    With a median of 0 the largest relative error is infinite, or nan where all errors are 0; under
    `reference` it is divided by 1e-10 instead.
    """
    check_rule(rule)
    if not len(errors):
        return ErrorQuantiles()
    quantile = FILTER_PERCENTILES[rule]
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.percentile(errors, (quantile, 100 - quantile))
        median, most = float(np.median(errors)), float(errors.max())
        is_inside = (errors >= low) & (errors <= high)
        inside = Moments()
        inside.feed(errors[is_inside])
        base_total = nan if base is None else float(np.sum(base, where=is_inside))
        outlier_share = int(np.count_nonzero(errors > OUTLIER_MEDIANS * median)) / len(errors)
    middle = _ZERO_MEDIAN if median == 0 and rule == "reference" else median
    return ErrorQuantiles(
        n_inside=inside.n,
        normalised=inside.normalised,
        total=inside.total,
        base_total=base_total,
        max_relative=safe_ratio(most, middle),
        outlier_share=nan if isnan(median) else outlier_share,
    )


def safe_ratio(above: float, below: float) -> float:
    """Return a quotient; 0/0 is nan, x/0 and an overflow are infinite."""
    with np.errstate(all="ignore"):
        return float(np.float64(above) / np.float64(below))


class NumberBuffer:
    """A growing array of numbers, extended without a second copy."""

    def __init__(self) -> None:
        self._numbers = array("d")

    def feed(self, values: Any) -> None:
        """Add numbers."""
        self._numbers.frombytes(np.ascontiguousarray(values, dtype=np.float64).view(np.uint8).data)

    def __len__(self) -> int:
        """Return the count of numbers."""
        return len(self._numbers)

    def view(self) -> Numbers:
        """Return a view of the numbers; nothing can be added while the view exists."""
        return np.frombuffer(self._numbers, dtype=np.float64) if self._numbers else np.zeros(0)

"""How the errors of rows are spread: mean, normalised, filtered by quantiles, outliers.

What needs exact quantiles keeps one number per row, two where a baseline's error goes with it;
everything else is sums. Fed chunk by chunk or once, the code is the same.

Readings: `paper` (MultiNet v1.0, section on metrics) and `reference`, its published code. The
quantile filter keeps rows between the 5th and the 95th percentile; the reference passes 0.05 to a
function of percentiles, so its filter lies at the 0.05th and 99.95th.
"""

from __future__ import annotations

from array import array
from math import inf, isnan, nan, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import UsageError, near

Reading: TypeAlias = Literal["paper", "reference"]
Numbers: TypeAlias = NDArray[np.float64]

READINGS: tuple[Reading, ...] = get_args(Reading)
PERCENT: dict[Reading, float] = {"paper": 5.0, "reference": 0.05}
LARGEST = float(np.finfo(np.float64).max)
"""No error is larger: what overflows is this."""
BEYOND = 3.0
"""How many medians an outlier lies beyond."""
_BLOCK = 65_536  # so many numbers at a time: what is made of them stays small
_NUMBERS = (float, int, np.floating, np.integer)
_MEDIAN = 1e-10  # what the reference takes for a median of 0


def check(reading: str) -> None:
    """Raise UsageError for a reading that there is not."""
    if reading not in READINGS:
        raise UsageError(f"no reading {reading!r}{near(reading, READINGS)}")


def floats(values: Any, n: int) -> tuple[float, ...] | None:
    """Return the n numbers of a list, tuple or array (n,) as floats; None for anything else.

    A bool counts as a number, text does not, nor a whole number too large for a float.
    """
    if isinstance(values, np.ndarray):
        values = values.tolist()  # a number where it has no dimension
    if not isinstance(values, (list, tuple)) or len(values) != n:
        return None
    if not all(isinstance(value, _NUMBERS) for value in values):
        return None
    try:
        return tuple(map(float, values))
    except OverflowError:
        return None


class Moments:
    """Count, sum, extremes and deviation of numbers that come in chunks."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.low = inf
        self.high = -inf
        self._squares = 0.0  # of deviations from the mean

    def feed(self, values: Numbers) -> None:
        """Take more numbers."""
        for start in range(0, len(values), _BLOCK):
            self._feed(values[start : start + _BLOCK])

    def _feed(self, values: Numbers) -> None:
        n = len(values)
        with np.errstate(over="ignore", invalid="ignore"):
            total = values.sum()
            apart = total / n - self.mean if self.n else np.float64(0)
            within = np.square(values - total / n).sum()
            between = apart * apart * (self.n * n / (self.n + n))
            self._squares += float(within + between)
        self.n += n
        self.total += float(total)
        # of a nan the extremes are nan, whatever comes after
        self.low = float(np.minimum(self.low, values.min()))
        self.high = float(np.maximum(self.high, values.max()))

    @property
    def mean(self) -> float:
        """The mean; nan of nothing."""
        return self.total / self.n if self.n else nan

    @property
    def std(self) -> float:
        """The standard deviation of the numbers themselves, not of a sample; nan of nothing."""
        return sqrt(self._squares / self.n) if self.n else nan

    @property
    def normalised(self) -> float:
        """The mean of (x - min) / (max - min); nan where that is 0/0."""
        width = self.high - self.low
        return (self.mean - self.low) / width if self.n and width > 0 else nan


class Outliers(NamedTuple):
    """What quantiles say of errors.

    `kept` rows lie between the quantiles, `normalised` is their min-max normalised mean, `total`
    their sum and `base` the sum of the baseline's errors over them (nan without a baseline).
    `max_relative` is the largest error over the median, `beyond` the share of rows whose error is
    strictly larger than three medians.
    """

    kept: int = 0
    normalised: float = nan
    total: float = nan
    base: float = nan
    max_relative: float = nan
    beyond: float = nan


def outliers(errors: Numbers, reading: Reading = "paper", base: Numbers | None = None) -> Outliers:
    """Return what quantiles say of errors (N,), with the baseline's errors (N,) of the same rows.

    A median of 0 makes the largest relative error infinite, or nan where all are 0; the reference
    divides by 1e-10 then.
    """
    check(reading)
    if not len(errors):
        return Outliers()
    quantile = PERCENT[reading]
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.percentile(errors, (quantile, 100 - quantile))
        median, most = float(np.median(errors)), float(errors.max())
        kept = (errors >= low) & (errors <= high)
        inside = Moments()
        inside.feed(errors[kept])
        below = nan if base is None else float(np.sum(base, where=kept))
        beyond = int(np.count_nonzero(errors > BEYOND * median)) / len(errors)
    middle = _MEDIAN if median == 0 and reading == "reference" else median
    return Outliers(
        kept=inside.n,
        normalised=inside.normalised,
        total=inside.total,
        base=below,
        max_relative=ratio(most, middle),
        beyond=nan if isnan(median) else beyond,
    )


def ratio(above: float, below: float) -> float:
    """Return a quotient; 0/0 is nan, x/0 infinite, and an overflow too."""
    with np.errstate(all="ignore"):
        return float(np.float64(above) / np.float64(below))


class Shelf:
    """Numbers that are kept, one per row, growing without a second copy."""

    def __init__(self) -> None:
        self._held = array("d")

    def feed(self, values: Any) -> None:
        """Keep more."""
        self._held.frombytes(np.ascontiguousarray(values, dtype=np.float64).view(np.uint8).data)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._held)

    def read(self) -> Numbers:
        """Return a view of them; while it is held nothing can be fed."""
        return np.frombuffer(self._held, dtype=np.float64) if self._held else np.zeros(0)

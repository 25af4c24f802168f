"""Quantiles of many measured values in bounded memory."""

from __future__ import annotations

from array import array

from toolmark.core import seeds
from toolmark.core.records import Record

MAX_VALUES = 2**20  # values that are stored, in 4 MB: up to here quantiles are exact
N_DECIMALS = 6


class Times(Record, frozen=True, kw_only=True):
    """Quantiles of `n` times in seconds.

    The p-th percentile is the smallest measured time that at least p % of the times do not exceed
    (nearest rank). So below 20 times `p95` is the longest one, below 100 `p99` too.
    """

    n: int
    p50: float
    p95: float
    p99: float
    max: float


class Rates(Record, frozen=True, kw_only=True):
    """Quantiles of `n` rates, by nearest rank as in `Times`: `p5` is one of the slow ones."""

    n: int
    p5: float
    p50: float
    p95: float


class ValueSample:
    """Stores values as 32-bit floats: all up to MAX_VALUES, beyond it a random sample of that size.

    The sample is uniform (Vitter's algorithm R) with a fixed seed: the same values in the same
    order give the same quantiles. The standard error of a percentile's rank is then below 0.05
    percentage points.
    """

    def __init__(self, max_values: int = MAX_VALUES) -> None:
        self._max_values = max_values
        self._n_beyond = 0
        self._values = array("f")
        self._rng = seeds.make_rng(0, "", 0, "value sample")

    def add_value(self, value: float) -> None:
        """Add a positive number."""
        values = self._values
        if len(values) < self._max_values:
            values.append(value)
            return
        self._n_beyond += 1
        place = seeds.draw_below(self._rng, len(self._values) + self._n_beyond)
        if place < self._max_values:
            self._values[place] = value

    def measure_times(self) -> Times | None:
        """Return the quantiles of times, None where there is no value."""
        if not self._values:
            return None
        p50, p95, p99, longest = self._percentiles(50, 95, 99, 100)
        return Times(n=self._n_added(), p50=p50, p95=p95, p99=p99, max=longest)

    def measure_rates(self) -> Rates | None:
        """Return the quantiles of rates, None where there is no value."""
        if not self._values:
            return None
        p5, p50, p95 = self._percentiles(5, 50, 95)
        return Rates(n=self._n_added(), p5=p5, p50=p50, p95=p95)

    def _n_added(self) -> int:
        return len(self._values) + self._n_beyond

    def _percentiles(self, *percents: int) -> list[float]:
        values = sorted(self._values)
        ranks = [-(-len(values) * percent // 100) - 1 for percent in percents]  # rounded up
        return [round(values[rank], N_DECIMALS) for rank in ranks]

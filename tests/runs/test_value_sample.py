"""Quantiles are measured values of the right rank, in bounded memory."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from toolmark.runs.value_sample import N_DECIMALS, ValueSample

TIMES = st.lists(st.floats(2**-10, 1e4, width=32), min_size=1, max_size=120)


def percentile(values: list[float], percent: int) -> float:
    """Return the smallest value that so many per cent of the values do not exceed."""
    enough = [v for v in values if 100 * sum(x <= v for x in values) >= percent * len(values)]
    return round(min(enough), N_DECIMALS)


def filled(values: list[float], max_values: int = 1_000) -> ValueSample:
    sample = ValueSample(max_values)
    for value in values:
        sample.add_value(value)
    return sample


@given(TIMES)
def test_percentiles_are_by_nearest_rank(values: list[float]) -> None:
    times, rates = filled(values).measure_times(), filled(values).measure_rates()
    assert times is not None and rates is not None
    assert (times.n, rates.n) == (len(values), len(values))
    assert times.max == round(max(values), N_DECIMALS)
    found = (times.p50, times.p95, times.p99, rates.p5, rates.p50, rates.p95)
    assert found == tuple(percentile(values, p) for p in (50, 95, 99, 5, 50, 95))


def test_no_value_has_no_percentile() -> None:
    assert ValueSample().measure_times() is None and ValueSample().measure_rates() is None


def test_beyond_the_limit_a_uniform_sample_is_measured() -> None:
    values = [float(i) for i in range(20_000)]
    found = filled(values, 2_000).measure_times()
    assert found == filled(values, 2_000).measure_times() and found is not None
    assert found.n == 20_000
    assert abs(found.p50 - 10_000) < 1_000 and abs(found.p95 - 19_000) < 500


def test_values_are_32_bit_floats() -> None:
    sample = filled([0.1])
    times = sample.measure_times()
    assert times is not None
    assert times.p50 == round(struct.unpack("f", struct.pack("f", 0.1))[0], N_DECIMALS) == 0.1

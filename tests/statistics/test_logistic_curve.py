"""The 50 % point: its interval covers, separation is no obstacle, repeats are no evidence."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from toolmark.statistics.logistic_curve import fit_logistic

DEPTHS = np.repeat(np.arange(1.0, 10.0), 25)
ITEMS = np.array([f"item {at}" for at in range(len(DEPTHS))], dtype=object)


def draw(rng: np.random.Generator, depth: float = 5.0, slope: float = -0.7) -> np.ndarray:
    return (rng.random(len(DEPTHS)) < expit(slope * (DEPTHS - depth))).astype(float)


def test_the_interval_of_the_half_point_covers_it() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        curve = fit_logistic(DEPTHS[:, None], draw(rng), ITEMS)
        assert curve is not None
        point = curve.half_point(0)
        assert point is not None
        hits += point[1] <= 5.0 <= point[2]
    # 95 % of 400, three standard errors to either side
    assert 0.917 <= hits / 400 <= 0.983


def test_the_point_and_the_slope_are_near_what_was_drawn() -> None:
    rng = np.random.default_rng(6)
    found = [fit_logistic(DEPTHS[:, None], draw(rng), ITEMS) for _ in range(200)]
    points = [curve.half_point(0)[0] for curve in found if curve and curve.half_point(0)]  # type: ignore[index]
    slopes = [curve.slope_interval(0)[0] for curve in found if curve]
    assert abs(np.mean(points) - 5.0) < 0.1
    assert abs(np.mean(slopes) + 0.7) < 0.05


def test_two_difficulties_are_separated() -> None:
    rng = np.random.default_rng(7)
    other = rng.choice([0.0, 10.0, 20.0, 40.0], len(DEPTHS))
    success = (rng.random(len(DEPTHS)) < expit(-0.6 * (DEPTHS - 5))).astype(float)
    curve = fit_logistic(np.column_stack([DEPTHS, other]), success, ITEMS)
    assert curve is not None
    assert curve.slope_interval(0)[2] < 0
    slope, low, high = curve.slope_interval(1)
    assert low < 0 < high and abs(slope) < 0.05
    point = curve.half_point(1)
    assert point is not None and point[1:] == (-math.inf, math.inf)


def test_separated_answers_have_a_finite_curve() -> None:
    curve = fit_logistic(DEPTHS[:, None], (DEPTHS < 4.5).astype(float), ITEMS)
    assert curve is not None
    point = curve.half_point(0)
    assert point is not None
    value, low, high = point
    assert 4 < low < value < high < 5
    assert math.isfinite(curve.slope_interval(0)[1])


def test_all_answers_alike_have_no_point_in_sight() -> None:
    curve = fit_logistic(DEPTHS[:, None], np.ones(len(DEPTHS)), ITEMS)
    assert curve is not None
    point = curve.half_point(0)
    assert point is None or point[1] == -math.inf or point[2] == math.inf


def test_repeats_that_agree_are_no_further_evidence() -> None:
    answers = draw(np.random.default_rng(8))
    once = fit_logistic(DEPTHS[:, None], answers, ITEMS)
    copies = fit_logistic(np.tile(DEPTHS, 4)[:, None], np.tile(answers, 4), np.tile(ITEMS, 4))
    assert once is not None and copies is not None
    width = [x.half_point(0)[2] - x.half_point(0)[1] for x in (once, copies)]  # type: ignore[index]
    assert 0.85 < width[1] / width[0] < 1.25


def test_what_does_not_vary_has_no_curve() -> None:
    assert fit_logistic(np.ones((5, 1)), np.ones(5), ITEMS[:5]) is None
    twice = np.column_stack([DEPTHS, 2 * DEPTHS])
    assert fit_logistic(twice, draw(np.random.default_rng(9)), ITEMS) is None
    assert fit_logistic(DEPTHS[:2, None], np.ones(2), ITEMS[:2]) is None

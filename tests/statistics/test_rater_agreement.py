from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from toolmark.statistics import rater_agreement

_ = np.nan
# the worked example of Krippendorff, "Computing Krippendorff's Alpha-Reliability", section E
CANONICAL = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
)
RATINGS = hnp.arrays(
    float,
    st.tuples(st.integers(2, 5), st.integers(1, 12)),
    elements=st.one_of(st.just(np.nan), st.integers(0, 20).map(lambda n: n / 20)),
)


def _slow(ratings: rater_agreement.Ratings) -> float | None:
    """Go through the definition pair by pair."""
    units = [[x for x in unit if not np.isnan(x)] for unit in ratings.T]
    units = [unit for unit in units if len(unit) > 1]
    values = [x for unit in units for x in unit]
    n = len(values)
    far = sum((x - y) ** 2 for x in values for y in values)
    if not far:
        return None
    near = sum(sum((x - y) ** 2 for x in u for y in u) / (len(u) - 1) for u in units)
    return float(1 - (near / n) / (far / (n * (n - 1))))


def test_alpha_is_that_of_the_published_example() -> None:
    assert rater_agreement.krippendorff_alpha(CANONICAL) == pytest.approx(0.849, abs=5e-4)


@given(RATINGS)
def test_alpha_is_what_the_definition_says(ratings: rater_agreement.Ratings) -> None:
    found, wanted = rater_agreement.krippendorff_alpha(ratings), _slow(ratings)
    assert (found is None) == (wanted is None)
    if found is not None and wanted is not None:
        assert found == pytest.approx(wanted, abs=1e-9)


@given(RATINGS)
def test_alpha_knows_no_order_of_raters_and_no_scale(ratings: rater_agreement.Ratings) -> None:
    found = rater_agreement.krippendorff_alpha(ratings)
    other = rater_agreement.krippendorff_alpha(3 * ratings[::-1] + 1)
    assert (found is None) == (other is None)
    if found is not None:
        assert other == pytest.approx(found, abs=1e-9)


def test_alpha_of_equal_raters_is_one_and_of_one_rater_is_none() -> None:
    assert rater_agreement.krippendorff_alpha(np.array([[0.1, 0.5, 1.0]] * 3)) == pytest.approx(1.0)
    assert rater_agreement.krippendorff_alpha(np.array([[0.1, 0.5, 1.0]])) is None
    assert rater_agreement.krippendorff_alpha(np.full((3, 4), 0.5)) is None
    assert rater_agreement.krippendorff_alpha(np.full((3, 4), np.nan)) is None


def test_pairs_are_compared_where_both_spoke() -> None:
    ratings = np.array([[0.0, 1.0, _], [0.5, 1.0, 0.3], [_, _, 0.4]])
    assert rater_agreement.rater_pairs(ratings) == [
        (0, 1, 2, 0.25),
        (0, 2, 0, None),
        (1, 2, 1, pytest.approx(0.1)),
    ]
    assert rater_agreement.mean_difference(ratings) == pytest.approx(0.175)
    assert rater_agreement.mean_difference(ratings[:1]) is None

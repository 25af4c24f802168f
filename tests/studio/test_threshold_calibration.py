"""Thresholds against labels: the counts by hand, the best by search, intervals that cover."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.reports.page_reader import read_page

from toolmark.core.errors import DataError, UsageError
from toolmark.studio import calibration_page, threshold_calibration
from toolmark.studio.threshold_calibration import THRESHOLDS

LABELLED = st.lists(
    st.tuples(st.sampled_from([round(0.3 + 0.01 * i, 2) for i in range(71)]), st.booleans()),
    min_size=2, max_size=40,
).filter(lambda rows: len({same for _, same in rows}) == 2)  # fmt: skip


def sweep(rows: Sequence[tuple[float, bool]]) -> threshold_calibration.ThresholdSweep:
    return threshold_calibration.sweep_thresholds(
        np.array([s for s, _ in rows]), np.array([same for _, same in rows])
    )


@given(LABELLED)
@settings(max_examples=25, deadline=None)
def test_every_level_is_what_counting_says(rows: list[tuple[float, bool]]) -> None:
    found = sweep(rows)
    assert [made.threshold for made in found.levels] == list(THRESHOLDS)
    for made in found.levels:
        hits = sum(same for s, same in rows if s >= made.threshold)
        alarms = sum(not same for s, same in rows if s >= made.threshold)
        n_same = sum(same for _, same in rows)
        assert made.recall == pytest.approx(hits / n_same)
        assert made.youden == pytest.approx(hits / n_same - alarms / (len(rows) - n_same))
        assert made.f1 == pytest.approx(2 * hits / (hits + alarms + n_same))
        if hits + alarms:
            assert made.precision == pytest.approx(hits / (hits + alarms))
        else:
            assert math.isnan(made.precision)


@given(LABELLED)
@settings(max_examples=25, deadline=None)
def test_the_best_is_not_beaten_and_lies_within_its_interval_s_grid(
    rows: list[tuple[float, bool]],
) -> None:
    found = sweep(rows)
    weak, youden, strong = found.best
    for best, most in (
        (weak, max(made.f1 for made in found.levels)),
        (youden, max(made.youden for made in found.levels)),
    ):
        assert best.quality.value == (pytest.approx(most) if most > 1e-12 else None)
    for best in found.best:
        if best.threshold.value is None:
            continue
        assert best.threshold.value in THRESHOLDS
        assert best.threshold.low is not None
        assert best.threshold.high is not None
        assert 0.40 <= best.threshold.low <= best.threshold.high <= 0.95
    if strong.threshold.value is not None:
        assert weak.threshold.value is not None
        assert strong.threshold.value >= weak.threshold.value
        assert strong.quality.value is not None
        assert strong.quality.value >= threshold_calibration.STRONG_PRECISION


def test_a_clean_gap_is_found_in_its_middle() -> None:
    found = sweep([(0.5, False)] * 20 + [(0.7, True)] * 20)
    weak = found.best[0]
    assert weak.threshold.value == 0.6  # of 0.51 to 0.70
    assert (weak.threshold.low, weak.threshold.high) == (0.6, 0.6)
    assert weak.quality.value == 1.0


def test_a_similarity_on_the_threshold_is_called_the_same() -> None:
    found = sweep([(0.6, True), (0.8, True), (0.59, False)])
    levels = {made.threshold: made for made in found.levels}
    assert levels[0.6].recall == 1.0
    assert levels[0.61].recall == 0.5
    assert levels[0.8].recall == 0.5
    assert levels[0.81].recall == 0.0


def test_a_draw_is_the_same_every_time_and_hangs_on_the_seed() -> None:
    rng = np.random.default_rng(5)
    same = rng.random(50) < 0.5
    similarity = np.clip(rng.normal(np.where(same, 0.75, 0.6), 0.12), 0, 1)
    one, two, other = (
        threshold_calibration.sweep_thresholds(similarity, same, seed=seed) for seed in (1, 1, 2)
    )
    assert one.best == two.best
    assert one.best != other.best


def test_the_interval_covers_the_threshold_of_the_population() -> None:
    # two normals with equal spread: J is greatest half-way, at 0.70
    covered = 0
    for trial in range(40):
        rng = np.random.default_rng(trial)
        same = np.arange(120) % 2 == 0
        similarity = rng.normal(np.where(same, 0.78, 0.62), 0.08)
        best = threshold_calibration.sweep_thresholds(similarity, same).best[1].threshold
        assert best.low is not None
        assert best.high is not None
        covered += best.low <= 0.70 <= best.high
    assert covered >= 35


def test_labels_that_similarity_contradicts_recommend_nothing() -> None:
    found = sweep([(0.9, False)] * 30 + [(0.2, True)] * 30)
    assert [best.threshold.value for best in found.best] == [None, None, None]
    assert "none is recommended" in threshold_calibration.best_thresholds_table(found).note
    upside_down = sweep([(0.9, False)] * 30 + [(0.5, True)] * 30)
    assert upside_down.best[1].threshold.value is None, "Youden's J is never above 0"


def test_a_best_at_the_end_of_the_range_and_few_pairs_are_reported() -> None:
    many = [(0.3 + i / 100, False) for i in range(20)] + [(0.4 + i / 100, True) for i in range(30)]
    at_the_end = sweep(many)
    assert at_the_end.best[0].threshold.value == THRESHOLDS[0]
    reported = threshold_calibration.best_thresholds_table(at_the_end).note
    assert "at the end of the range, 0.40" in reported and "Few pairs" not in reported
    clean = threshold_calibration.best_thresholds_table(
        sweep([(0.5, False)] * 19 + [(0.7, True)] * 20)
    ).note
    assert "Few pairs" in clean and "end of the range" not in clean


def test_two_lone_pairs_still_have_an_interval() -> None:
    found = sweep([(0.9, True), (0.2, False)])
    assert found.best[0].quality.value == 1.0


# --- files ------------------------------------------------------------------------------


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"same": True}, "line 2: expected a and b, or similarity"),
        ({"same": True, "a": "x"}, "line 2: expected a and b"),
        ({"same": "yes", "similarity": 0.5}, "line 2: "),
        ({"similarity": 0.5}, "line 2: .*same"),
        ({"same": True, "similarity": 1.5}, "line 2: similarity must be within"),
        ({"same": True, "similarity": "nan"}, "line 2: similarity must be within"),
        ([], "line 2: "),
    ],
)  # fmt: skip
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, row: Any, said: str) -> None:
    path = write(tmp_path / "p.jsonl", [{"same": False, "similarity": 0.5}, row])
    with pytest.raises(DataError, match=said):
        threshold_calibration.read_pairs(path)


def test_pairs_of_one_kind_cannot_calibrate(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", [{"same": True, "similarity": 0.5}] * 3)
    with pytest.raises(UsageError, match="3 pairs, 3 of them the same"):
        threshold_calibration.read_pairs(path)


def letters(texts: Sequence[str]) -> NDArray[np.float32]:
    """Encode texts by their letters."""
    rows = np.zeros((len(texts), 128), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for letter in text:
            row[ord(letter) % 128] += 1
    return rows


def test_texts_are_compared_by_the_encoder_and_arguments_as_the_metric_writes_them(
    tmp_path: Path,
) -> None:
    rows: list[dict[str, Any]] = [
        {"a": {"b": 1, "a": 2}, "b": '{"a":2,"b":1}', "same": True, "similarity": 0.1},
        {"a": "abc", "b": "xyz", "same": False},
        {"similarity": 0.25, "same": False},
    ]
    labelled = threshold_calibration.read_pairs(write(tmp_path / "p.jsonl", rows))
    found = threshold_calibration.pair_similarities(labelled, letters)
    assert found == pytest.approx([1.0, 0.0, 0.25], abs=1e-6)
    with pytest.raises(UsageError, match="--encoder"):
        threshold_calibration.pair_similarities(labelled, None)
    given_ones = threshold_calibration.read_pairs(write(tmp_path / "q.jsonl", [rows[0], rows[2]]))
    assert list(threshold_calibration.pair_similarities(given_ones, None)) == [0.1, 0.25]


def test_the_page_is_whole_and_escapes_the_name(tmp_path: Path) -> None:
    similarity, same = np.array([0.2, 0.5, 0.7, 0.9, 1.0, -0.1]), np.array([0, 0, 1, 1, 1, 0]) > 0
    found = threshold_calibration.sweep_thresholds(similarity, same)
    page = calibration_page.write_calibration_page(
        found, similarity, same, tmp_path / "c.html", source="<script>x.jsonl"
    )
    read = read_page(page)
    assert len(read.root.find("svg")) == 2 and not read.root.find("script")
    assert "<script>x.jsonl" in read.root.text
    assert read.policy["default-src"] == ["'none'"]

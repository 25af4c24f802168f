"""Calls matched between weak and strong are asked about, once each, and calibrate reads them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.studio.conftest import Maker

from toolmark.core.errors import UsageError
from toolmark.studio import threshold_calibration
from toolmark.studio.call_pair_review import CallPairReview
from toolmark.studio.review_episodes import ReviewEpisodes
from toolmark.studio.review_server import ReviewAnswer

ANGLES = {"cola": 0.0, "water": 45.0, "lemonade": 180.0, "juice": 130.0}  # cos 45° = 0.71


def angles(texts: Sequence[str]) -> NDArray[np.float32]:
    """Encode a text as a direction that its drink gives."""
    found = [next((a for word, a in ANGLES.items() if word in text), 0.0) for text in texts]
    turned = np.radians(found)
    return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)


def test_pairs_between_weak_and_strong_are_asked_once(make_run: Maker) -> None:
    run = make_run(wrong=(1, 2, 3))
    desk = CallPairReview(ReviewEpisodes(run), angles, "ada")
    assert [(pair.tool, pair.a, pair.b) for pair in desk.pairs] == [
        ("shop/search", '{"n":3,"query":"cola"}', '{"n":3,"query":"water"}'),
        ("shop/search", '{"n":3,"query":"lemonade"}', '{"n":3,"query":"juice"}'),
    ]
    assert [pair.similarity for pair in desk.pairs] == pytest.approx([0.7071, 0.6428], abs=1e-4)


def test_labels_are_what_calibrate_reads(make_run: Maker) -> None:
    run = make_run(wrong=(1,))
    desk = CallPairReview(ReviewEpisodes(run), angles, "ada")
    assert desk.next_open() == "1"
    desk.record_answer(1, ReviewAnswer("same"))
    desk.record_answer(2, ReviewAnswer("different", note="juice is none"))
    assert desk.next_open() == "end"
    assert desk.summary_lines() == ("1 same, 1 different, 0 open",)
    assert f"toolmark calibrate {desk.log.path}" in desk.render_overview()
    labelled = threshold_calibration.read_pairs(desk.log.path)
    assert [(pair.same, round(pair.similarity or 0, 3)) for pair in labelled] == [
        (True, 0.707), (False, 0.643),
    ]  # fmt: skip
    again = CallPairReview(ReviewEpisodes(run), angles, "bob")
    assert again.next_open() == "end"
    assert "ada" not in again.render_question(1)


def test_the_similarity_does_not_lead_the_answer(make_run: Maker) -> None:
    desk = CallPairReview(ReviewEpisodes(make_run(wrong=(1,))), angles, "ada")
    assert "0.7" not in desk.render_question(1)
    assert "&#34;cola&#34;" in desk.render_question(1)


def test_where_all_matches_are_certain_nothing_is_asked(make_run: Maker) -> None:
    with pytest.raises(UsageError, match="nothing is unsure"):
        CallPairReview(ReviewEpisodes(make_run()), angles, "ada")


def test_an_unknown_label_is_refused(make_run: Maker) -> None:
    desk = CallPairReview(ReviewEpisodes(make_run(wrong=(1,))), angles, "ada")
    with pytest.raises(UsageError, match="known: same, different"):
        desk.record_answer(1, ReviewAnswer("maybe"))

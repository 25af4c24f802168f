"""STOI against the clean clip, and the gate."""

from __future__ import annotations

import numpy as np
import pytest
from tests.perturb.speech.spoken import bank, speech

from toolmark.core import seeds
from toolmark.perturb.speech import (
    acoustic_chain,
    acoustic_drawing,
    intelligibility,
    network_faults,
)
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip

GRADED = ("bed", "talker", "room", "overdrive", "loss", "rub")


def _mean(condition: str, draws: int) -> float:
    found = []
    for k, said in enumerate(speech()[:3]):
        for repeat in range(draws):
            settings = acoustic_drawing.draw_settings(
                condition, seeds.make_rng(1, f"i{k}", repeat, "a"), bank()
            )
            heard = acoustic_chain.apply_settings(said, settings, bank())
            score = intelligibility.stoi(said, heard.clip, heard.timeline)
            assert score is not None
            found.append(score)
    return float(np.mean(found))


@pytest.mark.parametrize("name", GRADED)
def test_intelligibility_falls_with_severity(name: str) -> None:
    draws = 6 if name == "loss" else 2  # where a gap falls matters much
    means = [_mean(f"{name}@{severity}", draws) for severity in (1, 2, 3, 4)]
    assert means == sorted(means, reverse=True), means


def test_intelligibility_falls_with_the_ratio_and_with_the_presets() -> None:
    steps = [_mean(f"snr={step}", 2) for step in (40, 30, 20, 10, 0)]
    assert steps == sorted(steps, reverse=True), steps
    presets = [_mean(name, 2) for name in ("mild", "medium", "harsh")]
    assert presets == sorted(presets, reverse=True), presets


def test_length_does_not_count_against_a_clip() -> None:
    said = speech()[0]
    for condition in ("loop@4", "tail@4", "loop@3+tail@2"):
        heard = acoustic_chain.apply_settings(
            said, acoustic_drawing.draw_settings(condition, seeds.make_rng(2, "x", 0, ""), bank())
        )
        assert len(heard.clip.samples) != len(said.samples)
        score = intelligibility.stoi(said, heard.clip, heard.timeline)
        assert score is not None and score > 0.99


def test_the_gate_names_what_fails() -> None:
    said = speech()[0]
    assert intelligibility.check_intelligibility(said, said).passed
    hiss = np.random.Generator(np.random.PCG64(1)).standard_normal(len(said.samples)) * 0.3
    drowned = Clip((said.samples + hiss).astype(np.float32), RATE_HZ)
    assert "intelligibility" in intelligibility.check_intelligibility(said, drowned).reason
    hole = said.samples.copy()
    hole[RATE_HZ : 2 * RATE_HZ + RATE_HZ // 4] = hiss[RATE_HZ : 2 * RATE_HZ + RATE_HZ // 4]
    found = intelligibility.check_intelligibility(said, Clip(hole, RATE_HZ))
    assert not found.passed and found.worst is not None and "one second" in found.reason
    cut = network_faults.cut_tail(said, 0.5)
    found = intelligibility.check_intelligibility(said, Clip(cut.samples, RATE_HZ), cut.effects)
    assert not found.passed and "cut off" in found.reason
    assert found.cut_share == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("n", [0, 1, 3000])
def test_too_short_or_silent_has_no_score_and_passes(n: int) -> None:
    for value in (0.0, 0.1):
        short = Clip(np.full(n, value, dtype=np.float32), RATE_HZ)
        assert intelligibility.stoi(short, short) is None
        assert intelligibility.check_intelligibility(short, short).passed
    silent = Clip(np.zeros(RATE_HZ, dtype=np.float32), RATE_HZ)
    assert intelligibility.stoi(silent, silent) is None

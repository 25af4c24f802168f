"""A bed of noise at its ratio, and one loud event at its time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.perturb.speech.spoken import bank, made, speech

from toolmark.core import seeds
from toolmark.perturb.speech import (
    acoustic_chain,
    acoustic_conditions,
    acoustic_drawing,
    audio_clip,
    background_sounds,
    synthetic_noise,
)
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip


def ratio(before: Clip, after: audio_clip.Samples) -> float:
    mask = audio_clip.speech_mask(before)
    left = after.astype(np.float64) - before.samples
    return 10 * float(
        np.log10(audio_clip.mean_square(before.samples, mask) / audio_clip.mean_square(left, mask))
    )


@pytest.mark.parametrize("source", ["flite", "made"])
def test_ratio_is_met_within_a_tenth_of_a_decibel_for_two_hundred_draws(source: str) -> None:
    worst = 0.0
    for k in range(200):
        said = speech()[k % 6] if source == "flite" else made(1 + k % 4, k)
        rng = seeds.make_rng(k, "x", 0, "acoustics")
        settings = acoustic_drawing.draw_settings("bed", rng, bank())
        stage = settings.stages[0]
        heard = acoustic_chain.apply_settings(said, settings, bank())
        assert heard.timeline[0].detail["snr_db"] == stage.values["snr_db"]
        asked = float(stage.values["snr_db"])
        worst = max(worst, abs(ratio(said, heard.clip.samples) - asked))
    assert worst < 0.1


@pytest.mark.parametrize("step", acoustic_conditions.STEPS_DB)
def test_steps_are_exact(step: int) -> None:
    for kind in ("white", "babble", "keyboard", "siren"):
        settings = acoustic_drawing.draw_settings(
            f"snr={step}:{kind}", seeds.make_rng(1, kind, 0, ""), bank()
        )
        assert settings.stages[0].severity == {40: 1, 30: 1, 20: 2, 10: 4}[step]
        said = speech()[0]
        heard = acoustic_chain.apply_settings(said, settings, bank())
        assert ratio(said, heard.clip.samples) == pytest.approx(step, abs=0.1)


@pytest.mark.parametrize("kind", synthetic_noise.EVENT_NOISES)
@pytest.mark.parametrize("severity", [1, 2, 3, 4])
def test_an_event_is_where_the_timeline_says_and_nowhere_else(kind: str, severity: int) -> None:
    said = speech()[1]
    low, high = background_sounds.EVENT_SNR_DB[severity]
    done = background_sounds.add_event(
        said,
        kind,
        (low + high) / 2,
        0.5,
        synthetic_noise.noise_generator(severity),
        severity=severity,
    )
    (reported,) = done.effects
    first, last = (round(at * RATE_HZ) for at in (reported.start_s, reported.end_s))
    left = done.samples - said.samples
    assert 0 <= reported.start_s < reported.end_s <= said.seconds
    assert not left[:first].any() and not left[last:].any()
    loudest = max(audio_clip.mean_square(left[a : a + 1600]) for a in range(first, last - 1599, 16))
    spoken = audio_clip.mean_square(said.samples, audio_clip.speech_mask(said))
    assert 10 * np.log10(spoken / loudest) == pytest.approx((low + high) / 2, abs=0.1)
    if kind == "slam":
        assert audio_clip.mean_square(left[first : first + 800]) > audio_clip.mean_square(
            left[last - 800 : last]
        )


def test_a_bed_that_is_silent_adds_nothing_and_says_nothing() -> None:
    said = speech()[0]
    done = background_sounds.add_bed(said, np.zeros_like(said.samples), 10, name="file:x")
    assert not done.effects and np.array_equal(done.samples, said.samples)

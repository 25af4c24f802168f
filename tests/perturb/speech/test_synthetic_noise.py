"""Synthetic noises."""

from __future__ import annotations

import numpy as np
import pytest
from tests.perturb.speech.spoken import speech

from toolmark.perturb.speech import audio_clip, synthetic_noise
from toolmark.perturb.speech.audio_clip import RATE_HZ

KINDS = (*synthetic_noise.NOISE_MAKERS, *synthetic_noise.VOICE_NOISES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 7, RATE_HZ, 3 * RATE_HZ + 1])
def test_noise_has_its_length_unit_power_and_is_its_seeds(kind: str, n: int) -> None:
    voices = speech()
    one, again = (
        synthetic_noise.make_noise(kind, n, RATE_HZ, synthetic_noise.noise_generator(5), voices)
        for _ in range(2)
    )
    assert one.dtype == np.float32 and len(one) == n and np.isfinite(one).all()
    assert one.tobytes() == again.tobytes()
    if n >= RATE_HZ:
        assert audio_clip.mean_square(one) == pytest.approx(1, abs=1e-3)
        other = synthetic_noise.make_noise(
            kind, n, RATE_HZ, synthetic_noise.noise_generator(6), voices
        )
        assert not np.allclose(one, other), "another seed is another noise"


@pytest.mark.parametrize(("kind", "slope_db"), [("white", 0), ("pink", -3), ("brown", -6)])
def test_colours_fall_by_their_slope_per_octave(kind: str, slope_db: float) -> None:
    sound = synthetic_noise.make_noise(kind, 2**18, RATE_HZ, synthetic_noise.noise_generator(1))
    power = np.abs(np.fft.rfft(sound)) ** 2
    hz = np.fft.rfftfreq(len(sound), 1 / RATE_HZ)
    octaves = [power[(hz >= low) & (hz < 2 * low)].mean() for low in (100, 200, 400, 800, 1600)]
    steps = np.diff(10 * np.log10(octaves))
    assert steps == pytest.approx(np.full(4, slope_db), abs=0.3)


def test_babble_without_clips_is_a_murmur_and_bad_clips_do_not_matter() -> None:
    empty = audio_clip.Clip(np.zeros(0, dtype=np.float32), RATE_HZ)
    silent = audio_clip.Clip(np.zeros(100, dtype=np.float32), RATE_HZ)
    assert (
        audio_clip.mean_square(
            synthetic_noise.babble(RATE_HZ, RATE_HZ, synthetic_noise.noise_generator(1), [])
        )
        > 0
    )
    for voices in ([empty], [silent], [empty, silent, *speech()]):
        assert np.isfinite(
            synthetic_noise.babble(RATE_HZ, RATE_HZ, synthetic_noise.noise_generator(1), voices)
        ).all()


def test_a_door_slams_at_once_and_dies_away() -> None:
    sound = synthetic_noise.make_noise(
        "slam", RATE_HZ // 2, RATE_HZ, synthetic_noise.noise_generator(3)
    )
    assert audio_clip.mean_square(sound[:800]) > 30 * audio_clip.mean_square(sound[-800:])

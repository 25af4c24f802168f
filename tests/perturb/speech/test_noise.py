"""Synthetic noises."""

from __future__ import annotations

import numpy as np
import pytest
from tests.perturb.speech.spoken import speech

from toolmark.perturb.speech import clip, noise
from toolmark.perturb.speech.clip import RATE

KINDS = (*noise.MAKERS, *noise.VOICED)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 7, RATE, 3 * RATE + 1])
def test_noise_has_its_length_unit_power_and_is_its_seeds(kind: str, n: int) -> None:
    voices = speech()
    one, again = (noise.make(kind, n, RATE, noise.generator(5), voices) for _ in range(2))
    assert one.dtype == np.float32 and len(one) == n and np.isfinite(one).all()
    assert one.tobytes() == again.tobytes()
    if n >= RATE:
        assert clip.power(one) == pytest.approx(1, abs=1e-3)
        other = noise.make(kind, n, RATE, noise.generator(6), voices)
        assert not np.allclose(one, other), "another seed is another noise"


@pytest.mark.parametrize(("kind", "slope_db"), [("white", 0), ("pink", -3), ("brown", -6)])
def test_colours_fall_by_their_slope_per_octave(kind: str, slope_db: float) -> None:
    sound = noise.make(kind, 2**18, RATE, noise.generator(1))
    power = np.abs(np.fft.rfft(sound)) ** 2
    hz = np.fft.rfftfreq(len(sound), 1 / RATE)
    octaves = [power[(hz >= low) & (hz < 2 * low)].mean() for low in (100, 200, 400, 800, 1600)]
    steps = np.diff(10 * np.log10(octaves))
    assert steps == pytest.approx(np.full(4, slope_db), abs=0.3)


def test_babble_without_clips_is_a_murmur_and_bad_clips_do_not_matter() -> None:
    empty = clip.Clip(np.zeros(0, dtype=np.float32), RATE)
    silent = clip.Clip(np.zeros(100, dtype=np.float32), RATE)
    assert clip.power(noise.babble(RATE, RATE, noise.generator(1), [])) > 0
    for voices in ([empty], [silent], [empty, silent, *speech()]):
        assert np.isfinite(noise.babble(RATE, RATE, noise.generator(1), voices)).all()


def test_a_door_slams_at_once_and_dies_away() -> None:
    sound = noise.make("slam", RATE // 2, RATE, noise.generator(3))
    assert clip.power(sound[:800]) > 30 * clip.power(sound[-800:])

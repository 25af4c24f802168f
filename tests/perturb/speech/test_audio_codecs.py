"""Codecs: real ones, that keep length and place."""

from __future__ import annotations

import numpy as np
import pytest
from tests.perturb.speech.spoken import speech

from toolmark.perturb.speech import audio_clip, audio_codecs
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip


@pytest.mark.parametrize("codec", audio_codecs.CODECS)
def test_a_codec_keeps_length_and_place_and_is_the_same_twice(codec: str) -> None:
    said = speech()[0]
    done, again = audio_codecs.apply_codec(said, codec), audio_codecs.apply_codec(said, codec)
    assert done.samples.tobytes() == again.samples.tobytes()
    assert len(done.samples) == len(said.samples)
    product = np.fft.rfft(done.samples, 2**18) * np.conj(np.fft.rfft(said.samples, 2**18))
    shift = int(np.argmax(np.fft.irfft(product)))
    assert min(shift, 2**18 - shift) <= 2
    assert not np.array_equal(done.samples, said.samples)
    assert audio_clip.mean_square(done.samples) == pytest.approx(
        audio_clip.mean_square(said.samples), rel=0.3
    )
    assert done.effects[0].detail["codec"] == codec


@pytest.mark.parametrize("codec", ["mu-law", "a-law", "gsm"])
def test_a_telephone_has_nothing_above_four_kilohertz(codec: str) -> None:
    noise = np.random.Generator(np.random.PCG64(0)).standard_normal(RATE_HZ) * 0.1
    done = audio_codecs.apply_codec(Clip(noise.astype(np.float32), RATE_HZ), codec)
    power = np.abs(np.fft.rfft(done.samples)) ** 2
    assert power[4200:].sum() < 1e-3 * power.sum()


@pytest.mark.parametrize("codec", audio_codecs.CODECS)
@pytest.mark.parametrize("n", [0, 1, 161])
def test_tiny_clips_pass(codec: str, n: int) -> None:
    done = audio_codecs.apply_codec(Clip(np.full(n, 0.1, dtype=np.float32), RATE_HZ), codec)
    assert len(done.samples) == n and np.isfinite(done.samples).all()

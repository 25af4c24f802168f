"""Drift of gain, overdrive, rubbing."""

from __future__ import annotations

import numpy as np
import pytest
from tests.perturb.speech.spoken import speech

from toolmark.perturb.speech import audio_clip, microphone_faults, synthetic_noise
from toolmark.perturb.speech.audio_clip import RATE_HZ


@pytest.mark.parametrize("severity", [1, 2, 3, 4])
def test_gain_stays_within_its_bounds_and_changes_slowly(severity: int) -> None:
    said, size = speech()[0], microphone_faults.DRIFT_DB[severity]
    done = microphone_faults.apply_gain_drift(
        said, size, synthetic_noise.noise_generator(severity), severity=severity
    )
    loud = np.abs(said.samples) > 0.01
    curve = 20 * np.log10(np.abs(done.samples[loud] / said.samples[loud]))
    assert np.abs(curve).max() <= size + 1e-3
    (reported,) = done.effects
    assert float(reported.detail["low_db"]) - 1e-3 <= curve.min()
    assert curve.max() <= float(reported.detail["high_db"]) + 1e-3
    assert np.ptp(curve) > 0.2 * size


def _odd(samples: audio_clip.Samples) -> float:
    """Return the third harmonic of a tone of 200 Hz, against the first, in dB."""
    power = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    return 10 * float(np.log10(power[598:603].sum() / power[198:203].sum()))


def test_overdrive_keeps_the_level_and_distorts_the_more_the_harder() -> None:
    t = np.arange(RATE_HZ) / RATE_HZ
    tone = audio_clip.level_clip(
        audio_clip.Clip(np.sin(2 * np.pi * 200 * t).astype(np.float32), RATE_HZ)
    )
    found = []
    for drive_db in microphone_faults.DRIVE_DB.values():
        done = microphone_faults.apply_overdrive(tone, drive_db)
        assert audio_clip.mean_square(done.samples) == pytest.approx(
            audio_clip.mean_square(tone.samples), rel=1e-3
        )
        found.append(_odd(done.samples))
    assert found == sorted(found) and found[-1] > -15


def test_rubbing_is_where_the_timeline_says_at_its_ratio() -> None:
    said = speech()[3]
    done = microphone_faults.add_rubbing(
        said, [(0.2, 100), (0.6, 300)], -2.0, synthetic_noise.noise_generator(1)
    )
    left = done.samples - said.samples
    rest = np.ones(len(left), dtype=bool)
    spoken = audio_clip.mean_square(said.samples, audio_clip.speech_mask(said))
    assert len(done.effects) == 2
    for e in done.effects:
        span = slice(round(e.start_s * RATE_HZ), round(e.end_s * RATE_HZ))
        rest[span] = False
        found = 10 * np.log10(spoken / audio_clip.mean_square(left[span]))
        assert found == pytest.approx(-2.0, abs=0.1)
    assert not left[rest].any()

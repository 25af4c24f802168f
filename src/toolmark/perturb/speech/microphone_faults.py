"""Microphone faults: gain drift, overdrive, rubbing. Rooms are in `room_responses`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolmark.perturb.speech import audio_clip, synthetic_noise
from toolmark.perturb.speech.audio_clip import Clip, Speech
from toolmark.perturb.speech.background_sounds import apply_ramps, speech_level
from toolmark.perturb.speech.effect_timeline import StageResult, make_effect

DRIFT_DB = {1: 1.5, 2: 3.0, 3: 5.0, 4: 8.0}
"""Size of the slow change of gain by severity, in dB."""
DRIVE_DB = {1: 6.0, 2: 12.0, 3: 18.0, 4: 24.0}
"""Gain by severity, in dB; at 0 dB the speech-active level is 12 dB below the knee."""
N_RUBS = {1: 1, 2: 2, 3: 3, 4: 5}
RUB_SNR_DB = {1: (6.0, 10.0), 2: (2.0, 6.0), 3: (-2.0, 2.0), 4: (-6.0, -2.0)}
"""Level of the speech above the rubbing by severity, in dB."""
RUB_MS = (80.0, 450.0)
_DRIFT_STEP_S = 0.5
_KNEE_DB = -12.0


def apply_gain_drift(
    clip: Clip, size_db: float, gen: np.random.Generator, *, severity: int = 0
) -> StageResult:
    """Change the gain slowly within +- `size_db`, as when a speaker moves."""
    if not len(clip.samples):
        return StageResult(clip.samples)
    curve = synthetic_noise.slow_curve(len(clip.samples), clip.rate, gen, _DRIFT_STEP_S)
    curve = np.clip(curve, -1.5, 1.5) * (size_db / 1.5)
    out = (clip.samples * 10 ** (curve / 20)).astype(np.float32)
    detail: dict[str, str | float] = {"low_db": float(curve.min()), "high_db": float(curve.max())}
    return StageResult(out, (make_effect("device", "gain", (0, clip.seconds), severity, detail),))


def apply_overdrive(
    clip: Clip, drive_db: float, *, severity: int = 0, speech: Speech | None = None
) -> StageResult:
    """Distort the waveform with tanh, as an overdriven microphone does; the level stays the same.

    At 0 dB the speech-active level, that of `speech` if given, is 12 dB below the knee.
    """
    power, mask = speech_level(clip, speech)
    knee = (power / 10 ** (_KNEE_DB / 10)) ** 0.5 / 10 ** (drive_db / 20)
    bent = np.tanh(clip.samples / np.float32(knee))
    before, after = audio_clip.mean_square(clip.samples, mask), audio_clip.mean_square(bent, mask)
    if not after or not before:
        return StageResult(clip.samples)
    out = (bent * np.float32((before / after) ** 0.5)).astype(np.float32)
    detail: dict[str, str | float] = {"drive_db": drive_db}
    return StageResult(
        out, (make_effect("device", "overdrive", (0, clip.seconds), severity, detail),)
    )


def add_rubbing(
    clip: Clip,
    bursts: Sequence[tuple[float, float]],
    snr_db: float,
    gen: np.random.Generator,
    *,
    severity: int = 0,
    speech: Speech | None = None,
) -> StageResult:
    """Add bursts of rubbing or of a loose cable at `places`: (share of the clip, milliseconds).

    A burst is noise of 60 to 1200 Hz with crackle, and ends where the next begins. `snr_db` is the
    level of the speech, that of `speech` if given, above a burst.
    """
    n, rate = len(clip.samples), clip.rate
    power, _ = speech_level(clip, speech)
    out = clip.samples.astype(np.float32, copy=True)
    effects = []
    begins = sorted((min(int(where * n), max(n - 1, 0)), ms) for where, ms in bursts)
    ends = [*(first for first, _ in begins[1:]), n]
    for (first, ms), end in zip(begins, ends, strict=True):
        size = min(max(int(ms * rate / 1000), 1), end - first)
        if size <= 0:
            continue
        sound = apply_ramps(synthetic_noise.band_noise(size, rate, gen, 60, 1200), rate)
        crackle = (gen.random(size) < 40 / rate) * gen.standard_normal(size)
        sound = sound + np.float32(4) * crackle.astype(np.float32)
        loud = audio_clip.mean_square(sound)
        if not loud:
            continue
        out[first : first + size] += sound * np.float32((power / loud / 10 ** (snr_db / 10)) ** 0.5)
        span = (first / rate, (first + size) / rate)
        effects.append(make_effect("device", "rub", span, severity, {"snr_db": snr_db}))
    return StageResult(out, tuple(effects))

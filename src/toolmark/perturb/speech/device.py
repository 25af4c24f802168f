"""What a microphone and the hand that holds it do: drift, overdrive, rubbing. Rooms: `room`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolmark.perturb.speech import clip as clips
from toolmark.perturb.speech import noise
from toolmark.perturb.speech.clip import Clip, Speech
from toolmark.perturb.speech.effect import Changed, effect
from toolmark.perturb.speech.environment import level, ramped

DRIFT_DB = {1: 1.5, 2: 3.0, 3: 5.0, 4: 8.0}
"""Size of the slow change of gain, by severity."""
DRIVE_DB = {1: 6.0, 2: 12.0, 3: 18.0, 4: 24.0}
"""Gain before the curve bends, speech-active level against its knee minus 12 dB."""
RUBS = {1: 1, 2: 2, 3: 3, 4: 5}
RUB_DB = {1: (6.0, 10.0), 2: (2.0, 6.0), 3: (-2.0, 2.0), 4: (-6.0, -2.0)}
"""Speech over rubbing, by severity."""
RUB_MS = (80.0, 450.0)
_EVERY_S = 0.5
_KNEE_DB = -12.0


def gain(clip: Clip, size_db: float, gen: np.random.Generator, *, severity: int = 0) -> Changed:
    """Let the gain wander slowly within +- `size_db`, as when a speaker moves about."""
    if not len(clip.samples):
        return Changed(clip.samples)
    curve = noise.wander(len(clip.samples), clip.rate, gen, _EVERY_S)
    curve = np.clip(curve, -1.5, 1.5) * (size_db / 1.5)
    out = (clip.samples * 10 ** (curve / 20)).astype(np.float32)
    detail: dict[str, str | float] = {"low_db": float(curve.min()), "high_db": float(curve.max())}
    return Changed(out, (effect("device", "gain", (0, clip.seconds), severity, detail),))


def overdrive(
    clip: Clip, drive_db: float, *, severity: int = 0, speech: Speech | None = None
) -> Changed:
    """Bend the waveform with tanh, as an overdriven microphone does; the level is kept.

    At 0 dB the speech-active level lies 12 dB below the knee; that of `speech`, if it is given.
    """
    power, mask = level(clip, speech)
    knee = (power / 10 ** (_KNEE_DB / 10)) ** 0.5 / 10 ** (drive_db / 20)
    bent = np.tanh(clip.samples / np.float32(knee))
    before, after = clips.power(clip.samples, mask), clips.power(bent, mask)
    if not after or not before:
        return Changed(clip.samples)
    out = (bent * np.float32((before / after) ** 0.5)).astype(np.float32)
    detail: dict[str, str | float] = {"drive_db": drive_db}
    return Changed(out, (effect("device", "overdrive", (0, clip.seconds), severity, detail),))


def rub(
    clip: Clip,
    bursts: Sequence[tuple[float, float]],
    snr_db: float,
    gen: np.random.Generator,
    *,
    severity: int = 0,
    speech: Speech | None = None,
) -> Changed:
    """Add bursts of rubbing or of a loose cable: (share of the clip where, milliseconds) each.

    A burst is noise of 60 to 1200 Hz with crackle, and ends where the next begins; `snr_db` is
    speech over a burst, that of `speech`, if it is given.
    """
    n, rate = len(clip.samples), clip.rate
    power, _ = level(clip, speech)
    out = clip.samples.astype(np.float32, copy=True)
    told = []
    begins = sorted((min(int(where * n), max(n - 1, 0)), ms) for where, ms in bursts)
    ends = [*(first for first, _ in begins[1:]), n]
    for (first, ms), end in zip(begins, ends, strict=True):
        size = min(max(int(ms * rate / 1000), 1), end - first)
        if size <= 0:
            continue
        sound = ramped(noise.band(size, rate, gen, 60, 1200), rate)
        crackle = (gen.random(size) < 40 / rate) * gen.standard_normal(size)
        sound = sound + np.float32(4) * crackle.astype(np.float32)
        loud = clips.power(sound)
        if not loud:
            continue
        out[first : first + size] += sound * np.float32((power / loud / 10 ** (snr_db / 10)) ** 0.5)
        span = (first / rate, (first + size) / rate)
        told.append(effect("device", "rub", span, severity, {"snr_db": snr_db}))
    return Changed(out, tuple(told))

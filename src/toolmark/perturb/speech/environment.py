"""Where somebody speaks: a bed of noise under the utterance, and one sudden loud event in it.

The signal-to-noise ratio compares powers on the samples on which somebody speaks
(`clip.active`), so that pauses do not make a noise look weaker than it is. `speech` is the one who
is meant, without what else sounds already; if none is given it is that of the clip.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolmark.perturb.speech import clip as clips
from toolmark.perturb.speech import noise
from toolmark.perturb.speech.clip import LEVEL_DB, Clip, Speech
from toolmark.perturb.speech.effect import Changed, effect

BED_DB = {1: (24.0, 30.0), 2: (18.0, 24.0), 3: (12.0, 18.0), 4: (6.0, 12.0)}
"""Signal-to-noise ratios of a bed by severity."""
EVENT_DB = {1: (4.0, 8.0), 2: (0.0, 4.0), 3: (-5.0, 0.0), 4: (-10.0, -5.0)}
"""The same of an event: speech against the loudest 100 ms of it."""
EVENT_S = {"slam": 0.5, "siren": 1.4, "ring": 1.0}
_LOUD_S = 0.1
_RAMP_S = 0.005


def graded(snr_db: float) -> int:
    """Return the severity of a bed at this ratio; above the mildest it is 1, below the worst 4."""
    return next((s for s in sorted(BED_DB) if snr_db >= BED_DB[s][0]), max(BED_DB))


def level(clip: Clip, speech: Speech | None = None) -> tuple[float, NDArray[np.bool_]]:
    """Return the power of the speech and where it is; of silence the usual level, everywhere."""
    speech = speech or clips.alone(clip)
    if speech.power:
        return speech.power, speech.mask
    return 10 ** (LEVEL_DB / 10), np.ones(len(clip.samples), dtype=np.bool_)


def fitted(
    clip: Clip, sound: NDArray[np.float32], snr_db: float, speech: Speech | None = None
) -> NDArray[np.float32]:
    """Return the sound (same length) with its gain set to this ratio on speech-active samples.

    A sound that is silent wherever somebody speaks is fitted over the whole clip instead.
    """
    power, mask = level(clip, speech)
    loud = clips.power(sound, mask) or clips.power(sound)
    if not loud:
        return np.zeros_like(sound)
    return sound * np.float32((power / loud / 10 ** (snr_db / 10)) ** 0.5)


def bed(
    clip: Clip,
    sound: NDArray[np.float32],
    snr_db: float,
    *,
    name: str,
    severity: int = 0,
    speech: Speech | None = None,
) -> Changed:
    """Put a sound under the whole clip. Samples may pass full scale: the chain lowers the whole."""
    laid = fitted(clip, sound, snr_db, speech)
    done = effect(
        "environment", "bed", (0, clip.seconds), severity, {"noise": name, "snr_db": snr_db}
    )
    return Changed((clip.samples + laid).astype(np.float32), (done,) if laid.any() else ())


def event(
    clip: Clip,
    kind: str,
    snr_db: float,
    at: float,
    gen: np.random.Generator,
    *,
    severity: int = 0,
    speech: Speech | None = None,
) -> Changed:
    """Let something loud happen once, beginning at this share (0..1) of the clip.

    `snr_db` is the level of the speech over that of the event's loudest 100 ms.
    """
    n, rate = len(clip.samples), clip.rate
    first = min(int(at * n), max(n - 1, 0))
    size = min(int(EVENT_S[kind] * rate), n - first)
    if size <= 0:
        return Changed(clip.samples)
    sound = ramped(noise.make(kind, size, rate, gen), rate, attack=kind != "slam")
    power, _ = level(clip, speech)
    loud = _loudest(sound, max(int(_LOUD_S * rate), 1))
    if not loud:
        return Changed(clip.samples)
    out = clip.samples.astype(np.float32, copy=True)
    out[first : first + size] += sound * np.float32((power / loud / 10 ** (snr_db / 10)) ** 0.5)
    span = (first / rate, (first + size) / rate)
    detail: dict[str, str | float] = {"noise": kind, "snr_db": snr_db}
    return Changed(out, (effect("environment", "event", span, severity, detail),))


def ramped(sound: NDArray[np.float32], rate: int, *, attack: bool = True) -> NDArray[np.float32]:
    """Return a sound with 5 ms ramps at its end and, unless it strikes, at its beginning."""
    size = min(int(_RAMP_S * rate), len(sound) // 2)
    out = sound.copy()
    if size:
        slope = np.linspace(0, 1, size, dtype=np.float32)
        out[len(out) - size :] *= slope[::-1]
        if attack:
            out[:size] *= slope
    return out


def _loudest(sound: NDArray[np.float32], window: int) -> float:
    """Return the greatest mean square of any window of this many samples."""
    window = min(window, len(sound))
    sums = np.concatenate(([0.0], np.cumsum(np.square(sound, dtype=np.float64))))
    return float((sums[window:] - sums[:-window]).max()) / window

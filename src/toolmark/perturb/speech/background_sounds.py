"""Background sounds: a bed of noise under the utterance, and one sudden loud event in it.

The signal-to-noise ratio compares powers on the samples with active speech
(`audio_clip.speech_mask`), so that pauses do not make a noise look weaker than it is. `speech` is
the user's speech without sounds that were mixed in before; by default it is measured on the clip.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolmark.perturb.speech import audio_clip, synthetic_noise
from toolmark.perturb.speech.audio_clip import SPEECH_LEVEL_DB, Clip, Speech
from toolmark.perturb.speech.effect_timeline import StageResult, make_effect

BED_SNR_DB = {1: (24.0, 30.0), 2: (18.0, 24.0), 3: (12.0, 18.0), 4: (6.0, 12.0)}
"""Signal-to-noise ratios of a bed by severity, in dB."""
EVENT_SNR_DB = {1: (4.0, 8.0), 2: (0.0, 4.0), 3: (-5.0, 0.0), 4: (-10.0, -5.0)}
"""Signal-to-noise ratios of an event by severity, in dB: speech against its loudest 100 ms."""
EVENT_S = {"slam": 0.5, "siren": 1.4, "ring": 1.0}
_LOUDEST_WINDOW_S = 0.1
_RAMP_S = 0.005


def severity_of_ratio(snr_db: float) -> int:
    """Return the severity of a bed at this ratio; 1 above all ranges, 4 below all ranges."""
    return next((s for s in sorted(BED_SNR_DB) if snr_db >= BED_SNR_DB[s][0]), max(BED_SNR_DB))


def speech_level(clip: Clip, speech: Speech | None = None) -> tuple[float, NDArray[np.bool_]]:
    """Return the power and mask of the speech; for silence the usual level, everywhere."""
    speech = speech or audio_clip.measure_speech(clip)
    if speech.power:
        return speech.power, speech.mask
    return 10 ** (SPEECH_LEVEL_DB / 10), np.ones(len(clip.samples), dtype=np.bool_)


def scale_to_ratio(
    clip: Clip, sound: NDArray[np.float32], snr_db: float, speech: Speech | None = None
) -> NDArray[np.float32]:
    """Return the sound (same length) scaled to this ratio on speech-active samples.

    A sound that is silent wherever somebody speaks is measured over the complete clip instead.
    """
    power, mask = speech_level(clip, speech)
    loud = audio_clip.mean_square(sound, mask) or audio_clip.mean_square(sound)
    if not loud:
        return np.zeros_like(sound)
    return sound * np.float32((power / loud / 10 ** (snr_db / 10)) ** 0.5)


def add_bed(
    clip: Clip,
    sound: NDArray[np.float32],
    snr_db: float,
    *,
    name: str,
    severity: int = 0,
    speech: Speech | None = None,
) -> StageResult:
    """Add a sound to the complete clip. Samples may exceed full scale: the chain lowers them."""
    scaled = scale_to_ratio(clip, sound, snr_db, speech)
    bed_effect = make_effect(
        "environment", "bed", (0, clip.seconds), severity, {"noise": name, "snr_db": snr_db}
    )
    return StageResult(
        (clip.samples + scaled).astype(np.float32), (bed_effect,) if scaled.any() else ()
    )


def add_event(
    clip: Clip,
    kind: str,
    snr_db: float,
    at: float,
    gen: np.random.Generator,
    *,
    severity: int = 0,
    speech: Speech | None = None,
) -> StageResult:
    """Add one loud event that begins at this share (0..1) of the clip.

    `snr_db` is the level of the speech above that of the event's loudest 100 ms.
    """
    n, rate = len(clip.samples), clip.rate
    first = min(int(at * n), max(n - 1, 0))
    size = min(int(EVENT_S[kind] * rate), n - first)
    if size <= 0:
        return StageResult(clip.samples)
    sound = apply_ramps(
        synthetic_noise.make_noise(kind, size, rate, gen), rate, attack=kind != "slam"
    )
    power, _ = speech_level(clip, speech)
    loud = _loudest_power(sound, max(int(_LOUDEST_WINDOW_S * rate), 1))
    if not loud:
        return StageResult(clip.samples)
    out = clip.samples.astype(np.float32, copy=True)
    out[first : first + size] += sound * np.float32((power / loud / 10 ** (snr_db / 10)) ** 0.5)
    span = (first / rate, (first + size) / rate)
    detail: dict[str, str | float] = {"noise": kind, "snr_db": snr_db}
    return StageResult(out, (make_effect("environment", "event", span, severity, detail),))


def apply_ramps(
    sound: NDArray[np.float32], rate: int, *, attack: bool = True
) -> NDArray[np.float32]:
    """Return a sound with a 5 ms ramp at its end and, unless it starts abruptly, at its start."""
    size = min(int(_RAMP_S * rate), len(sound) // 2)
    out = sound.copy()
    if size:
        slope = np.linspace(0, 1, size, dtype=np.float32)
        out[len(out) - size :] *= slope[::-1]
        if attack:
            out[:size] *= slope
    return out


def _loudest_power(sound: NDArray[np.float32], window: int) -> float:
    """Return the largest mean square of any window of this many samples."""
    window = min(window, len(sound))
    sums = np.concatenate(([0.0], np.cumsum(np.square(sound, dtype=np.float64))))
    return float((sums[window:] - sums[:-window]).max()) / window

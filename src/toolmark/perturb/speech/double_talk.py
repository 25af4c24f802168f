"""Double talk: somebody else speaks at the same time.

The ratio compares the active level of the user with that of the other talker, each on the samples
on which that person speaks. The timeline contains the other talker's text, so that a scorer can
detect when their command is carried out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toolmark.perturb.speech import audio_clip
from toolmark.perturb.speech.audio_clip import Clip, Speech
from toolmark.perturb.speech.background_sounds import apply_ramps, speech_level
from toolmark.perturb.speech.effect_timeline import StageResult, make_effect

TALK_SNR_DB = {1: (18.0, 24.0), 2: (12.0, 18.0), 3: (7.0, 12.0), 4: (3.0, 7.0)}
"""Level of the speech above the interfering speech by severity, in dB."""


class Talk(NamedTuple):
    """An utterance of another talker: its name within the bank, its sound, its text."""

    name: str
    clip: Clip
    text: str


def overlay_talk(
    clip: Clip,
    talk: Talk,
    snr_db: float,
    at: float,
    *,
    severity: int = 0,
    who: int = 1,
    speech: Speech | None = None,
) -> StageResult:
    """Add the talk to the clip from this share (0..1) of it on; the part after its end is dropped.

    The detail contains the text, and in `heard` the share of the talk that fits. `speech` is the
    user's speech without sounds that were mixed in before; by default it is measured on the clip.
    """
    n, rate = len(clip.samples), clip.rate
    talk_samples = _trim_silence(audio_clip.resample_clip(talk.clip, rate))
    first = min(int(at * n), max(n - 1, 0))
    size = min(len(talk_samples), n - first)
    if size <= 0:
        return StageResult(clip.samples)
    sound = apply_ramps(talk_samples[:size], rate)
    loud = audio_clip.mean_square(sound, audio_clip.speech_mask(Clip(sound, rate)))
    if not loud:
        return StageResult(clip.samples)
    out = clip.samples.astype(np.float32, copy=True)
    out[first : first + size] += sound * np.float32(
        (speech_level(clip, speech)[0] / loud / 10 ** (snr_db / 10)) ** 0.5
    )
    detail: dict[str, str | float] = {
        "text": talk.text, "talk": talk.name, "snr_db": snr_db, "heard": size / len(talk_samples),
        "who": who,
    }  # fmt: skip
    span = (first / rate, (first + size) / rate)
    return StageResult(out, (make_effect("talkers", "talker", span, severity, detail),))


def _trim_silence(clip: Clip) -> audio_clip.Samples:
    """Return the samples from the first to the last one with active speech."""
    spoken = np.flatnonzero(audio_clip.speech_mask(clip))
    return clip.samples[spoken[0] : spoken[-1] + 1] if len(spoken) else clip.samples[:0]

"""Double talk: somebody else speaks at the same time.

The ratio compares the active level of the one who is meant with that of the other, each on the
samples on which that one speaks. What the other says stands in the timeline, so that a command of
theirs that is carried out can be told.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toolmark.perturb.speech import clip as clips
from toolmark.perturb.speech.clip import Clip, Speech
from toolmark.perturb.speech.effect import Changed, effect
from toolmark.perturb.speech.environment import level, ramped

TALK_DB = {1: (18.0, 24.0), 2: (12.0, 18.0), 3: (7.0, 12.0), 4: (3.0, 7.0)}
"""Speech over interfering speech, by severity."""


class Talk(NamedTuple):
    """Something that somebody else says: its name within the bank, its sound, its words."""

    name: str
    clip: Clip
    text: str


def overlay(
    clip: Clip,
    talk: Talk,
    snr_db: float,
    at: float,
    *,
    severity: int = 0,
    who: int = 1,
    speech: Speech | None = None,
) -> Changed:
    """Lay the talk over the clip from this share (0..1) of it on; what sticks out is not heard.

    The detail holds the words, and in `heard` the share of the talk that fits. `speech` is the one
    who is meant, without what else sounds already; if none is given it is that of the clip.
    """
    n, rate = len(clip.samples), clip.rate
    said = _trimmed(clips.resampled(talk.clip, rate))
    first = min(int(at * n), max(n - 1, 0))
    size = min(len(said), n - first)
    if size <= 0:
        return Changed(clip.samples)
    sound = ramped(said[:size], rate)
    loud = clips.power(sound, clips.active(Clip(sound, rate)))
    if not loud:
        return Changed(clip.samples)
    out = clip.samples.astype(np.float32, copy=True)
    out[first : first + size] += sound * np.float32(
        (level(clip, speech)[0] / loud / 10 ** (snr_db / 10)) ** 0.5
    )
    detail: dict[str, str | float] = {
        "text": talk.text, "talk": talk.name, "snr_db": snr_db, "heard": size / len(said),
        "who": who,
    }  # fmt: skip
    span = (first / rate, (first + size) / rate)
    return Changed(out, (effect("talkers", "talker", span, severity, detail),))


def _trimmed(clip: Clip) -> clips.Samples:
    """Return the samples from the first to the last on which somebody speaks."""
    spoken = np.flatnonzero(clips.active(clip))
    return clip.samples[spoken[0] : spoken[-1] + 1] if len(spoken) else clip.samples[:0]

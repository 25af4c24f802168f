"""Real codecs, through libsndfile: what a telephone line or a call over the internet leaves.

The sound goes through the encoder and back; it keeps its length and its place in time.
"""

from __future__ import annotations

import io

import numpy as np

from toolmark.perturb.speech import clip as clips
from toolmark.perturb.speech.clip import Clip
from toolmark.perturb.speech.effect import Changed, effect

CODECS = {
    "mu-law": ("WAV", "ULAW", 8000),
    "a-law": ("WAV", "ALAW", 8000),
    "gsm": ("WAV", "GSM610", 8000),
    "opus": ("OGG", "OPUS", 16000),
}
"""Container, coding and rate of each; G.711 and GSM narrow the band to 4 kHz."""
SEVERITY = {"opus": 1, "a-law": 2, "mu-law": 2, "gsm": 3}
TIGHT = 0.95  # libsndfile's compression level of Opus: about 12 kB a second less than at 0


def coded(clip: Clip, codec: str) -> Changed:
    """Return the clip after a codec. Raises KeyError; an empty clip stays."""
    if not len(clip.samples):
        return Changed(clip.samples)
    container, coding, rate = CODECS[codec]
    narrow = clips.resampled(clip, rate).samples
    back = _through(narrow, container, coding, rate)
    wide = clips.resampled(Clip(back, rate), clip.rate).samples
    out = np.zeros(len(clip.samples), dtype=np.float32)
    held = wide[: len(out)]
    out[: len(held)] = held
    detail: dict[str, str | float] = {"codec": codec, "band_hz": rate / 2}
    span = (0.0, clip.seconds)
    return Changed(out, (effect("network", "codec", span, SEVERITY[codec], detail),))


def _through(samples: clips.Samples, container: str, coding: str, rate: int) -> clips.Samples:
    import soundfile

    held = io.BytesIO()
    more = {"compression_level": TIGHT} if coding == "OPUS" else {}
    soundfile.write(held, samples, rate, format=container, subtype=coding, **more)
    held.seek(0)
    back, _ = soundfile.read(held, dtype="float32")
    return np.asarray(back, dtype=np.float32)

"""Real codecs of libsndfile: the sound of a telephone line or an internet call.

The sound is encoded and decoded; its length and its timing stay the same.
"""

from __future__ import annotations

import io

import numpy as np

from toolmark.perturb.speech import audio_clip
from toolmark.perturb.speech.audio_clip import Clip
from toolmark.perturb.speech.effect_timeline import StageResult, make_effect

CODECS = {
    "mu-law": ("WAV", "ULAW", 8000),
    "a-law": ("WAV", "ALAW", 8000),
    "gsm": ("WAV", "GSM610", 8000),
    "opus": ("OGG", "OPUS", 16000),
}
"""Container, coding and rate (Hz) of each codec; G.711 and GSM limit the band to 4 kHz."""
CODEC_SEVERITY = {"opus": 1, "a-law": 2, "mu-law": 2, "gsm": 3}
OPUS_COMPRESSION_LEVEL = (
    0.95  # libsndfile's compression level for Opus: about 12 kB per second less than at 0
)


def apply_codec(clip: Clip, codec: str) -> StageResult:
    """Return the clip after a codec; an empty clip stays. Raises KeyError for an unknown codec."""
    if not len(clip.samples):
        return StageResult(clip.samples)
    container, coding, rate = CODECS[codec]
    narrow = audio_clip.resample_clip(clip, rate).samples
    back = _encode_and_decode(narrow, container, coding, rate)
    wide = audio_clip.resample_clip(Clip(back, rate), clip.rate).samples
    out = np.zeros(len(clip.samples), dtype=np.float32)
    fitted = wide[: len(out)]
    out[: len(fitted)] = fitted
    detail: dict[str, str | float] = {"codec": codec, "band_hz": rate / 2}
    span = (0.0, clip.seconds)
    return StageResult(out, (make_effect("network", "codec", span, CODEC_SEVERITY[codec], detail),))


def _encode_and_decode(
    samples: audio_clip.Samples, container: str, coding: str, rate: int
) -> audio_clip.Samples:
    import soundfile

    buffer = io.BytesIO()
    options = {"compression_level": OPUS_COMPRESSION_LEVEL} if coding == "OPUS" else {}
    soundfile.write(buffer, samples, rate, format=container, subtype=coding, **options)
    buffer.seek(0)
    back, _ = soundfile.read(buffer, dtype="float32")
    return np.asarray(back, dtype=np.float32)

"""A clip of sound, and what every stage does with one: read, write, resample, level.

Samples are float32 in [-1, 1], one channel. What leaves the pipeline is 16-bit PCM in a WAV file,
rounded once at the end, so that equal samples are equal bytes.
"""

from __future__ import annotations

import io
import struct
from typing import NamedTuple

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from toolmark.errors import DataError

RATE = 16_000
LEVEL_DB = -26.0
"""Active-speech level of clean clips, dB below full scale (the usual level of ITU-T P.56 tests)."""

Samples = NDArray[np.float32]
_FRAME_S = 0.02
_FLOOR_DB = -35.0  # frames this far below the loudest ones are pauses
_MOST_S = 600.0


class Clip(NamedTuple):
    """Sound of one channel: samples (n,), float32 in [-1, 1], and their rate in Hz."""

    samples: Samples
    rate: int

    @property
    def seconds(self) -> float:
        """The length."""
        return len(self.samples) / self.rate


def read(data: bytes, name: str = "clip", most_s: float = _MOST_S) -> Clip:
    """Return the sound of a file's bytes, its channels mixed; at most `most_s` seconds of it.

    Whatever libsndfile reads: WAV, FLAC, OGG, MP3. Raises DataError if it holds no sound.
    """
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate = file.samplerate
            found = file.read(int(most_s * rate), dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, RuntimeError, ValueError, MemoryError) as error:
        raise DataError(f"{name}: not a sound file: {str(error)[:200]}") from None
    if not len(found) or not np.isfinite(found).all():
        raise DataError(f"{name}: holds no sound")
    return Clip(found.mean(axis=1, dtype=np.float32), rate)


def wav(clip: Clip) -> bytes:
    """Return the clip as a WAV file of 16-bit PCM; the same samples give the same bytes."""
    pcm = np.round(np.clip(clip.samples, -1, 1) * 32767).astype("<i2").tobytes()
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF", 36 + len(pcm), b"WAVE", b"fmt ", 16, 1, 1, clip.rate, clip.rate * 2, 2, 16,
        b"data", len(pcm),
    )  # fmt: skip
    return head + pcm


def resampled(clip: Clip, rate: int = RATE) -> Clip:
    """Return the clip at another rate (soxr, high quality)."""
    if clip.rate == rate:
        return clip
    return Clip(soxr.resample(clip.samples, clip.rate, rate).astype(np.float32), rate)


def active(clip: Clip) -> NDArray[np.bool_]:
    """Tell of each sample whether somebody speaks: frames of 20 ms within 35 dB of the loud ones.

    Loud is the 95th percentile of the frames' levels. Of a silent clip nothing is active.
    """
    n = max(int(clip.rate * _FRAME_S), 1)
    frames = -(-len(clip.samples) // n)
    padded = np.zeros(frames * n, dtype=np.float64)
    padded[: len(clip.samples)] = clip.samples
    power = np.square(padded).reshape(frames, n).mean(axis=1)
    loud = float(np.quantile(power, 0.95)) if frames else 0.0
    if loud <= 1e-10:
        return np.zeros(len(clip.samples), dtype=np.bool_)
    spoken = power >= loud * 10 ** (_FLOOR_DB / 10)
    return np.repeat(spoken, n)[: len(clip.samples)]


def power(samples: NDArray[np.floating], mask: NDArray[np.bool_] | None = None) -> float:
    """Return the mean square of the samples, or of those under the mask; 0 of none."""
    chosen = samples if mask is None else samples[mask]
    return float(np.square(chosen, dtype=np.float64).mean()) if len(chosen) else 0.0


def levelled(clip: Clip, level_db: float = LEVEL_DB) -> Clip:
    """Return the clip with its active speech at this level, dB below full scale; silence stays.

    Peaks that would pass full scale lower the whole clip instead of being cut.
    """
    now = power(clip.samples, active(clip))
    if not now:
        return clip
    gain = (10 ** (level_db / 10) / now) ** 0.5
    peak = float(np.abs(clip.samples).max()) * gain
    if peak > 0.99:
        gain *= 0.99 / peak
    return Clip((clip.samples * np.float32(gain)).astype(np.float32), clip.rate)

"""A clip of sound, and what every stage does with one: read, write, resample, level.

Samples are float32 in [-1, 1], one channel. What leaves the pipeline is 16-bit PCM in a WAV file,
rounded once at the end, so that equal samples are equal bytes.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import DataError

RATE = 16_000
LEVEL_DB = -26.0
"""Active-speech level of clean clips, dB below full scale (the usual level of ITU-T P.56 tests)."""

Samples = NDArray[np.float32]
_FRAME_S = 0.02
_FLOOR_DB = -35.0  # frames this far below the loudest ones are pauses
_LEAST_S, _MOST_S = 0.1, 600.0
_ONE = RLock()
_NO_FILE = 7  # of libsndfile, which says so of an MP3 that is none
SILENT = 1e-10
"""Mean square at and below which sound is silence."""


class Clip(NamedTuple):
    """Sound of one channel: samples (n,), float32 in [-1, 1], and their rate in Hz."""

    samples: Samples
    rate: int

    @property
    def seconds(self) -> float:
        """The length."""
        return len(self.samples) / self.rate


class Speech(NamedTuple):
    """The one who is meant, without all else that sounds in a clip of n samples.

    `power` is their mean square where they are heard, 0 of silence; `mask` (n,) tells where that
    is, echoes included; `span` holds the samples (ascending) from their first word to their last.
    Time that was put into the clip is in neither.
    """

    power: float
    mask: NDArray[np.bool_]
    span: NDArray[np.intp]


def alone(clip: Clip, span: NDArray[np.intp] | None = None) -> Speech:
    """Return the speech of a clip that holds nothing else; `span` if it is known from before."""
    mask = active(clip)
    if span is None:
        spoken = np.flatnonzero(mask)
        span = np.arange(spoken[0], spoken[-1] + 1) if len(spoken) else spoken
    return Speech(power(clip.samples, mask), mask, span)


def read(data: bytes, name: str = "clip", most_s: float = _MOST_S) -> Clip:
    """Return the sound of a file's bytes, its channels mixed.

    Whatever libsndfile reads: WAV, FLAC, OGG, MP3. Raises DataError if it holds no sound, or more
    than `most_s` seconds of it.
    """
    import soundfile  # late, as soxr below: words can be changed where no sound is made

    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate = file.samplerate
            most = int(most_s * rate)
            found = file.read(most + 1, dtype="float32", always_2d=True)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise DataError(f"{name}: not a sound file: {reason(error)}") from None
    if len(found) > most:
        raise DataError(f"{name}: more than {most_s:g} s of sound; cut it into pieces first")
    if not len(found) or not np.isfinite(found).all():
        raise DataError(f"{name}: holds no sound")
    return Clip(mixed(found), rate)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a sound file; what libraries print about a broken one is dropped, errors are raised.

    They print to the process's stderr, so meanwhile nobody else is heard there: one file at a time.
    """
    import soundfile

    with _ONE, ExitStack() as stack:
        with suppress(OSError):  # of a process without stderr
            kept = os.dup(2)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, 2)
            with open(os.devnull, "wb") as nothing:
                os.dup2(nothing.fileno(), 2)
        yield stack.enter_context(soundfile.SoundFile(path))


def own(data: bytes, name: str = "clip", most_s: float = _MOST_S) -> Clip:
    """Return the sound of a file as `read` does. Raises DataError also where nobody can speak."""
    found = read(data, name, most_s)
    if found.seconds < _LEAST_S:
        raise DataError(f"{name}: only {found.seconds:.3f} s of sound, too short for a word")
    if power(found.samples) <= SILENT:
        raise DataError(f"{name}: silent; give a recording in which somebody speaks")
    return found


def mixed(channels: NDArray[np.float32]) -> Samples:
    """Return channels (n, k) as one: their mean, or the first one if they cancel each other out."""
    mean = channels.mean(axis=1, dtype=np.float32)
    first: Samples = channels[:, 0]
    return first if power(mean) < 0.01 * power(first) else mean


def reason(error: Exception) -> str:
    """Return what is wrong with a file, without its path, so that like can be told with like."""
    if hasattr(error, "error_string"):  # of libsndfile
        if getattr(error, "code", 0) == _NO_FILE:
            return "no sound of a kind that can be read"
        return str(error.error_string).strip().rstrip(".")[:200]
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)[:200] or type(error).__name__


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
    import soxr

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
    if loud <= SILENT:
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

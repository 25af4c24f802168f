"""A clip of sound, and the functions that every stage needs: read, write, resample, level.

Samples are float32 in [-1, 1], one channel. The pipeline's output is 16-bit PCM in a WAV file,
rounded once at the end, so that equal samples give equal bytes.
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

from toolmark.core.errors import DataError

RATE_HZ = 16_000
SPEECH_LEVEL_DB = -26.0
"""Active-speech level of clean clips, dB below full scale (the usual level of ITU-T P.56 tests)."""

Samples = NDArray[np.float32]
_FRAME_S = 0.02
_FLOOR_DB = -35.0  # frames this far below the loud ones are pauses
_MIN_SPEECH_S, _MAX_CLIP_S = 0.1, 600.0
_STDERR_LOCK = RLock()
_UNKNOWN_FORMAT_CODE = 7  # of libsndfile, also for a file that is wrongly named MP3
SILENCE_POWER = 1e-10
"""Sound with at most this mean square is silence."""


class Clip(NamedTuple):
    """Sound of one channel: samples (n,), float32 in [-1, 1], and their rate in Hz."""

    samples: Samples
    rate: int

    @property
    def seconds(self) -> float:
        """The length in seconds."""
        return len(self.samples) / self.rate


class Speech(NamedTuple):
    """The user's speech in a clip of n samples, without all other sounds.

    `power` is the mean square of the speech where it is active, 0 for silence. `mask` (n,) is True
    where it is active, echoes included. `span` has the sample indices (ascending) from the first
    word to the last. Time that was inserted into the clip is in neither.
    """

    power: float
    mask: NDArray[np.bool_]
    span: NDArray[np.intp]


def measure_speech(clip: Clip, span: NDArray[np.intp] | None = None) -> Speech:
    """Return the speech of a clip without other sounds; pass `span` if it is already known."""
    mask = speech_mask(clip)
    if span is None:
        spoken = np.flatnonzero(mask)
        span = np.arange(spoken[0], spoken[-1] + 1) if len(spoken) else spoken
    return Speech(mean_square(clip.samples, mask), mask, span)


def decode_clip(data: bytes, name: str = "clip", max_s: float = _MAX_CLIP_S) -> Clip:
    """Return the sound of a file's bytes, with its channels mixed.

    All formats of libsndfile work: WAV, FLAC, OGG, MP3. Raises DataError if the file has no sound,
    or more than `max_s` seconds of it.
    """
    import soundfile  # late, as soxr below: text perturbations work without audio packages

    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate = file.samplerate
            max_samples = int(max_s * rate)
            found = file.read(max_samples + 1, dtype="float32", always_2d=True)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise DataError(f"{name}: not a sound file: {sound_error_reason(error)}") from None
    if len(found) > max_samples:
        raise DataError(f"{name}: more than {max_s:g} s of sound; cut it into pieces first")
    if not len(found) or not np.isfinite(found).all():
        raise DataError(f"{name}: holds no sound")
    return Clip(mix_channels(found), rate)


@contextmanager
def open_sound_file(path: Path) -> Iterator[Any]:
    """Open a sound file; errors are raised, but messages that libraries print are dropped.

    Libraries print to the stderr of the process. So stderr is redirected to the null device
    meanwhile, and only one file is open at a time.
    """
    import soundfile

    with _STDERR_LOCK, ExitStack() as stack:
        with suppress(OSError):  # the process may have no stderr
            saved_stderr = os.dup(2)
            stack.callback(os.close, saved_stderr)
            stack.callback(os.dup2, saved_stderr, 2)
            with open(os.devnull, "wb") as nothing:
                os.dup2(nothing.fileno(), 2)
        yield stack.enter_context(soundfile.SoundFile(path))


def decode_speech_clip(data: bytes, name: str = "clip", max_s: float = _MAX_CLIP_S) -> Clip:
    """Return the sound as `decode_clip` does; also raise DataError if it is too short or silent."""
    found = decode_clip(data, name, max_s)
    if found.seconds < _MIN_SPEECH_S:
        raise DataError(f"{name}: only {found.seconds:.3f} s of sound, too short for a word")
    if mean_square(found.samples) <= SILENCE_POWER:
        raise DataError(f"{name}: silent; give a recording in which somebody speaks")
    return found


def mix_channels(channels: NDArray[np.float32]) -> Samples:
    """Return channels (n, k) as one: the mean, or the first one if they cancel each other out."""
    mean = channels.mean(axis=1, dtype=np.float32)
    first: Samples = channels[:, 0]
    return first if mean_square(mean) < 0.01 * mean_square(first) else mean


def sound_error_reason(error: Exception) -> str:
    """Return what is wrong with a file, without its path, so that equal reasons can be grouped."""
    if hasattr(error, "error_string"):  # of libsndfile
        if getattr(error, "code", 0) == _UNKNOWN_FORMAT_CODE:
            return "no sound of a kind that can be read"
        return str(error.error_string).strip().rstrip(".")[:200]
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)[:200] or type(error).__name__


def encode_wav(clip: Clip) -> bytes:
    """Return the clip as a WAV file of 16-bit PCM; the same samples give the same bytes."""
    pcm = np.round(np.clip(clip.samples, -1, 1) * 32767).astype("<i2").tobytes()
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF", 36 + len(pcm), b"WAVE", b"fmt ", 16, 1, 1, clip.rate, clip.rate * 2, 2, 16,
        b"data", len(pcm),
    )  # fmt: skip
    return head + pcm


def resample_clip(clip: Clip, rate: int = RATE_HZ) -> Clip:
    """Return the clip at another rate (soxr, high quality)."""
    if clip.rate == rate:
        return clip
    import soxr

    return Clip(soxr.resample(clip.samples, clip.rate, rate).astype(np.float32), rate)


def speech_mask(clip: Clip) -> NDArray[np.bool_]:
    """Return for each sample whether somebody speaks, by frames of 20 ms.

    A frame is active within 35 dB of the 95th percentile of the frames' levels. In a silent clip no
    sample is active.
    """
    n = max(int(clip.rate * _FRAME_S), 1)
    frames = -(-len(clip.samples) // n)
    padded = np.zeros(frames * n, dtype=np.float64)
    padded[: len(clip.samples)] = clip.samples
    power = np.square(padded).reshape(frames, n).mean(axis=1)
    loud = float(np.quantile(power, 0.95)) if frames else 0.0
    if loud <= SILENCE_POWER:
        return np.zeros(len(clip.samples), dtype=np.bool_)
    spoken = power >= loud * 10 ** (_FLOOR_DB / 10)
    return np.repeat(spoken, n)[: len(clip.samples)]


def mean_square(samples: NDArray[np.floating], mask: NDArray[np.bool_] | None = None) -> float:
    """Return the mean square of the samples, or of those under the mask; 0 if there are none."""
    chosen = samples if mask is None else samples[mask]
    return float(np.square(chosen, dtype=np.float64).mean()) if len(chosen) else 0.0


def level_clip(clip: Clip, level_db: float = SPEECH_LEVEL_DB) -> Clip:
    """Return the clip with active speech at this level, dB below full scale; silence stays.

    If peaks would exceed full scale, the complete clip is lowered; peaks are not clipped.
    """
    now = mean_square(clip.samples, speech_mask(clip))
    if not now:
        return clip
    gain = (10 ** (level_db / 10) / now) ** 0.5
    peak = float(np.abs(clip.samples).max()) * gain
    if peak > 0.99:
        gain *= 0.99 / peak
    return Clip((clip.samples * np.float32(gain)).astype(np.float32), clip.rate)

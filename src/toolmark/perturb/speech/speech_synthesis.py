"""Speech synthesis: texts become clips at one rate and level, cached by content.

Every clip is at RATE_HZ, one channel, at SPEECH_LEVEL_DB of active speech. The engine's own silence
at the ends is cut to 0.1 s, then PAD_S = 0.2 s of silence is added before and after. The samples
are those of the cached 16-bit file, so a first and a later call give the same samples.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from toolmark.core import files
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import DataError, ToolmarkError
from toolmark.core.files import write_atomically
from toolmark.perturb.speech.audio_clip import (
    RATE_HZ,
    SPEECH_LEVEL_DB,
    Clip,
    decode_clip,
    encode_wav,
    level_clip,
    resample_clip,
    speech_mask,
)
from toolmark.perturb.speech.engines import engine_registry
from toolmark.perturb.speech.voice import Voice

PAD_S = 0.2
MAX_CHARS = 4000
_CACHE_VERSION = 2  # increase it when the same text would give another sound
_WAV_HEADER_BYTES = 44
_EDGE_S = 0.1  # silence of the engine that stays at the ends: words begin and end with weak sounds

_SUPERSCRIPTS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_FRACTION = re.compile("[¼-¾⅐-⅞]")
# text that an engine reads as an instruction: phonemes in [[ ]], tags, commands, Festival's modes
_UNSPOKEN_SIGNS = re.compile(r"[^A-Za-z0-9 .,;:?!'\"()&%$#@+=/*_-]")


class SpeakableText(DataRecord, frozen=True):
    """The data file: what is written for engines instead of a sign."""

    signs: dict[Annotated[str, Meta(min_length=1, max_length=1)], str]


def speakable_signs() -> Mapping[str, str]:
    """Return the words and letters that stand for signs that some engines cannot read."""
    return read_table(__file__, "speakable_text.toml", SpeakableText).signs


def speakable_text(text: str) -> str:
    """Return a text in a form that is safe for every engine: one line of printable ASCII.

    Accents are dropped and common signs are written as words. Brackets, angle brackets of tags,
    control characters and other signs are left out. Raises DataError if nothing is left to say, if
    the text is longer than 4,000 characters, or if it has letters or digits that an English voice
    cannot read.
    """
    _check_length(text)
    flat = _FRACTION.sub(r" \g<0>", _SUPERSCRIPTS.sub(_power_words, text))  # 5½ must not be 51/2
    signs = speakable_signs()
    expanded = "".join(signs.get(char, char) for char in flat)
    spread = "".join(signs.get(char, char) for char in unicodedata.normalize("NFKC", expanded))
    decomposed = unicodedata.normalize("NFKD", spread)
    unaccented = "".join(char for char in decomposed if not unicodedata.combining(char))
    if unreadable := sorted({char for char in unaccented if char.isalnum() and not char.isascii()}):
        raise DataError(f"an English voice cannot read {''.join(unreadable[:20])!r}")
    words = " ".join(_UNSPOKEN_SIGNS.sub(" ", unaccented).split())
    if not any(char.isalnum() for char in words):
        raise DataError(f"there is nothing to say in {text[:80]!r}")
    _check_length(words)  # again: words for signs are longer
    return words


def _power_words(found: re.Match[str]) -> str:
    raised = found[0]
    return raised if raised in speakable_signs() else f" to the power of {raised} "


def _check_length(text: str) -> None:
    if len(text) > MAX_CHARS:
        raise DataError(f"{len(text)} characters are too much for one clip: at most {MAX_CHARS}")


def clip_key(text: str, voice: Voice) -> str:
    """Return the name of a clip: a digest of everything that affects its sound."""
    parts = [_CACHE_VERSION, RATE_HZ, SPEECH_LEVEL_DB, PAD_S, _resampler_version(), text]
    voice_parts = [voice.engine, voice.version, voice.name, voice.rate, voice.pitch]
    return hashlib.sha256(msgspec.json.encode([*parts, *voice_parts])).hexdigest()


@cache
def _resampler_version() -> str:
    return metadata.version("soxr")


def synthesise_clip(text: str, voice: Voice, *, folder: Path | None = None) -> Clip:
    """Return a text spoken by a voice, from the folder of clips if it was synthesised before.

    `folder` is the cache folder by default; several processes may share it. Raises DataError for a
    text that cannot be said (see `speakable_text`), an unknown voice, an engine whose version is
    not the voice's, or an engine that fails. Raises UsageError if the engine is not installed, and
    EndpointError if a voice over the network gives no answer.
    """
    words = speakable_text(text)
    clips_folder = files.cache_folder() / "voices" if folder is None else folder
    name = clip_key(words, voice)
    path = clips_folder / name[:2] / f"{name}.wav"
    if (data := _read_cached(path)) is None:
        data = _synthesise_bytes(words, voice)
        _write_cached(path, data)
    return decode_clip(data, str(path))


def _read_cached(path: Path) -> bytes | None:
    """Return the clip's file; None if it is missing or incomplete."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    is_wav = len(data) > _WAV_HEADER_BYTES and data[:4] == b"RIFF"
    size = int.from_bytes(data[_WAV_HEADER_BYTES - 4 : _WAV_HEADER_BYTES], "little")
    return data if is_wav and size == len(data) - _WAV_HEADER_BYTES else None


def _write_cached(path: Path, data: bytes) -> None:
    try:
        write_atomically(path, data)
    except OSError as error:
        raise DataError(f"{path}: cannot keep the clip: {error.strerror}") from None


def _synthesise_bytes(words: str, voice: Voice) -> bytes:
    voice_label = f"{voice.engine} {voice.name[:80]}"
    if not 0.5 <= voice.rate <= 2:
        raise DataError(f"{voice_label}: the rate {voice.rate} is not within 0.5 to 2")
    if voice.pitch is not None and not 0 <= voice.pitch <= 1:
        raise DataError(f"{voice_label}: the pitch {voice.pitch} is not within 0 to 1")
    engine = engine_registry.load_engine(voice.engine)
    if voice.version != (installed := engine.version()):
        raise DataError(
            f"{voice_label}: drawn for version {voice.version or '?'}, this machine has "
            f"{installed}: draw the voices anew, or install that version"
        )
    with tempfile.TemporaryDirectory(prefix="toolmark-") as folder:
        data = engine.synthesize_text(words, voice, Path(folder))
    return encode_wav(_trim_and_level(decode_clip(data, voice_label), voice_label))


def _trim_and_level(clip: Clip, voice_label: str) -> Clip:
    """Return the clip with rate, level and silence as in this module's docstring."""
    resampled_clip = resample_clip(clip)
    active_samples = np.flatnonzero(speech_mask(resampled_clip))
    if not len(active_samples):
        raise DataError(f"{voice_label}: gave silence")
    edge = int(_EDGE_S * RATE_HZ)
    spoken = resampled_clip.samples[
        max(active_samples[0] - edge, 0) : active_samples[-1] + 1 + edge
    ]
    level = spoken - spoken.mean(dtype=np.float64)  # some engines add an offset
    pad = np.zeros(math.ceil(PAD_S * RATE_HZ))
    return level_clip(Clip(np.concatenate((pad, level, pad)).astype(np.float32), RATE_HZ))


def synthesise_many(
    jobs: Sequence[tuple[str, Voice]], *, folder: Path | None = None, workers: int | None = None
) -> Iterator[Clip | ToolmarkError]:
    """Synthesise many texts in parallel; yield the clips in the order of the jobs.

    A job that fails yields its error. Equal jobs are synthesised once. `workers` jobs run at a time
    (by default one per processor), and only the clip that is yielded is in memory.
    """
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        futures: dict[tuple[str, Voice], Future[ToolmarkError | None]] = {}
        try:
            for job in jobs:
                if job not in futures:
                    futures[job] = pool.submit(_synthesise_or_error, job, folder)
            for job in jobs:
                failed = futures[job].result()
                yield failed or synthesise_clip(*job, folder=folder)
        finally:
            pool.shutdown(cancel_futures=True)


def _synthesise_or_error(job: tuple[str, Voice], folder: Path | None) -> ToolmarkError | None:
    try:
        synthesise_clip(*job, folder=folder)
    except ToolmarkError as error:
        return error
    return None

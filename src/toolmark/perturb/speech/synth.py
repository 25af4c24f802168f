"""Words to sound, once: synthesised, brought to one rate and level, and kept by their content.

Every clip is RATE Hz, one channel, at LEVEL_DB of active speech, with PAD_S = 0.2 s of silence
before and after what the engine gave, whose own silence is cut down to 0.1 s first. It has passed
through the 16-bit file that keeps it, so a first and a later call give the same samples.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import metadata
from pathlib import Path

import msgspec
import numpy as np

from toolmark import fetch
from toolmark.errors import DataError, ToolmarkError
from toolmark.files import write_atomically
from toolmark.perturb.speech import engines
from toolmark.perturb.speech.clip import (
    LEVEL_DB,
    RATE,
    Clip,
    active,
    levelled,
    read,
    resampled,
    wav,
)
from toolmark.perturb.speech.voice import Voice

PAD_S = 0.2
MOST_CHARS = 4000
_FORM = 2  # of what is kept: count up when the same words would come out another way
_HEAD_BYTES = 44
_EDGE_S = 0.1  # kept of what an engine puts around the words: weak sounds begin and end them

_WORDS = {
    "€": " euros ", "£": " pounds ", "¥": " yen ", "°": " degrees ", "×": " times ",
    "ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l",
    "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ı": "i",
    "‘": "'", "’": "'", "“": '"', "”": '"', "–": " - ", "—": " - ", "…": "... ",
    "⁄": "/", "−": "-", "‐": "-", "‑": "-", "²": " squared ", "³": " cubed ", "~": " tilde ",
    "^": " to the power of ", "|": " pipe ",
}  # fmt: skip
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_FRACTION = re.compile("[¼-¾⅐-⅞]")
# what some engine takes for an instruction: phonemes in [[ ]], tags, commands, Festival's modes
_SIGNS = re.compile(r"[^A-Za-z0-9 .,;:?!'\"()&%$#@+=/*_-]")


def plain(text: str) -> str:
    """Return the words of a text as every engine may be given them: one line of printable ASCII.

    Accents are dropped, common signs said in words, brackets, tags' angles, control characters
    and other signs left out. Raises DataError if there is nothing to say, if it is longer than
    4,000 characters, or if it holds letters or digits that an English voice cannot read.
    """
    _fits(text)
    flat = _FRACTION.sub(r" \g<0>", _RAISED.sub(_power, text))  # else 5½ becomes 51/2
    told = "".join(_WORDS.get(char, char) for char in flat)
    spread = "".join(_WORDS.get(char, char) for char in unicodedata.normalize("NFKC", told))
    apart = unicodedata.normalize("NFKD", spread)
    bare = "".join(char for char in apart if not unicodedata.combining(char))
    if lost := sorted({char for char in bare if char.isalnum() and not char.isascii()}):
        raise DataError(f"an English voice cannot read {''.join(lost[:20])!r}")
    words = " ".join(_SIGNS.sub(" ", bare).split())
    if not any(char.isalnum() for char in words):
        raise DataError(f"there is nothing to say in {text[:80]!r}")
    _fits(words)  # signs have grown to words
    return words


def _power(found: re.Match[str]) -> str:
    raised = found[0]
    return raised if raised in _WORDS else f" to the power of {raised} "


def _fits(text: str) -> None:
    if len(text) > MOST_CHARS:
        raise DataError(f"{len(text)} characters are too much for one clip: at most {MOST_CHARS}")


def key(text: str, voice: Voice) -> str:
    """Return the name of a clip: a digest of all that decides how it sounds."""
    parts = [_FORM, RATE, LEVEL_DB, PAD_S, _resampler(), text]
    said = [voice.engine, voice.version, voice.name, voice.rate, voice.pitch]
    return hashlib.sha256(msgspec.json.encode([*parts, *said])).hexdigest()


@cache
def _resampler() -> str:
    return metadata.version("soxr")


def say(text: str, voice: Voice, *, folder: Path | None = None) -> Clip:
    """Return a text spoken by a voice, from the folder of clips if it has been said before.

    `folder` is the cache's by default; several processes may share it. Raises DataError for a
    text that cannot be said (see `plain`), a voice that is none, an engine of another version
    than the voice's, or one that fails; UsageError if the engine is not installed, and
    EndpointError where a voice over the net gives no answer.
    """
    words = plain(text)
    home = fetch.cache() / "voices" if folder is None else folder
    name = key(words, voice)
    path = home / name[:2] / f"{name}.wav"
    if (data := _kept(path)) is None:
        data = _made(words, voice)
        _keep(path, data)
    return read(data, str(path))


def _kept(path: Path) -> bytes | None:
    """Return the clip's file, None if it is not there or not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    whole = len(data) > _HEAD_BYTES and data[:4] == b"RIFF"
    size = int.from_bytes(data[_HEAD_BYTES - 4 : _HEAD_BYTES], "little")
    return data if whole and size == len(data) - _HEAD_BYTES else None


def _keep(path: Path, data: bytes) -> None:
    try:
        write_atomically(path, data)
    except OSError as error:
        raise DataError(f"{path}: cannot keep the clip: {error.strerror}") from None


def _made(words: str, voice: Voice) -> bytes:
    who = f"{voice.engine} {voice.name[:80]}"
    if not 0.5 <= voice.rate <= 2:
        raise DataError(f"{who}: the rate {voice.rate} is not within 0.5 to 2")
    if voice.pitch is not None and not 0 <= voice.pitch <= 1:
        raise DataError(f"{who}: the pitch {voice.pitch} is not within 0 to 1")
    engine = engines.by_name(voice.engine)
    if voice.version != (here := engine.version()):
        raise DataError(
            f"{who}: drawn for version {voice.version or '?'}, this machine has {here}: "
            "draw the voices anew, or install that version"
        )
    with tempfile.TemporaryDirectory(prefix="toolmark-") as folder:
        data = engine.speak(words, voice, Path(folder))
    return wav(_shaped(read(data, who), who))


def _shaped(clip: Clip, who: str) -> Clip:
    """Return the clip as this module's docstring says."""
    whole = resampled(clip)
    heard = np.flatnonzero(active(whole))
    if not len(heard):
        raise DataError(f"{who}: gave silence")
    edge = int(_EDGE_S * RATE)
    spoken = whole.samples[max(heard[0] - edge, 0) : heard[-1] + 1 + edge]
    level = spoken - spoken.mean(dtype=np.float64)  # some engines leave an offset
    pad = np.zeros(math.ceil(PAD_S * RATE))
    return levelled(Clip(np.concatenate((pad, level, pad)).astype(np.float32), RATE))


def many(
    jobs: Sequence[tuple[str, Voice]], *, folder: Path | None = None, workers: int | None = None
) -> Iterator[Clip | ToolmarkError]:
    """Say many texts at once; yield the clips in the order of the jobs.

    A job that fails yields its error. Equal jobs are synthesised once, `workers` (by default one
    per processor) at a time, and only the clip that is yielded is in memory.
    """
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        begun: dict[tuple[str, Voice], Future[ToolmarkError | None]] = {}
        try:
            for job in jobs:
                if job not in begun:
                    begun[job] = pool.submit(_try, job, folder)
            for job in jobs:
                failed = begun[job].result()
                yield failed or say(*job, folder=folder)
        finally:
            pool.shutdown(cancel_futures=True)


def _try(job: tuple[str, Voice], folder: Path | None) -> ToolmarkError | None:
    try:
        say(*job, folder=folder)
    except ToolmarkError as error:
        return error
    return None

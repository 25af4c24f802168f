"""Folders of recorded sound: MUSAN, CHiME-5 and -6, CHiME-3, DEMAND, WHAM!, RIRS_NOISES, any tree.

`scan` looks at every file once and reads little of it; `take` reads the seconds that are wanted,
block by block, so that an hour of sound costs no more memory than some megabytes. What cannot be
used is named with its reason, never raised: corrupt, empty, silent, too short, no regular file, or
a link that leaves the tree. Stereo is mixed, any rate is resampled, the format is told from the
content and not from the name. Nothing here follows a licence: many of these recordings must not be
passed on (WHAM! is non-commercial, CHiME-5 is under registration).
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from toolmark.errors import DataError
from toolmark.perturb.speech import clip as clips
from toolmark.perturb.speech.clip import RATE, Clip, Samples

PREFIX = "file:"
SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au"})
Use: TypeAlias = Literal["noise", "music", "speech", "talk", "room"]
LEAST_S, MOST_S = 0.2, 30.0
_RATES = (4_000, 384_000)
_CHANNELS = 64
_TRIES = 8
_PLACES = (0.5, 0.1, 0.3, 0.7, 0.9, 0.0)  # where a file is looked at, as shares of it
_ROOM_MOST_S = 10.0
_ROOMS = {"smallroom", "mediumroom", "largeroom"}
_MOST_FILES = 200_000
_MOST_JSON = 64 * 2**20
_GAP_S = 0.5
_CHIME3 = re.compile(r"BGD_.*_(BUS|CAF|PED|STR)\.CH\d$")
_TIME = re.compile(r"(\d{1,3}):(\d{2}):(\d{2}(?:\.\d+)?)$")
_USES: dict[str, Use] = {"music": "music", "speech": "speech"}


class Noise(NamedTuple):
    """A stretch of a file: its name in the tree, its class, what it may serve as, its seconds.

    `text` is what is said in it, where that is known.
    """

    name: str
    path: Path
    kind: str
    use: Use
    start_s: float
    seconds: float
    text: str = ""


class Found(NamedTuple):
    """What a tree holds, and (path within it, reason) of each file that is not used."""

    corpus: str
    noises: tuple[Noise, ...]
    skipped: tuple[tuple[str, str], ...]


def scan(root: Path) -> Found:
    """Look through a tree of sound files, in the order of their names.

    Files that are no sound by their suffix are passed over. Raises DataError if there is no tree.
    """
    root = top(root)
    noises: list[Noise] = []
    skipped: list[tuple[str, str]] = []
    corpus = _corpus(root)
    for path in _files(root, skipped):
        name = path.relative_to(root).as_posix()
        try:
            name.encode()
            seconds = _looked(path, root)
            noises += _stretches(root, path, corpus, seconds, skipped)
        except UnicodeEncodeError:  # it could be recorded nowhere
            shown = name.encode(errors="backslashreplace").decode()
            skipped.append((shown, "a name that is no text"))
        except (DataError, OSError, RuntimeError, ValueError) as error:
            skipped.append((name, clips.reason(error)))
    return Found(corpus, tuple(noises), tuple(skipped))


def top(root: Path) -> Path:
    """Return the tree, or the corpus that is all that lies in it. Raises DataError for no tree."""
    try:
        inside = [path for path in root.iterdir() if not path.name.startswith(".")]
        alone = len(inside) == 1 and inside[0].is_dir() and not inside[0].is_symlink()
        return inside[0] if alone and _corpus(inside[0]) != "tree" else root
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise DataError(f"{root}: no folder of sounds ({why}); give the unpacked folder") from None


def _files(root: Path, skipped: list[tuple[str, str]]) -> Iterator[Path]:
    """Yield the files with a suffix of sound; folders behind links are not entered."""
    seen = 0
    for folder, inner, names in os.walk(root):
        inner.sort()
        for name in sorted(names):
            if Path(name).suffix.lower() not in SUFFIXES:
                continue
            seen += 1
            if seen > _MOST_FILES:
                skipped.append((".", f"more than {_MOST_FILES} files; the rest is not used"))
                return
            yield Path(folder, name)


def _looked(path: Path, root: Path) -> float:
    """Return the seconds of a usable file; raises DataError with the reason for any other."""
    if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
        raise DataError("a link that leaves the folder")
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise DataError("no regular file")
    if not about.st_size:
        raise DataError("empty")
    with clips.opened(path) as file:
        seconds = float(file.frames / file.samplerate)
        if not _RATES[0] <= file.samplerate <= _RATES[1]:
            raise DataError(f"a rate of {file.samplerate} Hz")
        if file.channels > _CHANNELS:
            raise DataError(f"{file.channels} channels")
        if seconds < LEAST_S:
            raise DataError(f"only {seconds:.3f} s of sound")
        if not any(clips.power(piece) > clips.SILENT for piece in _probes(file, seconds)):
            raise DataError("silent wherever it was looked at")
    return seconds


def _probes(file: Any, seconds: float) -> Iterator[Samples]:
    """Yield half a second from several places, mixed."""
    for at in _PLACES:
        yield _mixed(file, at * max(seconds - 0.5, 0.0), 0.5)


def _mixed(file: Any, start_s: float, seconds: float, *, first: bool = False) -> Samples:
    """Read some seconds, block by block, its channels mixed; the first one if they cancel out.

    `first` takes the first one in any case. Raises DataError for sound that is not finite.
    """
    rate = int(file.samplerate)
    file.seek(min(int(start_s * rate), max(int(file.frames) - 1, 0)))
    left = max(int(seconds * rate), 1)
    parts: list[Samples] = []
    while left > 0:
        block = file.read(min(left, 65_536), dtype="float32", always_2d=True)
        if not len(block):
            break
        if not np.isfinite(block).all():
            raise DataError("sound that is not finite")
        parts.append(block[:, 0] if first else clips.mixed(block))
        left -= len(block)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


# --- what each corpus is ----------------------------------------------------------------


def _corpus(root: Path) -> str:
    """Tell a corpus by its folders."""
    inside = {path.name for path in root.iterdir()}
    if {"music", "noise", "speech"} <= inside:
        return "musan"
    if {"audio", "transcriptions"} <= inside:
        return "chime5"
    if inside & {"pointsource_noises", "simulated_rirs", "real_rirs_isotropic_noises"}:
        return "rirs"
    if inside & _ROOMS:
        return "rirs"
    if {"tr", "cv", "tt"} <= inside:
        return "wham"
    if any(_CHIME3.match(Path(name).stem) for name in inside):
        return "chime3"
    if any((root / name / "ch01.wav").is_file() for name in inside):
        return "demand"
    return "tree"


def _stretches(
    root: Path, path: Path, corpus: str, seconds: float, skipped: list[tuple[str, str]]
) -> list[Noise]:
    """Return what a file of this corpus offers: itself, or of CHiME-5 its gaps and its talk."""
    inner = path.relative_to(root)
    name = inner.as_posix()
    if corpus == "chime5":
        return _session(root, path, name, seconds, skipped)
    if corpus == "chime3":
        place = _CHIME3.match(path.stem)
        return [_whole(name, path, f"chime3:{place[1] if place else 'other'}", seconds)]
    first = inner.parts[0] if len(inner.parts) > 1 else "sound"
    use: Use = _USES.get(first, "noise") if corpus == "musan" else "noise"
    shoebox = corpus == "rirs" and first in ("simulated_rirs", *_ROOMS)
    if shoebox or "_rir_" in f"_{path.stem}_":
        use = "room"
        if seconds > _ROOM_MOST_S:
            raise DataError(f"{seconds:.0f} s are too long for a response of a room")
    kind = corpus if corpus == "wham" else f"{corpus}:{first}"
    return [_whole(name, path, kind, seconds, use)]


def _whole(name: str, path: Path, kind: str, seconds: float, use: Use = "noise") -> Noise:
    return Noise(name, path, kind, use, 0.0, seconds)


def _session(
    root: Path, path: Path, name: str, seconds: float, skipped: list[tuple[str, str]]
) -> list[Noise]:
    """Return the gaps between what is said in a session, and each thing said with its words."""
    session = path.stem.partition("_")[0]
    stories = sorted((root / "transcriptions").glob(f"*/{session}.json"))
    if not stories:
        skipped.append((name, "no transcription of its session"))
        return []
    device = path.stem.partition("_")[2].partition(".")[0]
    said = sorted(_said(stories[0], device))
    found = []
    last = 0.0
    for start, end, speaker, words in [*said, (seconds, seconds, "", "")]:
        if min(start, seconds) - last >= _GAP_S:
            stop = min(start, seconds)
            found.append(
                Noise(f"{name}#{last:.2f}", path, "chime5:gap", "noise", last, stop - last)
            )
        last = max(last, end)
        # a recording at the speaker's own ear is the one to take their words from
        if words and speaker == device and start < end <= seconds:
            found.append(
                Noise(f"{name}@{start:.2f}", path, "chime5:talk", "talk", start, end - start, words)
            )
    return found


def _said(path: Path, device: str) -> list[tuple[float, float, str, str]]:
    """Return (start, end, speaker, words) of each entry; raises DataError for a broken file."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_JSON:
        raise DataError(f"{path.name}: no transcription of a usual size")
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"{path.name}: no JSON") from None
    found = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        start, end = (_at(row.get(key), device) for key in ("start_time", "end_time"))
        if start is not None and end is not None and end > start:
            words = re.sub(r"\[[^\]]*\]", " ", str(row.get("words", "")))
            found.append((start, end, str(row.get("speaker", "")), " ".join(words.split())))
    return found


def _at(value: Any, device: str) -> float | None:
    """Return seconds of "H:MM:SS.ss", or of a table of those by recording device."""
    if isinstance(value, dict):
        value = value.get(device, value.get("original"))
    match = _TIME.match(value) if isinstance(value, str) else None
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3]) if match else None


# --- reading ----------------------------------------------------------------------------


def take(noise: Noise, n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return n samples at this rate from a drawn place of the stretch, looped if it is shorter.

    Of a place that is silent another is drawn, in the end one where sound was found. At most 30 s
    are read; more is looped. Raises DataError if the file has changed since it was looked at.
    """
    if n <= 0:
        return np.zeros(0, dtype=np.float32)
    seconds = min(n / rate, noise.seconds, MOST_S)
    found = np.zeros(0, dtype=np.float32)
    drawn = [float(gen.uniform(0, max(noise.seconds - seconds, 0.0))) for _ in range(_TRIES)]
    for start in (*drawn, *(at * max(noise.seconds - 0.5, 0.0) for at in _PLACES)):
        found = _read(noise, noise.start_s + start, seconds, rate)
        if clips.power(found) > clips.SILENT:
            break
    if not len(found):
        raise DataError(f"{noise.name}: holds no sound any more; look through the folder again")
    return _looped(found, n, rate // 100)


def _read(
    noise: Noise, start_s: float, seconds: float, rate: int, *, first: bool = False
) -> Samples:
    if not noise.path.is_file():
        raise DataError(f"{noise.name}: gone; look through the folder again")
    try:
        with clips.opened(noise.path) as file:
            native = int(file.samplerate)
            found = _mixed(file, start_s, seconds, first=first)
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(f"{noise.name}: cannot be read any more: {str(error)[:200]}") from None
    return clips.resampled(Clip(found, native), rate).samples


def _looped(found: Samples, n: int, fade: int) -> Samples:
    """Return n samples: the head, or the whole over and over with joints faded into each other."""
    if len(found) >= n:
        return found[:n]
    fade = min(fade, len(found) // 2)
    if fade:
        slope = np.linspace(0, 1, fade, dtype=np.float32)
        body = found[: len(found) - fade].copy()
        body[:fade] = body[:fade] * slope + found[len(found) - fade :] * (1 - slope)
        found = body
    return np.resize(found, n)


def clip(noise: Noise, most_s: float = MOST_S) -> Clip:
    """Return a stretch from its beginning at the usual rate: a talk, or a response of a room.

    Of a room the first channel alone: those of an array, mixed, are no response of anything.
    """
    seconds = min(noise.seconds, most_s)
    return Clip(_read(noise, noise.start_s, seconds, RATE, first=noise.use == "room"), RATE)

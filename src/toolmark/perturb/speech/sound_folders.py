"""Folders of recorded sound: MUSAN, CHiME-3, -5, -6, DEMAND, WHAM!, RIRS_NOISES, any tree.

`scan_folder` opens every file once and reads little of it. `draw_samples` reads the needed
seconds, block by block, so that an hour of sound needs only some megabytes of memory. A file that
cannot be used is listed with its reason and raises no error: corrupt, empty, silent, too short, no
regular file, or a link that leaves the tree. Stereo is mixed, any rate is resampled, and the format
comes from the content, not from the name. This module does not check licences: many of these
recordings must not be passed on (WHAM! is non-commercial, CHiME-5 requires registration).
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

from toolmark.core.errors import DataError
from toolmark.perturb.speech import audio_clip
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip, Samples

FILE_PREFIX = "file:"
SOUND_SUFFIXES = frozenset(
    {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au"}
)
SoundUse: TypeAlias = Literal["noise", "music", "speech", "talk", "room"]
MIN_SOUND_S, MAX_READ_S = 0.2, 30.0
_RATE_LIMITS_HZ = (4_000, 384_000)
_MAX_CHANNELS = 64
_MAX_TRIES = 8
_PROBE_PLACES = (0.5, 0.1, 0.3, 0.7, 0.9, 0.0)  # where a file is probed, as shares of its length
_MAX_ROOM_S = 10.0
_ROOM_FOLDERS = {"smallroom", "mediumroom", "largeroom"}
_MAX_FILES = 200_000
_MAX_JSON_BYTES = 64 * 2**20
_MIN_GAP_S = 0.5
_CHIME3 = re.compile(r"BGD_.*_(BUS|CAF|PED|STR)\.CH\d$")
_TIME_PATTERN = re.compile(r"(\d{1,3}):(\d{2}):(\d{2}(?:\.\d+)?)$")
_MUSAN_USES: dict[str, SoundUse] = {"music": "music", "speech": "speech"}


class SoundStretch(NamedTuple):
    """A stretch of a file: its name in the tree, its class, its possible use, its times in seconds.

    `text` is what is said in it, if that is known.
    """

    name: str
    path: Path
    kind: str
    use: SoundUse
    start_s: float
    seconds: float
    text: str = ""


class FolderScan(NamedTuple):
    """The stretches of a tree, and (path within it, reason) of each unused file."""

    corpus: str
    noises: tuple[SoundStretch, ...]
    skipped: tuple[tuple[str, str], ...]


def scan_folder(root: Path) -> FolderScan:
    """Scan a tree of sound files, in the order of their names.

    Files without a suffix of sound are ignored. Raises DataError if the folder does not exist.
    """
    root = find_corpus_root(root)
    noises: list[SoundStretch] = []
    skipped: list[tuple[str, str]] = []
    corpus = _detect_corpus(root)
    for path in _list_sound_files(root, skipped):
        name = path.relative_to(root).as_posix()
        try:
            name.encode()
            seconds = _check_sound_file(path, root)
            noises += _stretches_of_file(root, path, corpus, seconds, skipped)
        except UnicodeEncodeError:  # the name cannot be stored in a record
            printable = name.encode(errors="backslashreplace").decode()
            skipped.append((printable, "a name that is not text"))
        except (DataError, OSError, RuntimeError, ValueError) as error:
            skipped.append((name, audio_clip.sound_error_reason(error)))
    return FolderScan(corpus, tuple(noises), tuple(skipped))


def find_corpus_root(root: Path) -> Path:
    """Return the tree, or its only subfolder if that is a corpus. Raises DataError if missing."""
    try:
        inside = [path for path in root.iterdir() if not path.name.startswith(".")]
        is_only_folder = len(inside) == 1 and inside[0].is_dir() and not inside[0].is_symlink()
        return inside[0] if is_only_folder and _detect_corpus(inside[0]) != "tree" else root
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise DataError(f"{root}: no folder of sounds ({why}); give the unpacked folder") from None


def _list_sound_files(root: Path, skipped: list[tuple[str, str]]) -> Iterator[Path]:
    """Yield the files with a suffix of sound; linked folders are not entered."""
    seen = 0
    for folder, inner, names in os.walk(root):
        inner.sort()
        for name in sorted(names):
            if Path(name).suffix.lower() not in SOUND_SUFFIXES:
                continue
            seen += 1
            if seen > _MAX_FILES:
                skipped.append((".", f"more than {_MAX_FILES} files; the rest is not used"))
                return
            yield Path(folder, name)


def _check_sound_file(path: Path, root: Path) -> float:
    """Return the seconds of a usable file. Raises DataError with the reason for any other file."""
    if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
        raise DataError("a link that leaves the folder")
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise DataError("no regular file")
    if not status.st_size:
        raise DataError("empty")
    with audio_clip.open_sound_file(path) as file:
        seconds = float(file.frames / file.samplerate)
        if not _RATE_LIMITS_HZ[0] <= file.samplerate <= _RATE_LIMITS_HZ[1]:
            raise DataError(f"a rate of {file.samplerate} Hz")
        if file.channels > _MAX_CHANNELS:
            raise DataError(f"{file.channels} channels")
        if seconds < MIN_SOUND_S:
            raise DataError(f"only {seconds:.3f} s of sound")
        if not any(
            audio_clip.mean_square(piece) > audio_clip.SILENCE_POWER
            for piece in _read_probes(file, seconds)
        ):
            raise DataError("silent wherever it was looked at")
    return seconds


def _read_probes(file: Any, seconds: float) -> Iterator[Samples]:
    """Yield half a second from each of several places, with mixed channels."""
    for at in _PROBE_PLACES:
        yield _read_mixed(file, at * max(seconds - 0.5, 0.0), 0.5)


def _read_mixed(file: Any, start_s: float, seconds: float, *, first: bool = False) -> Samples:
    """Read some seconds, block by block, with channels mixed; the first one if they cancel out.

    With `first` only the first channel is read. Raises DataError for sound that is not finite.
    """
    rate = int(file.samplerate)
    file.seek(min(int(start_s * rate), max(int(file.frames) - 1, 0)))
    n_left = max(int(seconds * rate), 1)
    parts: list[Samples] = []
    while n_left > 0:
        block = file.read(min(n_left, 65_536), dtype="float32", always_2d=True)
        if not len(block):
            break
        if not np.isfinite(block).all():
            raise DataError("sound that is not finite")
        parts.append(block[:, 0] if first else audio_clip.mix_channels(block))
        n_left -= len(block)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


# --- what each corpus is ----------------------------------------------------------------


def _detect_corpus(root: Path) -> str:
    """Return the name of a corpus, detected by its folders."""
    inside = {path.name for path in root.iterdir()}
    if {"music", "noise", "speech"} <= inside:
        return "musan"
    if {"audio", "transcriptions"} <= inside:
        return "chime5"
    if inside & {"pointsource_noises", "simulated_rirs", "real_rirs_isotropic_noises"}:
        return "rirs"
    if inside & _ROOM_FOLDERS:
        return "rirs"
    if {"tr", "cv", "tt"} <= inside:
        return "wham"
    if any(_CHIME3.match(Path(name).stem) for name in inside):
        return "chime3"
    if any((root / name / "ch01.wav").is_file() for name in inside):
        return "demand"
    return "tree"


def _stretches_of_file(
    root: Path, path: Path, corpus: str, seconds: float, skipped: list[tuple[str, str]]
) -> list[SoundStretch]:
    """Return the stretches of a file: the complete file, or for CHiME-5 its gaps and its talk."""
    inner = path.relative_to(root)
    name = inner.as_posix()
    if corpus == "chime5":
        return _stretches_of_session(root, path, name, seconds, skipped)
    if corpus == "chime3":
        place = _CHIME3.match(path.stem)
        return [_whole_file(name, path, f"chime3:{place[1] if place else 'other'}", seconds)]
    first = inner.parts[0] if len(inner.parts) > 1 else "sound"
    use: SoundUse = _MUSAN_USES.get(first, "noise") if corpus == "musan" else "noise"
    shoebox = corpus == "rirs" and first in ("simulated_rirs", *_ROOM_FOLDERS)
    if shoebox or "_rir_" in f"_{path.stem}_":
        use = "room"
        if seconds > _MAX_ROOM_S:
            raise DataError(f"{seconds:.0f} s are too long for a response of a room")
    kind = corpus if corpus == "wham" else f"{corpus}:{first}"
    return [_whole_file(name, path, kind, seconds, use)]


def _whole_file(
    name: str, path: Path, kind: str, seconds: float, use: SoundUse = "noise"
) -> SoundStretch:
    return SoundStretch(name, path, kind, use, 0.0, seconds)


def _stretches_of_session(
    root: Path, path: Path, name: str, seconds: float, skipped: list[tuple[str, str]]
) -> list[SoundStretch]:
    """Return the gaps between the utterances of a session, and each utterance with its text."""
    session = path.stem.partition("_")[0]
    transcriptions = sorted((root / "transcriptions").glob(f"*/{session}.json"))
    if not transcriptions:
        skipped.append((name, "no transcription of its session"))
        return []
    device = path.stem.partition("_")[2].partition(".")[0]
    utterances = sorted(_read_transcription(transcriptions[0], device))
    found = []
    last = 0.0
    for start, end, speaker, words in [*utterances, (seconds, seconds, "", "")]:
        if min(start, seconds) - last >= _MIN_GAP_S:
            stop = min(start, seconds)
            found.append(
                SoundStretch(f"{name}#{last:.2f}", path, "chime5:gap", "noise", last, stop - last)
            )
        last = max(last, end)
        # utterances are taken from the recording at the speaker's own ear
        if words and speaker == device and start < end <= seconds:
            found.append(
                SoundStretch(
                    f"{name}@{start:.2f}", path, "chime5:talk", "talk", start, end - start, words
                )
            )
    return found


def _read_transcription(path: Path, device: str) -> list[tuple[float, float, str, str]]:
    """Return (start, end, speaker, words) of each entry. Raises DataError for a broken file."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_JSON_BYTES:
        raise DataError(f"{path.name}: no transcription of a usual size")
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"{path.name}: no JSON") from None
    found = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        start, end = (_parse_time(row.get(key), device) for key in ("start_time", "end_time"))
        if start is not None and end is not None and end > start:
            words = re.sub(r"\[[^\]]*\]", " ", str(row.get("words", "")))
            found.append((start, end, str(row.get("speaker", "")), " ".join(words.split())))
    return found


def _parse_time(value: Any, device: str) -> float | None:
    """Return the seconds of "H:MM:SS.ss", or of a table of such times by recording device."""
    if isinstance(value, dict):
        value = value.get(device, value.get("original"))
    match = _TIME_PATTERN.match(value) if isinstance(value, str) else None
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3]) if match else None


# --- reading ----------------------------------------------------------------------------


def draw_samples(noise: SoundStretch, n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return n samples at this rate from a drawn place of the stretch; a short one is looped.

    If a place is silent another is drawn, and finally a place where the scan found sound. At most
    30 s are read; longer requests are looped. Raises DataError if the file has changed since the
    scan.
    """
    if n <= 0:
        return np.zeros(0, dtype=np.float32)
    seconds = min(n / rate, noise.seconds, MAX_READ_S)
    found = np.zeros(0, dtype=np.float32)
    drawn = [float(gen.uniform(0, max(noise.seconds - seconds, 0.0))) for _ in range(_MAX_TRIES)]
    for start in (*drawn, *(at * max(noise.seconds - 0.5, 0.0) for at in _PROBE_PLACES)):
        found = _read_stretch(noise, noise.start_s + start, seconds, rate)
        if audio_clip.mean_square(found) > audio_clip.SILENCE_POWER:
            break
    if not len(found):
        raise DataError(f"{noise.name}: holds no sound any more; look through the folder again")
    return _loop_samples(found, n, rate // 100)


def _read_stretch(
    noise: SoundStretch, start_s: float, seconds: float, rate: int, *, first: bool = False
) -> Samples:
    if not noise.path.is_file():
        raise DataError(f"{noise.name}: gone; look through the folder again")
    try:
        with audio_clip.open_sound_file(noise.path) as file:
            native = int(file.samplerate)
            found = _read_mixed(file, start_s, seconds, first=first)
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(f"{noise.name}: cannot be read any more: {str(error)[:200]}") from None
    return audio_clip.resample_clip(Clip(found, native), rate).samples


def _loop_samples(found: Samples, n: int, fade: int) -> Samples:
    """Return n samples: the start, or all samples repeated with faded joints."""
    if len(found) >= n:
        return found[:n]
    fade = min(fade, len(found) // 2)
    if fade:
        slope = np.linspace(0, 1, fade, dtype=np.float32)
        body = found[: len(found) - fade].copy()
        body[:fade] = body[:fade] * slope + found[len(found) - fade :] * (1 - slope)
        found = body
    return np.resize(found, n)


def read_clip(noise: SoundStretch, max_s: float = MAX_READ_S) -> Clip:
    """Return a stretch from its beginning at the usual rate: a talk, or a room response.

    For a room only the first channel is read: mixed channels of an array are not a response.
    """
    seconds = min(noise.seconds, max_s)
    return Clip(
        _read_stretch(noise, noise.start_s, seconds, RATE_HZ, first=noise.use == "room"), RATE_HZ
    )

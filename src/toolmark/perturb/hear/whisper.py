"""Whisper models on this machine, through whichever package is installed; nothing is downloaded.

MODEL is a path: a folder (faster-whisper), a `.pt` file (openai-whisper) or a ggml `.bin`
file (pywhispercpp). Decoding is greedy or a fixed beam, temperature 0 alone, without
text of earlier segments, so that a clip's transcript hangs on the clip only.
"""

from __future__ import annotations

import hashlib
import math
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.errors import DataError, UsageError
from toolmark.perturb.hear.recogniser import Context, Transcript, Word
from toolmark.perturb.speech.clip import RATE, Clip, Samples, resampled


class Package(NamedTuple):
    """A package that runs Whisper models: how it is imported, installed, loaded and asked."""

    module: str
    install: str
    load: Callable[[Any, str], Any]
    hear: Callable[[Any, Samples], Iterable[Word]]


class Whisper:
    """A local model; loaded by the first clip. Threads take turns."""

    simulated = False

    def __init__(self, name: str, path: Path, package: Package) -> None:
        self.name = name
        self.version = f"{package.install} {metadata.version(package.install)} {_mark(path)}"
        self._path, self._package = path, package
        self._lock = threading.Lock()
        self._model: Any = None

    def hear(self, clip: Clip, context: Context) -> Transcript:
        """Return the transcript; words have times where the package tells them.

        Raises DataError if the model's file cannot be loaded.
        """
        samples = resampled(clip, RATE).samples
        with self._lock:
            if self._model is None:
                self._model = self._loaded()
            words = tuple(self._package.hear(self._model, samples))
        text = " ".join(" ".join(word.text for word in words).split())
        return Transcript(text=text, recogniser=self.name, simulated=False, words=words)

    def _loaded(self) -> Any:
        try:
            return self._package.load(import_module(self._package.module), str(self._path))
        except (RuntimeError, ValueError, OSError, KeyError, EOFError) as error:
            raise DataError(
                f"{self._path}: {self._package.install} cannot load it: {str(error)[:200]}"
            ) from None


def load(model: str) -> Whisper:
    """Return the recogniser of a model's path.

    Raises UsageError for a path that is not there, or naming the package for this kind of model.
    """
    path = Path(model).expanduser()
    if not path.exists():
        raise UsageError(
            f"whisper:{model}: no such file or folder; next: give the path of a model that you "
            "have, nothing is downloaded"
        )
    package = PACKAGES[_kind(path)]
    if find_spec(package.module.partition(".")[0]) is None:
        raise UsageError(
            f"whisper:{model} needs {package.install}; next: pip install {package.install}"
        )
    return Whisper(f"whisper:{path.name}", path, package)


def _kind(path: Path) -> str:
    if path.is_dir():
        return "folder"
    return "checkpoint" if path.suffix == ".pt" else "ggml"


def _mark(path: Path) -> str:
    """Return what tells one model from another: sizes and the first and last megabyte of files."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    mark = hashlib.sha256()
    for file in (each for each in files if each.is_file()):
        size = file.stat().st_size
        mark.update(f"{file.name}\0{size}\0".encode())
        with file.open("rb") as opened:
            mark.update(opened.read(2**20))
            opened.seek(max(size - 2**20, 0))
            mark.update(opened.read(2**20))
    return mark.hexdigest()[:16]


def _load_faster(module: Any, path: str) -> Any:
    return module.WhisperModel(path, device="auto", local_files_only=True)


def _hear_faster(model: Any, samples: Samples) -> Iterable[Word]:
    segments, _ = model.transcribe(
        samples, beam_size=5, temperature=0.0, word_timestamps=True,
        condition_on_previous_text=False,
    )  # fmt: skip
    for segment in segments:
        if segment.words is None:
            yield _segment(segment.text, segment.start, segment.end)
        for word in segment.words or ():
            yield _word(word.word, word.start, word.end, word.probability)


def _load_openai(module: Any, path: str) -> Any:
    return module.load_model(path)


def _hear_openai(model: Any, samples: Samples) -> Iterable[Word]:
    done = model.transcribe(
        samples, temperature=0.0, word_timestamps=True, condition_on_previous_text=False
    )
    for segment in done["segments"]:
        words: Sequence[Any] = segment.get("words") or ()
        if not words:
            yield _segment(segment["text"], segment["start"], segment["end"])
        for word in words:
            yield _word(word["word"], word["start"], word["end"], word["probability"])


def _load_cpp(module: Any, path: str) -> Any:
    # whisper.cpp ends the whole process over a file that is no model: look before
    with open(path, "rb") as file:
        magic, vocabulary = struct.unpack("<4si", file.read(8).ljust(8, b"\0"))
    if magic != b"lmgg" or not 50_000 < vocabulary < 60_000:
        raise ValueError("not a ggml file of a Whisper model")
    return module.Model(path, print_progress=False, print_realtime=False)


def _hear_cpp(model: Any, samples: Samples) -> Iterable[Word]:
    """Go through segments of one word each; times are in hundredths of a second."""
    found = model.transcribe(
        samples, extract_probability=True, token_timestamps=True, max_len=1, split_on_word=True,
        temperature_inc=0.0,
    )  # fmt: skip
    for segment in found:
        if segment.text.strip():
            yield _word(segment.text, segment.t0 / 100, segment.t1 / 100, segment.probability)


def _segment(text: str, start: float, end: float) -> Word:
    return _word(text, start, end, math.nan)


def _word(text: str, start: float, end: float, sure: float) -> Word:
    known = -1.0 if math.isnan(sure) else round(float(sure), 4)
    return Word(text.strip(), round(float(start), 3), round(float(end), 3), known)


PACKAGES = {
    "folder": Package("faster_whisper", "faster-whisper", _load_faster, _hear_faster),
    "checkpoint": Package("whisper", "openai-whisper", _load_openai, _hear_openai),
    "ggml": Package("pywhispercpp.model", "pywhispercpp", _load_cpp, _hear_cpp),
}

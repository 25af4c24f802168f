"""Whisper models on this machine, run by an installed package; nothing is downloaded.

MODEL is a path: a folder (faster-whisper), a `.pt` file (openai-whisper) or a ggml `.bin`
file (pywhispercpp). Decoding is greedy or with a fixed beam, at temperature 0, without
text of earlier segments, so that a clip's transcript depends only on the clip.
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

from toolmark.core.errors import DataError, UsageError
from toolmark.perturb.hearing.recogniser import HeardWord, HearingContext, Transcript
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip, Samples, resample_clip


class WhisperPackage(NamedTuple):
    """A package that runs Whisper models: how to import, install, load and call it."""

    module: str
    install: str
    load: Callable[[Any, str], Any]
    transcribe: Callable[[Any, Samples], Iterable[HeardWord]]


class WhisperRecogniser:
    """A local model, loaded with the first clip. Threads take turns."""

    simulated = False

    def __init__(self, name: str, path: Path, package: WhisperPackage) -> None:
        self.name = name
        self.version = (
            f"{package.install} {metadata.version(package.install)} {_model_fingerprint(path)}"
        )
        self._path, self._package = path, package
        self._lock = threading.Lock()
        self._model: Any = None

    def hear(self, clip: Clip, context: HearingContext) -> Transcript:
        """Return the transcript; words have times if the package reports them.

        Raises DataError if the model's file cannot be loaded.
        """
        samples = resample_clip(clip, RATE_HZ).samples
        with self._lock:
            if self._model is None:
                self._model = self._load_model()
            words = tuple(self._package.transcribe(self._model, samples))
        text = " ".join(" ".join(word.text for word in words).split())
        return Transcript(text=text, recogniser=self.name, simulated=False, words=words)

    def _load_model(self) -> Any:
        try:
            return self._package.load(import_module(self._package.module), str(self._path))
        except (RuntimeError, ValueError, OSError, KeyError, EOFError) as error:
            raise DataError(
                f"{self._path}: {self._package.install} cannot load it: {str(error)[:200]}"
            ) from None


def load_whisper(model: str) -> WhisperRecogniser:
    """Return the recogniser of a model's path.

    Raises UsageError for a missing path, and for a missing package, with its name.
    """
    path = Path(model).expanduser()
    if not path.exists():
        raise UsageError(
            f"whisper:{model}: no such file or folder; next: give the path of a model that you "
            "have, nothing is downloaded"
        )
    package = WHISPER_PACKAGES[_model_kind(path)]
    if find_spec(package.module.partition(".")[0]) is None:
        raise UsageError(
            f"whisper:{model} needs {package.install}; next: pip install {package.install}"
        )
    return WhisperRecogniser(f"whisper:{path.name}", path, package)


def _model_kind(path: Path) -> str:
    if path.is_dir():
        return "folder"
    return "checkpoint" if path.suffix == ".pt" else "ggml"


def _model_fingerprint(path: Path) -> str:
    """Return a fingerprint of a model: sizes and the first and last megabyte of its files."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in (each for each in files if each.is_file()):
        size = file.stat().st_size
        digest.update(f"{file.name}\0{size}\0".encode())
        with file.open("rb") as opened:
            digest.update(opened.read(2**20))
            opened.seek(max(size - 2**20, 0))
            digest.update(opened.read(2**20))
    return digest.hexdigest()[:16]


def _load_faster(module: Any, path: str) -> Any:
    return module.WhisperModel(path, device="auto", local_files_only=True)


def _transcribe_faster(model: Any, samples: Samples) -> Iterable[HeardWord]:
    segments, _ = model.transcribe(
        samples, beam_size=5, temperature=0.0, word_timestamps=True,
        condition_on_previous_text=False,
    )  # fmt: skip
    for segment in segments:
        if segment.words is None:
            yield _segment_as_word(segment.text, segment.start, segment.end)
        for word in segment.words or ():
            yield _heard_word(word.word, word.start, word.end, word.probability)


def _load_openai(module: Any, path: str) -> Any:
    return module.load_model(path)


def _transcribe_openai(model: Any, samples: Samples) -> Iterable[HeardWord]:
    result = model.transcribe(
        samples, temperature=0.0, word_timestamps=True, condition_on_previous_text=False
    )
    for segment in result["segments"]:
        words: Sequence[Any] = segment.get("words") or ()
        if not words:
            yield _segment_as_word(segment["text"], segment["start"], segment["end"])
        for word in words:
            yield _heard_word(word["word"], word["start"], word["end"], word["probability"])


def _load_cpp(module: Any, path: str) -> Any:
    # whisper.cpp ends the process if a file is not a model: check first
    with open(path, "rb") as file:
        magic, vocabulary = struct.unpack("<4si", file.read(8).ljust(8, b"\0"))
    if magic != b"lmgg" or not 50_000 < vocabulary < 60_000:
        raise ValueError("not a ggml file of a Whisper model")
    return module.Model(path, print_progress=False, print_realtime=False)


def _transcribe_cpp(model: Any, samples: Samples) -> Iterable[HeardWord]:
    """Yield the words from segments of one word each; their times are in hundredths of a second."""
    found = model.transcribe(
        samples, extract_probability=True, token_timestamps=True, max_len=1, split_on_word=True,
        temperature_inc=0.0,
    )  # fmt: skip
    for segment in found:
        if segment.text.strip():
            yield _heard_word(segment.text, segment.t0 / 100, segment.t1 / 100, segment.probability)


def _segment_as_word(text: str, start: float, end: float) -> HeardWord:
    return _heard_word(text, start, end, math.nan)


def _heard_word(text: str, start: float, end: float, probability: float) -> HeardWord:
    known = -1.0 if math.isnan(probability) else round(float(probability), 4)
    return HeardWord(text.strip(), round(float(start), 3), round(float(end), 3), known)


WHISPER_PACKAGES = {
    "folder": WhisperPackage("faster_whisper", "faster-whisper", _load_faster, _transcribe_faster),
    "checkpoint": WhisperPackage("whisper", "openai-whisper", _load_openai, _transcribe_openai),
    "ggml": WhisperPackage("pywhispercpp.model", "pywhispercpp", _load_cpp, _transcribe_cpp),
}

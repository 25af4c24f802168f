from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from toolmark.core.errors import DataError, UsageError
from toolmark.perturb.hearing import whisper_recogniser
from toolmark.perturb.hearing.recogniser import HeardWord, HearingContext
from toolmark.perturb.speech.audio_clip import Clip

CLIP = Clip(np.zeros(24_000, np.float32), 8_000)


def _asked(samples: Any) -> None:
    assert samples.dtype == np.float32
    assert len(samples) == 48_000


class Faster:
    def __init__(self, path: str, **settings: Any) -> None:
        assert settings["local_files_only"]

    def transcribe(self, samples: Any, **settings: Any) -> Any:
        _asked(samples)
        words = [SimpleNamespace(word=" Play", start=0.1, end=0.4, probability=0.9)]
        segments = [
            SimpleNamespace(words=words, text=" Play"),
            SimpleNamespace(words=None, text=" music now.", start=1.0, end=2.0),
        ]
        return iter(segments), None


class Openai:
    def transcribe(self, samples: Any, **settings: Any) -> Any:
        _asked(samples)
        words = [{"word": " Play", "start": 0.1, "end": 0.4, "probability": 0.9}]
        tail = {"text": " music now.", "start": 1.0, "end": 2.0}
        return {"segments": [{"words": words, "text": " Play"}, tail]}


class Cpp:
    def __init__(self, path: str, **settings: Any) -> None:
        pass

    def transcribe(self, samples: Any, **settings: Any) -> Any:
        _asked(samples)
        said = ((10, 40, " Play", 0.9), (50, 50, " ", 0.1), (100, 200, " music now.", np.nan))
        return [SimpleNamespace(t0=a, t1=b, text=t, probability=p) for a, b, t, p in said]


@pytest.mark.parametrize(
    ("module", "attribute", "thing", "path"),
    [
        ("faster_whisper", "WhisperModel", Faster, "folder"),
        ("whisper", "load_model", lambda path: Openai(), "small.pt"),
        ("pywhispercpp.model", "Model", Cpp, "ggml-small.bin"),
    ],
)
def test_segments_become_a_transcript(
    module: str,
    attribute: str,
    thing: Any,
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = ModuleType(module)
    setattr(fake, attribute, thing)
    monkeypatch.setitem(sys.modules, module, fake)
    monkeypatch.setattr(whisper_recogniser, "find_spec", lambda name: object())
    monkeypatch.setattr(metadata, "version", lambda name: "1.0")
    where = tmp_path / path
    where.mkdir() if path == "folder" else where.write_bytes(
        b"lmgg" + (51_864).to_bytes(4, "little")
    )
    ours = whisper_recogniser.load_whisper(str(where))
    heard = ours.hear(CLIP, HearingContext())
    assert heard.text == "Play music now."
    assert heard.words == (
        HeardWord("Play", 0.1, 0.4, 0.9),
        HeardWord("music now.", 1.0, 2.0, -1.0),
    )
    assert (heard.simulated, heard.recogniser) == (False, f"whisper:{path}")


def test_another_model_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whisper_recogniser, "find_spec", lambda name: object())
    monkeypatch.setattr(metadata, "version", lambda name: "1.0")
    path = tmp_path / "model.bin"
    versions = []
    for content in (b"one", b"two"):
        path.write_bytes(content)
        versions.append(whisper_recogniser.load_whisper(str(path)).version)
    assert len(set(versions)) == 2


@pytest.mark.parametrize(
    ("path", "package"),
    [("", "faster-whisper"), ("small.pt", "openai-whisper"), ("small.bin", "pywhispercpp")],
)
def test_a_missing_package_is_named(
    path: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whisper_recogniser, "find_spec", lambda name: None)
    if path:
        (tmp_path / path).write_bytes(b"model")
    with pytest.raises(UsageError, match=f"pip install {package}"):
        whisper_recogniser.load_whisper(str(tmp_path / path))


def test_a_file_that_is_no_model_is_an_error_of_the_real_package(tmp_path: Path) -> None:
    pytest.importorskip("pywhispercpp", reason="no pywhispercpp: pip install pywhispercpp")
    path = tmp_path / "junk.bin"
    for junk in (b"", b"junk" * 100, b"lmgg" + b"junk" * 100):
        path.write_bytes(junk)
        with pytest.raises(DataError, match="cannot load it"):
            whisper_recogniser.load_whisper(str(path)).hear(CLIP, HearingContext())

"""Piper: neural voices from files that the user has, one `NAME.onnx` with `NAME.onnx.json` each.

$TOOLMARK_PIPER_VOICES is their folder. No voice is downloaded. Its random noise is switched off,
so that equal words give equal sound.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from functools import cache
from pathlib import Path

from toolmark import fetch
from toolmark.errors import DataError
from toolmark.perturb.speech.engines import process
from toolmark.perturb.speech.voice import Voice

PACKAGE = "pip install piper-tts, and voice files in the folder $TOOLMARK_PIPER_VOICES"


def _command() -> list[str]:
    if path := shutil.which("piper"):
        return [path]
    if importlib.util.find_spec("piper"):
        return [sys.executable, "-m", "piper"]
    raise process.Missing(f"piper is not installed: {PACKAGE}")


def _files() -> dict[str, Path]:
    folder = os.environ.get("TOOLMARK_PIPER_VOICES", "")
    found = sorted(Path(folder).expanduser().glob("*.onnx")) if folder else []
    files = {path.stem: path.absolute() for path in found if Path(f"{path}.json").is_file()}
    if not files:
        raise process.Missing(f"piper has no voice in {folder or '$TOOLMARK_PIPER_VOICES'!r}")
    return files


@cache
def _digest(path: Path, _changed_ns: int) -> str:
    return fetch.digest(path)


def version() -> str:
    """Return the start of a digest of all voice files: they are what sounds."""
    _command()
    told = "".join(_digest(path, path.stat().st_mtime_ns) for path in _files().values())
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def voices() -> list[Voice]:
    """Return a voice for each English file; the accent is the region in its name."""
    number = version()
    return [
        Voice(
            engine="piper",
            name=name,
            speaker=f"piper {name.rpartition('-')[0] or name}",
            accent=name.partition("-")[0],
            version=number,
        )
        for name in _files()
        if name.startswith("en")
    ]


def pitched(name: str) -> bool:
    """None is."""
    return False


def speak(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text spoken, at the rate of the voice's file."""
    files = _files()
    if voice.name not in files:
        raise DataError(f"piper has no voice {voice.name[:80]!r}")
    manner = ["--length_scale", f"{1 / voice.rate:.4f}", "--noise_scale", "0", "--noise_w", "0"]
    model = ["-m", str(files[voice.name]), "-f", "out.wav"]
    process.run([*_command(), *model, *manner], folder, text)
    return process.taken(folder / "out.wav")

"""eSpeak NG from the Python package espeakng-loader: for machines without its command.

The library is loaded by a child process that says one text and ends.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from pathlib import Path

from toolmark.perturb.speech.engines import espeak, process
from toolmark.perturb.speech.voice import Voice

PACKAGE = "pip install espeakng-loader"


def _home() -> Path:
    spec = importlib.util.find_spec("espeakng_loader")
    if spec is None or spec.origin is None:
        raise process.Missing(f"espeakng-loader is not installed: {PACKAGE}")
    return Path(spec.origin).parent


def version() -> str:
    """Return the version of the package."""
    _home()
    return importlib.metadata.version("espeakng-loader")


def voices() -> list[Voice]:
    """Return the accents, each plain and in all its variants."""
    return espeak.listed("espeak-bundled", version(), _home() / "espeak-ng-data")


def pitched(name: str) -> bool:
    """Every voice is."""
    return True


def speak(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text spoken, 22050 Hz."""
    home = _home()
    espeak.known(voice, home / "espeak-ng-data")
    suffix = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    words, pitch = espeak.settings(voice)
    child = str(Path(__file__).with_name("child.py"))
    command = [sys.executable, "-I", "-S", child, str(home / f"libespeak-ng.{suffix}"), str(home)]
    name = espeak.file(voice.name)
    process.run([*command, name, f"{words}", f"{pitch}", "out.wav"], folder, text)
    return process.taken(folder / "out.wav")

"""eSpeak NG from the Python package espeakng-loader, for machines without its command.

A child process loads the library, synthesises one text and ends.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from pathlib import Path

from toolmark.core import external_commands
from toolmark.perturb.speech.engines import espeak
from toolmark.perturb.speech.voice import Voice

INSTALL_HINT = "pip install espeakng-loader"


def _package_folder() -> Path:
    spec = importlib.util.find_spec("espeakng_loader")
    if spec is None or spec.origin is None:
        raise external_commands.NotInstalled(f"espeakng-loader is not installed: {INSTALL_HINT}")
    return Path(spec.origin).parent


def version() -> str:
    """Return the version of the package."""
    _package_folder()
    return importlib.metadata.version("espeakng-loader")


def voices() -> list[Voice]:
    """Return the accents, each plain and in all its variants."""
    return espeak.voices_in_folder(
        "espeak-bundled", version(), _package_folder() / "espeak-ng-data"
    )


def can_set_pitch(name: str) -> bool:
    """Return True: the pitch of every voice can be set."""
    return True


def synthesize_text(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text as speech, a WAV file at 22050 Hz."""
    home = _package_folder()
    espeak.check_voice(voice, home / "espeak-ng-data")
    suffix = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    words, pitch = espeak.rate_and_pitch(voice)
    child = str(Path(__file__).with_name("espeak_child.py"))
    command = [sys.executable, "-I", "-S", child, str(home / f"libespeak-ng.{suffix}"), str(home)]
    name = espeak.espeak_voice_name(voice.name)
    external_commands.run_command([*command, name, f"{words}", f"{pitch}", "out.wav"], folder, text)
    return external_commands.read_output_file(folder / "out.wav")

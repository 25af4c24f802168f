"""Flite: four voices made from recordings of three people and one older diphone set.

The variant of kal at 8 kHz is left out. The pitch of rms cannot be set.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

from toolmark.core import external_commands
from toolmark.core.errors import DataError
from toolmark.perturb.speech.voice import Voice

INSTALL_HINT = "apt-get install flite (Debian, Ubuntu)"

_KNOWN_VOICES = {  # speaker, accent, sex, normal pitch in Hz (0: cannot be set)
    "awb": ("awb", "Scottish", "male", 123),
    "kal16": ("kal", "American", "male", 103),
    "rms": ("rms", "American", "male", 0),
    "slt": ("slt", "American", "female", 167),
}


@cache
def _installed_command(path: str) -> tuple[str, frozenset[str]]:
    """Return the version and the voice names of an installed command."""
    with tempfile.TemporaryDirectory() as folder:
        printed = external_commands.run_command(
            [path, "--version"], Path(folder), other_ok_status=1
        )
        names = external_commands.run_command([path, "-lv"], Path(folder), other_ok_status=1)
    found = re.search(r"flite-(\S+)", printed)
    return found[1] if found else "unknown", frozenset(names.split())


def version() -> str:
    """Return the version of the installed command."""
    return _installed_command(external_commands.find_command("flite", INSTALL_HINT))[0]


def voices() -> list[Voice]:
    """Return the installed voices."""
    number, names = _installed_command(external_commands.find_command("flite", INSTALL_HINT))
    return [
        Voice(engine="flite", name=name, speaker=who, accent=accent, sex=sex, version=number)
        for name, (who, accent, sex, _) in _KNOWN_VOICES.items()
        if name in names
    ]


def can_set_pitch(name: str) -> bool:
    """Return whether the pitch can be set: for all voices except rms."""
    return name in _KNOWN_VOICES and _KNOWN_VOICES[name][3] > 0


def speak(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text as speech, at 16 kHz."""
    path = external_commands.find_command("flite", INSTALL_HINT)
    if voice.name not in _KNOWN_VOICES:  # flite would read it as a file or an address
        raise DataError(f"flite has no voice {voice.name[:80]!r}")
    options = ["-voice", voice.name, "--setf", f"duration_stretch={1 / voice.rate:.4f}"]
    if voice.pitch is not None and can_set_pitch(voice.name):
        mean = _KNOWN_VOICES[voice.name][3] * 2 ** (voice.pitch - 0.5)
        options += ["--setf", f"int_f0_target_mean={mean:.2f}"]
    (folder / "words").write_text(f"{text}\n")
    external_commands.run_command([path, *options, "-f", "words", "-o", "out.wav"], folder)
    return external_commands.read_output_file(folder / "out.wav")

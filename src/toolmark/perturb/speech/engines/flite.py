"""Flite: four voices made from recordings of three people and one older diphone set.

The variant of kal at 8 kHz is left out. rms takes no pitch.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

from toolmark.errors import DataError
from toolmark.perturb.speech.engines import process
from toolmark.perturb.speech.voice import Voice

PACKAGE = "apt-get install flite (Debian, Ubuntu)"

_KNOWN = {  # speaker, accent, sex, own pitch in Hz (0: cannot be set)
    "awb": ("awb", "Scottish", "male", 123),
    "kal16": ("kal", "American", "male", 103),
    "rms": ("rms", "American", "male", 0),
    "slt": ("slt", "American", "female", 167),
}


@cache
def _probe(path: str) -> tuple[str, frozenset[str]]:
    """Return the version and the names of the voices of an installed command."""
    with tempfile.TemporaryDirectory() as folder:
        about = process.run([path, "--version"], Path(folder), well=1)
        names = process.run([path, "-lv"], Path(folder), well=1)
    found = re.search(r"flite-(\S+)", about)
    return found[1] if found else "unknown", frozenset(names.split())


def version() -> str:
    """Return the version of the installed command."""
    return _probe(process.find("flite", PACKAGE))[0]


def voices() -> list[Voice]:
    """Return the voices that are there."""
    number, names = _probe(process.find("flite", PACKAGE))
    return [
        Voice(engine="flite", name=name, speaker=who, accent=accent, sex=sex, version=number)
        for name, (who, accent, sex, _) in _KNOWN.items()
        if name in names
    ]


def pitched(name: str) -> bool:
    """All but rms are."""
    return name in _KNOWN and _KNOWN[name][3] > 0


def speak(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text spoken, 16 kHz."""
    path = process.find("flite", PACKAGE)
    if voice.name not in _KNOWN:  # it would be taken for a file or an address
        raise DataError(f"flite has no voice {voice.name[:80]!r}")
    options = ["-voice", voice.name, "--setf", f"duration_stretch={1 / voice.rate:.4f}"]
    if voice.pitch is not None and pitched(voice.name):
        mean = _KNOWN[voice.name][3] * 2 ** (voice.pitch - 0.5)
        options += ["--setf", f"int_f0_target_mean={mean:.2f}"]
    (folder / "words").write_text(f"{text}\n")
    process.run([path, *options, "-f", "words", "-o", "out.wav"], folder)
    return process.taken(folder / "out.wav")

"""MBROLA's English voices, driven by eSpeak NG. Only when asked for by name.

The voices are free of charge for use with the MBROLA program alone and may not be sold: sound
made with them does not belong in a data set that is published.
"""

from __future__ import annotations

from pathlib import Path

from toolmark.errors import DataError
from toolmark.perturb.speech.engines import espeak, process
from toolmark.perturb.speech.voice import Voice

PACKAGE = "apt-get install espeak-ng mbrola mbrola-us1 mbrola-us2 mbrola-us3 mbrola-en1 (non-free)"

_KNOWN = {
    "en1": ("British", "male"),
    "us1": ("American", "female"),
    "us2": ("American", "male"),
    "us3": ("American", "male"),
}
FOLDER = Path("/usr/share/mbrola")


def version() -> str:
    """Return eSpeak's version. Raises Missing if it or MBROLA is not installed."""
    process.find("mbrola", PACKAGE)
    return espeak.version()


def voices() -> list[Voice]:
    """Return the voices that are there. Raises Missing if none is."""
    number = version()
    found = [
        Voice(
            engine="mbrola",
            name=f"mb-{name}",
            speaker=f"mbrola {name}",
            accent=accent,
            sex=sex,
            version=number,
        )
        for name, (accent, sex) in _KNOWN.items()
        if (FOLDER / name / name).is_file()
    ]
    if not found:
        raise process.Missing(f"no English MBROLA voice in {FOLDER}: {PACKAGE}")
    return found


def pitched(name: str) -> bool:
    """Every voice is."""
    return True


def speak(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text spoken, 16 kHz."""
    version()
    name = voice.name.removeprefix("mb-")
    if name not in _KNOWN or not (FOLDER / name / name).is_file():
        raise DataError(f"mbrola has no voice {voice.name[:80]!r}")
    path = process.find("espeak-ng", espeak.PACKAGE)
    return espeak.spoken(path, text, voice, folder)

"""The command of eSpeak NG: eight native English accents, each in some ninety variants.

All of it is one formant synthesiser, so all of it is one speaker. Voices that only relay to
MBROLA are not listed, nor are variants that no person sounds like, nor aliases.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

from toolmark.errors import DataError
from toolmark.perturb.speech.engines import process
from toolmark.perturb.speech.voice import SYNTHETIC, Voice

PACKAGE = "apt-get install espeak-ng (Debian, Ubuntu)"

ACCENTS = {
    "en-029": "Caribbean",
    "en-gb": "British",
    "en-gb-scotland": "Scottish",
    "en-gb-x-gbclan": "Lancashire",
    "en-gb-x-gbcwmd": "West Midlands",
    "en-gb-x-rp": "Received Pronunciation",
    "en-us": "American",
    "en-us-nyc": "New York",
}
_NOVELTY = re.compile(
    "(?i)whisper|croak|robo|unirobot|demonic|fast|announcer|storm|tweaky|anxious|ricishay"
)
_ALIASES = {"klatt", "klatt6"}  # both sound exactly as caleb does
_NORMAL_WPM = 175


@cache
def _probe(path: str) -> tuple[str, Path]:
    """Return the version and the data folder of an installed command."""
    with tempfile.TemporaryDirectory() as folder:
        said = process.run([path, "--version"], Path(folder))
    if found := re.search(r":\s*(\S+)\s+Data at:\s*(.+)", said):
        return found[1], Path(found[2].strip())
    raise DataError(f"{path} --version says {said[:100]!r}, not what eSpeak NG says")


def version() -> str:
    """Return the version of the installed command."""
    return _probe(process.find("espeak-ng", PACKAGE))[0]


def voices() -> list[Voice]:
    """Return the accents, each plain and in all its variants."""
    number, data = _probe(process.find("espeak-ng", PACKAGE))
    return listed("espeak-ng", number, data)


def listed(engine: str, number: str, data: Path) -> list[Voice]:
    """Return the voices of a data folder."""
    kinds = {"": "male"} | variants(data)
    return [
        Voice(
            engine=engine,
            name=f"{name}+{variant}" if variant else name,
            speaker=SYNTHETIC,
            accent=accent,
            sex=sex,
            version=number,
        )
        for name, accent in ACCENTS.items()
        for variant, sex in kinds.items()
    ]


@cache
def variants(data: Path) -> dict[str, str]:
    """Return the variants of a data folder that a person might sound like, with their sex."""
    kinds = {}
    for path in sorted((data / "voices" / "!v").glob("*")):
        if _NOVELTY.search(path.name) or path.name in _ALIASES:
            continue
        told = re.search(r"(?im)^gender\s+(\w+)", path.read_text(errors="replace"))
        kinds[path.name] = told[1].lower() if told else "male"  # as eSpeak itself takes it
    return kinds


def pitched(name: str) -> bool:
    """Every voice is."""
    return True


def settings(voice: Voice) -> tuple[int, int]:
    """Return words per minute and the pitch from 0 to 99."""
    pitch = 0.5 if voice.pitch is None else voice.pitch
    return round(_NORMAL_WPM * voice.rate), round(99 * pitch)


def speak(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text spoken, 22050 Hz."""
    path = process.find("espeak-ng", PACKAGE)
    known(voice, _probe(path)[1])
    return spoken(path, text, voice, folder)


def known(voice: Voice, data: Path) -> None:
    """Raise DataError for a voice that is not listed: its name would be read as a file's."""
    accent, _, variant = voice.name.partition("+")
    if accent not in ACCENTS or (variant and variant not in variants(data)):
        raise DataError(f"{voice.engine} has no voice {voice.name[:80]!r}")


def file(name: str) -> str:
    """Return what eSpeak is to call a voice: of `en-gb+f3` it would pass over the variant."""
    accent, plus, variant = name.partition("+")
    return f"{'en' if accent == 'en-gb' else accent}{plus}{variant}"


def spoken(path: str, text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text spoken by a voice whose name is known to be one."""
    words, pitch = settings(voice)
    options = ["-v", file(voice.name), "-s", f"{words}", "-p", f"{pitch}", "-b", "1"]
    process.run([path, *options, "--stdin", "-w", "out.wav"], folder, text)
    return process.taken(folder / "out.wav")

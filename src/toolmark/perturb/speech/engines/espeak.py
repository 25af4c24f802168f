"""eSpeak NG's command: eight native English accents, each in about ninety variants.

All voices are one formant synthesiser, so they count as one speaker. Voices that only call MBROLA,
variants that do not sound like a person, and aliases are not listed.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from toolmark.core import external_commands
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import DataError
from toolmark.perturb.speech.voice import SYNTHETIC_SPEAKER, Voice

INSTALL_HINT = "apt-get install espeak-ng (Debian, Ubuntu)"

_NOVELTY_VARIANTS = re.compile(
    "(?i)whisper|croak|robo|unirobot|demonic|fast|announcer|storm|tweaky|anxious|ricishay"
)
_ALIASES = {"klatt", "klatt6"}  # both sound exactly like caleb
_NORMAL_WPM = 175


class AccentRow(DataRecord, frozen=True):
    """One accent: the name of its voice, and what it is."""

    name: str
    accent: str


@cache
def accents() -> Mapping[str, str]:
    """Return the accents by the names of their voices."""
    rows = read_table(__file__, "espeak_accents.csv", tuple[AccentRow, ...])
    return {row.name: row.accent for row in rows}


@cache
def _installed_command(path: str) -> tuple[str, Path]:
    """Return the version and the data folder of an installed command."""
    with tempfile.TemporaryDirectory() as folder:
        printed = external_commands.run_command([path, "--version"], Path(folder))
    if found := re.search(r":\s*(\S+)\s+Data at:\s*(.+)", printed):
        return found[1], Path(found[2].strip())
    raise DataError(f"{path} --version says {printed[:100]!r}, not what eSpeak NG says")


def version() -> str:
    """Return the version of the installed command."""
    return _installed_command(external_commands.find_command("espeak-ng", INSTALL_HINT))[0]


def voices() -> list[Voice]:
    """Return the accents, each plain and in all its variants. Raises NotInstalled."""
    number, data = _installed_command(external_commands.find_command("espeak-ng", INSTALL_HINT))
    return voices_in_folder("espeak-ng", number, data)


def voices_in_folder(engine: str, number: str, data: Path) -> list[Voice]:
    """Return the voices of a data folder."""
    sex_by_variant = {"": "male"} | usable_variants(data)
    return [
        Voice(
            engine=engine,
            name=f"{name}+{variant}" if variant else name,
            speaker=SYNTHETIC_SPEAKER,
            accent=accent,
            sex=sex,
            version=number,
        )
        for name, accent in accents().items()
        for variant, sex in sex_by_variant.items()
    ]


@cache
def usable_variants(data: Path) -> dict[str, str]:
    """Return the variants of a data folder that sound like a person, with their sex."""
    kinds = {}
    for path in sorted((data / "voices" / "!v").glob("*")):
        if _NOVELTY_VARIANTS.search(path.name) or path.name in _ALIASES:
            continue
        gender = re.search(r"(?im)^gender\s+(\w+)", path.read_text(errors="replace"))
        kinds[path.name] = gender[1].lower() if gender else "male"  # eSpeak's own default
    return kinds


def can_set_pitch(name: str) -> bool:
    """Return True: the pitch of every voice can be set."""
    return True


def rate_and_pitch(voice: Voice) -> tuple[int, int]:
    """Return the rate in words per minute, and the pitch from 0 to 99."""
    pitch = 0.5 if voice.pitch is None else voice.pitch
    return round(_NORMAL_WPM * voice.rate), round(99 * pitch)


def synthesize_text(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text as speech, a WAV file at 22050 Hz."""
    path = external_commands.find_command("espeak-ng", INSTALL_HINT)
    check_voice(voice, _installed_command(path)[1])
    return run_espeak(path, text, voice, folder)


def check_voice(voice: Voice, data: Path) -> None:
    """Raise DataError for a voice that is not listed: eSpeak would read its name as a file name."""
    accent, _, variant = voice.name.partition("+")
    if accent not in accents() or (variant and variant not in usable_variants(data)):
        raise DataError(f"{voice.engine} has no voice {voice.name[:80]!r}")


def espeak_voice_name(name: str) -> str:
    """Return the voice name for eSpeak, which would ignore the variant of `en-gb+f3`."""
    accent, plus, variant = name.partition("+")
    return f"{'en' if accent == 'en-gb' else accent}{plus}{variant}"


def run_espeak(path: str, text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text as speech; the name of the voice must be checked before."""
    words, pitch = rate_and_pitch(voice)
    options = ["-v", espeak_voice_name(voice.name), "-s", f"{words}", "-p", f"{pitch}", "-b", "1"]
    external_commands.run_command([path, *options, "--stdin", "-w", "out.wav"], folder, text)
    return external_commands.read_output_file(folder / "out.wav")

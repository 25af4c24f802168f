"""MBROLA's English voices, driven by eSpeak NG; they are used only if named.

The voices are free of charge for use with the MBROLA program only and must not be sold: do not use
their sound in a published data set.
"""

from __future__ import annotations

from pathlib import Path

from toolmark.core import external_commands
from toolmark.core.errors import DataError
from toolmark.perturb.speech.engines import espeak
from toolmark.perturb.speech.engines.known_voices import known_voices
from toolmark.perturb.speech.voice import Voice

INSTALL_HINT = (
    "apt-get install espeak-ng mbrola mbrola-us1 mbrola-us2 mbrola-us3 mbrola-en1 (non-free)"
)

MBROLA_FOLDER = Path("/usr/share/mbrola")


def version() -> str:
    """Return eSpeak's version. Raises NotInstalled if eSpeak or MBROLA is not installed."""
    external_commands.find_command("mbrola", INSTALL_HINT)
    return espeak.version()


def voices() -> list[Voice]:
    """Return the installed voices. Raises NotInstalled if there are none."""
    number = version()
    found = [
        Voice(
            engine="mbrola",
            name=f"mb-{known.name}",
            speaker=known.speaker,
            accent=known.accent,
            sex=known.sex,
            version=number,
        )
        for known in known_voices("mbrola").values()
        if (MBROLA_FOLDER / known.name / known.name).is_file()
    ]
    if not found:
        raise external_commands.NotInstalled(
            f"no English MBROLA voice in {MBROLA_FOLDER}: {INSTALL_HINT}"
        )
    return found


def can_set_pitch(name: str) -> bool:
    """Return True: the pitch of every voice can be set."""
    return True


def synthesize_text(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text as speech, at 16 kHz."""
    version()
    name = voice.name.removeprefix("mb-")
    if name not in known_voices("mbrola") or not (MBROLA_FOLDER / name / name).is_file():
        raise DataError(f"mbrola has no voice {voice.name[:80]!r}")
    path = external_commands.find_command("espeak-ng", espeak.INSTALL_HINT)
    return espeak.run_espeak(path, text, voice, folder)

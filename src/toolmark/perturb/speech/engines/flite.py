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
from toolmark.perturb.speech.engines.known_voices import installed_voices, known_voices
from toolmark.perturb.speech.voice import Voice

INSTALL_HINT = "apt-get install flite (Debian, Ubuntu)"


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
    return installed_voices("flite", names, number)


def can_set_pitch(name: str) -> bool:
    """Return whether the pitch can be set: for all voices except rms."""
    known = known_voices("flite").get(name)
    return known is not None and known.pitch_hz > 0


def synthesize_text(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text as speech, at 16 kHz."""
    path = external_commands.find_command("flite", INSTALL_HINT)
    if voice.name not in known_voices("flite"):  # flite would read it as a file or an address
        raise DataError(f"flite has no voice {voice.name[:80]!r}")
    options = ["-voice", voice.name, "--setf", f"duration_stretch={1 / voice.rate:.4f}"]
    if voice.pitch is not None and can_set_pitch(voice.name):
        mean = known_voices("flite")[voice.name].pitch_hz * 2 ** (voice.pitch - 0.5)
        options += ["--setf", f"int_f0_target_mean={mean:.2f}"]
    (folder / "words").write_text(f"{text}\n")
    external_commands.run_command([path, *options, "-f", "words", "-o", "out.wav"], folder)
    return external_commands.read_output_file(folder / "out.wav")

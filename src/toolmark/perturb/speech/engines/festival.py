"""Festival: two diphone voices and one statistical voice, through its command text2wave.

The text is passed as a file, never as Scheme. The evaluated Scheme only contains names and numbers
of this module and of `voices.csv`.
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

INSTALL_HINT = (
    "apt-get install festival festvox-kallpc16k festvox-kdlpc16k festvox-us-slt-hts "
    "(Debian, Ubuntu)"
)


@cache
def _installed_command(path: str) -> tuple[str, frozenset[str]]:
    """Return the version and the voice names of an installed command."""
    with tempfile.TemporaryDirectory() as folder:
        printed = external_commands.run_command([path, "--version"], Path(folder))
        names = external_commands.run_command(
            [path, "--batch", "(print (voice.list))"], Path(folder)
        )
    found = re.search(r"System:\s*([\d.]+)", printed)
    return found[1] if found else "unknown", frozenset(re.findall(r"\w+", names))


def version() -> str:
    """Return the version of the installed command."""
    return _installed_command(external_commands.find_command("festival", INSTALL_HINT))[0]


def voices() -> list[Voice]:
    """Return the installed voices. Raises NotInstalled if there are none."""
    number, names = _installed_command(external_commands.find_command("festival", INSTALL_HINT))
    found = installed_voices("festival", names, number)
    if not found:
        raise external_commands.NotInstalled(
            f"festival has no voice that is known here: {INSTALL_HINT}"
        )
    return found


def can_set_pitch(name: str) -> bool:
    """Return whether the pitch can be set: only for the diphone voices."""
    known = known_voices("festival").get(name)
    return known is not None and known.pitch_hz > 0


def synthesize_text(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text as speech, at 16 or 32 kHz."""
    path = external_commands.find_command("text2wave", INSTALL_HINT)
    if voice.name not in known_voices("festival"):  # the name becomes part of the Scheme
        raise DataError(f"festival has no voice {voice.name[:80]!r}")
    scheme = [f"(voice_{voice.name})", *rate_and_pitch_scheme(voice)]
    (folder / "words").write_text(f"{text}\n")
    options = [part for one in scheme for part in ("-eval", one)]
    external_commands.run_command([path, *options, "-o", "out.wav", "words"], folder)
    return external_commands.read_output_file(folder / "out.wav")


def rate_and_pitch_scheme(voice: Voice) -> list[str]:
    """Return the Scheme commands that set rate and pitch; numbers have a fixed format."""
    voice_pitch_hz = known_voices("festival")[voice.name].pitch_hz
    if not voice_pitch_hz:
        rate = f'(list (list "-r" {voice.rate:.4f}))'
        return [f"(set! hts_engine_params (append hts_engine_params {rate}))"]
    commands = [f"(Parameter.set 'Duration_Stretch {1 / voice.rate:.4f})"]
    if voice.pitch is not None:
        mean = voice_pitch_hz * 2 ** (voice.pitch - 0.5)
        model = "(target_f0_std 15) (model_f0_mean 170) (model_f0_std 34)"
        commands.append(f"(set! int_lr_params '((target_f0_mean {mean:.2f}) {model}))")
    return commands

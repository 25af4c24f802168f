"""Festival: two diphone voices and one statistical voice, through its command text2wave.

The words go in as a file, never as Scheme; what is evaluated is made of the names and numbers
of this module.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

from toolmark.errors import DataError
from toolmark.perturb.speech.engines import process
from toolmark.perturb.speech.voice import Voice

PACKAGE = (
    "apt-get install festival festvox-kallpc16k festvox-kdlpc16k festvox-us-slt-hts "
    "(Debian, Ubuntu)"
)

_KNOWN = {  # speaker, sex, own pitch in Hz (0: cannot be set)
    "cmu_us_slt_arctic_hts": ("slt", "female", 0),
    "kal_diphone": ("kal", "male", 105),
    "ked_diphone": ("ked", "male", 105),
}


@cache
def _probe(path: str) -> tuple[str, frozenset[str]]:
    """Return the version and the names of the voices of an installed command."""
    with tempfile.TemporaryDirectory() as folder:
        about = process.run([path, "--version"], Path(folder))
        names = process.run([path, "--batch", "(print (voice.list))"], Path(folder))
    found = re.search(r"System:\s*([\d.]+)", about)
    return found[1] if found else "unknown", frozenset(re.findall(r"\w+", names))


def version() -> str:
    """Return the version of the installed command."""
    return _probe(process.find("festival", PACKAGE))[0]


def voices() -> list[Voice]:
    """Return the voices that are there. Raises Missing if none is."""
    number, names = _probe(process.find("festival", PACKAGE))
    found = [
        Voice(engine="festival", name=name, speaker=who, accent="American", sex=sex, version=number)
        for name, (who, sex, _) in _KNOWN.items()
        if name in names
    ]
    if not found:
        raise process.Missing(f"festival has no voice that is known here: {PACKAGE}")
    return found


def pitched(name: str) -> bool:
    """The diphone voices are."""
    return name in _KNOWN and _KNOWN[name][2] > 0


def speak(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text spoken, 16 or 32 kHz."""
    path = process.find("text2wave", PACKAGE)
    if voice.name not in _KNOWN:  # the name is about to become Scheme
        raise DataError(f"festival has no voice {voice.name[:80]!r}")
    scheme = [f"(voice_{voice.name})", *manner(voice)]
    (folder / "words").write_text(f"{text}\n")
    asked = [part for one in scheme for part in ("-eval", one)]
    process.run([path, *asked, "-o", "out.wav", "words"], folder)
    return process.taken(folder / "out.wav")


def manner(voice: Voice) -> list[str]:
    """Return the Scheme that sets rate and pitch: numbers in fixed forms."""
    own = _KNOWN[voice.name][2]
    if not own:
        rate = f'(list (list "-r" {voice.rate:.4f}))'
        return [f"(set! hts_engine_params (append hts_engine_params {rate}))"]
    said = [f"(Parameter.set 'Duration_Stretch {1 / voice.rate:.4f})"]
    if voice.pitch is not None:
        mean = own * 2 ** (voice.pitch - 0.5)
        model = "(target_f0_std 15) (model_f0_mean 170) (model_f0_std 34)"
        said.append(f"(set! int_lr_params '((target_f0_mean {mean:.2f}) {model}))")
    return said

"""Piper: neural voices from your own files, `NAME.onnx` with `NAME.onnx.json` for each voice.

$TOOLMARK_PIPER_VOICES is their folder. No voice is downloaded. Piper's random noise is switched
off, so that equal texts give equal sound.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from functools import cache
from pathlib import Path

from toolmark.core import external_commands, files
from toolmark.core.errors import DataError
from toolmark.perturb.speech.voice import Voice

INSTALL_HINT = "pip install piper-tts, and voice files in the folder $TOOLMARK_PIPER_VOICES"


def _piper_command() -> list[str]:
    if path := shutil.which("piper"):
        return [path]
    if importlib.util.find_spec("piper"):
        return [sys.executable, "-m", "piper"]
    raise external_commands.NotInstalled(f"piper is not installed: {INSTALL_HINT}")


def _voice_files() -> dict[str, Path]:
    folder = os.environ.get("TOOLMARK_PIPER_VOICES", "")
    found = sorted(Path(folder).expanduser().glob("*.onnx")) if folder else []
    files = {path.stem: path.absolute() for path in found if Path(f"{path}.json").is_file()}
    if not files:
        raise external_commands.NotInstalled(
            f"piper has no voice in {folder or '$TOOLMARK_PIPER_VOICES'!r}"
        )
    return files


@cache
def _voice_digest(path: Path, _changed_ns: int) -> str:
    return files.file_sha256(path)


def version() -> str:
    """Return the start of a digest of all voice files, because they decide the sound."""
    _piper_command()
    digests = "".join(
        _voice_digest(path, path.stat().st_mtime_ns) for path in _voice_files().values()
    )
    return hashlib.sha256(digests.encode()).hexdigest()[:12]


def voices() -> list[Voice]:
    """Return a voice for each English file; the accent is the language code in its name."""
    number = version()
    return [
        Voice(
            engine="piper",
            name=name,
            speaker=f"piper {name.rpartition('-')[0] or name}",
            accent=name.partition("-")[0],
            version=number,
        )
        for name in _voice_files()
        if name.startswith("en")
    ]


def can_set_pitch(name: str) -> bool:
    """Return False: the pitch of no voice can be set."""
    return False


def synthesize_text(text: str, voice: Voice, folder: Path) -> bytes:
    """Return the text as speech, at the sampling rate of the voice's file."""
    files = _voice_files()
    if voice.name not in files:
        raise DataError(f"piper has no voice {voice.name[:80]!r}")
    rate_options = [
        "--length_scale",
        f"{1 / voice.rate:.4f}",
        "--noise_scale",
        "0",
        "--noise_w",
        "0",
    ]
    model = ["-m", str(files[voice.name]), "-f", "out.wav"]
    external_commands.run_command([*_piper_command(), *model, *rate_options], folder, text)
    return external_commands.read_output_file(folder / "out.wav")

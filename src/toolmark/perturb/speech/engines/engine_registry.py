"""Find speech synthesisers by name."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol, cast

from toolmark.core.errors import UsageError, suggest_names
from toolmark.perturb.speech.voice import Voice

DEFAULT_ENGINES = ("espeak-ng", "flite", "festival")
"""Engines that are free, offline, in Debian's main archive, and reproducible byte for byte."""


ENGINE_MODULES = {
    "espeak-ng": "espeak",
    "espeak-bundled": "espeak_bundled",
    "flite": "flite",
    "festival": "festival",
    "mbrola": "mbrola",
    "piper": "piper",
    "cloud": "speech_server",
}


class Engine(Protocol):
    """The functions of each engine module in this folder."""

    def version(self) -> str:
        """Return the version of the engine. Raises NotInstalled if it is not installed."""

    def voices(self) -> list[Voice]:
        """Return its English voices, at their normal rate and pitch. Raises NotInstalled."""

    def can_set_pitch(self, name: str) -> bool:
        """Return whether the pitch of a voice can be set."""

    def synthesize_text(self, text: str, voice: Voice, folder: Path) -> bytes:
        """Return a sound file of the plain text as speech; `folder` is private and empty.

        Raises NotInstalled, DataError if the engine fails, and EndpointError for a voice over the
        network.
        """


def load_engine(name: str) -> Engine:
    """Return the engine of this name. Raises UsageError for an unknown name."""
    if name not in ENGINE_MODULES:
        raise UsageError(f"no speech engine {name!r}{suggest_names(name, ENGINE_MODULES)}")
    return cast(Engine, importlib.import_module(f"{__package__}.{ENGINE_MODULES[name]}"))

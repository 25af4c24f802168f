"""Speech synthesisers: each module is one engine, a command that is called once per utterance.

A fresh process per utterance is what makes equal words equal bytes: inside one process eSpeak
carries its state from call to call.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol, cast

from toolmark.errors import UsageError, near
from toolmark.perturb.speech.engines.process import Missing
from toolmark.perturb.speech.voice import Voice

__all__ = ["DEFAULT", "MODULES", "Engine", "Missing", "by_name"]

DEFAULT = ("espeak-ng", "flite", "festival")
"""Free, offline, in Debian's main archive, and byte for byte reproducible."""

MODULES = {
    "espeak-ng": "espeak",
    "espeak-bundled": "bundled",
    "flite": "flite",
    "festival": "festival",
    "mbrola": "mbrola",
    "piper": "piper",
    "cloud": "cloud",
}


class Engine(Protocol):
    """What a module of this folder offers."""

    def version(self) -> str:
        """Return the version of the engine. Raises Missing if it is not installed."""

    def voices(self) -> list[Voice]:
        """Return its English voices, at their own rate and pitch. Raises Missing."""

    def pitched(self, name: str) -> bool:
        """Tell whether the pitch of a voice can be set."""

    def speak(self, text: str, voice: Voice, folder: Path) -> bytes:
        """Return a sound file with the plain text spoken; `folder` is private and empty.

        Raises Missing, DataError if the engine fails, and a voice over the net EndpointError.
        """


def by_name(name: str) -> Engine:
    """Return an engine. Raises UsageError if there is none of that name."""
    if name not in MODULES:
        raise UsageError(f"no speech engine {name!r}{near(name, MODULES)}")
    return cast(Engine, importlib.import_module(f"{__name__}.{MODULES[name]}"))

"""Who speaks: a voice of a speech synthesiser, and the voices that this machine has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from toolmark.errors import UsageError
from toolmark.types import Record

SYNTHETIC = "espeak (synthetic timbre)"
"""The speaker of all of eSpeak's voices: one formant synthesiser, however many variants it has."""


class Voice(Record, frozen=True, kw_only=True):
    """One voice and how it is to speak.

    `speaker` is who is heard: voices of several engines that are built on recordings of one
    person share it. `rate` is relative to the voice's own (0.5 to 2). `pitch` runs from 0 to 1,
    0.5 being the voice's own and each 0.5 about half an octave; None leaves it alone, which is
    all that some voices can do. `version` is the engine's: clips of two versions differ.
    """

    engine: str
    name: str
    speaker: str
    accent: str = ""
    sex: str = ""
    rate: float = 1.0
    pitch: float | None = None
    version: str = ""


def available(
    which: Sequence[str] = (), *, missing: Literal["error", "skip"] = "error"
) -> list[Voice]:
    """Return the voices of these engines on this machine, by default of the free offline ones.

    `missing="skip"` goes on with the engines that are there; where eSpeak is not, the build of
    it that comes with a Python package takes its place in the default pool. Raises UsageError
    for an unknown engine, for one that lacks, naming the package to install, and where no voice
    is left.
    """
    from toolmark.perturb.speech import engines  # they know voices: not the other way round

    found: list[Voice] = []
    lacking: list[str] = []
    for name in which or engines.DEFAULT:
        try:
            found += engines.by_name(name).voices()
        except engines.Missing as error:
            lacking.append(str(error))
            if not which and name == "espeak-ng" and missing == "skip":
                found += _fallback()
    if lacking and missing == "error":
        raise UsageError(f"{'; '.join(lacking)}; or go on with the others: missing=skip")
    if not found:
        raise UsageError(f"no voice to speak with: {'; '.join(lacking) or 'no engine has one'}")
    return found


def lacking(which: Sequence[str] = ()) -> list[str]:
    """Return what is missing of these engines, by default of the free ones, with the package."""
    from toolmark.perturb.speech import engines

    told = []
    for name in which or engines.DEFAULT:
        try:
            engines.by_name(name).voices()
        except engines.Missing as error:
            told.append(str(error))
    return told


def _fallback() -> list[Voice]:
    from toolmark.perturb.speech import engines

    try:
        return engines.by_name("espeak-bundled").voices()
    except engines.Missing:
        return []

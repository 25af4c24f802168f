"""The record of one voice of a speech synthesiser."""

from __future__ import annotations

from toolmark.core.records import Record

SYNTHETIC_SPEAKER = "espeak (synthetic timbre)"
"""The speaker of all eSpeak voices: all variants are one formant synthesiser."""


class Voice(Record, frozen=True, kw_only=True):
    """One voice, with its rate and pitch.

    `speaker` is the person who is heard: voices of several engines that are built on recordings of
    one person share it. `rate` is relative to the voice's normal rate (0.5 to 2). `pitch` is from 0
    to 1: 0.5 is the voice's normal pitch, and each 0.5 is about half an octave. None does not set
    the pitch; some voices allow only None. `version` is that of the engine: clips of two versions
    differ.
    """

    engine: str
    name: str
    speaker: str
    accent: str = ""
    sex: str = ""
    rate: float = 1.0
    pitch: float | None = None
    version: str = ""

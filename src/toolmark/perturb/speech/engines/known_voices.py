"""The voices of engines that do not say who is heard (`voices.csv`)."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table
from toolmark.perturb.speech.voice import Voice

KnownEngine: TypeAlias = Literal["flite", "festival", "mbrola"]


class KnownVoice(DataRecord, frozen=True, kw_only=True):
    """One voice; `pitch_hz` is its normal pitch, 0 where it is not known or cannot be set.

    The name is part of commands, and of Festival's Scheme.
    """

    engine: KnownEngine
    name: Annotated[str, Meta(pattern="^[A-Za-z0-9_]+$")]
    speaker: str
    accent: str
    sex: Literal["female", "male"]
    pitch_hz: Annotated[int, Meta(ge=0)] = 0


@cache
def known_voices(engine: KnownEngine) -> Mapping[str, KnownVoice]:
    """Return the voices of an engine by name."""
    rows = read_table(__file__, "voices.csv", tuple[KnownVoice, ...])
    return {row.name: row for row in rows if row.engine == engine}


def installed_voices(engine: KnownEngine, names: Container[str], version: str) -> list[Voice]:
    """Return the known voices that are among these names."""
    return [
        Voice(
            engine=engine,
            name=known.name,
            speaker=known.speaker,
            accent=known.accent,
            sex=known.sex,
            version=version,
        )
        for known in known_voices(engine).values()
        if known.name in names
    ]

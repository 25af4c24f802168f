"""The acoustic stage as data: the sounds to draw from, the drawn settings, the clip as heard."""

from __future__ import annotations

from typing import NamedTuple

from toolmark.core.records import Record
from toolmark.perturb.speech import double_talk, room_responses, sound_folders
from toolmark.perturb.speech.audio_clip import Clip
from toolmark.perturb.speech.effect_timeline import Effect


class SoundBank(NamedTuple):
    """The sounds to draw from: clips for babble, other talkers, rooms, recorded noises."""

    babble: tuple[Clip, ...] = ()
    talks: tuple[double_talk.Talk, ...] = ()
    rooms: tuple[room_responses.RoomResponse, ...] = ()
    noises: tuple[sound_folders.SoundStretch, ...] = ()


class AcousticStage(Record, frozen=True, kw_only=True):
    """One effect with all its drawn values; `seed` makes its noise."""

    name: str
    severity: int
    seed: int
    values: dict[str, str | float] = {}
    places: tuple[tuple[float, float], ...] = ()


class AcousticSettings(Record, frozen=True, kw_only=True):
    """The stages for one clip, in the order in which they are applied."""

    condition: str
    stages: tuple[AcousticStage, ...] = ()


class HeardClip(NamedTuple):
    """The clip as it is heard, and its effects in the order of time.

    `span_s` is the start and end of the user's speech in the clip, in seconds; None for silence.
    """

    clip: Clip
    timeline: tuple[Effect, ...]
    span_s: tuple[float, float] | None = None

"""Draw the voice of an utterance so that no speaker dominates, and count the drawn voices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from random import Random

import msgspec

from toolmark.core import seeds
from toolmark.core.errors import UsageError
from toolmark.core.records import Record
from toolmark.perturb.speech.engines import engine_registry
from toolmark.perturb.speech.voice import SYNTHETIC_SPEAKER, Voice

_MIN_RATE_PERCENT, _MAX_RATE_PERCENT = 85, 120  # of a voice's normal rate
_MIN_PITCH_PERCENT, _MAX_PITCH_PERCENT = 30, 70  # of the range of pitch


def draw_voice(voices: Sequence[Voice], rng: Random) -> Voice:
    """Return a drawn voice with a rate and, if the engine can set it, a pitch.

    First a speaker is drawn, all with equal probability; all of eSpeak is one speaker. Then one of
    its accents is drawn, then one of the voices of that accent. The order of `voices` is
    irrelevant. Raises UsageError if there are none.
    """
    if not voices:
        raise UsageError(
            "no voices to draw from; see toolmark.perturb.speech.installed_voices.available_voices"
        )
    candidates = _draw_level(voices, lambda voice: voice.speaker, rng)
    candidates = _draw_level(candidates, lambda voice: voice.accent, rng)
    voice = seeds.draw_one(rng, sorted(candidates, key=lambda voice: (voice.engine, voice.name)))
    rate = seeds.draw_between(rng, _MIN_RATE_PERCENT, _MAX_RATE_PERCENT) / 100
    # always drawn, so that later draws do not depend on the voice
    pitch = seeds.draw_between(rng, _MIN_PITCH_PERCENT, _MAX_PITCH_PERCENT) / 100
    can_set_pitch = engine_registry.load_engine(voice.engine).can_set_pitch(voice.name)
    return msgspec.structs.replace(voice, rate=rate, pitch=pitch if can_set_pitch else None)


def _draw_level(
    voices: Sequence[Voice], level_of: Callable[[Voice], str], rng: Random
) -> Sequence[Voice]:
    chosen = seeds.draw_one(rng, sorted({level_of(voice) for voice in voices}))
    return [voice for voice in voices if level_of(voice) == chosen]


class VoiceShare(Record, frozen=True, kw_only=True):
    """How often one level of a factor was drawn: count, share in [0, 1], number of voices."""

    factor: str
    level: str
    draws: int
    share: float
    voices: int


def voice_balance(draws: Iterable[Voice]) -> list[VoiceShare]:
    """Count draws by speaker, engine, accent and sex, the most frequent level first.

    Speakers are recorded people; all eSpeak variants together are one more row, with a synthetic
    timbre. `voices` counts names of voices, whatever their rate and pitch.
    """
    drawn = list(draws)
    rows = []
    for factor in ("speaker", "engine", "accent", "sex"):
        names: dict[str, set[tuple[str, str]]] = defaultdict(set)
        counts: Counter[str] = Counter()
        for voice in drawn:
            level = getattr(voice, factor) or "not known"
            counts[level] += 1
            names[level].add((voice.engine, voice.name))
        rows += [
            VoiceShare(
                factor=factor, level=level, draws=n, share=n / len(drawn), voices=len(names[level])
            )
            for level, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ]
    return rows


def count_speakers(draws: Iterable[Voice]) -> int:
    """Return the number of distinct recorded speakers; eSpeak does not count."""
    return len({voice.speaker for voice in draws} - {SYNTHETIC_SPEAKER})

"""Which voice says an utterance: drawn so that no speaker dominates, and counted honestly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from random import Random

import msgspec

from toolmark import seeds
from toolmark.errors import UsageError
from toolmark.perturb.speech import engines
from toolmark.perturb.speech.voice import SYNTHETIC, Voice
from toolmark.types import Record

_SLOWEST, _FASTEST = 85, 120  # hundredths of a voice's own rate
_LOWEST, _HIGHEST = 30, 70  # hundredths of the range of pitch


def draw(voices: Sequence[Voice], rng: Random) -> Voice:
    """Return a voice with a rate and, where the engine can, a pitch.

    First one of the speakers, each as likely as the next; all of eSpeak is one of them. Then one
    of its accents, then one of the voices of that accent. The order of `voices` changes nothing.
    Raises UsageError if there are none.
    """
    if not voices:
        raise UsageError("no voices to draw from; see toolmark.perturb.speech.voice.available")
    left = _narrowed(voices, lambda voice: voice.speaker, rng)
    left = _narrowed(left, lambda voice: voice.accent, rng)
    voice = seeds.choice(rng, sorted(left, key=lambda voice: (voice.engine, voice.name)))
    rate = seeds.between(rng, _SLOWEST, _FASTEST) / 100
    pitch = seeds.between(rng, _LOWEST, _HIGHEST) / 100  # drawn in any case: rate stays in step
    can = engines.by_name(voice.engine).pitched(voice.name)
    return msgspec.structs.replace(voice, rate=rate, pitch=pitch if can else None)


def _narrowed(voices: Sequence[Voice], of: Callable[[Voice], str], rng: Random) -> Sequence[Voice]:
    chosen = seeds.choice(rng, sorted({of(voice) for voice in voices}))
    return [voice for voice in voices if of(voice) == chosen]


class Share(Record, frozen=True, kw_only=True):
    """How often one level of a factor was drawn: of all `draws`, in [0, 1], in so many voices."""

    factor: str
    level: str
    draws: int
    share: float
    voices: int


def balance(draws: Iterable[Voice]) -> list[Share]:
    """Count draws by speaker, engine, accent and sex, the commonest level first.

    Speakers are people who were recorded; eSpeak's variants together are one more row, with a
    synthetic timbre. `voices` counts names of voices, whatever their rate and pitch.
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
            Share(
                factor=factor, level=level, draws=n, share=n / len(drawn), voices=len(names[level])
            )
            for level, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ]
    return rows


def people(draws: Iterable[Voice]) -> int:
    """Return the number of distinct speakers who were recorded: eSpeak is none."""
    return len({voice.speaker for voice in draws} - {SYNTHETIC})

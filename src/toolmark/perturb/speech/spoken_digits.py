"""Digits spoken by an installed voice: what only a listener can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from toolmark.core.errors import ToolmarkError, UsageError
from toolmark.perturb.speech.audio_clip import encode_wav
from toolmark.perturb.speech.engines import engine_registry
from toolmark.perturb.speech.speech_synthesis import synthesise_clip
from toolmark.perturb.speech.voice import Voice

DIGIT_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_ENGINES = ("flite", "festival", "espeak-ng", "espeak-bundled")
"""The free engines, those with recorded voices first."""
_PAID_ENGINE = "cloud"
_RATE = 0.85  # slower than in talk
_PLAIN_ACCENTS = ("American", "British")


def speak_digits(
    digits: Sequence[int], engines: Sequence[str] = (), *, folder: Path | None = None
) -> bytes:
    """Return a WAV file in which a voice says these digits, one by one.

    The first of `engines` that is installed speaks, else a free one; none that costs money. Clips
    are stored in `folder`, by default the cache. Raises UsageError where no voice is installed.
    """
    text = f"The digits are: {', '.join(DIGIT_WORDS[digit] for digit in digits)}."
    problems: list[str] = []
    for name in dict.fromkeys((*engines, *_ENGINES)):
        if name == _PAID_ENGINE:
            continue
        try:
            voice = _choose_voice(engine_registry.load_engine(name).voices())
            return encode_wav(synthesise_clip(text, replace(voice, rate=_RATE), folder=folder))
        except (ToolmarkError, ImportError) as error:
            problems.append(str(error))
    raise UsageError(f"no voice to speak with: {'; '.join(problems[:3])}")


def _choose_voice(voices: Sequence[Voice]) -> Voice:
    """Return the voice that is understood best: of a common accent, the first of its engine."""

    def rank_voices() -> Iterator[Voice]:
        for accent in _PLAIN_ACCENTS:
            yield from (voice for voice in voices if voice.accent == accent)
        yield from voices

    voice = next(rank_voices(), None)
    if voice is None:
        raise UsageError("an engine has no voice")
    return voice

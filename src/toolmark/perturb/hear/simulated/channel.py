"""Simulated recognisers: errors drawn from what was said and what was done to the clip.

Three presets stand for three recognisers. They differ in rate, manner and style; half of the
variance of every draw is common to the three, so that they stumble over the same words, as real
ones do. Their errors are shaped after PocketSphinx's (`benchmarks/recognisers.py` prints both),
their rates after today's recognisers. Nothing here has heard a sound: every transcript says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from toolmark import seeds
from toolmark.errors import UsageError, near
from toolmark.perturb.hear import words
from toolmark.perturb.hear.recogniser import Context, Transcript, Word
from toolmark.perturb.hear.simulated import acoustics, corrupt, tables
from toolmark.perturb.hear.simulated.calibration import ODDS, TARGETS
from toolmark.perturb.hear.simulated.corrupt import Manner
from toolmark.perturb.hear.simulated.lexicon import Lexicon, lexicon
from toolmark.perturb.hear.simulated.render import Style, text
from toolmark.perturb.speech.clip import Clip

Floats = NDArray[np.float64]

VERSION = 3
_COMMON = 0.5  # share of the variance of each draw that all presets have in common
_SPREAD = 0.7  # of the log-normal difficulty of a clip
_MOST_WORDS = 2000
_RAW = re.compile(r"[A-Za-z][\w'’]*")
_LEAK_MOST = 5


class Preset(NamedTuple):
    """One simulated recogniser: its rate on clean speech, in per cent of the words."""

    clean: float
    entities: float
    noise: float
    manner: Manner
    style: Style


PRESETS = {
    "a": Preset(
        4.0, 1.6, 0.85, Manner(lost=0.04, added=0.03, after=0.30, sound=5.4, fit=0.55),
        Style(cased=True, stops=True, digits=True, spelled="-"),
    ),
    "b": Preset(
        8.0, 1.9, 1.0, Manner(lost=0.04, added=0.03, after=0.35, sound=4.8, fit=0.45),
        Style(fillers=True),
    ),
    "c": Preset(
        6.0, 1.4, 1.1, Manner(lost=0.10, added=0.02, after=0.30, sound=4.6, fit=0.65),
        Style(cased=True, digits=True),
    ),
}  # fmt: skip


def load(spec: str) -> Simulated:
    """Return the preset of "a" or "a@20" (word error rate on clean speech, 0..60 per cent)."""
    name, at, rate = spec.partition("@")
    if name not in PRESETS:
        raise UsageError(f"no simulated recogniser {name!r}{near(name, PRESETS)}")
    try:
        target = float(rate) if at else PRESETS[name].clean
    except ValueError:
        target = math.nan
    if not 0 <= target <= TARGETS[-1]:
        raise UsageError(f"simulated:{spec}: the rate is in per cent, 0 to {TARGETS[-1]:g}")
    return Simulated(name, target, f"simulated:{spec}")


class Simulated:
    """A preset at a rate; `Context.text` is what was said, `seed_key` names the draw."""

    simulated = True
    version = str(VERSION)

    def __init__(self, preset: str, target: float, name: str) -> None:
        self.name = name
        self.target = target
        self.preset = PRESETS[preset]
        self._key = preset
        self._odds = odds(preset, target)

    def hear(self, clip: Clip, context: Context) -> Transcript:
        """Return the drawn transcript; times of words are shares of the clip's speech."""
        said = _spoken(context.text)[:_MOST_WORDS]
        book = lexicon()
        lengths = [len(book.sounds(word)) for word in said]
        placed = acoustics.of(lengths, clip, context.timeline, context.span_s)
        draws, clip_draw = _draws(context.seed_key, self._key, len(said))
        chances = self._chances(said, lengths, context, clip_draw, placed.harder, book)
        heard = corrupt.mistakes(said, chances, draws, self.preset.manner, book)
        heard = [each for each in heard if not placed.lost[each.first]]
        if self.target:
            heard = _leaked(heard, placed.leaks, draws)
        shown = _capitals(context)
        return Transcript(
            text=text([each.text for each in heard], self.preset.style, shown),
            recogniser=self.name,
            simulated=True,
            words=tuple(_word(each, said, placed, draws, chances) for each in heard),
        )

    def _chances(
        self,
        said: Sequence[str],
        lengths: Sequence[int],
        context: Context,
        clip_draw: float,
        harder: Floats,
        book: Lexicon,
    ) -> Floats:
        """Return each word's chance of an error.

        The words' factors have mean 1 within the utterance, so that its expected rate is the one
        asked for whatever it is about, and the factors say which of its words go wrong.
        """
        if not said or not self._odds:
            return np.zeros(len(said))
        factors = _factors(said, lengths, _marked(said, context.entities), self.preset, book)
        level = self._odds * math.exp(_SPREAD * clip_draw - _SPREAD**2 / 2)
        odd = level * factors / max(factors.mean(), 1e-9) * np.exp(self.preset.noise * harder)
        chances: Floats = odd / (1 + odd)
        return chances


def odds(preset: str, target: float) -> float:
    """Return the odds per word that give this word error rate (per cent), from the table."""
    return float(np.interp(target, TARGETS, ODDS[preset]))


def _draws(key: str, preset: str, n: int) -> tuple[Floats, float]:
    """Return draws per word (n, 4) in [0, 1) and the clip's, normal; words' are by position."""
    mixed = np.zeros((n + 1, 4))
    for purpose, share in (("hear", _COMMON), (f"hear {preset}", 1 - _COMMON)):
        bits = seeds.of(0, key, 0, purpose).getrandbits(128)
        drawn = np.random.Generator(np.random.PCG64(bits)).standard_normal((n + 1, 4))
        mixed += math.sqrt(share) * drawn
    uniform: Floats = np.minimum(ndtr(mixed[1:]), 1 - 1e-12)
    return uniform, float(mixed[0, 0])


def _factors(
    said: Sequence[str],
    lengths: Sequence[int],
    marked: Sequence[bool],
    preset: Preset,
    book: Lexicon,
) -> Floats:
    """Return how vulnerable each word is against the others."""
    factors = np.ones(len(said))
    for i, (word, letter) in enumerate(zip(said, corrupt.letters(said), strict=True)):
        if word in words.FILLERS:
            factors[i] = 0.5 if preset.style.fillers else 0.0
            continue
        known = word in book
        factors[i] *= 1.6 if letter else 1.3 if lengths[i] <= 3 else 1.0
        if not letter:
            factors[i] *= 2.0 if not known else 1.4 if book.likely(word, "") < -11 else 1.0
        if marked[i]:
            factors[i] *= preset.entities
    return factors


def _spoken(said: str) -> list[str]:
    """Return plain words with the fillers where they are: they can be heard, too."""
    found: list[str] = []
    for piece in said.split():
        bare = piece.strip(".,;:!?…-").lower()
        found += [bare] if bare in words.FILLERS else [piece]
    plain: list[str] = []
    held: list[str] = []
    for piece in found:
        if piece in words.FILLERS:
            plain += [*words.words(" ".join(held)), piece]
            held = []
        else:
            held.append(piece)
    return plain + words.words(" ".join(held))


def _marked(said: Sequence[str], entities: Sequence[str]) -> list[bool]:
    wanted = {word for each in entities for word in words.words(each)} - set(tables.SMALL)
    return [word in wanted for word in said]


def _capitals(context: Context) -> frozenset[str]:
    """Return the words that were written with a capital, other than to begin a sentence."""
    found = [m for m in _RAW.finditer(context.text) if m[0][0].isupper()]
    inner = {m[0].lower() for m in found
             if m.start() and context.text[: m.start()].rstrip()[-1:] not in ".!?"}  # fmt: skip
    named = {m[0].lower() for e in context.entities for m in _RAW.finditer(e) if m[0][0].isupper()}
    return frozenset(inner | named)


def _leaked(
    heard: list[corrupt.Heard], leaks: Sequence[tuple[int, float, str]], draws: Floats
) -> list[corrupt.Heard]:
    """Put in words of other voices, where these begin, as their loudness and the draw will."""
    for at, log_odds, other in leaks:
        _, _, size, whether = draws[min(at, len(draws) - 1)]
        if whether >= 1 / (1 + math.exp(-log_odds)):
            continue
        taken = words.words(other)[: 1 + int(size * _LEAK_MOST)]
        place = sum(each.first < at for each in heard)
        heard[place:place] = [corrupt.Heard(word, at, at) for word in taken]
    return heard


def _word(
    heard: corrupt.Heard,
    said: Sequence[str],
    placed: acoustics.Heard,
    draws: Floats,
    chances: Floats,
) -> Word:
    """Return the record; surer of what is right, never certain."""
    at = min(heard.first, len(said) - 1)
    last = max(heard.last - 1, at)
    right = heard.last - heard.first == 1 and heard.text == said[at]
    sure = 1 - 0.4 * chances[at] * draws[at, 0] if right else 0.35 + 0.5 * draws[at, 1]
    return Word(
        heard.text,
        round(float(placed.start_s[at]), 3),
        round(float(placed.end_s[last]), 3),
        round(float(sure), 3),
    )

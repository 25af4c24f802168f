"""Simulated recognisers: errors drawn from the spoken text and the effects on the clip.

Three presets stand for three recognisers. They differ in rate, manner and style. Half of the
variance of every draw is common to the three, so that they err on the same words, as real
recognisers do. Their errors are shaped after PocketSphinx's (`benchmarks/recognisers.py` prints
both), their rates after current recognisers. No sound is processed: every transcript is marked as
simulated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import UsageError, suggest_names
from toolmark.language import normalised_words
from toolmark.perturb.hearing.pronunciation_lexicon import Lexicon, load_lexicon
from toolmark.perturb.hearing.recogniser import HeardWord, HearingContext, Transcript
from toolmark.perturb.hearing.simulated import word_difficulty, word_errors
from toolmark.perturb.hearing.simulated.confusion_tables import confusion_table
from toolmark.perturb.hearing.simulated.error_calibration import error_odds_table
from toolmark.perturb.hearing.simulated.transcript_style import TranscriptStyle, render_transcript
from toolmark.perturb.hearing.simulated.word_errors import ErrorManner
from toolmark.perturb.speech.audio_clip import Clip

Floats = NDArray[np.float64]

VERSION = 3
_COMMON_VARIANCE = 0.5  # share of the variance of each draw that all presets have in common
_DIFFICULTY_SPREAD = 0.7  # sigma of the log-normal difficulty of a clip
_MAX_WORDS = 2000
_WRITTEN_WORD = re.compile(r"[A-Za-z][\w'’]*")
_MAX_LEAKED_WORDS = 5


class Preset(DataRecord, frozen=True, kw_only=True):
    """One simulated recogniser; its error rate on clean speech is in per cent of the words.

    `entity_factor` and `noise_factor` are factors of the rate: for names and values, and for noise.
    """

    clean_error_rate: float
    entity_factor: float
    noise_factor: float
    manner: ErrorManner
    style: TranscriptStyle


def presets() -> Mapping[str, Preset]:
    """Return the simulated recognisers by name."""
    return read_table(__file__, "recognisers.toml", dict[str, Preset])


def load_simulated(spec: str) -> SimulatedRecogniser:
    """Return the recogniser of "a" or "a@20" (word error rate on clean speech, 0..60 per cent)."""
    name, at, rate = spec.partition("@")
    if name not in presets():
        raise UsageError(f"no simulated recogniser {name!r}{suggest_names(name, presets())}")
    try:
        target = float(rate) if at else presets()[name].clean_error_rate
    except ValueError:
        target = math.nan
    highest = error_odds_table().error_rates[-1]
    if not 0 <= target <= highest:
        raise UsageError(f"simulated:{spec}: the rate is in per cent, 0 to {highest:g}")
    return SimulatedRecogniser(name, target, f"simulated:{spec}")


class SimulatedRecogniser:
    """A preset at a rate. `HearingContext.text` is what was said, `seed_key` names the draw."""

    simulated = True
    version = str(VERSION)

    def __init__(self, preset: str, target: float, name: str) -> None:
        self.name = name
        self.target = target
        self.preset = presets()[preset]
        self._key = preset
        self._odds = error_odds(preset, target)

    def hear(self, clip: Clip, context: HearingContext) -> Transcript:
        """Return the drawn transcript; times of words are proportional shares of the speech."""
        spoken = _words_with_fillers(context.text)[:_MAX_WORDS]
        pronunciations = load_lexicon()
        lengths = [len(pronunciations.sounds(word)) for word in spoken]
        word_places = word_difficulty.place_words(lengths, clip, context.timeline, context.span_s)
        draws, clip_draw = _draw_variates(context.seed_key, self._key, len(spoken))
        chances = self._error_chances(
            spoken, lengths, context, clip_draw, word_places.difficulty, pronunciations
        )
        heard = word_errors.draw_heard_words(
            spoken, chances, draws, self.preset.manner, pronunciations
        )
        heard = [each for each in heard if not word_places.is_cut_off[each.first]]
        if self.target:
            heard = _insert_leaks(heard, word_places.leaks, draws)
        capitalised = _capitalised_words(context)
        return Transcript(
            text=render_transcript([each.text for each in heard], self.preset.style, capitalised),
            recogniser=self.name,
            simulated=True,
            words=tuple(_word_record(each, spoken, word_places, draws, chances) for each in heard),
        )

    def _error_chances(
        self,
        spoken: Sequence[str],
        lengths: Sequence[int],
        context: HearingContext,
        clip_draw: float,
        harder: Floats,
        pronunciations: Lexicon,
    ) -> Floats:
        """Return each word's chance of an error.

        The factors of the words have mean 1 within the utterance, so that its expected rate is
        the requested one for any text; the factors decide which words are wrong.
        """
        if not spoken or not self._odds:
            return np.zeros(len(spoken))
        factors = _vulnerability_factors(
            spoken, lengths, _entity_mask(spoken, context.entities), self.preset, pronunciations
        )
        level = self._odds * math.exp(_DIFFICULTY_SPREAD * clip_draw - _DIFFICULTY_SPREAD**2 / 2)
        error_odds_per_word = (
            level * factors / max(factors.mean(), 1e-9) * np.exp(self.preset.noise_factor * harder)
        )
        chances: Floats = error_odds_per_word / (1 + error_odds_per_word)
        return chances


def error_odds(preset: str, target: float) -> float:
    """Return the odds per word that give this word error rate (per cent), from the table."""
    table = error_odds_table()
    return float(np.interp(target, table.error_rates, table.odds[preset]))


def _draw_variates(key: str, preset: str, n: int) -> tuple[Floats, float]:
    """Return draws per word position (n, 4) in [0, 1), and one normal draw of the clip."""
    mixed = np.zeros((n + 1, 4))
    for purpose, share in (("hear", _COMMON_VARIANCE), (f"hear {preset}", 1 - _COMMON_VARIANCE)):
        bits = seeds.make_rng(0, key, 0, purpose).getrandbits(128)
        drawn = np.random.Generator(np.random.PCG64(bits)).standard_normal((n + 1, 4))
        mixed += math.sqrt(share) * drawn
    uniform: Floats = np.minimum(ndtr(mixed[1:]), 1 - 1e-12)
    return uniform, float(mixed[0, 0])


def _vulnerability_factors(
    spoken: Sequence[str],
    lengths: Sequence[int],
    in_entity: Sequence[bool],
    preset: Preset,
    pronunciations: Lexicon,
) -> Floats:
    """Return how vulnerable each word is compared with the others."""
    factors = np.ones(len(spoken))
    for i, (word, letter) in enumerate(zip(spoken, word_errors.letter_mask(spoken), strict=True)):
        if word in normalised_words.FILLER_WORDS:
            factors[i] = 0.5 if preset.style.fillers else 0.0
            continue
        known = word in pronunciations
        factors[i] *= 1.6 if letter else 1.3 if lengths[i] <= 3 else 1.0
        if not letter:
            factors[i] *= (
                2.0 if not known else 1.4 if pronunciations.log_probability(word, "") < -11 else 1.0
            )
        if in_entity[i]:
            factors[i] *= preset.entity_factor
    return factors


def _words_with_fillers(spoken: str) -> list[str]:
    """Return plain words with the fillers in place: fillers can be heard, too."""
    found: list[str] = []
    for piece in spoken.split():
        stripped = piece.strip(".,;:!?…-").lower()
        found += [stripped] if stripped in normalised_words.FILLER_WORDS else [piece]
    words_found: list[str] = []
    pending: list[str] = []
    for piece in found:
        if piece in normalised_words.FILLER_WORDS:
            words_found += [*normalised_words.normalise_words(" ".join(pending)), piece]
            pending = []
        else:
            pending.append(piece)
    return words_found + normalised_words.normalise_words(" ".join(pending))


def _entity_mask(spoken: Sequence[str], entities: Sequence[str]) -> list[bool]:
    entity_words = {
        word for each in entities for word in normalised_words.normalise_words(each)
    } - set(confusion_table().function_words)
    return [word in entity_words for word in spoken]


def _capitalised_words(context: HearingContext) -> frozenset[str]:
    """Return the words with a capital letter that does not begin a sentence."""
    found = [m for m in _WRITTEN_WORD.finditer(context.text) if m[0][0].isupper()]
    inner = {m[0].lower() for m in found
             if m.start() and context.text[: m.start()].rstrip()[-1:] not in ".!?"}  # fmt: skip
    entity_names = {
        m[0].lower()
        for e in context.entities
        for m in _WRITTEN_WORD.finditer(e)
        if m[0][0].isupper()
    }
    return frozenset(inner | entity_names)


def _insert_leaks(
    heard: list[word_errors.DrawnWord], leaks: Sequence[tuple[int, float, str]], draws: Floats
) -> list[word_errors.DrawnWord]:
    """Insert words of other voices where these begin; loudness and the draw decide."""
    for at, log_odds, other in leaks:
        _, _, size, leak_draw = draws[min(at, len(draws) - 1)]
        if leak_draw >= 1 / (1 + math.exp(-log_odds)):
            continue
        leaked = normalised_words.normalise_words(other)[: 1 + int(size * _MAX_LEAKED_WORDS)]
        index = sum(each.first < at for each in heard)
        heard[index:index] = [word_errors.DrawnWord(word, at, at) for word in leaked]
    return heard


def _word_record(
    heard: word_errors.DrawnWord,
    spoken: Sequence[str],
    word_places: word_difficulty.PlacedWords,
    draws: Floats,
    chances: Floats,
) -> HeardWord:
    """Return the record of a word; right words have more confidence, but never 1."""
    at = min(heard.first, len(spoken) - 1)
    last = max(heard.last - 1, at)
    right = heard.last - heard.first == 1 and heard.text == spoken[at]
    confidence = 1 - 0.4 * chances[at] * draws[at, 0] if right else 0.35 + 0.5 * draws[at, 1]
    return HeardWord(
        heard.text,
        round(float(word_places.start_s[at]), 3),
        round(float(word_places.end_s[last]), 3),
        round(float(confidence), 3),
    )

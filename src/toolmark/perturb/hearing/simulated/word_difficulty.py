"""How the effects on a clip change each word: harder to hear, cut off, or covered by a voice.

Difficulty is in log odds of an error and is added to the clean odds, so that a word's error rate is
a logistic curve of every strength. Several effects on one word add up by their squares, as
independent noises do: a word that one effect hides cannot be hidden again. The weights are chosen
so that the presets behave like current recognisers (a few points more at 20 dB, three to four
times the clean rate at 10 dB); they are not fitted to one of them. These details are used:
`snr_db`, `t60_s`, `share` (of lost frames), `cut_s`, `speech_s`, `inserted_s`, `text`. An effect
without any of them counts by its severity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolmark.perturb.speech.audio_clip import Clip, speech_mask

if TYPE_CHECKING:
    from toolmark.perturb.speech.effect_timeline import Effect

Floats = NDArray[np.float64]
_UNNOTICED_SNR_DB = 35.0  # weaker noise has no effect
_PER_SEVERITY = 0.25
_GAP_LOG_ODDS = 6.0  # of a word that is a complete gap; a lost frame is a tenth of one
_HARMLESS_EFFECTS = frozenset({"gain"})  # recognisers normalise the level of their input
_TALKER_EXTRA_DB = 4.0  # a voice hides as much speech as noise that is this much louder


class PlacedWords(NamedTuple):
    """Per word, (n,): start and end in the clip, difficulty in log odds, whether it is cut off.

    `leaks` are words of other voices: (index of the covered word, log odds to be written, text).
    """

    start_s: Floats
    end_s: Floats
    difficulty: Floats
    is_cut_off: NDArray[np.bool_]
    leaks: tuple[tuple[int, float, str], ...] = ()


def place_words(
    lengths: Sequence[int],
    clip: Clip,
    timeline: Sequence[Effect],
    span_s: tuple[float, float] | None = None,
) -> PlacedWords:
    """Place words of these lengths (phones) in the clip and add up the effects on each.

    Words share the time of the speech in proportion to their phones; a cut tail counts as part of
    this time. A word is cut off if its middle is after the cut.
    """
    n = len(lengths)
    start, end = span_s or _sound_span(clip)
    cut = max(sum(_detail_number(e, "speech_s" if "speech_s" in e.detail else "cut_s")
                  for e in timeline if "cut_s" in e.detail), 0.0)  # fmt: skip
    gaps = [
        (e.start_s, _detail_number(e, "inserted_s")) for e in timeline if "inserted_s" in e.detail
    ]
    edges = _word_edges(lengths, start, end - sum(s for _, s in gaps) + cut)
    for at, size in sorted(gaps):
        edges[edges > at] += size
    starts, ends = edges[:-1], edges[1:]
    harder, squares = np.zeros(n), np.zeros(n)
    leaks: list[tuple[int, float, str]] = []
    for effect in timeline:
        if "cut_s" in effect.detail:
            harder += np.where((ends > end) & (cut > 0), 1.0, 0.0)
            continue
        reach = np.minimum(ends, effect.end_s) - np.maximum(starts, effect.start_s)
        share = np.clip(reach / np.maximum(ends - starts, 1e-6), 0.0, 1.0)
        squares += (share * effect_log_odds(effect)) ** 2
        leaks += _talker_leaks(effect, share)
    lost = (starts + ends) / 2 > end + 1e-6 if cut > 0 else np.zeros(n, np.bool_)
    harder += np.sqrt(squares)
    return PlacedWords(np.minimum(starts, end), np.minimum(ends, end), harder, lost, tuple(leaks))


def effect_log_odds(effect: Effect) -> float:
    """Return the log odds that an effect adds to a word completely inside it, at least 0."""
    log_odds = 0.0
    if effect.name in _HARMLESS_EFFECTS:
        return log_odds
    if "snr_db" in effect.detail:
        extra = _TALKER_EXTRA_DB if effect.module == "talkers" else 0.0
        missing_db = max(_UNNOTICED_SNR_DB + extra - _detail_number(effect, "snr_db"), 0.0)
        log_odds += 0.0025 * missing_db**2
    log_odds += 1.6 * max(_detail_number(effect, "t60_s") - 0.15, 0.0)
    if effect.name == "gap":
        log_odds += _GAP_LOG_ODDS
    log_odds += 4.0 * min(max(_detail_number(effect, "share"), 0.0), 1.0)
    if log_odds or {"snr_db", "t60_s", "share"} & set(effect.detail):
        return min(log_odds, 8.0)
    return _PER_SEVERITY * effect.severity


def _sound_span(clip: Clip) -> tuple[float, float]:
    found = np.flatnonzero(speech_mask(clip))
    if not len(found):
        return 0.0, max(clip.seconds, 1e-3)
    return float(found[0]) / clip.rate, float(found[-1] + 1) / clip.rate


def _word_edges(lengths: Sequence[int], start: float, end: float) -> Floats:
    weights = np.cumsum([0.0, *(length + 1.0 for length in lengths)])
    return start + weights / (weights[-1] or 1.0) * max(end - start, 1e-3)


def _detail_number(effect: Effect, name: str) -> float:
    value = effect.detail.get(name, 0.0)
    return float(value) if isinstance(value, int | float) and np.isfinite(value) else 0.0


def _talker_leaks(effect: Effect, share: Floats) -> list[tuple[int, float, str]]:
    """Return the leaks of another voice: the louder the voice, the more likely."""
    text = effect.detail.get("text", "")
    if effect.module != "talkers" or not isinstance(text, str) or not text or not share.any():
        return []
    return [(int(np.argmax(share > 0)), -1.0 - 0.25 * _detail_number(effect, "snr_db"), text)]

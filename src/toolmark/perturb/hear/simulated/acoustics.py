"""What the effects on a clip do to each word: harder to hear, lost, or covered by another voice.

Difficulty is in log odds of an error, added to the clean odds, so that a word's error rate is a
logistic curve of every strength. Several effects on one word add up as independent noises do, by
their squares: what one has hidden another cannot hide again. The weights are chosen so that the
presets land where today's recognisers do (a few points more at 20 dB, three to four times the
clean rate at 10 dB), not fitted to one of them. Known details: `snr_db`, `t60_s`, `share` (of
lost frames), `cut_s`, `speech_s`, `inserted_s`, `text`; of an effect without any of them the
severity counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolmark.perturb.speech.clip import Clip, active

if TYPE_CHECKING:
    from toolmark.perturb.speech.effect import Effect

Floats = NDArray[np.float64]
_EASY_DB = 35.0  # noise further below the speech than this is not noticed
_PER_SEVERITY = 0.25
_GAP = 6.0  # of a word that is a gap from end to end; a lost frame is a tenth of one
_HARMLESS = frozenset({"gain"})  # recognisers level their input
_TALKER_EXTRA_DB = 4.0  # another voice hides speech as noise does that is this much louder


class Heard(NamedTuple):
    """Per word, (n,): start and end in the clip, difficulty in log odds, whether it is cut off.

    `leaks` are stretches of other voices: (word that they cover, log odds to be written, text).
    """

    start_s: Floats
    end_s: Floats
    harder: Floats
    lost: NDArray[np.bool_]
    leaks: tuple[tuple[int, float, str], ...] = ()


def of(
    lengths: Sequence[int],
    clip: Clip,
    timeline: Sequence[Effect],
    span_s: tuple[float, float] | None = None,
) -> Heard:
    """Place words of these lengths (phones) in the clip and add up what was done to each.

    Words share the speech in proportion to their phones; what was cut from the tail counts as
    speech that is gone. A word is lost when its middle lies behind the cut.
    """
    n = len(lengths)
    start, end = span_s or _sounding(clip)
    cut = max(sum(_number(e, "speech_s" if "speech_s" in e.detail else "cut_s")
                  for e in timeline if "cut_s" in e.detail), 0.0)  # fmt: skip
    gaps = [(e.start_s, _number(e, "inserted_s")) for e in timeline if "inserted_s" in e.detail]
    edges = _edges(lengths, start, end - sum(s for _, s in gaps) + cut)
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
        squares += (share * difficulty(effect)) ** 2
        leaks += _leak(effect, share)
    lost = (starts + ends) / 2 > end + 1e-6 if cut > 0 else np.zeros(n, np.bool_)
    harder += np.sqrt(squares)
    return Heard(np.minimum(starts, end), np.minimum(ends, end), harder, lost, tuple(leaks))


def difficulty(effect: Effect) -> float:
    """Return the log odds that an effect adds to words wholly inside it, at least 0."""
    known = 0.0
    if effect.name in _HARMLESS:
        return known
    if "snr_db" in effect.detail:
        extra = _TALKER_EXTRA_DB if effect.module == "talkers" else 0.0
        short = max(_EASY_DB + extra - _number(effect, "snr_db"), 0.0)
        known += 0.0025 * short**2
    known += 1.6 * max(_number(effect, "t60_s") - 0.15, 0.0)
    if effect.name == "gap":
        known += _GAP
    known += 4.0 * min(max(_number(effect, "share"), 0.0), 1.0)
    if known or {"snr_db", "t60_s", "share"} & set(effect.detail):
        return min(known, 8.0)
    return _PER_SEVERITY * effect.severity


def _sounding(clip: Clip) -> tuple[float, float]:
    found = np.flatnonzero(active(clip))
    if not len(found):
        return 0.0, max(clip.seconds, 1e-3)
    return float(found[0]) / clip.rate, float(found[-1] + 1) / clip.rate


def _edges(lengths: Sequence[int], start: float, end: float) -> Floats:
    weights = np.cumsum([0.0, *(length + 1.0 for length in lengths)])
    return start + weights / (weights[-1] or 1.0) * max(end - start, 1e-3)


def _number(effect: Effect, name: str) -> float:
    value = effect.detail.get(name, 0.0)
    return float(value) if isinstance(value, int | float) and np.isfinite(value) else 0.0


def _leak(effect: Effect, share: Floats) -> list[tuple[int, float, str]]:
    """Return where the words of another voice may be written: the louder, the likelier."""
    text = effect.detail.get("text", "")
    if effect.module != "talkers" or not isinstance(text, str) or not text or not share.any():
        return []
    return [(int(np.argmax(share > 0)), -1.0 - 0.25 * _number(effect, "snr_db"), text)]

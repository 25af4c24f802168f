"""Can a good listener still make out what was said? STOI against the clean clip, and a gate.

STOI (Taal et al., 2011; pystoi) compares the clean clip with the heard one over the same time.
Effects that change the length would shift the one against the other: the time that loops and
stalls put in (`inserted_s` in the timeline) is taken out of what is heard, and where the tail is
cut the clean clip ends there too. A lost tail is thus not in the score; the gate limits it itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from toolmark.perturb.speech import clip as clips
from toolmark.perturb.speech.clip import Clip
from toolmark.perturb.speech.effect import Effect
from toolmark.types import Record

LEAST = 0.60
"""Least STOI of the whole utterance."""
LEAST_PIECE = 0.30
"""Least STOI of any piece; below it a stretch of speech is gone."""
MOST_LOST = 0.30
"""Greatest share of the speech that a cut tail may take."""
PIECE_S = 1.0


class Gate(Record, frozen=True, kw_only=True):
    """What the gate says of one clip: scores of the whole and of the worst piece; None: too short.

    `reason` is empty where the clip passes.
    """

    passed: bool
    stoi: float | None
    worst: float | None
    lost: float
    reason: str = ""


def aligned(clean: Clip, heard: Clip, timeline: Sequence[Effect]) -> tuple[Clip, Clip]:
    """Return both clips over the time they share, at one rate: inserted time out, tail off."""
    heard = clips.resampled(heard, clean.rate)
    keep = np.ones(len(heard.samples), dtype=np.bool_)
    for e in timeline:
        if long := e.detail.get("inserted_s"):
            first = round(e.start_s * clean.rate)
            keep[first : first + round(float(long) * clean.rate)] = False
    rest = heard.samples[keep]
    n = min(len(rest), len(clean.samples))
    return Clip(clean.samples[:n], clean.rate), Clip(rest[:n], clean.rate)


def stoi(clean: Clip, heard: Clip, timeline: Sequence[Effect] = ()) -> float | None:
    """Return the short-time objective intelligibility, about 0..1; None of less than 0.4 s speech.

    Clips that differ in length need the timeline of what was done.
    """
    return _score(*aligned(clean, heard, timeline))


def _score(clean: Clip, heard: Clip) -> float | None:
    from pystoi import stoi as score

    if len(clean.samples) < clean.rate * 0.4 or not np.any(clean.samples):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = float(score(clean.samples, heard.samples, clean.rate, extended=False))
        except RuntimeWarning:  # fewer than 30 frames with speech
            return None
    return found if np.isfinite(found) else None


def pieces(clean: Clip, heard: Clip) -> list[float]:
    """Return the scores of overlapping pieces of a second of speech (of aligned clips)."""
    spoken = np.flatnonzero(clips.active(clean))
    if not len(spoken):
        return []
    size = round(PIECE_S * clean.rate)
    starts = range(0, max(len(spoken) - size // 2, 1), size // 2)
    found = []
    for start in starts:
        part = spoken[start : start + size]
        score = _score(Clip(clean.samples[part], clean.rate), Clip(heard.samples[part], heard.rate))
        if score is not None:
            found.append(score)
    return found


def gate(
    clean: Clip,
    heard: Clip,
    timeline: Sequence[Effect] = (),
    *,
    least: float = LEAST,
    least_piece: float = LEAST_PIECE,
) -> Gate:
    """Judge whether a heard clip is still intelligible, as a whole and in each of its pieces."""
    before, after = aligned(clean, heard, timeline)
    whole = _score(before, after)
    worst = min(pieces(before, after), default=None)
    spoken = int(np.count_nonzero(clips.active(clean)))
    left = int(np.count_nonzero(clips.active(clean)[: len(before.samples)]))
    lost = 1 - left / spoken if spoken else 0.0
    reason = ""
    if whole is not None and whole < least:
        reason = f"intelligibility {whole:.2f} is below {least}"
    elif worst is not None and worst < least_piece:
        reason = f"intelligibility of one second is {worst:.2f}, below {least_piece}"
    elif lost > MOST_LOST:
        reason = f"{lost:.0%} of the speech is cut off, more than {MOST_LOST:.0%}"
    return Gate(passed=not reason, stoi=whole, worst=worst, lost=lost, reason=reason)

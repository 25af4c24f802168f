"""Intelligibility of a clip: STOI against the clean clip, and a gate.

STOI (Taal et al., 2011; pystoi) compares the clean clip with the heard clip over the same time.
Effects that change the length would shift the clips against each other. So the time that loops and
stalls insert (`inserted_s` in the timeline) is removed from the heard clip, and if the tail is cut,
the clean clip ends there too. A cut tail is thus not in the score; the gate limits it separately.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from toolmark.core.number_format import format_fixed, format_percent
from toolmark.core.records import Record
from toolmark.perturb.speech import audio_clip
from toolmark.perturb.speech.audio_clip import Clip
from toolmark.perturb.speech.effect_timeline import Effect

MIN_STOI = 0.60
"""Least STOI of the complete utterance."""
MIN_PIECE_STOI = 0.30
"""Least STOI of any piece; below it a piece of the speech is missing."""
MAX_LOST_SHARE = 0.30
"""Largest share of the speech that a cut tail may remove."""
PIECE_S = 1.0


class IntelligibilityResult(Record, frozen=True, kw_only=True):
    """The gate's result for one clip: scores of the clip and of its worst piece; None if too short.

    `reason` is empty if the clip passes.
    """

    passed: bool
    stoi: float | None
    worst: float | None
    cut_share: float
    reason: str = ""


def align_clips(clean: Clip, heard: Clip, timeline: Sequence[Effect]) -> tuple[Clip, Clip]:
    """Return both clips over their common time, at one rate, without inserted time and cut tail."""
    heard = audio_clip.resample_clip(heard, clean.rate)
    keep = np.ones(len(heard.samples), dtype=np.bool_)
    for e in timeline:
        if long := e.detail.get("inserted_s"):
            first = round(e.start_s * clean.rate)
            keep[first : first + round(float(long) * clean.rate)] = False
    selected_samples = heard.samples[keep]
    n = min(len(selected_samples), len(clean.samples))
    return Clip(clean.samples[:n], clean.rate), Clip(selected_samples[:n], clean.rate)


def stoi(clean: Clip, heard: Clip, timeline: Sequence[Effect] = ()) -> float | None:
    """Return the short-time objective intelligibility, about 0..1; None below 0.4 s of speech.

    Clips that differ in length need the timeline of their effects.
    """
    return _stoi_or_none(*align_clips(clean, heard, timeline))


def _stoi_or_none(clean: Clip, heard: Clip) -> float | None:
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


def piece_scores(clean: Clip, heard: Clip) -> list[float]:
    """Return the scores of overlapping pieces, each one second of speech, of aligned clips."""
    spoken = np.flatnonzero(audio_clip.speech_mask(clean))
    if not len(spoken):
        return []
    size = round(PIECE_S * clean.rate)
    starts = range(0, max(len(spoken) - size // 2, 1), size // 2)
    found = []
    for start in starts:
        part = spoken[start : start + size]
        score = _stoi_or_none(
            Clip(clean.samples[part], clean.rate), Clip(heard.samples[part], heard.rate)
        )
        if score is not None:
            found.append(score)
    return found


def check_intelligibility(
    clean: Clip,
    heard: Clip,
    timeline: Sequence[Effect] = (),
    *,
    min_stoi: float = MIN_STOI,
    min_piece_stoi: float = MIN_PIECE_STOI,
) -> IntelligibilityResult:
    """Return whether a heard clip is still intelligible, overall and in each of its pieces."""
    before, after = align_clips(clean, heard, timeline)
    whole = _stoi_or_none(before, after)
    worst = min(piece_scores(before, after), default=None)
    spoken = int(np.count_nonzero(audio_clip.speech_mask(clean)))
    n_left = int(np.count_nonzero(audio_clip.speech_mask(clean)[: len(before.samples)]))
    lost = 1 - n_left / spoken if spoken else 0.0
    reason = ""
    if whole is not None and whole < min_stoi:
        reason = f"intelligibility {format_fixed(whole, 2)} is below {min_stoi}"
    elif worst is not None and worst < min_piece_stoi:
        reason = (
            f"intelligibility of one second is {format_fixed(worst, 2)}, below {min_piece_stoi}"
        )
    elif lost > MAX_LOST_SHARE:
        share, limit = (format_percent(each, 0) for each in (lost, MAX_LOST_SHARE))
        reason = f"{share} of the speech is cut off, more than {limit}"
    return IntelligibilityResult(
        passed=not reason, stoi=whole, worst=worst, cut_share=lost, reason=reason
    )

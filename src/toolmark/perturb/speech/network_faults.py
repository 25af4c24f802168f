"""Network faults: lost packets, loops, a jitter buffer that runs empty, a cut tail.

Each function takes a clip and returns the heard samples, the effects with their times, and the
inserted time. `speech` is the user's speech without other sounds; by default it is measured on the
clip. A fault that does not touch the speech cannot be noticed: so loss and jitter affect at least
one packet of speech.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from toolmark.perturb.speech import audio_clip
from toolmark.perturb.speech.audio_clip import Clip, Samples, Speech
from toolmark.perturb.speech.effect_timeline import Effect, StageResult, make_effect

LOSS_BY_SEVERITY = {1: (0.01, 20.0), 2: (0.03, 40.0), 3: (0.06, 60.0), 4: (0.12, 80.0)}
"""Share of lost frames and mean length of a burst (ms), by severity."""
FRAMES_MS = (10.0, 20.0, 30.0, 40.0)
N_LOOPS = {1: 1, 2: 2, 3: 3, 4: 5}
LOOP_MS = (40.0, 120.0)
JITTER_MS = {1: 15.0, 2: 22.0, 3: 30.0, 4: 40.0}
"""Mean delay of a packet beyond the fixed delay of the path (ms), by severity."""
BUFFER_MS, MAX_WAIT_MS = 60.0, 60.0
TAIL_SHARE = {1: (0.05, 0.10), 2: (0.10, 0.15), 3: (0.15, 0.20), 4: (0.20, 0.25)}
"""Share of the speech that is cut off, by severity."""
_FADE_S = 0.005
_REPEAT_GAIN = 0.7  # gain of each further repeat of the last good frame


def draw_loss_bursts(
    frames: int, share: float, mean: float, gen: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which frames are lost: a Gilbert-Elliott channel that drops all in its bad state.

    A `share` of all frames is lost in the long run, in bursts of `mean` frames (at least 1). The
    times in both states are geometric. A share of 0 drops no frames, 1 drops all.
    """
    if share <= 0 or frames <= 0:
        return np.zeros(max(frames, 0), dtype=np.bool_)
    if share >= 1:
        return np.ones(frames, dtype=np.bool_)
    recover = 1 / max(mean, 1.0)
    fail = min(recover * share / (1 - share), 1.0)
    lost = np.zeros(frames, dtype=np.bool_)
    bad, at = bool(gen.random() < share), 0
    while at < frames:
        run = int(gen.geometric(recover if bad else fail))
        lost[at : at + run] = bad
        bad, at = not bad, at + run
    return lost


def _true_runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return [start, end) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def drop_packets(
    clip: Clip,
    share: float,
    burst_ms: float,
    frame_ms: float,
    gen: np.random.Generator,
    *,
    repeat: bool = False,
    severity: int = 0,
    speech: Speech | None = None,
) -> StageResult:
    """Drop frames; a gap is silent, or repeats the last good frame at decreasing volume.

    If the drawn bursts hit no speech, one burst of the mean length is placed in the speech; a clip
    without speech gets only the drawn bursts. The effects are one for the complete clip, with the
    lost share, and one for each gap; none if nothing was lost.
    """
    n, size = len(clip.samples), max(int(clip.rate * frame_ms / 1000), 1)
    lost_frames = draw_loss_bursts(-(-n // size), share, burst_ms / frame_ms, gen)
    speech_frames = np.flatnonzero(_speech_frame_mask(clip, size, speech))
    if share > 0 and len(speech_frames) and not lost_frames[speech_frames].any():
        at = int(gen.choice(speech_frames))
        lost_frames[at : at + max(round(burst_ms / frame_ms), 1)] = True
    lost_runs = _true_runs(lost_frames)
    if not lost_runs:
        return StageResult(clip.samples)
    out = clip.samples.astype(np.float32, copy=True)
    for first, last in lost_runs:
        for k, frame in enumerate(range(first, last)):
            a, b = frame * size, min((frame + 1) * size, n)
            good = clip.samples[(first - 1) * size : first * size] if repeat and first else None
            out[a:b] = 0 if good is None else good[: b - a] * np.float32(_REPEAT_GAIN ** (k + 1))
    spans = [(a * size / clip.rate, min(b * size, n) / clip.rate) for a, b in lost_runs]
    lost = sum(b - a for a, b in spans)
    detail: dict[str, str | float] = {
        "share": lost / clip.seconds if n else 0.0, "asked": share, "burst_ms": burst_ms,
        "frame_ms": frame_ms, "gaps": len(spans), "concealed": "repeat" if repeat else "silence",
    }  # fmt: skip
    whole = make_effect("network", "loss", (0, clip.seconds), severity, detail)
    return StageResult(out, (whole, *(make_effect("network", "gap", s, severity) for s in spans)))


def _speech_frame_mask(clip: Clip, size: int, speech: Speech | None) -> NDArray[np.bool_]:
    """Return for each frame of this many samples whether it has speech."""
    mask = (speech or audio_clip.measure_speech(clip)).mask
    return np.logical_or.reduceat(mask, np.arange(0, len(mask), size)) if len(mask) else mask


def repeat_pieces(
    clip: Clip, places: Sequence[tuple[float, float, int]], *, severity: int = 0
) -> StageResult:
    """Repeat short pieces of the clip: (share of the clip, milliseconds, number of repeats).

    The clip grows by the repeats; joints are faded over 2 ms.
    """
    n, rate = len(clip.samples), clip.rate
    repeats: list[tuple[int, Samples, float]] = []
    for where, ms, times in sorted(places):
        size = min(max(int(rate * ms / 1000), 1), n)
        end = min(max(int(where * n), size), n)
        piece = _fade_edges(clip.samples[end - size : end], min(rate // 500, size // 2))
        if size:
            repeats.append((end, np.tile(piece, times), ms))
    return _insert_pieces(
        clip, [(at, piece, "loop", {"piece_ms": ms}) for at, piece, ms in repeats], severity
    )


def _fade_edges(piece: Samples, size: int) -> Samples:
    out = piece.copy()
    if size > 0:
        slope = np.linspace(0, 1, size, dtype=np.float32)
        out[:size] *= slope
        out[len(out) - size :] *= slope[::-1]
    return out


def _insert_pieces(
    clip: Clip, pieces: list[tuple[int, Samples, str, dict[str, str | float]]], severity: int
) -> StageResult:
    """Insert pieces before samples of the clip (ascending); also return when each is heard."""
    parts: list[Samples] = []
    effects: list[Effect] = []
    last = n_inserted = 0
    for at, piece, name, detail in pieces:
        parts += [clip.samples[last:at], piece]
        start = (at + n_inserted) / clip.rate
        length = len(piece) / clip.rate
        span = (start, start + length)
        effects.append(
            make_effect("network", name, span, severity, {**detail, "inserted_s": length})
        )
        last, n_inserted = at, n_inserted + len(piece)
    samples = np.concatenate([*parts, clip.samples[last:]]).astype(np.float32)
    return StageResult(
        samples, tuple(effects), tuple((at, len(piece)) for at, piece, _, _ in pieces)
    )


def apply_jitter(
    clip: Clip,
    mean_ms: float,
    frame_ms: float,
    gen: np.random.Generator,
    *,
    severity: int = 0,
    speech: Speech | None = None,
) -> StageResult:
    """Play packets from a buffer: it waits for late packets and drops those that are too late.

    Delays are gamma distributed (shape 2) and vary slowly, as queues do. A packet later than the
    buffer (60 ms) by up to 60 ms stalls the sound for that time, and the buffer is then longer by
    that time; an even later packet is a silent gap. Stalls insert time into the clip. If every
    packet of speech is in time, the slowest of them is made late by the mean delay.
    """
    n, size = len(clip.samples), max(int(clip.rate * frame_ms / 1000), 1)
    delays = _draw_delays(-(-n // size), mean_ms, gen)
    speech_frames = np.flatnonzero(_speech_frame_mask(clip, size, speech))
    waits, missed = _late_packets(delays)
    if len(speech_frames) and not np.isin([*(k for k, _ in waits), *missed], speech_frames).any():
        waits = sorted([*waits, (int(speech_frames[np.argmax(delays[speech_frames])]), mean_ms)])
    if not waits and not missed:
        return StageResult(clip.samples)
    gaps = [(k * size, min((k + 1) * size, n)) for k in missed]
    samples = clip.samples.astype(np.float32, copy=True)
    for a, b in gaps:
        samples[a:b] = 0
    stalls: list[tuple[int, Samples, str, dict[str, str | float]]] = [
        (k * size, np.zeros(int(late * clip.rate / 1000), dtype=np.float32), "stall", {})
        for k, late in waits
    ]
    inserted = _insert_pieces(Clip(samples, clip.rate), stalls, severity)
    lost = shift_effects(
        tuple(_gap_effects(gaps, clip.rate, severity)), inserted.inserted, clip.rate
    )
    detail: dict[str, str | float] = {
        "mean_ms": mean_ms, "stalls": len(stalls), "gaps": len(gaps),
        "share": sum(b - a for a, b in gaps) / max(n, 1),
    }  # fmt: skip
    span = (0.0, len(inserted.samples) / clip.rate)
    whole = make_effect("network", "jitter", span, severity, detail)
    return StageResult(inserted.samples, (whole, *inserted.effects, *lost), inserted.inserted)


def _draw_delays(frames: int, mean_ms: float, gen: np.random.Generator) -> NDArray[np.float64]:
    own = gen.gamma(2.0, mean_ms / 2, frames)
    return np.maximum(own, 0.6 * np.concatenate((own[:1], own[:-1])))


def _late_packets(delays: NDArray[np.float64]) -> tuple[list[tuple[int, float]], list[int]]:
    """Return the packets that the sound waits for, with the wait in ms, and the dropped packets."""
    waits: list[tuple[int, float]] = []
    missed: list[int] = []
    buffer = BUFFER_MS
    for k, delay in enumerate(delays):
        late = float(delay) - buffer
        if late > MAX_WAIT_MS:
            missed.append(k)
        elif late > 1.0:
            waits.append((k, late))
            buffer += late
    return waits, missed


def _gap_effects(spans: list[tuple[int, int]], rate: int, severity: int) -> Iterator[Effect]:
    for a, b in spans:
        yield make_effect("network", "gap", (a / rate, b / rate), severity)


def shift_effects(
    effects: tuple[Effect, ...], inserted: Sequence[tuple[int, int]], rate: int
) -> tuple[Effect, ...]:
    """Return the effects with times of the clip after time was inserted."""

    def later(at_s: float, *, end: bool = False) -> float:
        # an effect that ends where time is inserted ends before this time
        sample = at_s * rate - (0.5 if end else -0.5)
        return at_s + sum(many for at, many in inserted if at <= sample) / rate

    if not inserted:
        return effects
    return tuple(
        make_effect(
            e.module, e.name, (later(e.start_s), later(e.end_s, end=True)), e.severity, e.detail
        )
        for e in effects
    )


def cut_tail(
    clip: Clip, share: float, *, severity: int = 0, speech: Speech | None = None
) -> StageResult:
    """Cut off the last share of the speech, with a fade of 5 ms.

    The share refers to the span from the first to the last sample of speech, without inserted time.
    So words are cut, not only the pause after them or noise. A clip without speech is not cut.
    """
    speech_span = (speech or audio_clip.measure_speech(clip)).span
    if not len(speech_span):
        return StageResult(clip.samples)
    n_left = max(len(speech_span) - round(share * len(speech_span)), 1)
    end = int(speech_span[n_left - 1]) + 1
    out = clip.samples[:end].astype(np.float32, copy=True)
    fade = min(int(_FADE_S * clip.rate), end)
    out[end - fade :] *= np.linspace(1, 0, fade, dtype=np.float32)
    detail: dict[str, str | float] = {
        "cut_s": (len(clip.samples) - end) / clip.rate, "at_s": end / clip.rate, "share": share,
        "speech_s": (len(speech_span) - n_left) / clip.rate,
    }  # fmt: skip
    span = ((end - fade) / clip.rate, end / clip.rate)
    return StageResult(out, (make_effect("network", "tail", span, severity, detail),))


def trim_effects(effects: tuple[Effect, ...], seconds: float) -> tuple[Effect, ...]:
    """Return the effects of a clip that was cut: effects end with the clip at the latest."""
    clipped: list[Effect] = []
    for e in effects:
        if e.start_s < seconds:
            span, detail = (e.start_s, min(e.end_s, seconds)), dict(e.detail)
            if "inserted_s" in detail:
                detail["inserted_s"] = min(float(detail["inserted_s"]), span[1] - span[0])
            clipped.append(make_effect(e.module, e.name, span, e.severity, detail))
    return tuple(clipped)


def shift_speech(speech: Speech, inserted: Sequence[tuple[int, int]], n: int) -> Speech:
    """Return the speech of the clip after time was inserted; the clip now has n samples."""
    mask, span = speech.mask, speech.span
    if inserted:
        at, many = (np.array(column) for column in zip(*inserted, strict=True))
        mask = np.insert(mask, np.repeat(at, many), False)
        span = span + np.concatenate(([0], np.cumsum(many)))[np.searchsorted(at, span, "right")]
    if len(mask) != n:
        mask = np.concatenate((mask[:n], np.zeros(max(n - len(mask), 0), dtype=np.bool_)))
        span = span[span < n]
    return Speech(speech.power, mask, span)

"""What a network does to sound: lost packets, loops, a jitter buffer that runs dry, a cut tail.

Each function takes a clip and returns what is heard, what happened when, and where time was put in.
`speech` is the one who is meant, without what else sounds in the clip; if none is given it is that
of the clip. What does nothing to their words is not a fault of a network that anyone could notice:
loss and jitter hit at least one packet of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from toolmark.perturb.speech import clip as clips
from toolmark.perturb.speech.clip import Clip, Samples, Speech
from toolmark.perturb.speech.effect import Changed, Effect, effect

LOSS = {1: (0.01, 20.0), 2: (0.03, 40.0), 3: (0.06, 60.0), 4: (0.12, 80.0)}
"""Share of frames lost and mean length of a burst (ms), by severity."""
FRAMES_MS = (10.0, 20.0, 30.0, 40.0)
LOOPS = {1: 1, 2: 2, 3: 3, 4: 5}
LOOP_MS = (40.0, 120.0)
JITTER_MS = {1: 15.0, 2: 22.0, 3: 30.0, 4: 40.0}
"""Mean delay of a packet beyond the path's own, by severity."""
BUFFER_MS, LATEST_MS = 60.0, 60.0
TAIL = {1: (0.05, 0.10), 2: (0.10, 0.15), 3: (0.15, 0.20), 4: (0.20, 0.25)}
"""Share of the speech cut off, by severity."""
_FADE_S = 0.005
_KEEP = 0.7  # gain of each further repeat of the last good frame


def bursts(frames: int, share: float, mean: float, gen: np.random.Generator) -> NDArray[np.bool_]:
    """Return which frames are lost: a Gilbert-Elliott channel that loses all while it is bad.

    `share` of all frames is lost in the long run, in bursts of `mean` frames (at least 1); both
    times between changes of state are geometric. 0 loses none, 1 all.
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


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return [start, end) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def loss(
    clip: Clip,
    share: float,
    burst_ms: float,
    frame_ms: float,
    gen: np.random.Generator,
    *,
    repeat: bool = False,
    severity: int = 0,
    speech: Speech | None = None,
) -> Changed:
    """Drop frames; a gap is silent, or repeats the last good frame more and more quietly.

    Where chance hits no speech one burst of the mean length is put into it; of a clip without
    speech all is left to chance. Tells of the whole clip how much was lost, and of each gap when
    it was; nothing if there is none.
    """
    n, size = len(clip.samples), max(int(clip.rate * frame_ms / 1000), 1)
    lost_frames = bursts(-(-n // size), share, burst_ms / frame_ms, gen)
    spoken = np.flatnonzero(_spoken(clip, size, speech))
    if share > 0 and len(spoken) and not lost_frames[spoken].any():
        at = int(gen.choice(spoken))
        lost_frames[at : at + max(round(burst_ms / frame_ms), 1)] = True
    gone = _runs(lost_frames)
    if not gone:
        return Changed(clip.samples)
    out = clip.samples.astype(np.float32, copy=True)
    for first, last in gone:
        for k, frame in enumerate(range(first, last)):
            a, b = frame * size, min((frame + 1) * size, n)
            good = clip.samples[(first - 1) * size : first * size] if repeat and first else None
            out[a:b] = 0 if good is None else good[: b - a] * np.float32(_KEEP ** (k + 1))
    spans = [(a * size / clip.rate, min(b * size, n) / clip.rate) for a, b in gone]
    lost = sum(b - a for a, b in spans)
    detail: dict[str, str | float] = {
        "share": lost / clip.seconds if n else 0.0, "asked": share, "burst_ms": burst_ms,
        "frame_ms": frame_ms, "gaps": len(spans), "concealed": "repeat" if repeat else "silence",
    }  # fmt: skip
    whole = effect("network", "loss", (0, clip.seconds), severity, detail)
    return Changed(out, (whole, *(effect("network", "gap", s, severity) for s in spans)))


def _spoken(clip: Clip, size: int, speech: Speech | None) -> NDArray[np.bool_]:
    """Tell of each frame of this many samples whether somebody speaks in it."""
    mask = (speech or clips.alone(clip)).mask
    return np.logical_or.reduceat(mask, np.arange(0, len(mask), size)) if len(mask) else mask


def loops(clip: Clip, places: Sequence[tuple[float, float, int]], *, severity: int = 0) -> Changed:
    """Say short pieces over again: (share of the clip where, milliseconds, times) each.

    The clip grows by what is repeated; joints are faded over 2 ms.
    """
    n, rate = len(clip.samples), clip.rate
    put: list[tuple[int, Samples, float]] = []
    for where, ms, times in sorted(places):
        size = min(max(int(rate * ms / 1000), 1), n)
        end = min(max(int(where * n), size), n)
        piece = _soft(clip.samples[end - size : end], min(rate // 500, size // 2))
        if size:
            put.append((end, np.tile(piece, times), ms))
    return _put_in(clip, [(at, piece, "loop", {"piece_ms": ms}) for at, piece, ms in put], severity)


def _soft(piece: Samples, size: int) -> Samples:
    out = piece.copy()
    if size > 0:
        slope = np.linspace(0, 1, size, dtype=np.float32)
        out[:size] *= slope
        out[len(out) - size :] *= slope[::-1]
    return out


def _put_in(
    clip: Clip, pieces: list[tuple[int, Samples, str, dict[str, str | float]]], severity: int
) -> Changed:
    """Insert pieces before samples of the clip (ascending) and tell when each is heard."""
    parts: list[Samples] = []
    told: list[Effect] = []
    last = grown = 0
    for at, piece, name, detail in pieces:
        parts += [clip.samples[last:at], piece]
        start = (at + grown) / clip.rate
        length = len(piece) / clip.rate
        span = (start, start + length)
        told.append(effect("network", name, span, severity, {**detail, "inserted_s": length}))
        last, grown = at, grown + len(piece)
    samples = np.concatenate([*parts, clip.samples[last:]]).astype(np.float32)
    return Changed(samples, tuple(told), tuple((at, len(piece)) for at, piece, _, _ in pieces))


def jitter(
    clip: Clip,
    mean_ms: float,
    frame_ms: float,
    gen: np.random.Generator,
    *,
    severity: int = 0,
    speech: Speech | None = None,
) -> Changed:
    """Play packets out of a buffer: late ones make it wait, those that are too late are lost.

    Delays are gamma distributed (shape 2) and vary slowly, as queues do. A packet later than the
    buffer (60 ms) by up to 60 ms stalls the sound for that long, and the buffer is then that much
    longer; a packet later still is a silent gap. Stalls put time into the clip. If every packet
    of speech is in time, the slowest of them comes the mean delay too late.
    """
    n, size = len(clip.samples), max(int(clip.rate * frame_ms / 1000), 1)
    delays = _delays(-(-n // size), mean_ms, gen)
    spoken = np.flatnonzero(_spoken(clip, size, speech))
    waits, missed = _late(delays)
    if len(spoken) and not np.isin([*(k for k, _ in waits), *missed], spoken).any():
        waits = sorted([*waits, (int(spoken[np.argmax(delays[spoken])]), mean_ms)])
    if not waits and not missed:
        return Changed(clip.samples)
    gaps = [(k * size, min((k + 1) * size, n)) for k in missed]
    held = clip.samples.astype(np.float32, copy=True)
    for a, b in gaps:
        held[a:b] = 0
    stalls: list[tuple[int, Samples, str, dict[str, str | float]]] = [
        (k * size, np.zeros(int(late * clip.rate / 1000), dtype=np.float32), "stall", {})
        for k, late in waits
    ]
    put = _put_in(Clip(held, clip.rate), stalls, severity)
    lost = moved(tuple(_gaps(gaps, clip.rate, severity)), put.inserted, clip.rate)
    detail: dict[str, str | float] = {
        "mean_ms": mean_ms, "stalls": len(stalls), "gaps": len(gaps),
        "share": sum(b - a for a, b in gaps) / max(n, 1),
    }  # fmt: skip
    span = (0.0, len(put.samples) / clip.rate)
    whole = effect("network", "jitter", span, severity, detail)
    return Changed(put.samples, (whole, *put.effects, *lost), put.inserted)


def _delays(frames: int, mean_ms: float, gen: np.random.Generator) -> NDArray[np.float64]:
    own = gen.gamma(2.0, mean_ms / 2, frames)
    return np.maximum(own, 0.6 * np.concatenate((own[:1], own[:-1])))


def _late(delays: NDArray[np.float64]) -> tuple[list[tuple[int, float]], list[int]]:
    """Return the packets that the sound waits for, with the milliseconds, and those it misses."""
    waits: list[tuple[int, float]] = []
    missed: list[int] = []
    buffer = BUFFER_MS
    for k, delay in enumerate(delays):
        late = float(delay) - buffer
        if late > LATEST_MS:
            missed.append(k)
        elif late > 1.0:
            waits.append((k, late))
            buffer += late
    return waits, missed


def _gaps(spans: list[tuple[int, int]], rate: int, severity: int) -> Iterator[Effect]:
    for a, b in spans:
        yield effect("network", "gap", (a / rate, b / rate), severity)


def moved(
    effects: tuple[Effect, ...], inserted: Sequence[tuple[int, int]], rate: int
) -> tuple[Effect, ...]:
    """Return effects of the clip before as times of the clip into which time was put."""

    def later(at_s: float, *, end: bool = False) -> float:
        # what ends where time is put in ends before it
        sample = at_s * rate - (0.5 if end else -0.5)
        return at_s + sum(many for at, many in inserted if at <= sample) / rate

    if not inserted:
        return effects
    return tuple(
        effect(e.module, e.name, (later(e.start_s), later(e.end_s, end=True)), e.severity, e.detail)
        for e in effects
    )


def tail(clip: Clip, share: float, *, severity: int = 0, speech: Speech | None = None) -> Changed:
    """Cut off the last share of the speech, with a fade of 5 ms; silence is not cut.

    The share is of the span from the first to the last sample on which somebody speaks, without
    time that was put in, so that words are lost and neither the pause after them nor noise. Of a
    clip without speech nothing is cut.
    """
    said = (speech or clips.alone(clip)).span
    if not len(said):
        return Changed(clip.samples)
    keep = max(len(said) - round(share * len(said)), 1)
    end = int(said[keep - 1]) + 1
    out = clip.samples[:end].astype(np.float32, copy=True)
    fade = min(int(_FADE_S * clip.rate), end)
    out[end - fade :] *= np.linspace(1, 0, fade, dtype=np.float32)
    detail: dict[str, str | float] = {
        "cut_s": (len(clip.samples) - end) / clip.rate, "at_s": end / clip.rate, "share": share,
        "speech_s": (len(said) - keep) / clip.rate,
    }  # fmt: skip
    span = ((end - fade) / clip.rate, end / clip.rate)
    return Changed(out, (effect("network", "tail", span, severity, detail),))


def within(effects: tuple[Effect, ...], seconds: float) -> tuple[Effect, ...]:
    """Return the effects of a clip that was cut: none begins after its end, none outlasts it."""
    kept: list[Effect] = []
    for e in effects:
        if e.start_s < seconds:
            span, detail = (e.start_s, min(e.end_s, seconds)), dict(e.detail)
            if "inserted_s" in detail:
                detail["inserted_s"] = min(float(detail["inserted_s"]), span[1] - span[0])
            kept.append(effect(e.module, e.name, span, e.severity, detail))
    return tuple(kept)


def carried(speech: Speech, inserted: Sequence[tuple[int, int]], n: int) -> Speech:
    """Return the speech in the clip, now of n samples, into which time was put."""
    mask, span = speech.mask, speech.span
    if inserted:
        at, many = (np.array(column) for column in zip(*inserted, strict=True))
        mask = np.insert(mask, np.repeat(at, many), False)
        span = span + np.concatenate(([0], np.cumsum(many)))[np.searchsorted(at, span, "right")]
    if len(mask) != n:
        mask = np.concatenate((mask[:n], np.zeros(max(n - len(mask), 0), dtype=np.bool_)))
        span = span[span < n]
    return Speech(speech.power, mask, span)

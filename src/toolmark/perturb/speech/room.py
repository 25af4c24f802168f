"""Rooms: impulse responses, computed once by pyroomacoustics and kept, or read from a folder.

Speech keeps its alignment: the direct path arrives at time 0, whatever the distance, and the
speech-active level stays; what is left of the room is its echoes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import signal

from toolmark.files import atomic_file
from toolmark.perturb.speech import clip as clips
from toolmark.perturb.speech import noise
from toolmark.perturb.speech.clip import RATE, Clip, Samples
from toolmark.perturb.speech.effect import SEVERITIES, Changed, effect

T60_S = {1: (0.15, 0.25), 2: (0.25, 0.40), 3: (0.40, 0.55), 4: (0.55, 0.80)}
"""Reverberation time by severity."""
DISTANCE_M = {1: (0.3, 0.6), 2: (0.5, 0.9), 3: (0.7, 1.2), 4: (1.0, 1.6)}
ROOMS = 6  # of each severity
_VERSION = 2  # of the recipe; another one is another file
_ORDER = 40  # of reflections; later ones lie 25 dB down and more
_FDL = 40  # samples before the peak of a fractional delay in pyroomacoustics
_SOUND_MPS = 343.0


class Response(NamedTuple):
    """An impulse response at RATE; the direct path arrives at sample `lead`.

    Names that agree up to the slash are places in the same room.
    """

    name: str
    samples: Samples
    lead: int
    t60_s: float
    severity: int


def reverberated(clip: Clip, response: Response, *, severity: int | None = None) -> Changed:
    """Return the clip as heard in the room, as long as before; its end is cut, not its echoes."""
    wet = heard(clip, response)
    if wet is clip.samples:
        return Changed(clip.samples)
    detail: dict[str, str | float] = {"room": response.name, "t60_s": response.t60_s}
    strength = response.severity if severity is None else severity
    return Changed(wet, (effect("device", "room", (0, clip.seconds), strength, detail),))


def heard(clip: Clip, response: Response) -> Samples:
    """Return the samples in the room, at the speech-active level they had; silence stays."""
    before = clips.power(clip.samples, clips.active(clip))
    if not before:
        return clip.samples
    taps = clips.resampled(Clip(response.samples, RATE), clip.rate).samples
    lead = round(response.lead * clip.rate / RATE)
    wet = signal.oaconvolve(clip.samples, taps)[lead : lead + len(clip.samples)]
    after = clips.power(wet, clips.active(Clip(wet, clip.rate)))
    if not after:
        return clip.samples
    return (wet * np.float32((before / after) ** 0.5)).astype(np.float32)


def bank(folder: Path, seed: int = 0, rooms: int = ROOMS) -> tuple[Response, ...]:
    """Return the rooms of a seed, two places in each; computed once and kept in the folder.

    A kept file that is damaged is computed anew. About 2 s the first time.
    """
    import pyroomacoustics

    version = f"{_VERSION}-{pyroomacoustics.__version__}"
    path = folder / f"rooms-{version}-{seed}-{rooms}.npz"
    if (kept := _load(path)) is not None:
        return kept
    made = tuple(
        response
        for severity in SEVERITIES
        for k in range(rooms)
        for response in _room(severity, k, seed)
    )
    _save(path, made)
    return made


def _room(severity: int, k: int, seed: int) -> list[Response]:
    """Compute one shoebox room with a near and a second place to speak from."""
    import pyroomacoustics as pra

    gen = noise.generator((seed * 1000 + severity) * 1000 + k)
    size = gen.uniform([3.0, 2.8, 2.4], [6.0, 5.0, 3.0])
    size[:2] += severity * 0.7  # what echoes long is large
    t60 = float(gen.uniform(*T60_S[severity]))
    absorption, _ = pra.inverse_sabine(t60, size)
    ear = gen.uniform(0.35, 0.65, 3) * size
    places = [_place(ear, size, float(gen.uniform(*DISTANCE_M[severity])), gen) for _ in range(2)]
    shoebox = pra.ShoeBox(
        size, fs=RATE, materials=pra.Material(float(absorption)), max_order=_ORDER
    )
    shoebox.add_microphone(ear)
    for place in places:
        shoebox.add_source(place)
    shoebox.compute_rir()
    found = []
    for at, place in enumerate(places):
        lead = round(float(np.linalg.norm(place - ear)) / _SOUND_MPS * RATE) + _FDL
        name = f"s{severity}r{k}/{'ab'[at]}"
        found.append(_response(name, np.asarray(shoebox.rir[0][at]), lead, severity))
    return found


def _place(ear: np.ndarray, size: np.ndarray, away: float, gen: np.random.Generator) -> np.ndarray:
    """Draw a place at about this distance from the ear, half a metre inside the walls."""
    angle = gen.uniform(0, 2 * np.pi)
    step = away * np.array([np.cos(angle), np.sin(angle), 0.1])
    return np.clip(ear + step, 0.5, size - 0.5)


def _response(name: str, taps: np.ndarray, lead: int, severity: int) -> Response:
    """Return a response from just before its direct path to where 60 dB are gone, at full scale."""
    skip = max(lead - _FDL, 0)
    taps = taps[skip:]
    left = np.cumsum(np.square(taps)[::-1])[::-1]
    long = int(np.count_nonzero(left > left[0] * 1e-6)) if len(taps) else 0
    taps = (taps[:long] / (np.abs(taps).max() or 1.0)).astype(np.float32)
    return Response(name, taps, lead - skip, round(t60(taps), 3), severity)


def t60(taps: Samples, rate: int = RATE) -> float:
    """Return the reverberation time (s) by Schroeder's integral, from -5 to -25 dB; 0 of none."""
    energy = np.cumsum(np.square(taps, dtype=np.float64)[::-1])[::-1]
    if not len(energy) or energy[0] <= 0:
        return 0.0
    fall = 10 * np.log10(np.maximum(energy / energy[0], 1e-12))
    first, last = int(np.argmax(fall <= -5)), int(np.argmax(fall <= -25))
    return 3 * (last - first) / rate if last > first else 0.0


def measured(name: str, clip: Clip) -> Response:
    """Return a recorded response: the direct path is the first peak within 6 dB of the highest."""
    taps = np.abs(clips.resampled(clip).samples)
    lead = int(np.argmax(taps >= 0.5 * taps.max()))
    made = _response(name, clips.resampled(clip).samples, lead, 0)
    grade = next((s for s in SEVERITIES if made.t60_s < T60_S[s][1]), SEVERITIES[-1])
    return made._replace(severity=grade)


def _save(path: Path, made: Sequence[Response]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as draft, draft.open("wb") as file:
        np.savez(
            file,
            names=np.array([one.name for one in made]),
            lengths=np.array([len(one.samples) for one in made]),
            leads=np.array([one.lead for one in made]),
            t60s=np.array([one.t60_s for one in made]),
            severities=np.array([one.severity for one in made]),
            samples=np.concatenate([one.samples for one in made]),
        )


def _load(path: Path) -> tuple[Response, ...] | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            columns = [kept[key] for key in ("names", "lengths", "leads", "t60s", "severities")]
            samples = kept["samples"].astype(np.float32)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    ends = np.cumsum(columns[1])
    if len({len(column) for column in columns}) > 1 or not len(ends) or ends[-1] != len(samples):
        return None
    taps = np.split(samples, ends[:-1])
    return tuple(
        Response(str(name), h, int(lead), float(long), int(severity))
        for h, name, _, lead, long, severity in zip(taps, *columns, strict=True)
    )

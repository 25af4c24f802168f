"""Rooms: impulse responses, computed once by pyroomacoustics and stored, or from recordings.

Speech stays aligned: the direct path arrives at time 0, whatever the distance, and the
speech-active level stays the same. A room only adds its echoes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import signal

from toolmark.core.files import atomic_file
from toolmark.perturb.speech import audio_clip, synthetic_noise
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip, Samples
from toolmark.perturb.speech.effect_timeline import SEVERITIES, StageResult, make_effect

T60_S = {1: (0.15, 0.25), 2: (0.25, 0.40), 3: (0.40, 0.55), 4: (0.55, 0.80)}
"""Reverberation time (s) by severity."""
DISTANCE_M = {1: (0.3, 0.6), 2: (0.5, 0.9), 3: (0.7, 1.2), 4: (1.0, 1.6)}
ROOMS_PER_SEVERITY = 6
_RECIPE_VERSION = 2  # part of the file name: increase it when the computation changes
_MAX_REFLECTIONS = 40  # later reflections are at least 25 dB weaker
_FRACTIONAL_DELAY = 40  # samples before the peak of a fractional delay in pyroomacoustics
_SOUND_MPS = 343.0


class RoomResponse(NamedTuple):
    """An impulse response at RATE_HZ; the direct path arrives at sample `direct_sample`.

    Names that are equal up to the slash are places in the same room.
    """

    name: str
    samples: Samples
    direct_sample: int
    t60_s: float
    severity: int


def apply_reverberation(
    clip: Clip, response: RoomResponse, *, severity: int | None = None
) -> StageResult:
    """Return the clip as heard in the room, with its length; echoes after its end are dropped."""
    wet = convolve_room(clip, response)
    if wet is clip.samples:
        return StageResult(clip.samples)
    detail: dict[str, str | float] = {"room": response.name, "t60_s": response.t60_s}
    strength = response.severity if severity is None else severity
    return StageResult(wet, (make_effect("device", "room", (0, clip.seconds), strength, detail),))


def convolve_room(clip: Clip, response: RoomResponse) -> Samples:
    """Return the samples in the room, with the same speech-active level; silence stays."""
    before = audio_clip.mean_square(clip.samples, audio_clip.speech_mask(clip))
    if not before:
        return clip.samples
    taps = audio_clip.resample_clip(Clip(response.samples, RATE_HZ), clip.rate).samples
    lead = round(response.direct_sample * clip.rate / RATE_HZ)
    wet = signal.oaconvolve(clip.samples, taps)[lead : lead + len(clip.samples)]
    after = audio_clip.mean_square(wet, audio_clip.speech_mask(Clip(wet, clip.rate)))
    if not after:
        return clip.samples
    return (wet * np.float32((before / after) ** 0.5)).astype(np.float32)


def load_or_compute_rooms(
    folder: Path, seed: int = 0, rooms: int = ROOMS_PER_SEVERITY
) -> tuple[RoomResponse, ...]:
    """Return the rooms of a seed, two places in each; computed once and stored in the folder.

    A damaged file is computed again. The first call takes about 2 s.
    """
    import pyroomacoustics

    version = f"{_RECIPE_VERSION}-{pyroomacoustics.__version__}"
    path = folder / f"rooms-{version}-{seed}-{rooms}.npz"
    if (stored := _load_responses(path)) is not None:
        return stored
    computed = tuple(
        response
        for severity in SEVERITIES
        for k in range(rooms)
        for response in _compute_room(severity, k, seed)
    )
    _save_responses(path, computed)
    return computed


def _compute_room(severity: int, k: int, seed: int) -> list[RoomResponse]:
    """Compute one shoebox room with a near and a second place for a talker."""
    import pyroomacoustics as pra

    gen = synthetic_noise.noise_generator((seed * 1000 + severity) * 1000 + k)
    size = gen.uniform([3.0, 2.8, 2.4], [6.0, 5.0, 3.0])
    size[:2] += severity * 0.7  # rooms with long echoes are large
    t60 = float(gen.uniform(*T60_S[severity]))
    absorption, _ = pra.inverse_sabine(t60, size)
    microphone = gen.uniform(0.35, 0.65, 3) * size
    places = [
        _draw_place(microphone, size, float(gen.uniform(*DISTANCE_M[severity])), gen)
        for _ in range(2)
    ]
    shoebox = pra.ShoeBox(
        size, fs=RATE_HZ, materials=pra.Material(float(absorption)), max_order=_MAX_REFLECTIONS
    )
    shoebox.add_microphone(microphone)
    for place in places:
        shoebox.add_source(place)
    shoebox.compute_rir()
    found = []
    for at, place in enumerate(places):
        lead = (
            round(float(np.linalg.norm(place - microphone)) / _SOUND_MPS * RATE_HZ)
            + _FRACTIONAL_DELAY
        )
        name = f"s{severity}r{k}/{'ab'[at]}"
        found.append(_make_response(name, np.asarray(shoebox.rir[0][at]), lead, severity))
    return found


def _draw_place(
    microphone: np.ndarray, size: np.ndarray, away: float, gen: np.random.Generator
) -> np.ndarray:
    """Draw a place at about this distance from the microphone, half a metre inside the walls."""
    angle = gen.uniform(0, 2 * np.pi)
    step = away * np.array([np.cos(angle), np.sin(angle), 0.1])
    return np.clip(microphone + step, 0.5, size - 0.5)


def _make_response(name: str, taps: np.ndarray, lead: int, severity: int) -> RoomResponse:
    """Return a response at full scale, from just before its direct path to its decay by 60 dB."""
    skip = max(lead - _FRACTIONAL_DELAY, 0)
    taps = taps[skip:]
    energy_left = np.cumsum(np.square(taps)[::-1])[::-1]
    length = int(np.count_nonzero(energy_left > energy_left[0] * 1e-6)) if len(taps) else 0
    taps = (taps[:length] / (np.abs(taps).max() or 1.0)).astype(np.float32)
    return RoomResponse(name, taps, lead - skip, round(reverberation_time(taps), 3), severity)


def reverberation_time(taps: Samples, rate: int = RATE_HZ) -> float:
    """Return the reverberation time (s) by Schroeder's integral, -5 to -25 dB; 0 without echoes."""
    energy = np.cumsum(np.square(taps, dtype=np.float64)[::-1])[::-1]
    if not len(energy) or energy[0] <= 0:
        return 0.0
    fall = 10 * np.log10(np.maximum(energy / energy[0], 1e-12))
    first, last = int(np.argmax(fall <= -5)), int(np.argmax(fall <= -25))
    return 3 * (last - first) / rate if last > first else 0.0


def response_from_recording(name: str, clip: Clip) -> RoomResponse:
    """Return a recorded response: the direct path is the first peak within 6 dB of the highest."""
    taps = np.abs(audio_clip.resample_clip(clip).samples)
    lead = int(np.argmax(taps >= 0.5 * taps.max()))
    response = _make_response(name, audio_clip.resample_clip(clip).samples, lead, 0)
    grade = next((s for s in SEVERITIES if response.t60_s < T60_S[s][1]), SEVERITIES[-1])
    return response._replace(severity=grade)


def _save_responses(path: Path, responses: Sequence[RoomResponse]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as draft, draft.open("wb") as file:
        np.savez(
            file,
            names=np.array([one.name for one in responses]),
            lengths=np.array([len(one.samples) for one in responses]),
            leads=np.array([one.direct_sample for one in responses]),
            t60s=np.array([one.t60_s for one in responses]),
            severities=np.array([one.severity for one in responses]),
            samples=np.concatenate([one.samples for one in responses]),
        )


def _load_responses(path: Path) -> tuple[RoomResponse, ...] | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            columns = [stored[key] for key in ("names", "lengths", "leads", "t60s", "severities")]
            samples = stored["samples"].astype(np.float32)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    ends = np.cumsum(columns[1])
    if len({len(column) for column in columns}) > 1 or not len(ends) or ends[-1] != len(samples):
        return None
    taps = np.split(samples, ends[:-1])
    return tuple(
        RoomResponse(str(name), h, int(lead), float(long), int(severity))
        for h, name, _, lead, long, severity in zip(taps, *columns, strict=True)
    )

"""Ratios and cut tails are those of the speech alone, whatever else sounds in the clip."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs
from tests.perturb.speech.spoken import TEXTS, bank, speech

from toolmark.core import seeds
from toolmark.perturb.speech import (
    acoustic_chain,
    acoustic_conditions,
    acoustic_drawing,
    acoustic_settings,
    audio_clip,
    network_faults,
)
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip
from toolmark.perturb.speech.effect_timeline import Effect

MIXTURES = (
    *acoustic_conditions.PRESET_SEVERITIES,
    "talker@4+snr=20",
    "event@4+rub@4",
    "talker@4+bed@4+event@4+rub@4",
    "room@4+gain@4+talker@4+snr=0+event@4+rub@4",
)
MIXED = ("talker", "bed", "event", "rub")


def _said(k: int) -> Clip:
    """Return speech so quiet that no sum passes full scale: nothing is lowered as a whole."""
    return Clip(speech()[k % 6].samples * np.float32(0.02), RATE_HZ)


def _drawn(condition: str, k: int) -> acoustic_settings.AcousticSettings:
    rng = seeds.make_rng(k, "layers", 0, condition)
    return acoustic_drawing.draw_settings(condition, rng, bank(), avoid=(TEXTS[k % 6],))


def _after(said: Clip, settings: acoustic_settings.AcousticSettings, many: int) -> Clip:
    stages = settings.stages[:many]
    return acoustic_chain.apply_settings(
        said, structs.replace(settings, stages=stages), bank()
    ).clip


def _span(reported: Effect) -> slice:
    return slice(round(reported.start_s * RATE_HZ), round(reported.end_s * RATE_HZ))


def _loud(added: audio_clip.Samples, reported: Effect, spoken: np.ndarray) -> float:
    """Return the mean square of what was added, as the docs say that it is measured."""
    part = added[_span(reported)]
    if reported.name == "bed":
        return audio_clip.mean_square(added, spoken)
    if reported.name == "talker":
        return audio_clip.mean_square(part, audio_clip.speech_mask(Clip(part, RATE_HZ)))
    if reported.name == "event":
        sums = np.concatenate(([0], np.cumsum(np.square(part, dtype=np.float64))))
        return float((sums[1600:] - sums[:-1600]).max()) / 1600 if len(part) >= 1600 else 0.0
    return audio_clip.mean_square(part)


@pytest.mark.parametrize("condition", MIXTURES)
def test_every_layer_has_its_ratio_to_the_speech_alone(condition: str) -> None:
    worst, seen = 0.0, set()
    for k in range(24):
        said, settings = _said(k), _drawn(condition, k)
        names = [stage.name for stage in settings.stages]
        first = sum(name in ("room", "gain") for name in names)
        alone = _after(said, settings, first)
        spoken = audio_clip.speech_mask(alone)
        for at in range(first, len(names)):
            if names[at] not in MIXED:
                break
            one = structs.replace(settings, stages=settings.stages[: at + 1])
            heard = acoustic_chain.apply_settings(said, one, bank())
            before = _after(said, settings, at).samples.astype(np.float64)
            added = (heard.clip.samples - before).astype(np.float32)
            layers = [e for e in heard.timeline if e.name == names[at]]
            for reported in layers:
                loud = _loud(added, reported, spoken)
                if not loud:  # too short an event to have its loudest 100 ms
                    continue
                found = 10 * np.log10(audio_clip.mean_square(alone.samples, spoken) / loud)
                worst = max(worst, abs(float(found) - float(reported.detail["snr_db"])))
                seen.add(reported.name)
    assert worst < 0.1
    asked = {"bed", "talker"} if condition in acoustic_conditions.PRESET_SEVERITIES else set()
    assert seen >= asked and seen


def _cut(said: Clip, heard: acoustic_settings.HeardClip) -> tuple[float, float]:
    """Return the seconds of speech that are gone from the end, and those of all speech."""
    put = sum(float(e.detail.get("inserted_s", 0)) for e in heard.timeline)
    left = len(heard.clip.samples) - round(put * RATE_HZ)
    spoken = np.flatnonzero(audio_clip.speech_mask(said))
    return (spoken[-1] + 1 - left) / RATE_HZ, (spoken[-1] + 1 - spoken[0]) / RATE_HZ


@pytest.mark.parametrize(
    "condition",
    ["tail", "snr=20+tail", "snr=0:white+tail", "room@4+talker@4+bed@4+event@4+rub@4+tail",
     "bed@4+loss@4+jitter@4+loop@4+tail", "harsh+tail", "noisy+tail"],
)  # fmt: skip
def test_a_tail_cuts_its_share_of_real_speech_under_any_noise(condition: str) -> None:
    for k in range(20):
        said, settings = speech()[k % 6], _drawn(condition, k)
        if [stage.name for stage in settings.stages].count("tail") > 1:
            continue
        heard = acoustic_chain.apply_settings(said, settings, bank())
        (reported,) = [e for e in heard.timeline if e.name == "tail"]
        gone, whole = _cut(said, heard)
        assert gone == pytest.approx(float(reported.detail["speech_s"]), abs=1e-3)
        assert gone == pytest.approx(float(reported.detail["share"]) * whole, abs=1e-3)
        assert gone > 0.03


def test_noise_without_speech_has_no_tail() -> None:
    silent = Clip(np.zeros(2 * RATE_HZ, dtype=np.float32), RATE_HZ)
    heard = acoustic_chain.apply_settings(silent, _drawn("snr=0:white+tail@4", 0), bank())
    assert [e.name for e in heard.timeline] == ["bed"]
    assert len(heard.clip.samples) == len(silent.samples)


@pytest.mark.parametrize("severity", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["loss", "jitter"])
def test_what_is_listed_has_happened_to_the_speech(name: str, severity: int) -> None:
    for k in range(150):
        said = speech()[k % 6]
        spoken = audio_clip.speech_mask(said)
        heard = acoustic_chain.apply_settings(said, _drawn(f"{name}@{severity}", k), bank())
        assert not np.array_equal(heard.clip.samples, said.samples)
        put, hit = 0, False
        for reported in heard.timeline:
            if reported.name in ("gap", "stall"):
                first = round(reported.start_s * RATE_HZ) - put
                put += round(float(reported.detail.get("inserted_s", 0)) * RATE_HZ)
                size = (
                    640
                    if reported.name == "stall"
                    else _span(reported).stop - _span(reported).start
                )
                hit = hit or bool(spoken[first : first + size].any())
        assert hit


@pytest.mark.parametrize("name", ["loss", "jitter"])
def test_what_did_nothing_is_not_listed(name: str) -> None:
    silent = Clip(np.zeros(RATE_HZ, dtype=np.float32), RATE_HZ)
    for k in range(40):
        heard = acoustic_chain.apply_settings(silent, _drawn(f"{name}@1", k), bank())
        assert not heard.timeline or len(heard.timeline) > 1


def test_speech_moves_with_the_time_that_is_put_in() -> None:
    said = speech()[1]
    alone = audio_clip.measure_speech(said)
    put = ((4000, 100), (4000, 20), (30_000, 7))
    moved = network_faults.shift_speech(alone, put, len(said.samples) + 127)
    marked = np.insert(said.samples, [4000] * 120 + [30_000] * 7, 9.0)
    assert np.array_equal(marked[moved.span], said.samples[alone.span])
    assert np.array_equal(marked[moved.mask], said.samples[alone.mask])
    assert moved.power == alone.power
    shorter = network_faults.shift_speech(moved, (), 9000)
    assert len(shorter.mask) == 9000 and shorter.span[-1] < 9000


def test_what_is_cut_off_put_no_time_in() -> None:
    said = speech()[0]
    for k in range(30):
        heard = acoustic_chain.apply_settings(said, _drawn("loop@4+jitter@4+tail@4", k), bank())
        for reported in heard.timeline:
            inside = reported.end_s - reported.start_s
            assert float(reported.detail.get("inserted_s", 0)) <= inside + 1e-5


def test_a_codec_gets_sound_that_it_need_not_cut() -> None:
    loud = Clip(speech()[0].samples * np.float32(8), RATE_HZ)
    settings = _drawn("mu-law", 0)
    heard = acoustic_chain.apply_settings(loud, settings, bank())
    quiet = acoustic_chain.apply_settings(
        Clip(loud.samples / np.float32(16), RATE_HZ), settings, bank()
    )
    shape = [one.clip.samples / np.abs(one.clip.samples).max() for one in (heard, quiet)]
    assert np.abs(shape[0] - shape[1]).max() < 0.05


@pytest.mark.parametrize("condition", ["snr=-10:white", "talker@4+event@4", "room@4+snr=0"])
def test_the_place_of_the_speech_is_known_under_any_noise(condition: str) -> None:
    for k in range(4):
        said = _said(k)
        spoken = np.flatnonzero(audio_clip.speech_mask(said)) / RATE_HZ
        heard = acoustic_chain.apply_settings(said, _drawn(condition, k), bank())
        assert heard.span_s == pytest.approx((spoken[0], spoken[-1]), abs=1e-3)


def test_silence_has_no_place_of_speech() -> None:
    silent = Clip(np.zeros(RATE_HZ, dtype=np.float32), RATE_HZ)
    assert acoustic_chain.apply_settings(silent, _drawn("snr=0:white", 0), bank()).span_s is None

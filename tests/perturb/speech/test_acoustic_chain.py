"""The whole stage: drawn once, applied the same anywhere, told truly."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from tests.perturb.speech.spoken import TEXTS, bank, made, speech

from toolmark.core import json_codec, seeds
from toolmark.core.errors import UsageError
from toolmark.perturb.speech import (
    acoustic_chain,
    acoustic_conditions,
    acoustic_drawing,
    acoustic_settings,
    audio_clip,
    sound_folders,
)
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip
from toolmark.perturb.speech.effect_timeline import EFFECT_MODULES

ALL = (
    *acoustic_conditions.CONDITIONS,
    "snr=20:babble",
    "loss@4+room@2+babble@1+event",
    "noisy+gsm",
)
QUICK = [name for name in ALL if name != "opus"]


def _drawn(condition: str, k: int = 0) -> acoustic_settings.AcousticSettings:
    return acoustic_drawing.draw_settings(
        condition, seeds.make_rng(7, f"i{k}", 0, "acoustics"), bank()
    )


@pytest.mark.parametrize("condition", ALL)
def test_the_same_twice_within_bounds_and_the_clip_is_left_alone(condition: str) -> None:
    said = speech()[0]
    before = said.samples.tobytes()
    drawn = _drawn(condition)
    assert drawn == _drawn(condition)
    assert (
        json_codec.decode_record(
            json_codec.encode_record(drawn), acoustic_settings.AcousticSettings
        )
        == drawn
    )
    one, two = (acoustic_chain.apply_settings(said, drawn, bank()) for _ in range(2))
    assert (
        audio_clip.encode_wav(one.clip) == audio_clip.encode_wav(two.clip)
        and one.timeline == two.timeline
    )
    assert said.samples.tobytes() == before
    assert one.clip.samples.dtype == np.float32 and one.clip.rate == RATE_HZ
    assert np.isfinite(one.clip.samples).all() and np.abs(one.clip.samples).max() <= 1
    for reported in one.timeline:
        assert 0 <= reported.start_s <= reported.end_s <= one.clip.seconds + 1e-6
        assert reported.module in EFFECT_MODULES
    starts = [reported.start_s for reported in one.timeline]
    assert starts == sorted(starts)
    if condition != "clean":
        assert drawn.stages


def test_clean_is_the_clip_itself() -> None:
    heard = acoustic_chain.apply_settings(speech()[0], _drawn("clean"), bank())
    assert np.array_equal(heard.clip.samples, speech()[0].samples) and not heard.timeline


def _hashes(order: list[int]) -> dict[int, str]:
    return {
        k: hashlib.sha256(
            audio_clip.encode_wav(
                acoustic_chain.apply_settings(speech()[k % 6], _drawn("noisy", k), bank()).clip
            )
        ).hexdigest()
        for k in order
    }


def test_bytes_do_not_depend_on_order_or_process() -> None:
    here = _hashes(list(range(8)))
    assert _hashes(list(range(7, -1, -1))) == here
    code = "from tests.perturb.speech import test_acoustic_chain as t; print(t._hashes([5, 2]))"
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=root, capture_output=True, text=True
    )
    assert done.stdout.strip() == str({5: here[5], 2: here[2]}), done.stderr


@pytest.mark.parametrize("condition", QUICK)
@pytest.mark.parametrize("n", [0, 1, 100])
def test_tiny_clips_pass(condition: str, n: int) -> None:
    for value in (0.0, 0.3, 1.0):
        tiny = Clip(np.full(n, value, dtype=np.float32), RATE_HZ)
        heard = acoustic_chain.apply_settings(tiny, _drawn(condition), bank())
        assert np.isfinite(heard.clip.samples).all()
        assert not n or np.abs(heard.clip.samples).max() <= 1
        for reported in heard.timeline:
            assert 0 <= reported.start_s <= reported.end_s <= heard.clip.seconds + 1e-6


@pytest.mark.parametrize("condition", ["noisy", "harsh", "harsh+mu-law", "babble@4+event"])
def test_silent_long_loud_and_broken_clips_pass(condition: str) -> None:
    silent = Clip(np.zeros(3 * RATE_HZ, dtype=np.float32), RATE_HZ)
    loud = Clip(np.sign(made(3).samples), RATE_HZ)
    broken = Clip(np.full(RATE_HZ, np.nan, dtype=np.float32), RATE_HZ)
    for said in (silent, made(60), loud, broken, Clip(made(2).samples, 24_000)):
        heard = acoustic_chain.apply_settings(said, _drawn(condition), bank())
        assert np.isfinite(heard.clip.samples).all() and np.abs(heard.clip.samples).max() <= 1
        assert heard.clip.rate == said.rate


def test_an_event_is_heard_where_the_timeline_says_after_loops_jitter_and_a_cut() -> None:
    found = 0
    for k in range(30):
        condition = "event@4+loop@4+jitter@2+tail@1"
        silent = Clip(np.full(4 * RATE_HZ, 1e-4, dtype=np.float32), RATE_HZ)
        heard = acoustic_chain.apply_settings(silent, _drawn(condition, k), bank())
        reported = next(e for e in heard.timeline if e.name == "event")
        first = round(reported.start_s * RATE_HZ)
        if any(e.start_s - 0.2 < reported.start_s < e.end_s + 0.2 for e in heard.timeline
               if e.name in ("stall", "gap", "loop")):  # fmt: skip
            continue
        found += 1
        after = heard.clip.samples[first : first + 1600]
        assert audio_clip.mean_square(after) > 2 * audio_clip.mean_square(
            heard.clip.samples[first - 1600 : first]
        )
    assert found > 10


def test_every_module_and_preset_does_what_it_is_called() -> None:
    for module in EFFECT_MODULES:
        names = {stage.name for k in range(40) for stage in _drawn(module, k).stages}
        assert names == set(acoustic_conditions.MODULE_EFFECTS[module])
    for preset, (low, high) in acoustic_conditions.PRESET_SEVERITIES.items():
        drawn = [_drawn(preset, k) for k in range(60)]
        grades = {stage.severity for one in drawn for stage in one.stages}
        assert grades == set(range(low, high + 1))
        for one in drawn:
            assert {"bed", "talker", "loss", "room"} <= {stage.name for stage in one.stages}


@pytest.mark.parametrize(
    ("condition", "family"),
    [
        ("clean", "clean"), ("snr=20", "snr"), ("snr=-5:cafe", "snr:cafe"), ("loss@3", "loss"),
        ("snr=10:cafe+loss@2 + mu-law", "snr:cafe+loss+mu-law"), ("noisy", "noisy"),
        ("audiomentations:Gain@2", "audiomentations:Gain"),
    ],
)  # fmt: skip
def test_a_family_is_its_conditions_without_their_strengths(condition: str, family: str) -> None:
    assert acoustic_conditions.condition_family(condition) == family
    assert acoustic_conditions.condition_family(family) == family


@pytest.mark.parametrize("name", ["talker", "bed", "event", "room", "loss", "overdrive"])
def test_steps_drawn_alike_differ_in_strength_alone(name: str) -> None:
    reported = {"snr_db", "share", "burst_ms", "drive_db", "room"}
    for k in range(20):
        drawn = [_drawn(f"{name}@{severity}", k).stages for severity in (1, 2, 3, 4)]
        saved = [
            {key: value for key, value in stage.values.items() if key not in reported}
            for [stage] in drawn
        ]
        assert all(values == saved[0] for values in saved)
        assert len({stage.seed for [stage] in drawn}) == 1
        for key in {"snr_db", "share", "drive_db"} & set(drawn[0][0].values):
            strengths = [float(stage.values[key]) for [stage] in drawn]
            assert strengths == sorted(strengths, reverse=key == "snr_db")
            assert strengths[0] != strengths[-1]


def test_stages_stand_in_the_order_of_sound_whatever_the_order_of_words() -> None:
    names = [stage.name for stage in _drawn("tail+loss+bed+gsm+room+talker").stages]
    assert names == ["room", "talker", "bed", "codec", "loss", "tail"]


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("nosy", "did you mean: noisy"), ("loss@5", "severity"), ("loss@", "severity"),
        ("noisy@2", "no acoustic condition"), ("", "no acoustic condition"),
        ("snr=", "write a ratio"), ("snr=nan", "write a ratio"), ("snr=1e9", "write a ratio"),
        ("snr=10:bable", "did you mean: babble"), ("codec", "no acoustic condition"),
        ("snr=-60", "write a ratio of -20 to 100 dB"), ("snr=-20.1", "write a ratio"),
        ("bed+", "no acoustic condition"),
    ],
)  # fmt: skip
def test_unknown_conditions_say_what_there_is(condition: str, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        _drawn(condition)


@pytest.mark.parametrize(("condition", "text"), [("room", "rooms="), ("babble", "babble=")])
def test_what_the_bank_lacks_is_named(condition: str, text: str) -> None:
    rng = seeds.make_rng(0, "x", 0, "")
    with pytest.raises(UsageError, match=text):
        acoustic_drawing.draw_settings(condition, rng)
    with pytest.raises(UsageError, match="the same bank"):
        acoustic_chain.apply_settings(speech()[0], _drawn("talker"), bank()._replace(talks=()))


def test_others_never_say_what_is_to_be_avoided() -> None:
    for k in range(50):
        drawn = acoustic_drawing.draw_settings(
            "talker", seeds.make_rng(k, "x", 0, ""), bank(), avoid=TEXTS[:5]
        )
        assert drawn.stages[0].values["talk"] == "t5"


def test_recorded_noises_take_the_place_of_synthetic_ones(tmp_path: Path) -> None:
    hiss = np.random.Generator(np.random.PCG64(1)).standard_normal(48_000) * 0.1
    soundfile.write(tmp_path / "fan.wav", hiss, 48_000)
    collected = bank()._replace(noises=sound_folders.scan_folder(tmp_path).noises)
    drawn = acoustic_drawing.draw_settings("bed@2", seeds.make_rng(0, "x", 0, ""), collected)
    assert drawn.stages[0].values["noise"] == "file:fan.wav"
    said = speech()[0]
    heard = acoustic_chain.apply_settings(said, drawn, collected)
    mask = audio_clip.speech_mask(said)
    left = heard.clip.samples.astype(np.float64) - said.samples
    found = 10 * np.log10(
        audio_clip.mean_square(said.samples, mask) / audio_clip.mean_square(left, mask)
    )
    assert found == pytest.approx(float(drawn.stages[0].values["snr_db"]), abs=0.1)


def test_an_optional_package_is_named_or_works_and_leaves_the_generators_alone() -> None:
    pytest.importorskip("audiomentations")
    drawn = _drawn("audiomentations:AddGaussianNoise+tail@1")
    random.seed(1)
    np.random.seed(1)
    state = random.getstate(), repr(np.random.get_state())
    one, two = (acoustic_chain.apply_settings(speech()[0], drawn, bank()) for _ in range(2))
    assert audio_clip.encode_wav(one.clip) == audio_clip.encode_wav(two.clip)
    assert state == (random.getstate(), repr(np.random.get_state()))
    assert not np.array_equal(one.clip.samples[:8000], speech()[0].samples[:8000])
    for name in ("Compose", "sys", "NoSuch", "__init__", "os.system"):
        with pytest.raises(UsageError, match=repr(name)):
            _drawn(f"audiomentations:{name}")

"""Rooms: computed once, kept without pickles, aligned with the direct path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.perturb.speech.spoken import bank, speech

from toolmark.perturb.speech import audio_clip, room_responses
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip


def test_the_bank_depends_on_its_seed_and_is_stored(tmp_path: Path) -> None:
    one = room_responses.load_or_compute_rooms(tmp_path / "a", seed=3, rooms=1)
    (path,) = (tmp_path / "a").iterdir()
    stamp = path.stat().st_mtime_ns
    again = room_responses.load_or_compute_rooms(tmp_path / "a", seed=3, rooms=1)
    fresh = room_responses.load_or_compute_rooms(tmp_path / "b", 3, 1)
    assert path.stat().st_mtime_ns == stamp, "computed once"
    for other in (again, fresh):
        for a, b in zip(one, other, strict=True):
            assert a.samples.tobytes() == b.samples.tobytes() and a[2:] == b[2:]
    assert [r.severity for r in one] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert (
        room_responses.load_or_compute_rooms(tmp_path / "a", seed=4, rooms=1)[0].t60_s
        != one[0].t60_s
    )


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04junk", b"not a file of arrays"])
def test_a_damaged_file_is_computed_anew(tmp_path: Path, damage: bytes) -> None:
    one = room_responses.load_or_compute_rooms(tmp_path, rooms=1)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage or whole[: len(whole) // 2])
    again = room_responses.load_or_compute_rooms(tmp_path, rooms=1)
    assert again[0].samples.tobytes() == one[0].samples.tobytes()
    assert len(list(tmp_path.iterdir())) == 1, "no drafts are left"


def test_an_array_of_objects_is_not_unpickled(tmp_path: Path) -> None:
    room_responses.load_or_compute_rooms(tmp_path, rooms=1)
    (path,) = tmp_path.iterdir()
    np.savez(path.with_suffix(""), names=np.array([{"a": 1}], dtype=object))
    assert len(room_responses.load_or_compute_rooms(tmp_path, rooms=1)) == 8


def test_speech_keeps_its_place_its_length_and_its_level() -> None:
    said = speech()[1]
    for response in bank().rooms:
        done = room_responses.apply_reverberation(said, response)
        assert len(done.samples) == len(said.samples)
        assert done.effects[0].detail["t60_s"] == response.t60_s
        wet = Clip(done.samples, RATE_HZ)
        levels = [
            audio_clip.mean_square(one.samples, audio_clip.speech_mask(one)) for one in (said, wet)
        ]
        assert levels[0] == pytest.approx(levels[1], rel=1e-3)


def test_the_direct_path_arrives_at_once() -> None:
    for response in bank().rooms:
        click = np.zeros(RATE_HZ, dtype=np.float32)
        click[2000] = 1.0
        wet = np.abs(room_responses.convolve_room(Clip(click, RATE_HZ), response))
        assert wet[2000] > 0.5 * wet.max(), response.name
        assert wet[:1998].max() < 0.3 * wet.max(), response.name


def test_rooms_echo_longer_with_severity() -> None:
    mean = [np.mean([r.t60_s for r in bank().rooms if r.severity == s]) for s in (1, 2, 3, 4)]
    assert mean == sorted(mean)


def test_reverberation_time_is_read_off_a_known_decay() -> None:
    n = RATE_HZ
    gen = np.random.Generator(np.random.PCG64(1))
    decay = 10 ** (-3 * np.arange(n) / RATE_HZ / 0.4)  # 60 dB in 0.4 s
    taps = (gen.standard_normal(n) * decay).astype(np.float32)
    assert room_responses.reverberation_time(taps) == pytest.approx(0.4, rel=0.05)
    assert room_responses.reverberation_time(np.zeros(100, dtype=np.float32)) == 0


def test_a_recorded_response_is_cut_to_its_direct_path() -> None:
    taps = np.zeros(RATE_HZ, dtype=np.float32)
    taps[3000], taps[3400] = 1.0, 0.5
    response = room_responses.response_from_recording("hall", Clip(taps, RATE_HZ))
    assert response.samples[response.direct_sample] == 1.0
    said = speech()[0]
    wet = room_responses.convolve_room(said, response)
    gain = float(np.dot(wet, said.samples) / np.dot(said.samples, said.samples))
    late = np.zeros_like(said.samples)
    late[400:] = 0.5 * said.samples[:-400]
    assert np.allclose(wet, gain * (said.samples + late) / (1 + 0), atol=0.05)

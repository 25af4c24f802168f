"""Folders of recorded sound, good and bad."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile

from toolmark.core.errors import DataError
from toolmark.perturb.speech import audio_clip, room_responses, sound_folders, synthetic_noise
from toolmark.perturb.speech.audio_clip import RATE_HZ


def _hiss(seconds: float, rate: int = RATE_HZ, channels: int = 1, seed: int = 0) -> np.ndarray:
    gen = np.random.Generator(np.random.PCG64(seed))
    return gen.standard_normal((round(seconds * rate), channels)) * 0.1


def _put(path: Path, seconds: float = 1.0, rate: int = RATE_HZ, channels: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, _hiss(seconds, rate, channels), rate)


def _take(found: sound_folders.SoundStretch, n: int = RATE_HZ, seed: int = 0) -> audio_clip.Samples:
    return sound_folders.draw_samples(found, n, RATE_HZ, synthetic_noise.noise_generator(seed))


LAYOUTS = {
    "musan": ("noise/free-sound/a.wav", "music/fma/b.wav", "speech/librivox/c.wav"),
    "chime3": ("BGD_150203_010_CAF.CH1.wav", "BGD_150203_010_STR.CH2.wav"),
    "demand": ("DKITCHEN/ch01.wav", "TMETRO/ch01.wav", "TMETRO/ch16.wav"),
    "wham": ("tr/a.wav", "cv/b.wav", "tt/c.wav"),
    "rirs": (
        "pointsource_noises/n.wav", "simulated_rirs/smallroom/Room001/r.wav",
        "real_rirs_isotropic_noises/RVB2014_type1_rir_largeroom1_far_angla.wav",
        "real_rirs_isotropic_noises/RVB2014_type1_noise_largeroom1_1.wav",
    ),
    "tree": ("cars/one.flac", "birds/deep/two.ogg"),
}  # fmt: skip
KINDS = {
    "musan": {"musan:noise": "noise", "musan:music": "music", "musan:speech": "speech"},
    "chime3": {"chime3:CAF": "noise", "chime3:STR": "noise"},
    "demand": {"demand:DKITCHEN": "noise", "demand:TMETRO": "noise"},
    "wham": {"wham": "noise"},
    "tree": {"tree:cars": "noise", "tree:birds": "noise"},
}


@pytest.mark.parametrize("corpus", LAYOUTS)
def test_a_corpus_is_recognised_by_its_folders(tmp_path: Path, corpus: str) -> None:
    for name in LAYOUTS[corpus]:
        _put(tmp_path / name)
    (tmp_path / "README.txt").write_text("no sound")
    found = sound_folders.scan_folder(tmp_path)
    assert found.corpus == corpus and not found.skipped
    assert sorted(one.name for one in found.noises) == sorted(LAYOUTS[corpus])
    if corpus in KINDS:
        assert {one.kind: one.use for one in found.noises} == KINDS[corpus]
    else:
        uses = {one.name.rpartition("/")[2][:1]: one.use for one in found.noises}
        assert uses["n"] == "noise" and uses["r"] == "room"
        assert sum(one.use == "room" for one in found.noises) == 2
        assert room_responses.response_from_recording(
            "r", sound_folders.read_clip(found.noises[-1])
        ).samples.any()
    for one in found.noises:
        assert len(_take(one)) == RATE_HZ


def _chime5(root: Path) -> None:
    rows = [
        {"start_time": {"original": "0:00:02.00", "P05": "0:00:02.10"},
         "end_time": {"original": "0:00:03.00", "P05": "0:00:03.10"},
         "words": "could you [noise] pass the salt", "speaker": "P05"},
        {"start_time": "0:00:05.00", "end_time": "0:00:06.00", "words": "no", "speaker": "P06"},
        {"start_time": "soon", "end_time": "0:00:07.00", "words": "x", "speaker": "P05"},
        "not a row", {"words": "no times"},
    ]  # fmt: skip
    _put(root / "audio/dev/S02_P05.wav", 10, channels=2)
    _put(root / "audio/dev/S09_P01.wav", 2)
    (root / "transcriptions/dev").mkdir(parents=True)
    (root / "transcriptions/dev/S02.json").write_text(json.dumps(rows))


def test_a_session_gives_its_gaps_as_noise_and_its_words_as_talk(tmp_path: Path) -> None:
    _chime5(tmp_path)
    found = sound_folders.scan_folder(tmp_path)
    gaps = [(one.start_s, one.start_s + one.seconds) for one in found.noises if one.use == "noise"]
    assert gaps == [(0, 2.1), (pytest.approx(3.1), 5), (6, 10)]
    (talk,) = [one for one in found.noises if one.use == "talk"]
    assert talk.text == "could you pass the salt" and talk.start_s == 2.1
    assert sound_folders.read_clip(talk).seconds == pytest.approx(1.0, abs=1e-3)
    assert found.skipped == (("audio/dev/S09_P01.wav", "no transcription of its session"),)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "null", '{"a": 1}', "\x00"])
def test_a_broken_transcription_skips_the_session(tmp_path: Path, text: str) -> None:
    _chime5(tmp_path)
    (tmp_path / "transcriptions/dev/S02.json").write_text(text)
    found = sound_folders.scan_folder(tmp_path)
    assert all(one.use == "noise" for one in found.noises)


def _bad(root: Path) -> set[str]:
    """Fill a folder with what cannot be used; return the names."""
    (root / "empty.wav").write_bytes(b"")
    (root / "text.wav").write_text("this is not a sound at all\n" * 50)
    (root / "junk.flac").write_bytes(bytes(range(256)) * 40)
    _put(root / "whole.wav", 1)
    (root / "head.wav").write_bytes((root / "whole.wav").read_bytes()[:44])
    soundfile.write(root / "silent.wav", np.zeros(RATE_HZ), RATE_HZ)
    soundfile.write(root / "short.wav", _hiss(0.05), RATE_HZ)
    soundfile.write(root / "nan.wav", np.full(RATE_HZ, np.nan, "f4"), RATE_HZ, subtype="FLOAT")
    soundfile.write(root / "slow.wav", _hiss(1), 1000)
    os.mkfifo(root / "pipe.wav")
    outside = root.parent / "outside.wav"
    _put(outside)
    (root / "link.wav").symlink_to(outside)
    (root / "loop.wav").symlink_to(root / "loop.wav")
    (root / "gone.wav").symlink_to(root / "nowhere.wav")
    (root / "locked").mkdir()
    (root / "locked" / "up").symlink_to(root)
    return {
        "empty.wav", "text.wav", "junk.flac", "head.wav", "silent.wav", "short.wav", "nan.wav",
        "slow.wav", "pipe.wav", "link.wav", "loop.wav", "gone.wav",
    }  # fmt: skip


def test_bad_files_are_listed_with_their_reason_and_never_stop_the_scan(tmp_path: Path) -> None:
    root = tmp_path / "noises"
    root.mkdir()
    bad = _bad(root)
    (root / "inner.wav").symlink_to(root / "whole.wav")
    found = sound_folders.scan_folder(root)
    assert {name for name, _ in found.skipped} == bad
    assert all(reason for _, reason in found.skipped)
    assert dict(found.skipped)["pipe.wav"] == "no regular file"
    assert dict(found.skipped)["link.wav"] == "a link that leaves the folder"
    assert [one.name for one in found.noises] == ["inner.wav", "whole.wav"]


def test_odd_formats_are_read(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "stereo.wav", _hiss(1, channels=2), RATE_HZ)
    soundfile.write(tmp_path / "eight.wav", _hiss(1), RATE_HZ, subtype="PCM_U8")
    soundfile.write(tmp_path / "fast.wav", _hiss(1, 96_000), 96_000)
    soundfile.write(tmp_path / "mis.wav", _hiss(1), RATE_HZ, format="FLAC")
    one = _hiss(1)
    soundfile.write(tmp_path / "against.wav", np.hstack([one, -one]), RATE_HZ)
    found = sound_folders.scan_folder(tmp_path)
    assert not found.skipped and len(found.noises) == 5
    for noise_ in found.noises:
        sound = _take(noise_)
        assert len(sound) == RATE_HZ and 1e-3 < audio_clip.mean_square(sound) < 0.012
        assert sound.tobytes() == _take(noise_).tobytes()


def test_an_hour_costs_no_more_memory_than_some_megabytes(tmp_path: Path) -> None:
    with soundfile.SoundFile(tmp_path / "hour.wav", "w", 12_000, 2, "PCM_U8") as file:
        block = _hiss(60, 12_000, 2)
        for _ in range(60):
            file.write(block)
    tracemalloc.start()
    (found,) = sound_folders.scan_folder(tmp_path).noises
    assert found.seconds == 3600
    assert len(_take(found, 5 * RATE_HZ)) == 5 * RATE_HZ
    assert len(_take(found, 60 * RATE_HZ)) == 60 * RATE_HZ
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 * 2**20


def test_short_noises_are_looped_without_a_step(tmp_path: Path) -> None:
    t = np.arange(RATE_HZ) / RATE_HZ
    soundfile.write(tmp_path / "tone.wav", 0.5 * np.sin(2 * np.pi * 100.3 * t), RATE_HZ)
    (found,) = sound_folders.scan_folder(tmp_path).noises
    sound = _take(found, 4 * RATE_HZ)
    assert len(sound) == 4 * RATE_HZ
    assert np.abs(np.diff(sound)).max() < 0.05


def test_a_silent_place_is_not_taken(tmp_path: Path) -> None:
    sound = np.zeros(20 * RATE_HZ)
    sound[9 * RATE_HZ : 14 * RATE_HZ] = _hiss(5)[:, 0]
    soundfile.write(tmp_path / "a.wav", sound, RATE_HZ)
    (found,) = sound_folders.scan_folder(tmp_path).noises
    assert (
        sum(audio_clip.mean_square(_take(found, RATE_HZ, seed)) > 1e-6 for seed in range(20)) >= 18
    )


def test_what_vanishes_or_changes_later_is_an_error_with_a_step(tmp_path: Path) -> None:
    _put(tmp_path / "a.wav")
    (found,) = sound_folders.scan_folder(tmp_path).noises
    (tmp_path / "a.wav").write_text("changed")
    with pytest.raises(DataError, match=r"a\.wav"):
        _take(found)
    (tmp_path / "a.wav").unlink()
    os.mkfifo(tmp_path / "a.wav")
    with pytest.raises(DataError, match=r"a\.wav"):
        _take(found)


def test_no_folder_is_an_error() -> None:
    with pytest.raises(DataError, match="no folder"):
        sound_folders.scan_folder(Path("/nowhere/at/all"))

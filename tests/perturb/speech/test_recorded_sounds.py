"""Folders of recordings as a bank: by content, bounded, whatever their order and place."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from toolmark.core import files, seeds
from toolmark.core.errors import UsageError
from toolmark.perturb.speech import (
    acoustic_chain,
    acoustic_drawing,
    acoustic_settings,
    audio_clip,
    recorded_sounds,
    sound_folders,
    synthetic_noise,
)
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip


def _hiss(seconds: float, channels: int = 1, seed: int = 0) -> np.ndarray:
    gen = np.random.Generator(np.random.PCG64(seed))
    return gen.standard_normal((round(seconds * RATE_HZ), channels)).astype("f4") * 0.1


def _put(path: Path, samples: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, RATE_HZ)


def _echo(t60_s: float, seed: int = 0) -> np.ndarray:
    """Return a response that falls by 60 dB in this time."""
    n = round(max(t60_s, 0.25) * RATE_HZ)
    taps = _hiss(n / RATE_HZ, seed=seed)[:, 0] * 10 ** (-3 * np.arange(n) / (t60_s * RATE_HZ))
    taps[100] = 1.0
    return np.asarray(taps * 0.9)


def _tree(root: Path) -> None:
    for n in range(4):
        _put(root / "pointsource_noises" / f"n{n}.wav", _hiss(1, seed=n))
    for n, t60_s in enumerate((0.2, 0.35, 0.5, 0.7)):
        for place in range(3):
            name = f"simulated_rirs/smallroom/Room00{n}/Room00{n}-0000{place}.wav"
            _put(root / name, _echo(t60_s, 10 * n + place))
    own = _echo(0.5, 99)
    _put(root / "real_rirs_isotropic_noises/RVB_rir_hall.wav", np.stack([own, -own, own], axis=1))
    _put(root / "real_rirs_isotropic_noises/RVB_rir_long.wav", _hiss(11))


def test_rooms_are_drawn_by_the_seed_and_known_by_their_places(tmp_path: Path) -> None:
    _tree(tmp_path / "unpacked/RIRS_NOISES")
    collected = recorded_sounds.read_recordings([str(tmp_path / "unpacked")], tmp_path / "home")
    assert "too long for a response of a room" in collected.notes[0]
    assert sum(one.use == "noise" for one in collected.noises) == 4
    rooms = recorded_sounds.draw_rooms(collected.noises, 3)
    assert len(rooms) == 4 * 2 + 1
    assert len({one.name.partition("/")[0] for one in rooms}) == 5
    assert len({one.name for one in rooms}) == len(rooms)
    assert {one.severity for one in rooms} == {1, 2, 3, 4}
    assert [one.name for one in recorded_sounds.draw_rooms(collected.noises, 3)] == [
        one.name for one in rooms
    ]
    assert [one.name for one in recorded_sounds.draw_rooms(collected.noises, 4)] != [
        one.name for one in rooms
    ]
    hall = next(one for one in rooms if "hall" in one.name)
    assert hall.t60_s == pytest.approx(0.5, rel=0.2), "of an array one channel, not the mix"
    bank = acoustic_settings.SoundBank(rooms=rooms, noises=collected.noises)
    said = Clip(_hiss(2, seed=50)[:, 0], RATE_HZ)
    settings = acoustic_drawing.draw_settings("room@2+bed", seeds.make_rng(1, "a", 0, "x"), bank)
    heard = acoustic_chain.apply_settings(said, settings, bank)
    assert {e.name for e in heard.timeline} == {"room", "bed"}
    digests = {files.file_sha256(path)[:12] for path in tmp_path.rglob("*.wav")}
    for stage in settings.stages:
        reported = str(stage.values.get("noise") or stage.values["room"])
        assert any(digest in reported for digest in digests), "settings name the content"


def test_order_place_and_copies_change_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        for n in range(3):
            _put(tmp_path / name / f"{name}{n}.wav", _hiss(1, seed=n + 10 * ord(name)))
    shutil.copy(tmp_path / "a/a0.wav", tmp_path / "b/copy.wav")
    roots = [str(tmp_path / "a"), str(tmp_path / "b")]
    one = recorded_sounds.read_recordings(roots, tmp_path / "home")
    assert len(one.noises) == 6 and "copy.wav" in one.notes[0]
    other = recorded_sounds.read_recordings([*reversed(roots), roots[0]], tmp_path / "other")
    assert (other.digest, other.noises) == (one.digest, one.noises)
    shutil.move(tmp_path / "b", tmp_path / "c")
    moved = recorded_sounds.read_recordings([roots[0], str(tmp_path / "c")], tmp_path / "home")
    assert moved.digest == one.digest
    assert [n.name for n in moved.noises] == [n.name for n in one.noises]
    _put(tmp_path / "c/b1.wav", _hiss(1, seed=77))
    assert (
        recorded_sounds.read_recordings([roots[0], str(tmp_path / "c")], tmp_path / "home").digest
        != one.digest
    )


def test_a_folder_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(tmp_path / "a/a.wav", _hiss(1))
    first = recorded_sounds.read_recordings([str(tmp_path / "a")], tmp_path / "home")
    monkeypatch.setattr(sound_folders, "scan_folder", None)
    assert recorded_sounds.read_recordings([str(tmp_path / "a")], tmp_path / "home") == first
    monkeypatch.undo()
    [saved] = (tmp_path / "home").iterdir()
    saved.write_text("{")  # a damaged file is made anew
    assert recorded_sounds.read_recordings([str(tmp_path / "a")], tmp_path / "home") == first


def test_what_is_said_in_a_session_is_double_talk(tmp_path: Path) -> None:
    rows = [
        {"start_time": f"0:00:{2 * n:02}.00", "end_time": f"0:00:{2 * n + 1:02}.50",
         "words": f"call number {n}", "speaker": "P05"} for n in range(20)
    ]  # fmt: skip
    _put(tmp_path / "audio/dev/S02_P05.wav", _hiss(42))
    (tmp_path / "transcriptions/dev").mkdir(parents=True)
    (tmp_path / "transcriptions/dev/S02.json").write_text(json.dumps(rows))
    collected = recorded_sounds.read_recordings([str(tmp_path)], tmp_path / "home")
    talks = recorded_sounds.draw_talks(collected.noises, 1)
    assert len(talks) == recorded_sounds.MAX_TALKS and all(t.text.startswith("call") for t in talks)
    bank = acoustic_settings.SoundBank(talks=talks)
    settings = acoustic_drawing.draw_settings("talker@3", seeds.make_rng(1, "a", 0, "x"), bank)
    heard = acoustic_chain.apply_settings(Clip(_hiss(2, seed=5)[:, 0], RATE_HZ), settings, bank)
    assert "call number" in str(heard.timeline[0].detail["text"])


def test_a_name_that_is_no_text_and_music_alone_are_reported(tmp_path: Path) -> None:
    _put(tmp_path / "a/good.wav", _hiss(1))
    shutil.copy(tmp_path / "a/good.wav", os.fsdecode(os.fsencode(tmp_path / "a") + b"/bad\xff.wav"))
    collected = recorded_sounds.read_recordings([str(tmp_path / "a")], tmp_path / "home")
    assert "a name that is not text" in collected.notes[0] and collected.notes[0].encode()
    for kind in ("music", "speech"):
        _put(tmp_path / "musan" / kind / "x.wav", _hiss(1))
    (tmp_path / "musan/noise").mkdir()
    with pytest.raises(UsageError, match="no sound in it can be used"):
        recorded_sounds.read_recordings([str(tmp_path / "musan")], tmp_path / "home")


def test_an_hour_that_is_mostly_silent_still_gives_its_sound(tmp_path: Path) -> None:
    quiet = np.zeros(RATE_HZ * 600, "f4")
    quiet[RATE_HZ * 300 - RATE_HZ : RATE_HZ * 300 + RATE_HZ] = _hiss(2)[:, 0]
    _put(tmp_path / "a/long.wav", quiet)
    [one] = recorded_sounds.read_recordings([str(tmp_path / "a")], tmp_path / "home").noises
    for seed in range(3):
        assert (
            audio_clip.mean_square(
                sound_folders.draw_samples(
                    one, RATE_HZ, RATE_HZ, synthetic_noise.noise_generator(seed)
                )
            )
            > 1e-4
        )


def test_noises_alone_are_neither_rooms_nor_talk(tmp_path: Path) -> None:
    _put(tmp_path / "a/a.wav", _hiss(1))
    collected = recorded_sounds.read_recordings([str(tmp_path / "a")], tmp_path / "home")
    assert (
        recorded_sounds.draw_rooms(collected.noises, 0)
        == ()
        == recorded_sounds.draw_talks(collected.noises, 0)
    )


def test_bad_files_are_reported_in_one_line_and_libraries_print_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "a\nb"
    _put(root / "good.wav", _hiss(1))
    shutil.copy(root / "good.wav", root / "twin\x1b[31m.wav")
    (root / "bad\nname.wav").write_bytes(b"")
    (root / "none.mp3").write_bytes(b"\xff\xfb\x90\x00garbagegarbage")
    [note] = recorded_sounds.read_recordings([str(root)], tmp_path / "home").notes
    assert note.isprintable() and "bad\\nname.wav" in note and "twin\\x1b[31m.wav" in note
    assert "a kind that can be read: none.mp3" in note and "exist" not in note
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"
    (root / "good.wav").unlink()
    (root / "twin\x1b[31m.wav").unlink()
    with pytest.raises(UsageError) as found:
        recorded_sounds.read_recordings([str(root)], tmp_path / "home")
    assert str(found.value).isprintable()

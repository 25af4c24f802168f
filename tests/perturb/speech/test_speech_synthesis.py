"""Laws of synthesis, with the real engines of this machine."""

from __future__ import annotations

import math
import random
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import external_commands
from toolmark.core.errors import DataError, ToolmarkError, UsageError
from toolmark.perturb.speech import installed_voices, speech_synthesis
from toolmark.perturb.speech.audio_clip import (
    RATE_HZ,
    SPEECH_LEVEL_DB,
    Clip,
    encode_wav,
    mean_square,
    speech_mask,
)
from toolmark.perturb.speech.engines import engine_registry, flite
from toolmark.perturb.speech.voice import Voice

LINE = "Book me a table for fifteen people in Austin, please."
OFFLINE = ("espeak-ng", "espeak-bundled", "flite", "festival")


def _voices(engine: str) -> list[Voice]:
    try:
        return engine_registry.load_engine(engine).voices()
    except external_commands.NotInstalled as error:
        pytest.skip(str(error))


def _some() -> list[Voice]:
    """One or two voices of every engine that is here."""
    return [one for name in OFFLINE for one in _voices(name)[:: 300 if "espeak" in name else 2]]


def _level_db(clip: Clip) -> float:
    return 10 * math.log10(mean_square(clip.samples, speech_mask(clip)))


# --- words ---------------------------------------------------------------------------------


@given(st.text())
def test_plain_words_are_one_printable_line_or_an_error(text: str) -> None:
    try:
        words = speech_synthesis.speakable_text(text)
    except DataError:
        return
    assert words.isascii() and words.isprintable() and words == words.strip()
    assert not set(words) & set("<>[]{}\\|`^~")
    assert speech_synthesis.speakable_text(words) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  two\n lines\t", "two lines"),
        ("<speak>hi</speak>", "speak hi /speak"),
        ("a [[h@l02]] b", "a h@l02 b"),
        ("stop\x01s200 \x1b[2J now", "stop s200 2J now"),
        ("café, Straße, naïve", "cafe, Strasse, naive"),
        ("it’s “fine” – €5", 'it\'s "fine" - euros 5'),
        ("½ of it", "1/2 of it"),
        ("5½ cups", "5 1/2 cups"),
        ("5² and m³", "5 squared and m cubed"),
        ("10⁶ ~ x^2 | y", "10 to the power of 6 tilde x to the power of 2 pipe y"),
        ("hot 🔥 deal", "hot deal"),
        ("-v whisper", "-v whisper"),
    ],
)
def test_what_engines_would_obey_becomes_words(text: str, words: str) -> None:
    assert speech_synthesis.speakable_text(text) == words


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nothing to say"),
        (" \n\x00", "nothing to say"),
        ("?!...", "nothing to say"),
        ("東京", "cannot read"),
        ("x" * 10_000, "10000 characters"),
        ("€5" * 2000, "characters are too much"),
        ("\ud800", "nothing to say"),
    ],
)
def test_what_cannot_be_said_is_refused(text: str, why: str, tmp_path: Path) -> None:
    one = Voice(engine="flite", name="slt", speaker="slt")
    with pytest.raises(DataError, match=why):
        speech_synthesis.synthesise_clip(text, one, folder=tmp_path)
    assert not list(tmp_path.iterdir())


# --- clips ---------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", OFFLINE)
def test_equal_words_are_equal_bytes_and_one_level(engine: str, tmp_path: Path) -> None:
    for one in _voices(engine)[::97] if "espeak" in engine else _voices(engine):
        first = speech_synthesis.synthesise_clip(LINE, one, folder=tmp_path / "a")
        again = speech_synthesis.synthesise_clip(LINE, one, folder=tmp_path / "b")
        saved = speech_synthesis.synthesise_clip(LINE, one, folder=tmp_path / "a")
        assert encode_wav(first) == encode_wav(again) == encode_wav(saved)
        assert first.rate == RATE_HZ
        peak = float(np.abs(first.samples).max())
        assert abs(_level_db(first) - SPEECH_LEVEL_DB) < 0.1 or 0.98 < peak < 1
        pad = int(speech_synthesis.PAD_S * RATE_HZ)
        assert not first.samples[:pad].any()
        assert not first.samples[-pad:].any()
        assert abs(float(first.samples.mean())) < 1e-3


@pytest.mark.parametrize("engine", OFFLINE)
def test_a_higher_rate_is_shorter(engine: str, tmp_path: Path) -> None:
    for one in _voices(engine)[:4]:
        lengths = [
            speech_synthesis.synthesise_clip(
                LINE, msgspec.structs.replace(one, rate=rate), folder=tmp_path
            ).seconds
            for rate in (0.85, 1.0, 1.2)
        ]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] > 1.15 * lengths[2]


@pytest.mark.parametrize(
    "text",
    [
        "-v whisper --help",
        '") (system "touch pwned") (quit',
        "<speak><prosody rate='x-slow'>hello</prosody></speak>",
        "[[h@l02]] \x01s400 &amp; $(touch pwned) `touch pwned`",
        "-*- mode: sable -*- hello",
        "words",  # a file of this name lies beside
    ],
)
def test_text_is_read_out_whatever_it_looks_like(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for one in _some():
        clip = speech_synthesis.synthesise_clip(text, one, folder=tmp_path / "clips")
        assert speech_mask(clip).any()
    assert [path.name for path in tmp_path.iterdir()] == ["clips"]
    assert not list(tmp_path.rglob("pwned"))


def test_a_long_text_is_said_to_its_end(tmp_path: Path) -> None:
    long = " ".join(["this goes on and on."] * 150)[: speech_synthesis.MAX_CHARS]
    for one in (_voices("espeak-ng")[0], _voices("flite")[1]):
        assert speech_synthesis.synthesise_clip(long, one, folder=tmp_path).seconds > 60


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rate": 9.0}, "rate"),
        ({"rate": math.nan}, "rate"),
        ({"pitch": -1.0}, "pitch"),
        ({"version": "0.1"}, "drawn for version"),
        ({"name": "nobody"}, "has no voice"),
    ],
)
def test_a_voice_that_is_none_is_refused(
    change: dict[str, object], why: str, tmp_path: Path
) -> None:
    one = msgspec.structs.replace(_voices("flite")[0], **change)
    with pytest.raises(DataError, match=why):
        speech_synthesis.synthesise_clip(LINE, one, folder=tmp_path)
    assert not list(tmp_path.rglob("*.wav"))


def test_silence_and_noise_that_is_no_sound_file_are_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = _voices("flite")[0]
    mute = encode_wav(Clip(np.zeros(RATE_HZ, dtype=np.float32), RATE_HZ))
    for sound, why in ((mute, "gave silence"), (b"junk", "not a sound file"), (b"", "sound")):
        monkeypatch.setattr(flite, "synthesize_text", lambda *_, sound=sound: sound)
        with pytest.raises(DataError, match=why):
            speech_synthesis.synthesise_clip(LINE, one, folder=tmp_path)
    assert not list(tmp_path.rglob("*.wav"))


# --- the cache, and many at once -------------------------------------------------------------


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    real = flite.synthesize_text

    def synthesize_text(text: str, one: Voice, folder: Path) -> bytes:
        said.append(text)
        return real(text, one, folder)

    monkeypatch.setattr(flite, "synthesize_text", synthesize_text)
    return said


def test_nothing_is_said_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kal = {one.name: one for one in _voices("flite")}["kal16"]
    said = _counted(monkeypatch)
    jobs = [(text, kal) for text in ("one", "two", "one", "three", "two")] * 3
    assert len(list(speech_synthesis.synthesise_many(jobs, folder=tmp_path, workers=4))) == 15
    assert sorted(said) == ["one", "three", "two"]
    list(speech_synthesis.synthesise_many(jobs, folder=tmp_path, workers=2))
    speech_synthesis.synthesise_clip("  one ", kal, folder=tmp_path)
    assert len(said) == 3
    speech_synthesis.synthesise_clip("one", msgspec.structs.replace(kal, rate=1.1), folder=tmp_path)
    speech_synthesis.synthesise_clip(
        "one", msgspec.structs.replace(kal, pitch=0.6), folder=tmp_path
    )
    assert len(said) == 5


def test_a_clip_that_is_torn_on_disk_is_made_again(tmp_path: Path) -> None:
    one = _voices("flite")[0]
    whole = speech_synthesis.synthesise_clip(LINE, one, folder=tmp_path)
    (path,) = tmp_path.rglob("*.wav")
    data = path.read_bytes()
    for torn in (b"", data[:30], data[:-100], b"\0" * len(data)):
        path.write_bytes(torn)
        assert encode_wav(
            speech_synthesis.synthesise_clip(LINE, one, folder=tmp_path)
        ) == encode_wav(whole)
        assert path.read_bytes() == data


def test_workers_and_order_change_no_byte(tmp_path: Path) -> None:
    jobs = [(f"{LINE} {i}", one) for i, one in enumerate(_some())]
    one, two = (
        [
            _bytes(clip)
            for clip in speech_synthesis.synthesise_many(jobs, folder=tmp_path / f"{n}", workers=n)
        ]
        for n in (1, 2)
    )
    shuffled = jobs[:]
    random.Random(1).shuffle(shuffled)
    turned = dict(
        zip(
            shuffled,
            speech_synthesis.synthesise_many(shuffled, folder=tmp_path / "s", workers=3),
            strict=True,
        )
    )
    assert one == two == [_bytes(turned[job]) for job in jobs]
    names = [sorted(path.name for path in (tmp_path / f).rglob("*")) for f in ("1", "2", "s")]
    assert names[0] == names[1] == names[2]  # no part files left


def test_several_processes_may_share_a_folder(tmp_path: Path) -> None:
    one = _voices("flite")[0]
    say = partial(speech_synthesis.synthesise_clip, LINE, folder=tmp_path / "shared")
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        clips = [encode_wav(clip) for clip in pool.map(say, [one] * 6)]
    assert set(clips) == {
        encode_wav(speech_synthesis.synthesise_clip(LINE, one, folder=tmp_path / "alone"))
    }
    assert len([path for path in (tmp_path / "shared").rglob("*") if path.is_file()]) == 1


def _bytes(clip: Clip | ToolmarkError) -> bytes:
    assert isinstance(clip, Clip)
    return encode_wav(clip)


def test_a_job_that_fails_is_an_error_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = _voices("flite")[0]
    nobody = msgspec.structs.replace(one, engine="no such engine")
    found = list(
        speech_synthesis.synthesise_many(
            [("hi", one), ("", one), ("hi", nobody), ("ho", one)], folder=tmp_path
        )
    )
    assert [type(clip) for clip in found] == [Clip, DataError, UsageError, Clip]
    hasty = {**(external_commands.run_command.__kwdefaults__ or {}), "timeout_s": 0.001}
    monkeypatch.setattr(external_commands.run_command, "__kwdefaults__", hasty)
    (late,) = speech_synthesis.synthesise_many([("never said before", one)], folder=tmp_path)
    assert isinstance(late, DataError)
    assert "it was stopped" in str(late)


def test_leaving_early_stops_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = _voices("flite")[0]
    said = _counted(monkeypatch)
    clips = speech_synthesis.synthesise_many(
        [(f"number {i}", one) for i in range(200)], folder=tmp_path, workers=1
    )
    next(clips)
    clips.close()  # type: ignore[attr-defined]
    assert len(said) < 50


@pytest.mark.long
def test_every_voice_of_the_default_pool_speaks(tmp_path: Path) -> None:
    voices = installed_voices.available_voices(missing="skip")
    clips = list(
        speech_synthesis.synthesise_many(
            [("yes, good morning", one) for one in voices], folder=tmp_path
        )
    )
    failed = [f"{one.name}: {clip}" for one, clip in zip(voices, clips, strict=True)
              if not isinstance(clip, Clip) or not 0.7 < clip.seconds < 5]  # fmt: skip
    assert not failed
    espeak = [
        _bytes(clip) for one, clip in zip(voices, clips, strict=True) if "espeak" in one.engine
    ]
    assert len(set(espeak)) == len(espeak)  # no voice is another under a second name

"""Sound on the wire: as it is kept, or as MP3 that is as long and sounds the same."""

from __future__ import annotations

import asyncio
import base64
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from tests.servers import fake

from toolmark.core.errors import Rejected, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Request, Text
from toolmark.models import audio_encoding
from toolmark.models.model_resolver import make_endpoint_model, resolve_model

SAID = {"choices": [{"message": {"content": "heard"}, "finish_reason": "stop"}]}


def voiced(rate: int, seconds: float, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return a gliding tone with overtones in syllables, the band and level of speech."""
    rng = np.random.default_rng(seed)
    at = np.arange(int(rate * seconds)) / rate
    phase = 2 * np.pi * np.cumsum(110 + 30 * np.sin(2 * np.pi * 0.7 * at)) / rate
    tone = sum(np.sin(k * phase + rng.uniform(0, 6.28)) / k for k in range(1, 12))
    return (0.08 * tone * (0.55 + 0.45 * np.sin(2 * np.pi * 4 * at))).astype(np.float32)


def wav(samples: Any, rate: int) -> bytes:
    collected = io.BytesIO()
    soundfile.write(collected, samples, rate, format="WAV", subtype="PCM_16")
    return collected.getvalue()


async def arrived(form: audio_encoding.AudioFormat, data: bytes, folder: Path) -> dict[str, Any]:
    """Return the `input_audio` that a server gets."""
    media = MediaStore(folder)
    part = media.add_audio(data, "audio/wav")
    async with fake.serve(fake.answer(200, SAID)) as server:
        model = make_endpoint_model(f"{server.url}#m", media=media, audio=form)
        try:
            await model(Request(messages=(Message(role="user", parts=(Text("listen"), part)),)))
        finally:
            await model.close()
    (got,) = [p for p in server.asked[0].json["messages"][0]["content"] if "input_audio" in p]
    return got["input_audio"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("rate", [16000, 24000])
@pytest.mark.parametrize("seconds", [0.3, 2.9173])
def test_mp3_arrives_as_long_and_sounding_alike(tmp_path: Path, rate: int, seconds: float) -> None:
    samples = voiced(rate, seconds, rate)
    data = wav(samples, rate)
    got = asyncio.run(arrived("mp3", data, tmp_path))
    assert got["format"] == "mp3"
    packed = base64.b64decode(got["data"])
    assert soundfile.info(io.BytesIO(packed)).format == "MP3"
    assert len(packed) < len(data) / 2
    heard, at = soundfile.read(io.BytesIO(packed), dtype="float32")
    assert (at, len(heard)) == (rate, len(samples))
    assert np.corrcoef(samples, heard)[0, 1] > 0.99  # in step: no delay of the coder is left
    assert abs(np.std(heard) / np.std(samples) - 1) < 0.02


def test_wav_arrives_as_it_is(tmp_path: Path) -> None:
    data = wav(voiced(16000, 0.5, 1), 16000)
    got = asyncio.run(arrived("wav", data, tmp_path))
    assert got == {"data": base64.b64encode(data).decode(), "format": "wav"}


def test_the_same_sound_is_the_same_mp3() -> None:
    data = wav(voiced(16000, 0.5, 2), 16000)
    first = audio_encoding.encode_mp3(data)
    audio_encoding.encode_mp3.cache_clear()
    assert audio_encoding.encode_mp3(data) == first


@pytest.mark.parametrize("data", [b"", b"RIFF", b"no sound at all" * 99])
def test_what_is_no_sound_is_reported(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(Rejected, match="mp3"):
        asyncio.run(arrived("mp3", data, tmp_path))


def test_an_mp3_is_not_packed_twice(tmp_path: Path) -> None:
    media = MediaStore(tmp_path)
    packed = audio_encoding.encode_mp3(wav(voiced(16000, 0.3, 3), 16000))
    part = media.add_audio(packed, "audio/mpeg")

    async def ask() -> Any:
        async with fake.serve(fake.answer(200, SAID)) as server:
            model = make_endpoint_model(f"{server.url}#m", media=media, audio="mp3")
            await model(Request(messages=(Message(role="user", parts=(part,)),)))
            await model.close()
            return server.asked[0].json["messages"][0]["content"][0]["input_audio"]

    assert base64.b64decode(asyncio.run(ask())["data"]) == packed


def test_replies_to_mp3_and_to_wav_have_separate_entries() -> None:
    wires = [make_endpoint_model("http://127.0.0.1:9/v1#m", audio=form) for form in ("wav", "mp3")]
    assert len({wire.identity for wire in wires}) == 2


def test_a_library_that_writes_no_mp3_is_reported_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(soundfile, "available_formats", lambda: {"WAV": "WAV"})
    with pytest.raises(UsageError, match=r"mp3.*wav"):
        resolve_model("http://127.0.0.1:9/v1#m", audio="mp3")
    resolve_model("http://127.0.0.1:9/v1#m", audio="wav")


def test_a_missing_library_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(UsageError, match=r"-m pip install .*\[speech\]'"):
        audio_encoding.check_audio_format("mp3")


def test_only_two_forms_are_known() -> None:
    with pytest.raises(UsageError, match="known: wav, mp3"):
        audio_encoding.check_audio_format("flac")

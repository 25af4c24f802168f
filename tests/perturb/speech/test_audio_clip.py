"""Files of sound: what is read, mixed, refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile
from tests.perturb.speech.spoken import made

from toolmark.core.errors import DataError
from toolmark.perturb.speech import audio_clip
from toolmark.perturb.speech.audio_clip import RATE_HZ


def _file(samples: np.ndarray, rate: int = RATE_HZ, kind: str = "WAV", coding: str = "") -> bytes:
    collected = io.BytesIO()
    soundfile.write(collected, samples, rate, format=kind, subtype=coding or None)
    return collected.getvalue()


def test_channels_in_opposite_phase_do_not_cancel_out() -> None:
    said = made(1).samples
    found = audio_clip.decode_speech_clip(_file(np.stack([said, -said], axis=1)))
    assert np.abs(found.samples - said).max() < 1e-3


def test_channels_are_mixed_and_a_silent_one_does_no_harm() -> None:
    said = made(1).samples
    one = audio_clip.decode_clip(_file(np.stack([said, said], axis=1)))
    half = audio_clip.decode_clip(_file(np.stack([np.zeros_like(said), said], axis=1)))
    assert np.abs(one.samples - said).max() < 1e-3
    assert np.abs(half.samples - said / 2).max() < 1e-3


@pytest.mark.parametrize(
    ("rate", "kind", "coding"),
    [(96_000, "WAV", "PCM_U8"), (8_000, "FLAC", "PCM_16"), (44_100, "WAV", "FLOAT")],
)
def test_rates_and_codings_are_read(rate: int, kind: str, coding: str) -> None:
    sound = 0.5 * np.sin(np.arange(rate) / 50)
    found = audio_clip.decode_speech_clip(_file(sound, rate, kind, coding))
    assert found.rate == rate and len(found.samples) == rate


@pytest.mark.parametrize("data", [b"", b"RIFF", b"no sound at all" * 99, b"\x00" * 4096])
def test_what_is_no_sound_is_named_without_the_name_of_an_object(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^bad\.wav: ") as reported:
        audio_clip.decode_clip(data, "bad.wav")
    assert "BytesIO" not in str(reported.value) and "0x" not in str(reported.value)


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        (np.zeros(RATE_HZ), "silent"), (np.full(10, 0.5), "too short"),
        (np.zeros((RATE_HZ, 2)), "silent"), (np.zeros(0), "no sound"),
        (np.full(RATE_HZ, 0.1), "more than"),
    ],
)  # fmt: skip
def test_own_recordings_without_speech_or_without_end_are_refused(
    samples: np.ndarray, text: str
) -> None:
    with pytest.raises(DataError, match=rf"^mine\.wav: .*{text}"):
        audio_clip.decode_speech_clip(
            _file(samples), "mine.wav", 0.5 if text == "more than" else 60
        )


def test_sound_that_is_not_finite_is_refused() -> None:
    with pytest.raises(DataError, match="no sound"):
        audio_clip.decode_clip(_file(np.full(RATE_HZ, np.nan), coding="FLOAT"))

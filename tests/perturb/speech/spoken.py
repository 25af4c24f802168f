"""Real speech of flite for the tests of acoustics, and a bank made of it."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from toolmark.perturb.speech import acoustic_settings, audio_clip, room_responses
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip
from toolmark.perturb.speech.double_talk import Talk

TEXTS = (
    "book a table for five people at the harbour cafe tomorrow at seven",
    "what is the weather like in san francisco on friday afternoon",
    "please transfer two hundred and fifty dollars to my savings account",
    "find me three hotels near the central station with a pool",
    "set an alarm for half past six on every weekday morning",
    "play the second song of the album that came out last summer",
)
VOICES = ("slt", "rms", "awb", "kal16", "slt", "rms")


@functools.cache
def speech() -> tuple[Clip, ...]:
    """Return six utterances of 3 to 5 s by four voices, 0.2 s of silence around each."""
    if not shutil.which("flite"):
        pytest.skip("flite is not installed: apt-get install flite")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "said.wav")
        for text, voice in zip(TEXTS, VOICES, strict=True):
            subprocess.run(["flite", "-voice", voice, "-t", text, "-o", path], check=True)
            said = audio_clip.level_clip(
                audio_clip.resample_clip(audio_clip.decode_clip(path.read_bytes()))
            )
            quiet = np.zeros(RATE_HZ // 5, dtype=np.float32)
            found.append(Clip(np.concatenate([quiet, said.samples, quiet]), RATE_HZ))
    return tuple(found)


@functools.cache
def bank() -> acoustic_settings.SoundBank:
    """Return all that the acoustic stage can draw from."""
    clips = speech()
    with tempfile.TemporaryDirectory() as folder:
        rooms = room_responses.load_or_compute_rooms(Path(folder), rooms=2)
    talks = tuple(
        Talk(f"t{k}", one, text) for k, (one, text) in enumerate(zip(clips, TEXTS, strict=True))
    )
    return acoustic_settings.SoundBank(babble=clips, talks=talks, rooms=rooms)


def made(seconds: float, seed: int = 0) -> Clip:
    """Return a synthetic utterance: noise in syllables, with pauses, levelled."""
    gen = np.random.Generator(np.random.PCG64(seed))
    n = round(seconds * RATE_HZ)
    t = np.arange(n) / RATE_HZ
    on = (np.sin(2 * np.pi * (3 * t + gen.random())) > -0.3) & (t > 0.2) & (t < seconds - 0.2)
    return audio_clip.level_clip(
        Clip((gen.standard_normal(n) * on * 0.1).astype(np.float32), RATE_HZ)
    )

"""Clips for recognisers: nothing, and real speech from flite."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from toolmark.perturb.speech import audio_clip
from toolmark.perturb.speech.audio_clip import Clip

SAID = ("find the area of a circle", "play some music please", "what is the weather in boston")


@pytest.fixture(scope="session")
def still() -> Clip:
    return Clip(np.zeros(3 * audio_clip.RATE_HZ, np.float32), audio_clip.RATE_HZ)


@pytest.fixture(scope="session")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> list[Clip]:
    if shutil.which("flite") is None:
        pytest.skip("no flite: apt-get install flite")
    folder: Path = tmp_path_factory.mktemp("said")
    said = []
    for i, text in enumerate(SAID):
        path = folder / f"{i}.wav"
        subprocess.run(["flite", "-voice", "rms", "-t", text, "-o", path], check=True)
        said.append(
            audio_clip.level_clip(
                audio_clip.resample_clip(audio_clip.decode_clip(path.read_bytes()))
            )
        )
    return said

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from importlib import metadata

import numpy as np
import pytest
from tests.perturb.hear.conftest import SAID

from toolmark.errors import DataError, UsageError
from toolmark.perturb.hear import errors, sphinx
from toolmark.perturb.hear.recogniser import Context, Transcript
from toolmark.perturb.speech.clip import Clip


@pytest.fixture(scope="module")
def ours() -> Iterator[sphinx.Sphinx]:
    made = sphinx.Sphinx()
    yield made
    made.close()


def _hear(ours: sphinx.Sphinx, clips: list[Clip]) -> list[Transcript]:
    return [ours.hear(clip, Context()) for clip in clips]


def test_clean_speech_is_understood_with_times_and_confidence(
    ours: sphinx.Sphinx, spoken: list[Clip]
) -> None:
    heard = _hear(ours, spoken)
    assert errors.corpus(zip(SAID, [each.text for each in heard], strict=True)) < 0.4
    assert not heard[0].simulated
    for transcript, clip in zip(heard, spoken, strict=True):
        starts = [word.start_s for word in transcript.words]
        assert starts == sorted(starts)
        assert all(0 <= word.end_s <= clip.seconds + sphinx.PAD_S for word in transcript.words)
        assert all(0 <= word.confidence <= 1 for word in transcript.words)


def test_order_never_matters(ours: sphinx.Sphinx, spoken: list[Clip]) -> None:
    noise = Clip(np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32), 16_000)
    clips = [*spoken, noise]
    there = _hear(ours, clips)
    back = _hear(ours, clips[::-1])[::-1]
    assert there == back
    fresh = sphinx.Sphinx()
    assert fresh.hear(clips[-2], Context()) == there[-2]
    fresh.close()


@pytest.mark.parametrize("n", [0, 1, 100])
def test_silence_and_scraps_are_heard_as_little(ours: sphinx.Sphinx, n: int) -> None:
    heard = ours.hear(Clip(np.zeros(n, np.float32), 16_000), Context())
    assert len(heard.words) <= 1


def test_a_dead_decoder_is_an_error_and_the_next_clip_goes_on(
    ours: sphinx.Sphinx, spoken: list[Clip]
) -> None:
    before = ours.hear(spoken[1], Context())
    assert ours._child is not None
    os.kill(ours._child.pid, signal.SIGKILL)
    ours._child.wait()
    with pytest.raises(DataError, match="decoder died"):
        ours.hear(spoken[1], Context())
    assert ours.hear(spoken[1], Context()) == before


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(UsageError, match="pip install"):
        sphinx.Sphinx()

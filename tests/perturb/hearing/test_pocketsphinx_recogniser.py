from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from importlib import metadata

import numpy as np
import pytest
from tests.perturb.hearing.conftest import SAID

from toolmark.core.errors import DataError, UsageError
from toolmark.perturb.hearing import pocketsphinx_recogniser, transcript_errors
from toolmark.perturb.hearing.recogniser import HearingContext, Transcript
from toolmark.perturb.speech.audio_clip import Clip


@pytest.fixture(scope="module")
def ours() -> Iterator[pocketsphinx_recogniser.PocketSphinx]:
    made = pocketsphinx_recogniser.PocketSphinx()
    yield made
    made.close()


def _hear(ours: pocketsphinx_recogniser.PocketSphinx, clips: list[Clip]) -> list[Transcript]:
    return [ours.hear(clip, HearingContext()) for clip in clips]


def test_clean_speech_is_understood_with_times_and_confidence(
    ours: pocketsphinx_recogniser.PocketSphinx, spoken: list[Clip]
) -> None:
    heard = _hear(ours, spoken)
    assert (
        transcript_errors.corpus_word_error_rate(
            zip(SAID, [each.text for each in heard], strict=True)
        )
        < 0.4
    )
    assert not heard[0].simulated
    for transcript, clip in zip(heard, spoken, strict=True):
        starts = [word.start_s for word in transcript.words]
        assert starts == sorted(starts)
        assert all(
            0 <= word.end_s <= clip.seconds + pocketsphinx_recogniser.PAD_S
            for word in transcript.words
        )
        assert all(0 <= word.confidence <= 1 for word in transcript.words)


@pytest.mark.long
def test_order_never_matters(
    ours: pocketsphinx_recogniser.PocketSphinx, spoken: list[Clip]
) -> None:
    noise = Clip(np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32), 16_000)
    clips = [*spoken, noise]
    there = _hear(ours, clips)
    back = _hear(ours, clips[::-1])[::-1]
    assert there == back
    fresh = pocketsphinx_recogniser.PocketSphinx()
    assert fresh.hear(clips[-2], HearingContext()) == there[-2]
    fresh.close()


@pytest.mark.parametrize("n", [0, 1, 100])
def test_silence_and_scraps_are_heard_as_little(
    ours: pocketsphinx_recogniser.PocketSphinx, n: int
) -> None:
    heard = ours.hear(Clip(np.zeros(n, np.float32), 16_000), HearingContext())
    assert len(heard.words) <= 1


def test_a_dead_decoder_is_an_error_and_the_next_clip_goes_on(
    ours: pocketsphinx_recogniser.PocketSphinx, spoken: list[Clip]
) -> None:
    before = ours.hear(spoken[1], HearingContext())
    assert ours._child is not None
    os.kill(ours._child.pid, signal.SIGKILL)
    ours._child.wait()
    with pytest.raises(DataError, match="decoder died"):
        ours.hear(spoken[1], HearingContext())
    assert ours.hear(spoken[1], HearingContext()) == before


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(UsageError, match="pip install"):
        pocketsphinx_recogniser.PocketSphinx()

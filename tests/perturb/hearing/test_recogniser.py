from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolmark.core.errors import UsageError
from toolmark.perturb.hearing import recogniser, recogniser_registry
from toolmark.perturb.hearing.recogniser import HearingContext, Transcript
from toolmark.perturb.speech.audio_clip import Clip


class Counting:
    """Hears the length; counts how often it was asked."""

    name, version, simulated = "counting", "1", False

    def __init__(self) -> None:
        self.asked = 0

    def hear(self, clip: Clip, context: HearingContext) -> Transcript:
        self.asked += 1
        return Transcript(text=f"{clip.seconds:g} é", recogniser=self.name, simulated=False)


def test_nothing_is_transcribed_twice(tmp_path: Path, still: Clip) -> None:
    ours = Counting()
    one = recogniser.transcribe_clip(ours, still, HearingContext(seed_key="a"), tmp_path)
    assert recogniser.transcribe_clip(ours, still, HearingContext(seed_key="b"), tmp_path) == one
    assert ours.asked == 1
    recogniser.transcribe_clip(
        ours, Clip(still.samples[:-1], still.rate), HearingContext(), tmp_path
    )
    ours.version = "2"
    recogniser.transcribe_clip(ours, still, HearingContext(), tmp_path)
    assert ours.asked == 3
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 3


def test_a_spoilt_file_is_made_anew(tmp_path: Path, still: Clip) -> None:
    ours = Counting()
    recogniser.transcribe_clip(ours, still, HearingContext(), tmp_path)
    saved = next(tmp_path.rglob("*.json"))
    saved.write_bytes(b'{"text": 3')
    assert recogniser.transcribe_clip(ours, still, HearingContext(), tmp_path).text == "3 é"
    assert ours.asked == 2


def test_many_at_once_agree(tmp_path: Path, still: Clip) -> None:
    ours = Counting()
    with ThreadPoolExecutor(8) as pool:
        heard = list(
            pool.map(
                lambda _: recogniser.transcribe_clip(ours, still, HearingContext(), tmp_path),
                range(32),
            )
        )
    assert len(set(map(str, heard))) == 1
    assert not [p for p in tmp_path.rglob(".part-*")]


def test_simulated_ones_are_drawn_and_not_stored(tmp_path: Path, still: Clip) -> None:
    ours = recogniser_registry.load_recogniser("simulated:a@0")
    assert recogniser.transcribe_clip(
        ours, still, HearingContext(text="play music"), tmp_path
    ).simulated
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pocketsphnx", "did you mean: pocketsphinx"),
        ("simulated:d", "known: a, b, c"),
        ("simulated:a@95", "0 to 60"),
        ("simulated:a@nan", "0 to 60"),
        ("simulated:a@x", "per cent"),
        ("whisper", "name the model"),
        ("openai:", "name the model"),
        ("whisper:/nowhere/model.bin", "nothing is downloaded"),
        ("", "no recogniser"),
    ],
)
def test_unknown_names_say_what_would_be_right(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        recogniser_registry.load_recogniser(name)

"""Double talk."""

from __future__ import annotations

import numpy as np
import pytest
from tests.perturb.speech.spoken import TEXTS, bank, speech

from toolmark.core import seeds
from toolmark.core.errors import UsageError
from toolmark.perturb.speech import (
    acoustic_chain,
    acoustic_drawing,
    acoustic_settings,
    audio_clip,
    double_talk,
)
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip


def test_levels_differ_by_the_ratio_and_the_timeline_holds_the_words() -> None:
    worst = 0.0
    for k in range(200):
        said = speech()[k % 6]
        rng = seeds.make_rng(k, "x", 0, "talk")
        settings = acoustic_drawing.draw_settings("talker", rng, bank(), avoid=(TEXTS[k % 6],))
        heard = acoustic_chain.apply_settings(said, settings, bank())
        (reported,) = heard.timeline
        assert reported.detail["text"] in TEXTS and reported.detail["text"] != TEXTS[k % 6]
        assert 0 < float(reported.detail["heard"]) <= 1
        first, last = round(reported.start_s * RATE_HZ), round(reported.end_s * RATE_HZ)
        left = (heard.clip.samples.astype(np.float64) - said.samples).astype(np.float32)
        assert not left[:first].any() and not left[last:].any()
        other = Clip(left[first:last], RATE_HZ)
        levels = [
            audio_clip.mean_square(one.samples, audio_clip.speech_mask(one))
            for one in (said, other)
        ]
        found = 10 * np.log10(levels[0] / levels[1])
        worst = max(worst, abs(found - float(reported.detail["snr_db"])))
    assert worst < 0.1


def test_a_silent_talk_is_not_in_the_timeline() -> None:
    silent = double_talk.Talk("t", Clip(np.zeros(1000, dtype=np.float32), RATE_HZ), "nothing")
    done = double_talk.overlay_talk(speech()[0], silent, 10, 0.2)
    assert not done.effects and np.array_equal(done.samples, speech()[0].samples)


def test_without_talks_the_error_says_what_to_pass() -> None:
    with pytest.raises(UsageError, match=r"Bank\(talks="):
        acoustic_drawing.draw_settings(
            "talkers", seeds.make_rng(0, "x", 0, ""), acoustic_settings.SoundBank()
        )
    with pytest.raises(UsageError, match=r"Bank\(talks="):
        acoustic_drawing.draw_settings("talker", seeds.make_rng(0, "x", 0, ""), bank(), avoid=TEXTS)


def test_in_a_room_others_stand_at_another_place_of_it() -> None:
    for k in range(20):
        settings = acoustic_drawing.draw_settings(
            "talker+room", seeds.make_rng(k, "x", 0, ""), bank()
        )
        place = {stage.name: str(stage.values["room"]) for stage in settings.stages}
        assert place["room"] != place["talker"]
        assert place["room"].split("/")[0] == place["talker"].split("/")[0]

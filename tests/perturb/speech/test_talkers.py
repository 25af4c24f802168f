"""Double talk."""

from __future__ import annotations

import numpy as np
import pytest
from tests.perturb.speech.spoken import TEXTS, bank, speech

from toolmark import seeds
from toolmark.errors import UsageError
from toolmark.perturb.speech import chain, clip, talkers
from toolmark.perturb.speech.clip import RATE, Clip


def test_levels_differ_by_the_ratio_and_the_timeline_holds_the_words() -> None:
    worst = 0.0
    for k in range(200):
        said = speech()[k % 6]
        rng = seeds.of(k, "x", 0, "talk")
        settings = chain.draw("talker", rng, bank(), avoid=(TEXTS[k % 6],))
        heard = chain.apply(said, settings, bank())
        (told,) = heard.timeline
        assert told.detail["text"] in TEXTS and told.detail["text"] != TEXTS[k % 6]
        assert 0 < float(told.detail["heard"]) <= 1
        first, last = round(told.start_s * RATE), round(told.end_s * RATE)
        left = (heard.clip.samples.astype(np.float64) - said.samples).astype(np.float32)
        assert not left[:first].any() and not left[last:].any()
        other = Clip(left[first:last], RATE)
        levels = [clip.power(one.samples, clip.active(one)) for one in (said, other)]
        found = 10 * np.log10(levels[0] / levels[1])
        worst = max(worst, abs(found - float(told.detail["snr_db"])))
    assert worst < 0.1


def test_a_silent_talk_is_not_in_the_timeline() -> None:
    silent = talkers.Talk("t", Clip(np.zeros(1000, dtype=np.float32), RATE), "nothing")
    done = talkers.overlay(speech()[0], silent, 10, 0.2)
    assert not done.effects and np.array_equal(done.samples, speech()[0].samples)


def test_without_talks_the_error_says_what_to_pass() -> None:
    with pytest.raises(UsageError, match=r"Bank\(talks="):
        chain.draw("talkers", seeds.of(0, "x", 0, ""), chain.Bank())
    with pytest.raises(UsageError, match=r"Bank\(talks="):
        chain.draw("talker", seeds.of(0, "x", 0, ""), bank(), avoid=TEXTS)


def test_in_a_room_others_stand_at_another_place_of_it() -> None:
    for k in range(20):
        settings = chain.draw("talker+room", seeds.of(k, "x", 0, ""), bank())
        place = {stage.name: str(stage.values["room"]) for stage in settings.stages}
        assert place["room"] != place["talker"]
        assert place["room"].split("/")[0] == place["talker"].split("/")[0]

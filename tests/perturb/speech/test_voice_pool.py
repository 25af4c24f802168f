"""Draws: nobody dominates, order changes nothing, and the count is honest."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import seeds
from toolmark.core.errors import UsageError
from toolmark.perturb.speech import voice_pool
from toolmark.perturb.speech.voice import SYNTHETIC_SPEAKER, Voice


def _espeak(accent: str, variant: str) -> Voice:
    return Voice(
        engine="espeak-ng", name=f"{accent}+{variant}", speaker=SYNTHETIC_SPEAKER, accent=accent,
        sex="male", version="1",
    )  # fmt: skip


def _flite(name: str, speaker: str = "") -> Voice:
    return Voice(engine="flite", name=name, speaker=speaker or name, sex="male", version="2")


MANY = [_espeak(f"accent {i}", f"v{j}") for i in range(8) for j in range(30)]
FEW = [_flite("slt"), _flite("rms"), _flite("awb"), _flite("kal16", "kal")]
ALSO = [Voice(engine="festival", name="kal_diphone", speaker="kal", sex="male", version="3")]


def _draws(voices: list[Voice], n: int) -> list[Voice]:
    return [voice_pool.draw_voice(voices, seeds.make_rng(3, str(i), 0, "voice")) for i in range(n)]


def test_no_speaker_dominates_however_many_voices_it_has() -> None:
    rows = voice_pool.voice_balance(_draws(MANY + FEW + ALSO, 5000))
    shares = {row.level: row.share for row in rows if row.factor == "speaker"}
    assert set(shares) == {SYNTHETIC_SPEAKER, "slt", "rms", "awb", "kal"}
    assert all(abs(share - 0.2) < 0.025 for share in shares.values())
    accents = [row.share for row in rows if row.factor == "accent" and "accent" in row.level]
    assert len(accents) == 8
    assert max(accents) < 2 * min(accents)


def test_the_order_of_the_pool_changes_no_draw() -> None:
    voices = MANY + FEW + ALSO
    turned = voices[::-1]
    assert _draws(voices, 50) == _draws(turned, 50)


@given(st.integers(), st.sets(st.sampled_from(MANY + FEW + ALSO), min_size=1, max_size=20))
def test_a_draw_is_a_voice_of_the_pool_within_bounds(seed: int, voices: set[Voice]) -> None:
    drawn = voice_pool.draw_voice(list(voices), Random(seed))
    assert (drawn.engine, drawn.name) in {(voice.engine, voice.name) for voice in voices}
    assert 0.85 <= drawn.rate <= 1.2
    assert (drawn.pitch is None) == (drawn.name == "rms")
    assert drawn.pitch is None or 0.3 <= drawn.pitch <= 0.7
    assert drawn == voice_pool.draw_voice(sorted(voices, key=repr), Random(seed))


def test_rates_and_pitches_use_their_whole_range() -> None:
    drawn = _draws([_flite("slt")], 2000)
    rates = {voice.rate for voice in drawn}
    assert (min(rates), max(rates), len(rates)) == (0.85, 1.2, 36)
    assert len({voice.pitch for voice in drawn}) == 41


def test_variants_of_one_synthesiser_are_nobody_and_builds_of_a_person_are_one() -> None:
    drawn = [*MANY, *FEW, *ALSO]
    assert voice_pool.count_speakers(drawn) == 4
    rows = {row.level: row for row in voice_pool.voice_balance(drawn) if row.factor == "speaker"}
    assert (rows[SYNTHETIC_SPEAKER].voices, rows[SYNTHETIC_SPEAKER].draws) == (240, 240)
    assert (rows["kal"].voices, rows["kal"].draws) == (2, 2)


@given(st.lists(st.sampled_from(MANY + FEW)))
def test_shares_of_a_factor_sum_to_one(drawn: list[Voice]) -> None:
    rows = voice_pool.voice_balance(drawn)
    for factor in {row.factor for row in rows}:
        own = [row for row in rows if row.factor == factor]
        assert sum(row.draws for row in own) == len(drawn)
        assert abs(sum(row.share for row in own) - 1) < 1e-9
        assert [row.draws for row in own] == sorted((row.draws for row in own), reverse=True)


def test_an_empty_pool_is_an_error_and_no_draws_are_no_rows() -> None:
    with pytest.raises(UsageError):
        voice_pool.draw_voice([], Random(0))
    assert voice_pool.voice_balance([]) == []

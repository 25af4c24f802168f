"""Loss, loops, jitter, cut tails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.perturb.speech.spoken import made, speech

from toolmark.perturb.speech import audio_clip, network_faults, synthetic_noise
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip
from toolmark.perturb.speech.effect_timeline import StageResult, make_effect


@pytest.mark.parametrize("severity", [1, 2, 3, 4])
@pytest.mark.parametrize("frame_ms", network_faults.FRAMES_MS)
def test_of_long_signals_the_asked_share_is_cut_in_bursts_of_that_length(
    severity: int, frame_ms: float
) -> None:
    share, burst_ms = network_faults.LOSS_BY_SEVERITY[severity]
    mean = max(burst_ms / frame_ms, 1)
    lost = network_faults.draw_loss_bursts(
        400_000, share, mean, synthetic_noise.noise_generator(severity)
    )
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate(([0], lost.astype(int), [0])))))[::2]
    assert lost.mean() == pytest.approx(share, rel=0.08)
    assert runs.mean() == pytest.approx(mean, rel=0.06)


def test_bounds_of_loss() -> None:
    assert not network_faults.draw_loss_bursts(50, 0.0, 2, synthetic_noise.noise_generator(1)).any()
    assert network_faults.draw_loss_bursts(50, 1.0, 2, synthetic_noise.noise_generator(1)).all()
    assert len(network_faults.draw_loss_bursts(0, 0.5, 2, synthetic_noise.noise_generator(1))) == 0


@pytest.mark.parametrize("repeat", [False, True])
def test_gaps_are_where_the_timeline_says_and_the_rest_is_untouched(repeat: bool) -> None:
    said = made(20)
    done = network_faults.drop_packets(
        said, 0.1, 60, 20, synthetic_noise.noise_generator(4), repeat=repeat
    )
    whole, *gaps = done.effects
    rest = np.ones(len(said.samples), dtype=bool)
    for gap in gaps:
        span = slice(round(gap.start_s * RATE_HZ), round(gap.end_s * RATE_HZ))
        rest[span] = False
        if not repeat:
            assert not done.samples[span].any()
    assert np.array_equal(done.samples[rest], said.samples[rest])
    assert float(whole.detail["share"]) == pytest.approx(1 - rest.mean(), abs=1e-4)
    assert whole.detail["gaps"] == len(gaps) > 0


def test_repeats_fall_by_their_factor() -> None:
    said = Clip(np.full(RATE_HZ, 0.5, dtype=np.float32), RATE_HZ)
    done = network_faults.drop_packets(
        said, 0.3, 100, 20, synthetic_noise.noise_generator(1), repeat=True
    )
    first = done.effects[2 if done.effects[1].start_s == 0 else 1]
    at = round(first.start_s * RATE_HZ)
    assert done.samples[at] == pytest.approx(0.35)


def test_loops_say_again_what_was_just_said() -> None:
    said = speech()[0]
    done = network_faults.repeat_pieces(said, [(0.7, 60, 1), (0.4, 100, 2)])
    long = [int(0.1 * RATE_HZ) * 2, int(0.06 * RATE_HZ)]
    assert len(done.samples) == len(said.samples) + sum(long)
    assert [e.start_s for e in done.effects] == sorted(e.start_s for e in done.effects)
    for e, size in zip(done.effects, (1600, 960), strict=True):
        at = round(e.start_s * RATE_HZ)
        again, before = done.samples[at : at + size], done.samples[at - size : at]
        assert np.allclose(again[40:-40], before[40:-40], atol=1e-6)
    assert [round(float(e.detail["inserted_s"]) * RATE_HZ) for e in done.effects] == long


def _without(done: StageResult) -> audio_clip.Samples:
    keep = np.ones(len(done.samples), dtype=bool)
    for e in done.effects:
        if "inserted_s" in e.detail:
            keep[round(e.start_s * RATE_HZ) : round(e.end_s * RATE_HZ)] = False
    return np.asarray(done.samples[keep], dtype=np.float32)


@pytest.mark.parametrize("mean_ms", list(network_faults.JITTER_MS.values()))
def test_jitter_stalls_the_sound_and_drops_only_its_gaps(mean_ms: float) -> None:
    said = made(30)
    done = network_faults.apply_jitter(said, mean_ms, 20, synthetic_noise.noise_generator(2))
    back = _without(done)
    assert len(back) == len(said.samples)
    assert len(done.samples) == len(said.samples) + sum(many for _, many in done.inserted)
    for e in done.effects[1:]:
        span = slice(round(e.start_s * RATE_HZ), round(e.end_s * RATE_HZ))
        assert not done.samples[span].any()
    changed = float(np.mean(back != said.samples))
    assert changed <= float(done.effects[0].detail["share"]) + 1e-6


def test_worse_jitter_costs_more() -> None:
    said, cost = made(30), []
    for mean_ms in network_faults.JITTER_MS.values():
        whole = network_faults.apply_jitter(
            said, mean_ms, 20, synthetic_noise.noise_generator(2)
        ).effects[0]
        cost.append(float(whole.detail["stalls"]) + float(whole.detail["gaps"]))
    assert cost == sorted(cost) and cost[0] < cost[-1]


@pytest.mark.parametrize("share", [0.05, 0.1, 0.25])
def test_a_cut_tail_takes_its_share_of_the_speech_and_fades(share: float) -> None:
    said = speech()[2]
    done = network_faults.cut_tail(said, share)
    (reported,) = done.effects
    spoken = np.flatnonzero(audio_clip.speech_mask(said))
    span = (spoken[-1] + 1 - spoken[0]) / RATE_HZ
    assert float(reported.detail["speech_s"]) == pytest.approx(share * span, abs=1e-3)
    assert reported.end_s == float(reported.detail["at_s"]) == len(done.samples) / RATE_HZ
    assert float(reported.detail["cut_s"]) == pytest.approx(said.seconds - reported.end_s, abs=1e-5)
    assert done.samples[-1] == 0
    assert np.array_equal(done.samples[:-80], said.samples[: len(done.samples) - 80])


@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(0, 50)), max_size=5),
    st.integers(0, 999),
    st.integers(1, 200),
)
@settings(max_examples=200, deadline=None)
def test_times_move_as_samples_do(put: list[tuple[int, int]], at: int, long: int) -> None:
    put = sorted(put)
    order = np.arange(1000)
    parts, last = [], 0
    for where, many in put:
        parts += [order[last:where], np.full(many, -1)]
        last = where
    after = np.concatenate([*parts, order[last:]])
    end = min(at + long, 1000)
    before = make_effect("environment", "event", (at / RATE_HZ, end / RATE_HZ), 1)
    (reported,) = network_faults.shift_effects((before,), put, RATE_HZ)
    assert round(reported.start_s * RATE_HZ) == int(np.flatnonzero(after == at)[0])
    assert round(reported.end_s * RATE_HZ) == int(np.flatnonzero(after == end - 1)[0]) + 1

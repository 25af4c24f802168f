"""The stand-ins whose rows follow from each other: robots that move, cooks in a kitchen."""

from __future__ import annotations

import re
from cmath import exp
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from toolmark.suites.multinet import row_sources
from toolmark.suites.multinet.baseline_answers import RowsWithBaselines
from toolmark.suites.multinet.frame_records import ActionVector, Choice
from toolmark.suites.multinet.openx.morphologies import MORPHOLOGIES
from toolmark.suites.multinet.overcooked import kitchen_state
from toolmark.suites.multinet.row_sampling import SampledRows
from toolmark.suites.multinet.synthetic import (
    openx,
    overcooked,
)
from toolmark.suites.multinet.synthetic.kitchen_simulation import LAYOUTS, N_GAME_STEPS
from toolmark.suites.multinet.synthetic.robot_simulation import N_EPISODE_STEPS, SIMULATORS
from toolmark.suites.multinet.synthetic.synthetic_rows import SyntheticRows

# --- openx ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIMULATORS)
def test_actions_have_the_shape_and_the_statistics_of_training(name: str) -> None:
    train = openx.rows(
        n=openx.N_STATISTICS_EPISODES * N_EPISODE_STEPS, split="train", seed=12, morphology=name
    )
    actions = np.array([frame.truth for frame in train])
    space = next(iter(openx.rows(n=1, split="test", seed=12, morphology=name))).space
    assert isinstance(space, ActionVector) and space == next(iter(train)).space
    shape = MORPHOLOGIES[name]
    assert (space.names, space.slices) == (shape.names, shape.slices)
    assert actions.shape[1] == len(shape.names) and np.isfinite(actions).all()
    assert np.array_equal(space.low, actions.min(0)) and np.array_equal(space.high, actions.max(0))
    assert np.allclose(space.mean, actions.mean(0), atol=1e-6)
    assert (actions.max(0) > actions.min(0)).all()


def _run(name: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    episode = openx.rows(
        n=N_EPISODE_STEPS, split="test", seed=13, morphology=name
    ).simulate_episode(number)
    return np.array(episode.states), np.array(episode.actions)


@pytest.mark.parametrize("number", range(5))
def test_states_follow_from_actions(number: int) -> None:
    states, actions = _run("wheeled", number)
    ahead = np.array([exp(1j * heading) for heading in states[:-1, 2]])
    moved = (actions[:-1, 0] + 1j * actions[:-1, 1]) * ahead
    gone = np.diff(states[:, 0] + 1j * states[:, 1])
    assert np.allclose(moved, gone, atol=1e-5)
    states, actions = _run("single_arm", number)
    assert np.allclose(np.diff(states[:, :3], axis=0), actions[:-1, 4:], atol=1e-5)
    assert np.allclose(np.diff(states[:, 3:6], axis=0), actions[:-1, :3], atol=1e-5)
    assert actions[:, 3].tolist() == [0.0] * (N_EPISODE_STEPS - 1) + [1.0]
    states, actions = _run("mobile", number)
    assert np.allclose(np.diff(states[:, :3], axis=0), actions[:-1, :3], atol=1e-5)
    assert np.allclose(np.diff(states[:, 3:6], axis=0), actions[:-1, 7:], atol=1e-5)
    for name, saved in (("bimanual", slice(0, 14)), ("quadrupedal", slice(1, 13))):
        states, actions = _run(name, number)
        assert np.array_equal(states[1:, saved], actions[:-1])


@pytest.mark.parametrize("number", range(8))
def test_robots_reach_what_they_were_asked_to(number: int) -> None:
    for name, digits in (("wheeled", 2), ("single_arm", 2), ("mobile", 2)):
        rows = openx.rows(n=N_EPISODE_STEPS, split="test", seed=14, morphology=name)
        episode = rows.simulate_episode(number)
        last = episode.states[-1]
        if name == "wheeled":
            assert abs(complex(*last[:2]) - complex(*episode.scene)) < 0.25, digits
        elif name == "single_arm":
            assert last[6] == 1.0
        else:
            assert last[-1] == 1.0


def test_history_tells_actions_before_the_step_and_no_other() -> None:
    rows = openx.rows(n=N_EPISODE_STEPS, split="test", seed=15, morphology="wheeled", history=3)
    frames = [*rows]
    assert "[" not in frames[0].fields["history"]
    for n, frame in enumerate(frames[1:], 1):
        reported = [tuple(map(float, line.split(", ")))
                for line in re.findall(r"\[(.*)\]", frame.fields["history"])]  # fmt: skip
        truths = [each.truth for each in frames[max(0, n - 3) : n]]
        assert np.allclose(reported, truths, rtol=1e-5)


# --- overcooked -------------------------------------------------------------------------

STEPS = ((0, -1), (0, 1), (1, 0), (-1, 0))


def test_the_next_state_follows_from_the_joint_action() -> None:
    rows = overcooked.rows(n=800, split="test", seed=16)
    for game in range(4):
        grid = LAYOUTS[rows.layout_of_game(game)]
        for one, two in pairwise(rows.game_steps(game)):
            aims = []
            for player, act in zip(one.state.players, divmod(one.joint, 6), strict=True):
                x, y = player.position
                dx, dy = STEPS[act] if act < 4 else (0, 0)
                free = kitchen_state.tile_at(grid, (x + dx, y + dy)) == kitchen_state.FLOOR_TILE
                aims.append((x + dx, y + dy) if free else (x, y))
            was = [player.position for player in one.state.players]
            now = [player.position for player in two.state.players]
            crossed = aims[0] == aims[1] or aims == was[::-1]
            assert now == (was if crossed else aims)
            for before, after, act in zip(
                one.state.players, two.state.players, divmod(one.joint, 6), strict=True
            ):
                assert after.orientation == (STEPS[act] if act < 4 else before.orientation)
                assert act == 5 or _loaded(before) == _loaded(after)
            assert not state_odd(two.state, grid)


def _loaded(player: kitchen_state.Player) -> str:
    return player.carried_object.name if player.carried_object else ""


def state_odd(now: kitchen_state.KitchenState, grid: kitchen_state.Grid) -> list[str]:
    """Return what the reader of real games would find odd."""
    return [*kitchen_state._state_faults(now, grid)]


@pytest.mark.parametrize("items", [3, 900])
def test_games_are_whole_and_of_all_layouts_alike_however_many_are_asked(items: int) -> None:
    asked = row_sources.load_rows("overcooked", "synthetic", 3, items, ({},), {})
    assert (
        isinstance(asked, SampledRows)
        and isinstance(asked.rows, RowsWithBaselines)
        and len(asked) == items
    )
    for made in (asked.rows.rows, asked.rows.train):
        assert isinstance(made, SyntheticRows) and made.n % 800 == 0
        counts = Counter(
            made.build_frame(k * N_GAME_STEPS).slices["layout"]
            for k in range(made.n // N_GAME_STEPS)
        )
        assert counts.keys() == LAYOUTS.keys() and len({*counts.values()}) == 1


def test_cooks_serve_soups_and_all_joint_actions_occur() -> None:
    rows: SyntheticRows = overcooked.rows(n=4_000, split="test", seed=17)
    frames = [*rows]
    counts = Counter(frame.truth for frame in frames)
    assert set(counts) == {*range(36)}
    (most, n), *_ = counts.most_common(1)
    assert most == 28 and 0.15 < n / len(frames) < 0.45
    ends = [int(frame.fields["score"]) for frame in frames if frame.step == 199]
    assert min(ends) >= 0 and sum(end > 0 for end in ends) >= 0.9 * len(ends)
    assert {frame.slices["layout"] for frame in frames} == {*LAYOUTS}


def test_history_of_a_game_tells_what_was_done() -> None:
    frames = [*overcooked.rows(n=30, split="test", seed=18, history=2)]
    space = frames[0].space
    assert isinstance(space, Choice)
    for one, two, three in zip(frames, frames[1:], frames[2:], strict=False):
        reported = three.fields["history"].strip().splitlines()
        assert reported == [space.options[int(str(each.truth))] for each in (one, two)]


def test_as_many_frames_are_shown_as_are_asked_for_the_last_being_now() -> None:
    one = overcooked.rows(n=10, split="test", seed=19)
    three = overcooked.rows(n=10, split="test", seed=19, pictures=3)
    shown = three.pictures(three.row_id(7))
    assert [len(three.pictures(three.row_id(k))) for k in range(4)] == [1, 2, 3, 3]
    assert shown == tuple(one.pictures(one.row_id(k))[0] for k in (5, 6, 7))

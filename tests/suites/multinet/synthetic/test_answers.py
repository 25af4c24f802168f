"""The answers of the stand-ins, worked out again in another way than they were made."""

from __future__ import annotations

import io
import re
from cmath import exp, phase
from collections import Counter
from itertools import pairwise
from math import pi

import numpy as np
import pytest
from PIL import Image

from toolmark.suites.multinet.frame import Choice, Frame, Motion
from toolmark.suites.multinet.openx.morphology import MORPHOLOGIES
from toolmark.suites.multinet.overcooked import state
from toolmark.suites.multinet.published import odinw as published
from toolmark.suites.multinet.synthetic import (
    crops,
    odinw,
    openx,
    overcooked,
    piqa,
    robovqa,
    sqa3d,
)
from toolmark.suites.multinet.synthetic.kitchen import LAYOUTS
from toolmark.suites.multinet.synthetic.matter import CONTRASTS
from toolmark.suites.multinet.synthetic.motion import EPISODES, LENGTH
from toolmark.suites.multinet.synthetic.room import FIXED, Room, Thing
from toolmark.suites.multinet.synthetic.stand import Stand

# --- piqa -------------------------------------------------------------------------------

# what a thing is made of settles it: words of the goal that needs it, words of such things
MATTER = {
    "magnetic": (r"magnet can lift", r"\b(iron|steel)\b"),
    "conducts": (r"lights up", r"\b(copper|steel|aluminium|brass|iron|silver)\b"),
    "transparent": (r"still see", r"\b(glass|clear)\b"),
    "melts": (r"with a liquid", r"\b(ice|butter|chocolate|wax|lard)\b"),
    "burns": (r"campfire larger", r"\b(stick|newspaper|cardboard|pine|straw|wooden)\b"),
    "cold": (r"chill", r"\b(snow|fridge|mountain|ice|frozen)\b"),
    "floats": (r"surface", r"\b(cork|log|empty|tennis|foam|life)\b"),
    "insulates": (r"away from", r"\b(cork|towel|wooden|felt|wool|newspapers)\b"),
    "rings": (r"wake a sleeping", r"\b(steel|brass|tin|bronze|cymbal)\b"),
    "watertight": (r"carry water", r"\b(bucket|jar|boot|pot|jug|tub)\b"),
}  # fmt: skip


def test_the_solution_whose_thing_has_the_property_is_right_for_the_goal_that_needs_it() -> None:
    judged = 0
    for frame in piqa.rows(n=1_000, split="test", seed=1):
        kind = CONTRASTS[int(frame.group.split("-")[-2])].name
        if kind not in MATTER:
            continue
        needs, things = MATTER[kind]
        assert isinstance(frame.space, Choice)
        has = [bool(re.search(things, option)) for option in frame.space.options]
        assert sorted(has) == [False, True], frame
        assert frame.truth == has.index(bool(re.search(needs, frame.fields["goal"]))), frame
        judged += 1
    assert judged > 300


def test_two_rows_differ_in_the_goal_alone_and_the_answer_turns() -> None:
    frames = [*piqa.rows(n=600, split="train", seed=2)]
    assert sum(frame.truth == 0 for frame in frames) == 300
    for one, two in zip(frames[::2], frames[1::2], strict=True):
        assert one.space == two.space and one.group == two.group
        assert one.fields != two.fields and {one.truth, two.truth} == {0, 1}


def test_no_row_of_piqa_comes_twice_and_no_goal_names_a_thing() -> None:
    frames = [*piqa.rows(n=6_912, split="test", seed=3)]
    assert len({(frame.fields["goal"], frame.space) for frame in frames}) == len(frames)
    for contrast in CONTRASTS:
        assert len({*contrast.having, *contrast.lacking}) == 12
        for thing in (*contrast.having, *contrast.lacking):
            noun = thing.split()[-1]
            assert noun not in f"{contrast.need} {contrast.forbid}".split(), (contrast.name, thing)


# --- sqa3d ------------------------------------------------------------------------------


def _seen(room: Room, told: str) -> tuple[complex, complex]:
    """Return where the middle before a thing is, and the way that is faced, as complex numbers."""
    found = re.fullmatch(r"I am standing right in front of the (\w+), facing the (\w+)\.", told)
    assert found
    at, to = (room.one(kind) for kind in found.groups())
    into = (1j, -1, -1j, 1)[at.back]
    depth = at.high if at.back % 2 == 0 else at.wide
    spot = complex(at.x, at.y) + into * (depth / 2 + 42)
    ahead = complex(to.x, to.y) - spot
    return spot, ahead / abs(ahead)


def _side(thing: Thing, spot: complex, ahead: complex) -> str:
    there = (complex(thing.x, thing.y) - spot) / ahead
    turn = phase(there) * 180 / pi
    return ("front", "right", "behind", "left")[round(turn / 90) % 4]


def _again(room: Room, frame: Frame) -> str | None:
    """Return the answer to a question about where things are, None for another."""
    spot, ahead = _seen(room, frame.fields["situation"])
    asked = frame.fields["question"]
    words = {"in front of me": "front", "to my right": "right", "to my left": "left",
             "behind me": "behind"}  # fmt: skip
    if found := re.fullmatch(r"Is the (\w+) (to my right|to my left|behind me)\?", asked):
        there = _side(room.one(found[1]), spot, ahead) == words[found[2]]
        return "yes" if there else "no"
    if found := re.match(r"In which direction is the (\w+)", asked):
        return _side(room.one(found[1]), spot, ahead)
    if found := re.match(r"Which way should I turn to face the (\w+)", asked):
        side = _side(room.one(found[1]), spot, ahead)
        return "around" if side == "behind" else side
    if found := re.match(r"Can I look at the (\w+)", asked):
        return "yes" if _side(room.one(found[1]), spot, ahead) == "front" else "no"
    if found := re.fullmatch(r"How many (\w+)s are (.*), as a word\?", asked):
        things = room.all(found[1])
        if "side" in found[2]:
            sign = 1 if "right" in found[2] else -1
            things = [t for t in things
                      if sign * ((complex(t.x, t.y) - spot) / ahead).imag > 0]  # fmt: skip
        return ("zero", "one", "two", "three", "four")[len(things)]
    if found := re.match(r"(?:Is|Which is closer to me,) the (\w+) (?:closer.*the|or the) (\w+)\?",
                         asked):  # fmt: skip
        one, two = (room.one(found[k]).away(spot.real, spot.imag) for k in (1, 2))
        if asked.startswith("Is"):
            return "yes" if one < two else "no"
        return found[1] if one < two else found[2]
    if found := re.fullmatch(r"What is the nearest thing (.*)\?", asked):
        beside = [t for t in room.things if _side(t, spot, ahead) == words[found[1]]]
        at = room.one(frame.fields["situation"].split("front of the ")[1].split(",")[0])
        return min((t for t in beside if t is not at),
                   key=lambda t: t.away(spot.real, spot.imag)).kind  # fmt: skip
    return None


def test_answers_about_rooms_hold_from_the_middle_before_the_thing() -> None:
    rows = sqa3d.rows(n=480, split="test", seed=4)
    judged = Counter[str]()
    for number, frame in enumerate(rows):
        spot, _ = rows.asked(number // len(sqa3d.TYPES))[number % len(sqa3d.TYPES)]
        answer = _again(spot.room, frame)
        if answer is not None:
            assert answer == frame.truth, frame
            judged[frame.slices["type"]] += 1
    assert set(judged) == set(sqa3d.TYPES) and judged.total() > 400


def test_a_free_way_meets_nothing_and_a_blocked_one_something() -> None:
    rows = sqa3d.rows(n=480, split="test", seed=4)
    judged = Counter[object]()
    for number, frame in enumerate(rows):
        if not (found := re.match(r"Can I walk straight to the (\w+)", frame.fields["question"])):
            continue
        spot, _ = rows.asked(number // len(sqa3d.TYPES))[number % len(sqa3d.TYPES)]
        here, ahead = _seen(spot.room, frame.fields["situation"])
        goal = spot.room.one(found[1])
        met = ""
        for step in range(800):
            at = here + ahead * step
            if goal.away(at.real, at.imag) == 0:
                break
            others = (t for t in spot.room.things if t is not goal and t.kind not in FIXED)
            met = met or next((t.kind for t in others if t.away(at.real, at.imag) < 9), "")
        assert bool(met) == (frame.truth == "no"), frame
        judged[frame.truth] += 1
    assert min(judged["yes"], judged["no"]) > 10


def test_things_in_a_room_do_not_overlap() -> None:
    rows = sqa3d.rows(n=120, split="train", seed=6)
    for scene in range(20):
        room = rows.asked(scene)[0][0].room
        things = room.things
        assert all(a.apart(b) > 0 for k, a in enumerate(things) for b in things[:k])
        assert all(0 <= t.x <= room.wide or t.kind in FIXED for t in things)


# --- robovqa ----------------------------------------------------------------------------


def test_answers_about_the_table_follow_from_what_lies_where() -> None:
    rows = robovqa.rows(n=1_000, split="test", seed=7)
    for number, frame in enumerate(rows):
        at = number % robovqa.STEPS
        step = robovqa._episode(rows.seed, frame.group)[at]
        lies = dict(zip(step.after.things, step.after.lies, strict=True))
        was = dict(zip(step.before.things, step.before.lies, strict=True))
        moves = re.findall(r"\d\. (put the ([\w ]+?) in the (\w+))", frame.fields["context"])
        open_ = [words for words, thing, place in moves if lies[thing] != place]
        moved = [thing for thing in lies if lies[thing] != was[thing]]
        asked = frame.fields["question"]
        if frame.slices["type"] == "next":
            assert frame.truth == (open_ or ["done"])[0]
        elif found := re.match(r"Was this move done: put the (.*) in the (\w+)\?", asked):
            assert frame.truth == ("yes" if lies[found[1]] == found[2] else "no")
        elif found := re.match(r"Is there an? (.*) to pick up now", asked):
            assert frame.truth == ("yes" if found[1] in lies else "no")
            assert found[1] not in frame.fields["context"]
        else:
            place = lies[str(frame.truth).split(" the ")[1].split(" in")[0].split(" beside")[0]]
            assert str(frame.truth).endswith(place.removeprefix("~"))
            assert str(frame.truth).startswith("dropped" if place[0] == "~" else "put")
        assert len(moved) <= 1 and (at > 0 or not moved)
        assert len(rows.pictures(frame.id)) == (2 if at else 1) if number < 12 else True


def test_before_is_what_the_step_before_left() -> None:
    rows = robovqa.rows(n=50, split="train", seed=8)
    for episode in range(10):
        steps = robovqa._episode(rows.seed, rows.episode(episode))
        assert all(one.after == two.before for one, two in pairwise(steps))


# --- odinw ------------------------------------------------------------------------------


def test_sub_sets_have_numbers_of_classes_that_the_published_ones_have() -> None:
    assert {len(names) for names in odinw.SUBSETS.values()} <= {*published.CLASSES.values()}
    assert all(len({*names}) == len(names) for names in odinw.SUBSETS.values())
    assert not {*odinw.SUBSETS} & {*published.CLASSES}


def test_every_class_comes_once_before_one_comes_again() -> None:
    rows = odinw.rows(n=100, split="test", seed=9, subset=("DiceFaces", "Pennants"))
    dice = [frame.truth for frame in rows if frame.slices["subset"] == "DiceFaces"]
    assert all(sorted(dice[k : k + 6]) == [*range(6)] for k in range(0, 48, 6))


def test_classes_look_different_and_all_can_be_drawn() -> None:
    rows = odinw.rows(n=1, split="test", seed=10)
    for subset, kinds in odinw.SUBSETS.items():
        shown = {
            crops.drawn(subset, kind, rows.rng("ground", 0), rows.rng("crop", 0)).tobytes()
            for kind in kinds
        }
        assert len(shown) == len(kinds), subset


def test_pips_of_dice_can_be_counted() -> None:
    rows = odinw.rows(n=24, split="test", seed=11, subset=("DiceFaces",))
    for frame in rows:
        (picture,) = rows.pictures(frame.id)
        with Image.open(io.BytesIO(picture.data)) as image:
            small = image.convert("L").resize((160, 160))
        # pips are alike on both sides of the middle, and only odd dice have one in it
        middle = np.asarray(small, float)[74:86, 74:86].mean()
        face = np.median(np.asarray(small, float)[50:110, 50:110])
        assert (abs(middle - face) > 40) == (int(str(frame.truth)) % 2 == 0), frame


# --- openx ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EPISODES)
def test_actions_have_the_shape_and_the_statistics_of_training(name: str) -> None:
    train = openx.rows(n=openx.LEARNED * LENGTH, split="train", seed=12, morphology=name)
    actions = np.array([frame.truth for frame in train])
    space = next(iter(openx.rows(n=1, split="test", seed=12, morphology=name))).space
    assert isinstance(space, Motion) and space == next(iter(train)).space
    shape = MORPHOLOGIES[name]
    assert (space.names, space.slices) == (shape.names, shape.slices)
    assert actions.shape[1] == len(shape.names) and np.isfinite(actions).all()
    assert np.array_equal(space.low, actions.min(0)) and np.array_equal(space.high, actions.max(0))
    assert np.allclose(space.mean, actions.mean(0), atol=1e-6)
    assert (actions.max(0) > actions.min(0)).all()


def _run(name: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    episode = openx.rows(n=LENGTH, split="test", seed=13, morphology=name).episode(number)
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
    assert actions[:, 3].tolist() == [0.0] * (LENGTH - 1) + [1.0]
    states, actions = _run("mobile", number)
    assert np.allclose(np.diff(states[:, :3], axis=0), actions[:-1, :3], atol=1e-5)
    assert np.allclose(np.diff(states[:, 3:6], axis=0), actions[:-1, 7:], atol=1e-5)
    for name, kept in (("bimanual", slice(0, 14)), ("quadrupedal", slice(1, 13))):
        states, actions = _run(name, number)
        assert np.array_equal(states[1:, kept], actions[:-1])


@pytest.mark.parametrize("number", range(8))
def test_robots_reach_what_they_were_told(number: int) -> None:
    for name, digits in (("wheeled", 2), ("single_arm", 2), ("mobile", 2)):
        rows = openx.rows(n=LENGTH, split="test", seed=14, morphology=name)
        episode = rows.episode(number)
        last = episode.states[-1]
        if name == "wheeled":
            assert abs(complex(*last[:2]) - complex(*episode.scene)) < 0.25, digits
        elif name == "single_arm":
            assert last[6] == 1.0
        else:
            assert last[-1] == 1.0


def test_history_tells_actions_before_the_step_and_no_other() -> None:
    rows = openx.rows(n=LENGTH, split="test", seed=15, morphology="wheeled", history=3)
    frames = [*rows]
    assert "[" not in frames[0].fields["history"]
    for n, frame in enumerate(frames[1:], 1):
        told = [tuple(map(float, line.split(", ")))
                for line in re.findall(r"\[(.*)\]", frame.fields["history"])]  # fmt: skip
        truths = [each.truth for each in frames[max(0, n - 3) : n]]
        assert np.allclose(told, truths, rtol=1e-5)


# --- overcooked -------------------------------------------------------------------------

STEPS = ((0, -1), (0, 1), (1, 0), (-1, 0))


def test_the_next_state_follows_from_the_joint_action() -> None:
    rows = overcooked.rows(n=800, split="test", seed=16)
    for game in range(4):
        grid = LAYOUTS[rows.layout(game)]
        for one, two in pairwise(rows.game(game)):
            aims = []
            for player, act in zip(one.state.players, divmod(one.joint, 6), strict=True):
                x, y = player.position
                dx, dy = STEPS[act] if act < 4 else (0, 0)
                free = state.tile(grid, (x + dx, y + dy)) == state.FLOOR
                aims.append((x + dx, y + dy) if free else (x, y))
            was = [player.position for player in one.state.players]
            now = [player.position for player in two.state.players]
            crossed = aims[0] == aims[1] or aims == was[::-1]
            assert now == (was if crossed else aims)
            for before, after, act in zip(
                one.state.players, two.state.players, divmod(one.joint, 6), strict=True
            ):
                assert after.orientation == (STEPS[act] if act < 4 else before.orientation)
                assert act == 5 or _held(before) == _held(after)
            assert not state_odd(two.state, grid)


def _held(player: state.Player) -> str:
    return player.held_object.name if player.held_object else ""


def state_odd(now: state.State, grid: state.Grid) -> list[str]:
    """Return what the reader of real games would find odd."""
    return [*state._odd(now, grid)]


def test_cooks_serve_soups_and_all_joint_actions_occur() -> None:
    rows: Stand = overcooked.rows(n=6_000, split="test", seed=17)
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
        told = three.fields["history"].strip().splitlines()
        assert told == [space.options[int(str(each.truth))] for each in (one, two)]


def test_as_many_frames_are_shown_as_are_asked_for_the_last_being_now() -> None:
    one = overcooked.rows(n=10, split="test", seed=19)
    three = overcooked.rows(n=10, split="test", seed=19, pictures=3)
    shown = three.pictures(three.named(7))
    assert [len(three.pictures(three.named(k))) for k in range(4)] == [1, 2, 3, 3]
    assert shown == tuple(one.pictures(one.named(k))[0] for k in (5, 6, 7))

"""The answers of the stand-ins, worked out again in another way than they were made."""

from __future__ import annotations

import io
import re
from cmath import phase
from collections import Counter
from math import pi

import numpy as np
from PIL import Image

from toolmark.suites.multinet.frame_records import Choice, Frame
from toolmark.suites.multinet.published import odinw as published
from toolmark.suites.multinet.synthetic import (
    crop_drawing,
    odinw,
    piqa,
    robovqa,
    sqa3d,
    tabletop_scene,
)
from toolmark.suites.multinet.synthetic.physical_contrasts import physical_contrasts
from toolmark.suites.multinet.synthetic.room_layout import WALL_OPENINGS, FurnishedRoom, RoomThing

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
        kind = physical_contrasts()[int(frame.group.split("-")[-2])].name
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
    for contrast in physical_contrasts():
        assert len({*contrast.things_with, *contrast.things_without}) == 12
        for thing in (*contrast.things_with, *contrast.things_without):
            noun = thing.split()[-1]
            assert noun not in f"{contrast.goal} {contrast.opposite_goal}".split(), (
                contrast.name,
                thing,
            )


# --- sqa3d ------------------------------------------------------------------------------


def _seen(room: FurnishedRoom, reported: str) -> tuple[complex, complex]:
    """Return where the middle before a thing is, and the way that is faced, as complex numbers."""
    found = re.fullmatch(r"I am standing right in front of the (\w+), facing the (\w+)\.", reported)
    assert found
    at, to = (room.only_thing(kind) for kind in found.groups())
    into = (1j, -1, -1j, 1)[at.back_side]
    depth = at.height if at.back_side % 2 == 0 else at.width
    spot = complex(at.x, at.y) + into * (depth / 2 + 42)
    ahead = complex(to.x, to.y) - spot
    return spot, ahead / abs(ahead)


def _side(thing: RoomThing, spot: complex, ahead: complex) -> str:
    there = (complex(thing.x, thing.y) - spot) / ahead
    turn = phase(there) * 180 / pi
    return ("front", "right", "behind", "left")[round(turn / 90) % 4]


def _again(room: FurnishedRoom, frame: Frame) -> str | None:
    """Return the answer to a question about where things are, None for another."""
    spot, ahead = _seen(room, frame.fields["situation"])
    asked = frame.fields["question"]
    words = {"in front of me": "front", "to my right": "right", "to my left": "left",
             "behind me": "behind"}  # fmt: skip
    if found := re.fullmatch(r"Is the (\w+) (to my right|to my left|behind me)\?", asked):
        there = _side(room.only_thing(found[1]), spot, ahead) == words[found[2]]
        return "yes" if there else "no"
    if found := re.match(r"In which direction is the (\w+)", asked):
        return _side(room.only_thing(found[1]), spot, ahead)
    if found := re.match(r"Which way should I turn to face the (\w+)", asked):
        side = _side(room.only_thing(found[1]), spot, ahead)
        return "around" if side == "behind" else side
    if found := re.match(r"Can I look at the (\w+)", asked):
        return "yes" if _side(room.only_thing(found[1]), spot, ahead) == "front" else "no"
    if found := re.fullmatch(r"How many (\w+)s are (.*), as a word\?", asked):
        things = room.things_of_kind(found[1])
        if "side" in found[2]:
            sign = 1 if "right" in found[2] else -1
            things = [t for t in things
                      if sign * ((complex(t.x, t.y) - spot) / ahead).imag > 0]  # fmt: skip
        return ("zero", "one", "two", "three", "four")[len(things)]
    if found := re.match(r"(?:Is|Which is closer to me,) the (\w+) (?:closer.*the|or the) (\w+)\?",
                         asked):  # fmt: skip
        one, two = (
            room.only_thing(found[k]).distance_to_edge(spot.real, spot.imag) for k in (1, 2)
        )
        if asked.startswith("Is"):
            return "yes" if one < two else "no"
        return found[1] if one < two else found[2]
    if found := re.fullmatch(r"What is the nearest thing (.*)\?", asked):
        adjacent = [t for t in room.things if _side(t, spot, ahead) == words[found[1]]]
        at = room.only_thing(frame.fields["situation"].split("front of the ")[1].split(",")[0])
        return min((t for t in adjacent if t is not at),
                   key=lambda t: t.distance_to_edge(spot.real, spot.imag)).kind  # fmt: skip
    return None


def test_answers_about_rooms_hold_from_the_middle_before_the_thing() -> None:
    rows = sqa3d.rows(n=480, split="test", seed=4)
    judged = Counter[str]()
    for number, frame in enumerate(rows):
        spot, _ = rows.room_questions(number // len(sqa3d.QUESTION_TYPES))[
            number % len(sqa3d.QUESTION_TYPES)
        ]
        answer = _again(spot.room, frame)
        if answer is not None:
            assert answer == frame.truth, frame
            judged[frame.slices["type"]] += 1
    assert set(judged) == set(sqa3d.QUESTION_TYPES) and judged.total() > 400


def test_a_free_way_meets_nothing_and_a_blocked_one_something() -> None:
    rows = sqa3d.rows(n=480, split="test", seed=4)
    judged = Counter[object]()
    for number, frame in enumerate(rows):
        if not (found := re.match(r"Can I walk straight to the (\w+)", frame.fields["question"])):
            continue
        spot, _ = rows.room_questions(number // len(sqa3d.QUESTION_TYPES))[
            number % len(sqa3d.QUESTION_TYPES)
        ]
        here, ahead = _seen(spot.room, frame.fields["situation"])
        goal = spot.room.only_thing(found[1])
        met = ""
        for step in range(800):
            at = here + ahead * step
            if goal.distance_to_edge(at.real, at.imag) == 0:
                break
            others = (t for t in spot.room.things if t is not goal and t.kind not in WALL_OPENINGS)
            met = met or next(
                (t.kind for t in others if t.distance_to_edge(at.real, at.imag) < 9), ""
            )
        assert bool(met) == (frame.truth == "no"), frame
        judged[frame.truth] += 1
    assert min(judged["yes"], judged["no"]) > 10


def test_things_in_a_room_do_not_overlap() -> None:
    rows = sqa3d.rows(n=120, split="train", seed=6)
    for scene in range(20):
        room = rows.room_questions(scene)[0][0].room
        things = room.things
        assert all(a.gap_to(b) > 0 for k, a in enumerate(things) for b in things[:k])
        assert all(0 <= t.x <= room.width or t.kind in WALL_OPENINGS for t in things)


# --- robovqa ----------------------------------------------------------------------------


def test_answers_about_the_table_follow_from_what_lies_where() -> None:
    rows = robovqa.rows(n=600, split="test", seed=7)
    for number, frame in enumerate(rows):
        step = robovqa._draw_episode(rows.seed, frame.group)[number % robovqa.N_EPISODE_ROWS]
        lies = dict(zip(step.after.things, step.after.lies, strict=True))
        moves = re.findall(r"\d\. (put the ([\w ]+?) in the (\w+))", frame.fields["context"])
        open_ = [words for words, thing, place in moves if lies[thing] != place]
        asked = frame.fields["question"]
        if frame.slices["type"] == "next":
            assert frame.truth == (open_ or ["done"])[0]
        elif found := re.match(r"Was this move done: put the (.*) in the (\w+)\?", asked):
            assert frame.truth == ("yes" if lies[found[1]] == found[2] else "no")
            assert lies[found[1]].removeprefix("~") == found[2]
        elif found := re.match(r"Is there an? (.*) to pick up now", asked):
            assert frame.truth == ("yes" if found[1] in lies else "no")
            assert found[1] not in frame.fields["context"]
        else:
            place = lies[str(frame.truth).split(" the ")[1].split(" in")[0].split(" beside")[0]]
            assert str(frame.truth).endswith(place.removeprefix("~"))
            assert str(frame.truth).startswith("dropped" if place[0] == "~" else "put")
        assert len(rows.pictures(frame.id)) == (2 if step.before else 1) if number < 12 else True


def _gone(table: tabletop_scene.TabletopScene) -> list[int]:
    """Return how far each thing has come: 0 as at the start, 1 beside its place, 2 in it."""
    return [2 - lie.startswith("~") if lie else 0 for lie in table.lies]


def test_a_try_moves_one_thing_in_its_turn_and_time_goes_on() -> None:
    rows = robovqa.rows(n=500, split="train", seed=8)
    for episode in range(100):
        steps = robovqa._draw_episode(rows.seed, rows.episode_id(episode))
        after = [_gone(step.after) for step in steps]
        assert all(gone == sorted(gone, reverse=True) and gone.count(1) < 2 for gone in after)
        assert after == sorted(after) and not any(gone[-1] for gone in after)
        failed = {gone.index(1) for gone in after if 1 in gone}
        for step, gone in zip(steps, after, strict=True):
            if step.before:
                was = _gone(step.before)
                (moved,) = (k for k in range(4) if was[k] != gone[k])
                assert was[moved] < gone[moved]
                assert was[moved] == 1 or gone[moved] == 1 or moved not in failed


# --- odinw ------------------------------------------------------------------------------


def test_sub_sets_have_numbers_of_classes_that_the_published_ones_have() -> None:
    assert {len(names) for names in odinw.CLASSES_BY_SUBSET.values()} <= {
        *published.n_classes_by_subset().values()
    }
    assert all(len({*names}) == len(names) for names in odinw.CLASSES_BY_SUBSET.values())
    assert not {*odinw.CLASSES_BY_SUBSET} & {*published.n_classes_by_subset()}


def test_every_class_comes_once_before_one_comes_again() -> None:
    rows = odinw.rows(n=100, split="test", seed=9, subset=("DiceFaces", "Pennants"))
    dice = [frame.truth for frame in rows if frame.slices["subset"] == "DiceFaces"]
    assert all(sorted(dice[k : k + 6]) == [*range(6)] for k in range(0, 48, 6))


def test_an_id_is_one_question_whichever_sub_sets_are_asked() -> None:
    """Whatever is chosen beside it, and however many rows: the same classes, truth and picture."""
    ways = ((*odinw.CLASSES_BY_SUBSET,), ("DiceFaces",), ("Pennants", "DiceFaces", "BloodSmears"))
    seen: dict[str, tuple[Frame, object]] = {}
    for subset in ways:
        rows = odinw.rows(n=2 * len(subset), split="test", seed=10, subset=subset)
        for frame in rows:
            found = frame, rows.pictures(frame.id) if "DiceFaces" in frame.id else None
            assert seen.setdefault(frame.id, found) == found
    assert len(seen) == 28 and all(f"-{f.slices['subset']}-" in id for id, (f, _) in seen.items())


def test_classes_look_different_and_all_can_be_drawn() -> None:
    rows = odinw.rows(n=1, split="test", seed=10)
    for subset, kinds in odinw.CLASSES_BY_SUBSET.items():
        shown = {
            crop_drawing.draw_crop(
                subset, kind, rows.make_rng("ground", 0), rows.make_rng("crop", 0)
            ).tobytes()
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

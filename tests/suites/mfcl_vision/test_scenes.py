"""Scenes hold what their setting says, where they say it lies, and nothing else that is read."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from math import dist
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageChops

from toolmark.generation.drawing import emblem
from toolmark.generation.drawing.canvas import Canvas
from toolmark.generation.drawing.perspective import Corners, Plane, bounding_box
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision import scenes
from toolmark.suites.mfcl_vision.item_records import SceneSetting, Sign, SignRole
from toolmark.suites.mfcl_vision.scenes import (
    outdoor_scenes,
    print_faces,
    scene_props,
    sign_faces,
    wall_scenes,
)
from toolmark.suites.mfcl_vision.scenes.scene_canvas import SIGN_MARGIN, SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import StyledSign

CLUE = Sign(role="clue", lines=("Garvel Hall", "Room 4"), symbol="red star on a white shield")
ALIKE = Sign(role="lookalike", lines=("Tonnet House",), symbol="blue anchor on a yellow circle")
NEAR = Sign(role="foreground", lines=("Peldin Works",))
SETTINGS = 100  # that are drawn to see what sizes come out
SMALL = Sign(role="clutter", lines=("Push",))
FULL = (CLUE, ALIKE, NEAR, SMALL)


def _drawn(scene: str, *signs: Sign, seed: int = 1, share: float = 0.04) -> scenes.DrawnScene:
    setting = SceneSetting(scene=scene, signs=signs, clue_share=share)
    return scenes.render_scene(setting, random.Random(f"{scene} {seed}"))


@cache
def _whole(scene: str, seed: int = 1) -> scenes.DrawnScene:
    return _drawn(scene, *FULL, seed=seed)


def _boxes(drawn: scenes.DrawnScene) -> dict[int, Box]:
    return {seen.sign: seen.box for seen in drawn.placed_signs}


def test_there_are_many_kinds() -> None:
    assert len(scenes.SCENE_KINDS) >= 12
    assert len({kind.draw for kind in scenes.SCENE_KINDS.values()}) == len(scenes.SCENE_KINDS)


@pytest.mark.parametrize("scene", scenes.SCENE_KINDS)
def test_equal_seeds_give_equal_pictures_and_others_differ(scene: str) -> None:
    one, two, other = _whole(scene), _drawn(scene, *FULL), _whole(scene, 2)
    assert one.image.tobytes() == two.image.tobytes()
    assert one.placed_signs == two.placed_signs
    assert one.image.tobytes() != other.image.tobytes()


@pytest.mark.parametrize("scene", scenes.SCENE_KINDS)
def test_every_sign_is_seen_once_within_the_picture(scene: str) -> None:
    for seed in (1, 2):
        drawn = _whole(scene, seed)
        wide, high = drawn.image.size
        assert drawn.image.mode == "RGB"
        assert max(wide, high) <= 1536
        assert [seen.sign for seen in drawn.placed_signs] == list(range(len(FULL)))
        boxes = list(_boxes(drawn).values())
        for n, (left, top, right, low) in enumerate(boxes):
            assert 0 <= left < right <= wide
            assert 0 <= top < low <= high
            for other in boxes[:n]:
                apart = right <= other[0] or other[2] <= left or low <= other[1] or other[3] <= top
                assert apart, "two signs lie over each other"


@pytest.mark.parametrize("scene", scenes.SCENE_KINDS)
@pytest.mark.parametrize("n", [0, pytest.param(1, marks=pytest.mark.long), 2,
                               pytest.param(3, marks=pytest.mark.long)])  # fmt: skip
def test_a_sign_is_all_within_its_box_and_fills_it(
    scene: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _whole(scene)
    box = _boxes(whole)[n]
    words = {word for line in FULL[n].lines for word in line.split()}
    text, draw = Canvas.text, emblem.draw_emblem

    def without(self: Canvas, at: Any, said: str, *rest: Any) -> None:
        before = self.image.copy() if words & set(said.split()) else None
        text(self, at, said, *rest)
        if before:
            self.image.paste(before)

    def bare(sheet: Canvas, said: emblem.Emblem, *rest: Any) -> None:
        if not FULL[n].symbol or said != emblem.parse_emblem(FULL[n].symbol):
            draw(sheet, said, *rest)

    monkeypatch.setattr(Canvas, "text", without)
    monkeypatch.setattr(emblem, "draw_emblem", bare)
    changed = ImageChops.difference(whole.image, _drawn(scene, *FULL).image).getbbox()
    assert changed is not None
    for side, (edge, found) in enumerate(zip(box, changed, strict=True)):
        # letters lean with their plane, so a box is a little larger than they are
        slack = 2 * SIGN_MARGIN + 0.12 * min(box[2] - box[0], box[3] - box[1])
        inwards = found - edge if side < 2 else edge - found
        assert -1.0 <= inwards <= slack


@pytest.mark.parametrize("scene", scenes.SCENE_KINDS)
def test_nothing_is_written_that_the_setting_does_not_say(
    scene: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    text = Canvas.text

    def heard(self: Canvas, at: Any, words: str, *rest: Any) -> None:
        said.append(words)
        text(self, at, words, *rest)

    monkeypatch.setattr(Canvas, "text", heard)
    _drawn(scene, *FULL)
    known = " ".join(line for sign in FULL for line in sign.lines)
    assert said
    assert all(words in known for words in said)


@pytest.mark.parametrize("scene", scenes.SCENE_KINDS)
def test_letters_are_as_high_as_the_setting_asks(scene: str) -> None:
    for share in (0.03, 0.06):
        drawn = _drawn(scene, Sign(role="clue", lines=("HE",)), share=share)
        _, top, _, low = _boxes(drawn)[0]
        high = low - top - 2 * SIGN_MARGIN
        # perspective moves them a little
        assert high / drawn.image.height == pytest.approx(share, rel=0.3)


class Row(NamedTuple):
    """A setting that was drawn, and how high the letters of its signs came out, in pixels."""

    setting: SceneSetting
    height: int
    letters: dict[int, float]

    def of(self, *roles: SignRole) -> list[float]:
        return [high for n, high in self.letters.items() if self.setting.signs[n].role in roles]


@cache
def _rows() -> list[Row]:
    """Draw many rows of two or three names that take one line each, whatever their room."""
    rng, found = random.Random(3), []
    letters: dict[int, float] = {}

    def noted(stage: SceneCanvas, face: sign_faces.SignFace, plane: Plane, sign: int) -> None:
        note(stage, face, plane, sign)
        left, top, right, low = face.ink
        letters[sign] = dist(*(plane.to_picture((left + right) / 2, y) for y in (top, low)))

    note = SceneCanvas._record_box
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SceneCanvas, "_record_box", noted)
        for n in range(SETTINGS):
            roles: list[SignRole] = ["clue"]
            roles += ["lookalike"] * rng.randint(1, 2)
            roles += ["foreground"] * (n % 2)
            names = ["".join(rng.sample("ABDEHIKLMNRTUVXZ", rng.randint(4, 8))) for _ in roles]
            signs = tuple(Sign(role=r, lines=(w,)) for r, w in zip(roles, names, strict=True))
            scene = sorted(scenes.SCENE_KINDS)[n % len(scenes.SCENE_KINDS)]
            setting = SceneSetting(scene=scene, signs=signs, clue_share=(0.028, 0.04, 0.055)[n % 3])
            letters.clear()
            with suppress(ValueError):
                high = scenes.render_scene(setting, rng).image.height
                found.append(Row(setting, high, dict(sorted(letters.items()))))
    return found


@pytest.mark.long
def test_most_settings_can_be_drawn() -> None:
    assert len(_rows()) >= 0.85 * SETTINGS


@pytest.mark.long
def test_size_does_not_tell_the_clue() -> None:
    tallest, least, chance = 0, 0, 0.0
    for row in _rows():
        clue, *others = row.of("clue", "lookalike")
        tallest += clue > max(others)
        least += clue < min(others)
        chance += 1 / (1 + len(others))
    # two spreads of a hundred tries at this chance
    assert abs(tallest - chance) <= 10
    assert abs(least - chance) <= 10


@pytest.mark.long
def test_a_row_is_of_one_size_not_much_less_than_asked() -> None:
    for row in _rows():
        clue, *others = row.of("clue", "lookalike")
        # perspective moves them a little
        assert min(clue, *others) >= 0.75 * max(clue, *others)
        assert clue >= 0.75 * row.setting.clue_share * row.height


@pytest.mark.long
def test_what_stands_nearer_is_larger_than_all_of_the_row() -> None:
    found = [(near, row) for row in _rows() for near in row.of("foreground")]
    assert len(found) >= 40
    assert all(near > 1.05 * max(row.of("clue", "lookalike")) for near, row in found)


@pytest.mark.parametrize("scene", scenes.SCENE_KINDS)
@pytest.mark.parametrize("mark", ["left", pytest.param("right", marks=pytest.mark.long)])
def test_marks_say_where_things_stand_and_blank_ones_stand_nowhere_further(
    scene: str, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other: list[sign_faces.SignFace] = []
    blank: list[float] = []
    put = SceneCanvas.place_face

    fill = wall_scenes.fill_with_blanks

    def filled(*args: Any, **settings: Any) -> list[wall_scenes.NumberedFace]:
        row = fill(*args, **settings)
        if settings.get("make_blank") in (
            print_faces.make_blank_spine,
            print_faces.make_blank_bottle,
        ):
            other.extend(face for face, _ in row)
        return row

    def laid(
        self: SceneCanvas, face: sign_faces.SignFace, corners: Corners, sign: int | None = None
    ) -> None:
        put(self, face, corners, sign)
        # works of art above their cards are not cards
        if sign is None and scene != "gallery" and not any(face is one for one in other):
            left, _, right, _ = bounding_box(corners)
            blank.append((left + right) / 2)

    monkeypatch.setattr(wall_scenes, "fill_with_blanks", filled)
    monkeypatch.setattr(SceneCanvas, "place_face", laid)
    signs = (
        Sign(role="clue", lines=("HEVIN",), mark=mark),
        Sign(role="lookalike", lines=("TULMA",)),
        Sign(role="lookalike", lines=("BRENT",)),
    )
    for seed in range(3):
        blank.clear()
        boxes = _boxes(_drawn(scene, *signs, seed=seed))
        way = 1 if mark == "right" else -1
        clue, *others = (way * (boxes[n][0] + boxes[n][2]) / 2 for n in range(3))
        assert clue > max([*others, *(way * x for x in blank)])


def test_a_flat_thing_brings_no_colour_that_it_has_not() -> None:
    white, corners = (255, 255, 255), ((20.3, 31.7), (151.2, 24.9), (148.6, 121.3), (23.4, 110.8))
    stage = SceneCanvas(random.Random(1), (200, 150), white)
    stage.place_face(sign_faces.SignFace(Canvas(90, 60, (200, 210, 220)), (0, 0, 1, 1)), corners)
    assert stage.image.getextrema() == ((200, 255), (210, 255), (220, 255))


def test_nobody_stands_on_a_stone(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    stone, person = outdoor_scenes._draw_stone, scene_props.draw_person

    def laid(*args: Any) -> None:
        order.append("stone")
        stone(*args)

    def stood(*args: Any, **more: Any) -> None:
        order.append("person")
        person(*args, **more)

    monkeypatch.setattr(outdoor_scenes, "_draw_stone", laid)
    monkeypatch.setattr(scene_props, "draw_person", stood)
    for seed in range(4):
        order.clear()
        _drawn("park", CLUE, ALIKE, seed=seed)
        assert "person" not in order[order.index("stone") :]


@given(st.integers(0, 2**32), st.floats(20, 300), st.floats(20, 700))
def test_a_book_without_words_is_no_taller_than_asked_and_no_pole(
    seed: int, wide: float, high: float
) -> None:
    sheet = print_faces.make_blank_book(random.Random(seed), (wide, high)).sheet
    assert sheet.height <= high + 1
    assert sheet.height <= 5 * sheet.width + 3


@pytest.mark.parametrize("scene", ["parcels", "tickets"])
def test_a_leaflet_has_another_shape_than_what_lies_next_to_it(scene: str) -> None:
    performers = StyledSign(0, NEAR, 0.05, (250, 246, 236), ("plain",), 1.0)
    rng = random.Random(2)
    leaflet, other = (
        print_faces.make_leaflet(rng, performers, 50, 900),
        _BORNE[scene](rng, performers, 50, 450),
    )
    assert leaflet.mask is not None and other.mask is None
    assert leaflet.mask.getextrema() == (0, 255)
    assert leaflet.ink[2] < leaflet.sheet.width / 2


_BORNE = {"parcels": print_faces.make_package, "tickets": print_faces.make_ticket}


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        (SceneSetting(scene="attic", signs=(CLUE,)), "no scene 'attic'; try: .*street"),
        (
            SceneSetting(scene="street", signs=(CLUE, *[ALIKE] * 7)),
            "at most 6 signs of role lookalike",
        ),
        (
            SceneSetting(scene="street", signs=(Sign(role="clue", lines=("Hevin",), mark="red"),)),
            "no mark 'red'.*left, right",
        ),
        (SceneSetting(scene="street", signs=(CLUE,), clue_share=0.01), "cannot be read"),
        (SceneSetting(scene="street", signs=(Sign(role="clue", lines=("H" * 90,)),)), "wider"),
        (SceneSetting(scene="street", signs=(Sign(role="clue", symbol="a red cat"),)), "symbol"),
    ],
    ids=["scene", "many", "mark", "small", "long", "symbol"],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(setting: SceneSetting, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        scenes.render_scene(setting, random.Random(1))


def test_settings_draw_other_pictures_than_each_other() -> None:
    seen = {
        hashlib.sha256(_drawn(scene, CLUE, ALIKE, seed=seed).image.tobytes()).hexdigest()
        for scene in ("street", "park", "tickets")
        for seed in range(3)
    }
    assert len(seen) == 9


def test_a_capital_is_as_high_as_asked() -> None:
    for family in ("plain", "mono", "serif", "wide", "round", "hand"):
        sheet = Canvas(300, 120)
        sheet.text(
            (20, 100),
            "HE",
            sign_faces.font_with_capitals(family, 50.0, bold=False),
            (0, 0, 0),
            "ls",
        )
        box = ImageChops.invert(sheet.image.reduce(2)).getbbox()
        assert box is not None
        assert box[3] - box[1] == pytest.approx(50, abs=2)


def _read(image: Image.Image, box: Box, folder: Any) -> str:
    """Return what tesseract reads in and around a box."""
    left, top, right, low = box
    part = image.crop((int(left) - 12, int(top) - 12, int(right) + 12, int(low) + 12))
    part = part.convert("L").resize((part.width * 2, part.height * 2))
    part.save(folder / "part.png")
    command = ["tesseract", str(folder / "part.png"), "-", "--psm", "6"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.long
@pytest.mark.skipif(
    not shutil.which("tesseract"),
    reason="tesseract is not installed: apt-get install tesseract-ocr",
)
def test_a_recogniser_reads_most_clues(tmp_path: Any) -> None:
    clue = Sign(role="clue", lines=("Garvel Museum",))
    lost = []
    for scene in scenes.SCENE_KINDS:
        drawn = _drawn(scene, clue, ALIKE, seed=3)
        words = set(re.findall(r"[a-z]+", _read(drawn.image, _boxes(drawn)[0], tmp_path).lower()))
        if not {"garvel", "museum"} <= words:
            lost.append(scene)
    assert len(lost) <= len(scenes.SCENE_KINDS) * 0.2, lost

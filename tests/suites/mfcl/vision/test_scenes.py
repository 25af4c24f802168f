"""Scenes hold what their setting says, where they say it lies, and nothing else that is read."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import subprocess
from functools import cache
from typing import Any

import pytest
from PIL import Image, ImageChops

from toolmark.draw import emblem
from toolmark.draw.canvas import Sheet
from toolmark.draw.emblem import COLOURS
from toolmark.suites.mfcl.vision import scenes
from toolmark.suites.mfcl.vision.item import DOMAINS, Box, Setting, Sign
from toolmark.suites.mfcl.vision.scenes import faces
from toolmark.suites.mfcl.vision.scenes.stage import MARGIN

CLUE = Sign(role="clue", lines=("Garvel Hall", "Room 4"), symbol="red star on a white shield")
ALIKE = Sign(role="lookalike", lines=("Tonnet House",), symbol="blue anchor on a yellow circle")
NEAR = Sign(role="foreground", lines=("Peldin Works",))
SMALL = Sign(role="clutter", lines=("Push",))
FULL = (CLUE, ALIKE, NEAR, SMALL)


def _drawn(scene: str, *signs: Sign, seed: int = 1, share: float = 0.04) -> scenes.Drawn:
    setting = Setting(scene=scene, signs=signs, clue_share=share)
    return scenes.render(setting, random.Random(f"{scene} {seed}"))


@cache
def _whole(scene: str, seed: int = 1) -> scenes.Drawn:
    return _drawn(scene, *FULL, seed=seed)


def _boxes(drawn: scenes.Drawn) -> dict[int, Box]:
    return {seen.sign: seen.box for seen in drawn.seen}


def test_every_domain_has_several_kinds() -> None:
    for domain in DOMAINS:
        assert sum(domain in kind.domains for kind in scenes.KINDS.values()) >= 3
    assert len(scenes.KINDS) >= 12


@pytest.mark.parametrize("scene", scenes.KINDS)
def test_equal_seeds_give_equal_pictures_and_others_differ(scene: str) -> None:
    one, two, other = _whole(scene), _drawn(scene, *FULL), _whole(scene, 2)
    assert one.image.tobytes() == two.image.tobytes()
    assert one.seen == two.seen
    assert one.image.tobytes() != other.image.tobytes()


@pytest.mark.parametrize("scene", scenes.KINDS)
def test_every_sign_is_seen_once_within_the_picture(scene: str) -> None:
    for seed in (1, 2):
        drawn = _whole(scene, seed)
        wide, high = drawn.image.size
        assert drawn.image.mode == "RGB"
        assert max(wide, high) <= 1536
        assert [seen.sign for seen in drawn.seen] == list(range(len(FULL)))
        boxes = list(_boxes(drawn).values())
        for n, (left, top, right, low) in enumerate(boxes):
            assert 0 <= left < right <= wide
            assert 0 <= top < low <= high
            for other in boxes[:n]:
                apart = right <= other[0] or other[2] <= left or low <= other[1] or other[3] <= top
                assert apart, "two signs lie over each other"


@pytest.mark.parametrize("scene", scenes.KINDS)
@pytest.mark.parametrize("n", range(4))
def test_a_sign_is_all_within_its_box_and_fills_it(
    scene: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _whole(scene)
    box = _boxes(whole)[n]
    words = {word for line in FULL[n].lines for word in line.split()}
    text, draw = Sheet.text, emblem.draw

    def without(self: Sheet, at: Any, said: str, *rest: Any) -> None:
        before = self.image.copy() if words & set(said.split()) else None
        text(self, at, said, *rest)
        if before:
            self.image.paste(before)

    def bare(sheet: Sheet, said: emblem.Emblem, *rest: Any) -> None:
        if not FULL[n].symbol or said != emblem.parse(FULL[n].symbol):
            draw(sheet, said, *rest)

    monkeypatch.setattr(Sheet, "text", without)
    monkeypatch.setattr(emblem, "draw", bare)
    changed = ImageChops.difference(whole.image, _drawn(scene, *FULL).image).getbbox()
    assert changed is not None
    for side, (edge, found) in enumerate(zip(box, changed, strict=True)):
        # letters lean with their plane, so a box is a little larger than they are
        slack = 2 * MARGIN + 0.12 * min(box[2] - box[0], box[3] - box[1])
        inwards = found - edge if side < 2 else edge - found
        assert -1.0 <= inwards <= slack


@pytest.mark.parametrize("scene", scenes.KINDS)
def test_nothing_is_written_that_the_setting_does_not_say(
    scene: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    text = Sheet.text

    def heard(self: Sheet, at: Any, words: str, *rest: Any) -> None:
        said.append(words)
        text(self, at, words, *rest)

    monkeypatch.setattr(Sheet, "text", heard)
    _drawn(scene, *FULL)
    known = " ".join(line for sign in FULL for line in sign.lines)
    assert said
    assert all(words in known for words in said)


@pytest.mark.parametrize("scene", scenes.KINDS)
def test_letters_are_as_high_as_the_setting_asks(scene: str) -> None:
    for share in (0.03, 0.06):
        drawn = _drawn(scene, Sign(role="clue", lines=("HE",)), share=share)
        _, top, _, low = _boxes(drawn)[0]
        high = low - top - 2 * MARGIN
        # perspective moves them a little
        assert high / drawn.image.height == pytest.approx(share, rel=0.3)


@pytest.mark.parametrize("scene", scenes.KINDS)
def test_what_stands_nearer_is_larger(scene: str) -> None:
    signs = (Sign(role="clue", lines=("HE",)), Sign(role="foreground", lines=("HE",)))
    boxes = _boxes(_drawn(scene, *signs))
    clue, near = (box[3] - box[1] - 2 * MARGIN for box in (boxes[0], boxes[1]))
    assert near > clue * 1.1


@pytest.mark.parametrize("scene", scenes.KINDS)
def test_marks_say_where_things_stand(scene: str) -> None:
    signs = [
        Sign(role="clue" if mark == "middle" else "lookalike", lines=(word,), mark=mark)
        for mark, word in (("middle", "HEVIN"), ("right", "TULMA"), ("left", "BRENT"))
    ]
    for seed in range(2):
        boxes = _boxes(_drawn(scene, *signs, seed=seed))
        middle, right, left = ((boxes[n][0] + boxes[n][2]) / 2 for n in range(3))
        assert left < middle < right


@pytest.mark.parametrize("scene", scenes.KINDS)
@pytest.mark.parametrize("colour", ["red", "blue", "yellow"])
def test_marks_say_which_colour_a_thing_has(scene: str, colour: str) -> None:
    signs = (
        Sign(role="clue", lines=("HEVIN",), mark=colour),
        Sign(role="lookalike", lines=("TULMA",)),
    )
    drawn = _drawn(scene, *signs)
    left, top, right, low = (int(side) for side in _boxes(drawn)[0])
    wide = (right - left) // 2
    around = drawn.image.crop((left - wide, top - 60, right + wide, low + 60))
    near = [1 for pixel in _pixels(around.resize((60, 40))) if _alike(pixel, COLOURS[colour])]
    assert len(near) >= 40


def _pixels(image: Image.Image) -> list[tuple[int, int, int]]:
    raw = image.tobytes()
    return [(raw[k], raw[k + 1], raw[k + 2]) for k in range(0, len(raw), 3)]


def _alike(one: tuple[int, int, int], two: tuple[int, int, int]) -> bool:
    """Say whether two colours have the same hue, be the light as it may."""
    scales = [max(max(colour), 1) for colour in (one, two)]
    pairs = zip(one, two, strict=True)
    return max(one) > 60 and all(abs(a / scales[0] - b / scales[1]) < 0.24 for a, b in pairs)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        (Setting(scene="attic", signs=(CLUE,)), "no scene 'attic'; try: .*street"),
        (Setting(scene="street", signs=(CLUE, *[ALIKE] * 7)), "at most 6 signs of role lookalike"),
        (
            Setting(scene="street", signs=(Sign(role="clue", lines=("Hevin",), mark="tall"),)),
            "tall",
        ),
        (Setting(scene="street", signs=(CLUE,), clue_share=0.01), "cannot be read"),
        (Setting(scene="street", signs=(Sign(role="clue", lines=("H" * 90,)),)), "wider"),
        (Setting(scene="street", signs=(Sign(role="clue", symbol="a red cat"),)), "symbol"),
    ],
    ids=["scene", "many", "mark", "small", "long", "symbol"],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(setting: Setting, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        scenes.render(setting, random.Random(1))


def test_settings_draw_other_pictures_than_each_other() -> None:
    seen = {
        hashlib.sha256(_drawn(scene, CLUE, ALIKE, seed=seed).image.tobytes()).hexdigest()
        for scene in ("street", "park", "tickets")
        for seed in range(3)
    }
    assert len(seen) == 9


def test_a_capital_is_as_high_as_asked() -> None:
    for family in ("plain", "mono", "serif", "wide", "round", "hand"):
        sheet = Sheet(300, 120)
        sheet.text((20, 100), "HE", faces.sized(family, 50.0, bold=False), (0, 0, 0), "ls")
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


@pytest.mark.skipif(
    not shutil.which("tesseract"),
    reason="tesseract is not installed: apt-get install tesseract-ocr",
)
def test_a_recogniser_reads_most_clues(tmp_path: Any) -> None:
    clue = Sign(role="clue", lines=("Garvel Museum",))
    lost = []
    for scene in scenes.KINDS:
        drawn = _drawn(scene, clue, ALIKE, seed=3)
        words = set(re.findall(r"[a-z]+", _read(drawn.image, _boxes(drawn)[0], tmp_path).lower()))
        if not {"garvel", "museum"} <= words:
            lost.append(scene)
    assert len(lost) <= len(scenes.KINDS) * 0.2, lost

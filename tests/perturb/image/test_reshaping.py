"""Crops keep the clue and its margin, ratios are right to a pixel, boxes go where the pixels go."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from toolmark.core import seeds
from toolmark.core.errors import DataError
from toolmark.perturb.image import box_geometry, picture_variations, reshaping
from toolmark.perturb.image.box_geometry import Box
from toolmark.perturb.image.picture_file import MAX_SIDE_PX

RATIOS = {"16:9": Fraction(16, 9), "4:3": Fraction(4, 3)}
SHAPES = [f"{verb}-{ratio}" for verb in ("crop", "resize") for ratio in RATIOS]
sides = st.integers(1, MAX_SIDE_PX)


@st.composite
def scenes(draw: st.DrawFn, least: int = 1) -> tuple[tuple[int, int], list[Box]]:
    """Draw the size of a picture and boxes within it."""
    width, height = draw(st.integers(least, MAX_SIDE_PX)), draw(st.integers(least, MAX_SIDE_PX))
    boxes = []
    for _ in range(draw(st.integers(1, 3))):
        x = sorted(draw(st.tuples(*[st.floats(0, width, width=32)] * 2)))
        y = sorted(draw(st.tuples(*[st.floats(0, height, width=32)] * 2)))
        assume(x[0] < x[1] and y[0] < y[1])
        boxes.append((x[0], y[0], x[1], y[1]))
    return (width, height), boxes


def exact(width: int, height: int, ratio: Fraction) -> bool:
    """Tell whether a side is at most a pixel away from the ratio to the other."""
    return abs(width - height * ratio) <= 1 or abs(height - width / ratio) <= 1


@settings(deadline=None, max_examples=200)
@given(scenes(), st.sampled_from(sorted(RATIOS)), st.integers(0, 99))
def test_a_crop_holds_every_box_and_its_margin(
    scene: tuple[tuple[int, int], list[Box]], name: str, seed: int
) -> None:
    size, boxes = scene
    cut = reshaping.crop_window(size, RATIOS[name], seeds.make_rng(seed, "a", 0, "crop"), boxes)
    left, top, right, bottom = box_geometry.union_box(boxes)
    x, y = reshaping.MARGIN * size[0], reshaping.MARGIN * size[1]
    assert cut.left <= max(0, left - x) and cut.left + cut.width >= min(size[0], right + x)
    assert cut.top <= max(0, top - y) and cut.top + cut.height >= min(size[1], bottom + y)
    assert exact(cut.width, cut.height, RATIOS[name])
    # bars on one axis at most, and on none where the picture goes on
    over = [cut.width > size[0], cut.height > size[1]]
    assert sum(over) <= 1
    for stands_out, begin, length, side in zip(over, cut[:2], cut[2:], size, strict=True):
        assert stands_out or 0 <= begin <= side - length
        assert not stands_out or abs(begin + (length - side) / 2) <= 1


@settings(deadline=None, max_examples=100)
@given(scenes(), st.sampled_from(sorted(RATIOS)), st.integers(0, 99))
def test_bars_come_only_where_no_window_of_the_ratio_holds_the_boxes(
    scene: tuple[tuple[int, int], list[Box]], name: str, seed: int
) -> None:
    size, boxes = scene
    rng = seeds.make_rng(seed, "a", 0, "crop")
    largest = reshaping.crop_window(size, RATIOS[name], rng, [])
    cut = reshaping.crop_window(size, RATIOS[name], rng, boxes)
    left, top, right, bottom = box_geometry.union_box(boxes)
    # of one whole pixel either way, and the margin
    wide = right - left + 2 * reshaping.MARGIN * size[0] + 2
    high = bottom - top + 2 * reshaping.MARGIN * size[1] + 2
    if wide <= largest.width and high <= largest.height:
        assert cut[2:] == largest[2:]


@settings(deadline=None, max_examples=100)
@given(sides, sides, st.sampled_from(SHAPES))
def test_every_shape_is_exact_and_within_bounds(width: int, height: int, name: str) -> None:
    image = Image.new("RGB", (width, height))
    for boxes in ((), ((0.0, 0.0, float(width), float(height)),)):
        made = picture_variations.vary_picture(image, name, seeds.make_rng(0, "a", 0, name), boxes)
        assert exact(*made.image.size, RATIOS[name.partition("-")[2]])
        assert max(made.image.size) <= MAX_SIDE_PX
        assert box_geometry.check_boxes(made.boxes, made.image.size) == made.boxes


@settings(deadline=None, max_examples=150)
@given(scenes(least=24), st.sampled_from(SHAPES), st.integers(0, 9))
@example(((24, 863), [(0.0, 0.0, 23.0, 6.0)]), "resize-16:9", 0)
def test_what_was_in_a_box_is_in_the_moved_box(
    scene: tuple[tuple[int, int], list[Box]], name: str, seed: int
) -> None:
    size, boxes = scene
    left, top, right, bottom = (round(value) for value in boxes[0])
    assume(right - left >= 6 and bottom - top >= 6)
    dot = (float(left), float(top), float(right), float(bottom))
    image = Image.new("RGB", size, (0, 0, 200))
    ImageDraw.Draw(image).rectangle((left, top, right - 1, bottom - 1), (255, 40, 0))
    made = picture_variations.vary_picture(
        image, name, seeds.make_rng(seed, "a", 0, name), [dot, *boxes[1:]]
    )
    found = np.argwhere(np.asarray(made.image)[:, :, 0] > 127)
    assert len(found)
    (first_y, first_x), (last_y, last_x) = found.min(0), found.max(0) + 1
    seen = (first_x, first_y, last_x, last_y)
    # where a pixel becomes many, an edge is blurred over as many
    slack = [max(1.5, float(made.settings.get(key, 1))) for key in ("x_scale", "y_scale")] * 2
    off = (abs(one - other) for one, other in zip(seen, made.boxes[0], strict=True))
    assert all(by <= most for by, most in zip(off, slack, strict=True))


def test_a_crop_slides_over_all_places_that_show_the_clue() -> None:
    clue = (700.0, 300.0, 800.0, 340.0)
    begins = {
        reshaping.crop_window(
            (1536, 864), RATIOS["4:3"], seeds.make_rng(n, "a", 0, "crop"), [clue]
        ).left
        for n in range(300)
    }
    assert min(begins) < 30 and max(begins) > 354 and len(begins) > 150


def test_without_boxes_a_crop_is_of_the_middle_and_says_so() -> None:
    made = picture_variations.vary_picture(
        Image.new("RGB", (1000, 1000)), "crop-16:9", seeds.make_rng(0, "a", 0, "")
    )
    assert made.settings == {"left": 0, "top": 219, "width": 1000, "height": 562}
    assert made.note == "roi unknown"


def test_bars_are_noted_and_black_and_the_whole_clue_is_seen() -> None:
    image = Image.new("RGB", (400, 1500), (255, 255, 255))
    made = picture_variations.vary_picture(
        image, "crop-16:9", seeds.make_rng(0, "a", 0, ""), [(0, 10, 400, 1490)]
    )
    assert made.note == reshaping.BARS_NOTE and made.image.size == (MAX_SIDE_PX, 864)
    assert made.image.getpixel((0, 0)) == (0, 0, 0)
    assert made.image.getpixel((768, 432)) == (255, 255, 255)


def test_a_shape_that_is_there_already_is_left_and_said() -> None:
    image = Image.effect_noise((1536, 864), 80).convert("RGB")
    for name in ("crop-16:9", "resize-16:9"):
        made = picture_variations.vary_picture(
            image, name, seeds.make_rng(0, "a", 0, ""), [(0, 0, 9, 9)]
        )
        assert made.image.tobytes() == image.tobytes() and "nothing changed" in made.note


@pytest.mark.parametrize("size", [(1, 1), (1, 1536), (3, 2), (7, 1)])
def test_what_is_too_small_for_a_shape_is_said(size: tuple[int, int]) -> None:
    image = Image.new("RGB", size)
    for name in SHAPES:
        made = picture_variations.vary_picture(image, name, seeds.make_rng(0, "a", 0, ""))
        width, height = made.image.size
        off = abs(Fraction(width, height) / RATIOS[name.partition("-")[2]] - 1) > 0.05
        assert off == ("too small for this shape" in made.note)
        assert not (off and "nothing changed" in made.note)
        cut = name.startswith("crop") and made.image.size != size
        assert cut == ("roi unknown" in made.note)


@pytest.mark.parametrize(
    "wrong",
    [
        (5, 5, 5, 9), (5, 9, 9, 5), (-3, 0, 5, 5), (0, 0, 104, 5), (0, 0, float("nan"), 5),
        (0, 0, float("inf"), 5), (200, 200, 210, 210),
        (100.2, 0, 100.9, 10), (0, -0.9, 10, -0.1), (100, 0, 101, 10),
    ],
)  # fmt: skip
def test_what_is_no_box_of_the_picture_is_refused(wrong: Box) -> None:
    with pytest.raises(DataError, match="within 100 x 50 pixels"):
        picture_variations.vary_picture(
            Image.new("RGB", (100, 50)), "base", seeds.make_rng(0, "a", 0, ""), [wrong]
        )

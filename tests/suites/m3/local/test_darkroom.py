"""Laws of the family `darkroom` alone; test_families.py holds those of all families."""

from __future__ import annotations

import io
import random
from collections import Counter
from itertools import combinations

import pytest
from PIL import Image, ImageColor, ImageStat

from toolmark.suites.m3.local.families import darkroom
from toolmark.suites.m3.local.item import Item

SEEDS = range(12)
NAMES = {
    ImageColor.getrgb(name): name
    for name in ("red", "blue", "green", "orange", "purple", "yellow", "pink", "cyan")
}


def seen(picture: bytes) -> Image.Image:
    return Image.open(io.BytesIO(picture)).convert("RGB")


def areas(item: Item) -> dict[str, int]:
    """Return how many pixels of the picture each colour has, counted in the picture itself."""
    shown = seen(item.picture)
    counted = shown.getcolors(shown.width * shown.height)
    assert counted is not None
    return {NAMES[at]: n for n, at in counted if isinstance(at, tuple) and at in NAMES}


def table(item: Item, path: str) -> dict[str, list[str]]:
    rows = [line.split(",") for line in item.files[path].decode().splitlines()]
    return {row[0]: row[1:] for row in rows[1:]}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_box_to_cut_out_is_alone_in_its_colour(seed: int) -> None:
    item = darkroom.cutout(random.Random(seed))
    boxes = {name: tuple(map(int, row)) for name, row in table(item, "boxes.csv").items()}
    shown = seen(item.picture)
    colours = {}
    for name, (left, top, wide, high) in boxes.items():
        inside = ImageStat.Stat(shown.crop((left, top, left + wide, top + high)))
        assert inside.stddev == [0, 0, 0]
        colours[name] = tuple(inside.mean)
    often = Counter(colours.values())
    assert [name for name in boxes if often[colours[name]] == 1] == list(item.answer)
    assert item.expects["cut.png"]["size"] == list(boxes[item.answer[0]][2:])
    assert item.expects["cut.png"]["mean"] == list(colours[item.answer[0]])


@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_boxes_touch(seed: int) -> None:
    item = darkroom.cutout(random.Random(seed))
    boxes = [tuple(map(int, row)) for row in table(item, "boxes.csv").values()]
    for (x, y, wide, high), (left, top, width, height) in combinations(boxes, 2):
        beside = x + wide < left or left + width < x
        assert beside or y + high < top or top + height < y


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_can_doubt_which_box_is_the_largest_and_which_the_smallest(seed: int) -> None:
    for template in (darkroom.prints, darkroom.scans):
        item = template(random.Random(seed))
        by_area = sorted(areas(item).items(), key=lambda pair: pair[1])
        sizes = [n for _, n in by_area]
        assert len(sizes) == 5
        assert sizes[0] * 2 < sizes[1] and sizes[-2] * 1.7 < sizes[-1]
        if template is darkroom.prints:
            assert item.answer == (by_area[-1][0], by_area[0][0])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_print_follows_the_two_lists(seed: int) -> None:
    item = darkroom.prints(random.Random(seed))
    largest, smallest = item.answer
    assert item.expects["print.png"]["size"] == [int(n) for n in table(item, "sizes.csv")[largest]]
    (look,) = table(item, "looks.csv")[smallest]
    proof = item.expects["proof.png"]
    assert proof["grey"] is (look == "black and white")
    if look == "negative":
        mean = ImageStat.Stat(seen(item.picture)).mean
        assert proof["mean"] == pytest.approx([255 - n for n in mean], abs=1e-3)


def test_both_looks_are_asked_for() -> None:
    greys = {darkroom.prints(random.Random(s)).expects["proof.png"]["grey"] for s in range(20)}
    assert greys == {True, False}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_card_holds_the_two_paints_and_white_between_them(seed: int) -> None:
    item = darkroom.samples(random.Random(seed))
    left, right, card = (item.expects[f"{name}.png"] for name in ("left", "right", "card"))
    drawn = Image.new("RGB", tuple(card["size"]), "white")
    drawn.paste(tuple(left["mean"]), (0, 0, *left["size"]))
    start = card["size"][0] - right["size"][0]
    drawn.paste(tuple(right["mean"]), (start, 0, *card["size"]))
    assert card["mean"] == pytest.approx(ImageStat.Stat(drawn).mean, abs=1e-3)
    assert left["mean"] != right["mean"]


def test_no_two_slips_have_one_number() -> None:
    item = darkroom.scans(random.Random(1))
    slips = [held for path, held in item.files.items() if path.startswith("scans/")]
    assert len(set(slips)) == len(slips) == len(NAMES)

"""Laws of the family `darkroom` alone; test_families.py holds those of all families."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageColor, ImageOps, ImageStat
from tests.suites.m3.local.made_items import make_item

from toolmark.suites.m3.local import workspace_state
from toolmark.suites.m3.local.families import darkroom_tasks
from toolmark.suites.m3.local.task_item import TaskItem

SEEDS = range(12)
NAMES = {
    ImageColor.getrgb(name): name
    for name in ("red", "blue", "green", "orange", "purple", "yellow", "pink", "cyan")
}


def seen(picture: bytes) -> Image.Image:
    return Image.open(io.BytesIO(picture)).convert("RGB")


def areas(item: TaskItem) -> dict[str, int]:
    """Return how many pixels of the picture each colour has, counted in the picture itself."""
    shown = seen(item.picture)
    counted = shown.getcolors(shown.width * shown.height)
    assert counted is not None
    return {NAMES[at]: n for n, at in counted if isinstance(at, tuple) and at in NAMES}


def shade(expected: Mapping[str, Any]) -> list[float]:
    """Return the mean colour of what a picture is to look like."""
    tiles = expected["tiles"]["near"]
    return [sum(tile[band] for tile in tiles) / len(tiles) for band in range(3)]


def table(item: TaskItem, path: str) -> dict[str, list[str]]:
    rows = [line.split(",") for line in item.files[path].decode().splitlines()]
    return {row[0]: row[1:] for row in rows[1:]}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_box_to_cut_out_is_alone_in_its_colour(seed: int) -> None:
    item = make_item(darkroom_tasks.cutout_item, seed)
    boxes = {name: tuple(map(int, row)) for name, row in table(item, "boxes.csv").items()}
    shown = seen(item.picture)
    colours = {}
    for name, (left, top, wide, high) in boxes.items():
        inside = ImageStat.Stat(shown.crop((left, top, left + wide, top + high)))
        assert inside.stddev == [0, 0, 0]
        colours[name] = tuple(inside.mean)
    often = Counter(colours.values())
    assert [name for name in boxes if often[colours[name]] == 1] == list(item.answer_parts)
    assert item.expected_state["cut.png"]["size"] == list(boxes[item.answer_parts[0]][2:])
    assert item.expected_state["cut.png"]["mean"] == list(colours[item.answer_parts[0]])


@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_boxes_touch(seed: int) -> None:
    item = make_item(darkroom_tasks.cutout_item, seed)
    boxes = [tuple(map(int, row)) for row in table(item, "boxes.csv").values()]
    for (x, y, wide, high), (left, top, width, height) in combinations(boxes, 2):
        adjacent = x + wide < left or left + width < x
        assert adjacent or y + high < top or top + height < y


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_can_doubt_which_box_is_the_largest_and_which_the_smallest(seed: int) -> None:
    for template in (darkroom_tasks.prints_item, darkroom_tasks.scans_item):
        item = make_item(template, seed)
        by_area = sorted(areas(item).items(), key=lambda pair: pair[1])
        sizes = [n for _, n in by_area]
        assert len(sizes) == 5
        assert sizes[0] * 2 < sizes[1] and sizes[-2] * 1.7 < sizes[-1]
        if template is darkroom_tasks.prints_item:
            assert item.answer_parts == (by_area[-1][0], by_area[0][0])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_print_follows_the_two_lists(seed: int) -> None:
    item = make_item(darkroom_tasks.prints_item, seed)
    largest, smallest = item.answer_parts
    assert item.expected_state["print.png"]["size"] == [
        int(n) for n in table(item, "sizes.csv")[largest]
    ]
    (look,) = table(item, "looks.csv")[smallest]
    proof = item.expected_state["proof.png"]
    assert proof.get("grey", False) is (look == "black and white")
    if look == "negative":
        mean = ImageStat.Stat(seen(item.picture)).mean
        assert shade(proof) == pytest.approx([255 - n for n in mean], abs=1)


def test_both_looks_are_asked_for() -> None:
    greys = [
        "grey" in make_item(darkroom_tasks.prints_item, s).expected_state["proof.png"]
        for s in range(20)
    ]
    assert set(greys) == {True, False}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_card_holds_the_two_paints_and_white_between_them(seed: int) -> None:
    item = make_item(darkroom_tasks.samples_item, seed)
    left, right, card = (item.expected_state[f"{name}.png"] for name in ("left", "right", "card"))
    drawn = Image.new("RGB", tuple(card["size"]), "white")
    drawn.paste(tuple(map(round, shade(left))), (0, 0, *left["size"]))
    start = card["size"][0] - right["size"][0]
    drawn.paste(tuple(map(round, shade(right))), (start, 0, *card["size"]))
    assert shade(card) == pytest.approx(ImageStat.Stat(drawn).mean, abs=1)
    assert shade(left) != shade(right)


def test_no_two_slips_have_one_number() -> None:
    item = make_item(darkroom_tasks.scans_item, 1)
    slips = [collected for path, collected in item.files.items() if path.startswith("scans/")]
    assert len(set(slips)) == len(slips) == len(NAMES)


# --- work that was not done -------------------------------------------------------------


def saved(folder: Path, item: TaskItem, made: Mapping[str, Image.Image]) -> list[str]:
    """Return what is wrong with pictures of these names."""
    for name, image in made.items():
        image.save(folder / name)
    return workspace_state.find_differences(
        item.expected_state, workspace_state.take_snapshot(folder)
    )


def blank(item: TaskItem, name: str, colour: str) -> Image.Image:
    mode = "L" if item.expected_state[name].get("grey") else "RGB"
    return Image.new(mode, tuple(item.expected_state[name]["size"]), colour)


def done(item: TaskItem) -> dict[str, Image.Image]:
    """Return the pictures that are asked for, made without the servers."""
    shown, sizes = seen(item.picture), {n: tuple(e["size"]) for n, e in item.expected_state.items()}
    if item.template == "cutout":
        left, top, wide, high = map(int, table(item, "boxes.csv")[item.answer_parts[0]])
        cut = shown.crop((left, top, left + wide, top + high))
        return {"cut.png": cut, "grey.png": cut.convert("L"),
                "small.png": cut.resize(sizes["small.png"])}  # fmt: skip
    if item.template == "scans":
        return {"copy.png": shown.resize(sizes["copy.png"])}
    (look,) = table(item, "looks.csv")[item.answer_parts[1]]
    proof = ImageOps.invert(shown) if look == "negative" else shown.convert("L")
    return {"print.png": shown.resize(sizes["print.png"]), "proof.png": proof}


@pytest.mark.parametrize("seed", SEEDS)
def test_right_pictures_pass_and_blank_ones_do_not(seed: int, tmp_path: Path) -> None:
    for template in (
        darkroom_tasks.cutout_item,
        darkroom_tasks.prints_item,
        darkroom_tasks.scans_item,
    ):
        item = make_item(template, seed)
        right = done(item)
        assert saved(tmp_path, item, right) == []
        for name in right:
            for colour in ("black", "white", "gray"):
                assert saved(tmp_path, item, right | {name: blank(item, name, colour)})
            upside = right[name].rotate(180)
            if item.template != "cutout":  # of one colour, so it looks the same
                assert saved(tmp_path, item, right | {name: upside})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_card_with_its_sides_changed_does_not_pass(seed: int, tmp_path: Path) -> None:
    item = make_item(darkroom_tasks.samples_item, seed)
    left, right, card = (item.expected_state[f"{name}.png"] for name in ("left", "right", "card"))
    one, two = (
        Image.new("RGB", tuple(side["size"]), tuple(side["tiles"]["near"][0]))
        for side in (left, right)
    )

    def put(first: Image.Image, second: Image.Image) -> Image.Image:
        whole = Image.new("RGB", tuple(card["size"]), "white")
        whole.paste(first, (0, 0))
        whole.paste(second, (whole.width - second.width, 0))
        return whole

    assert (
        saved(tmp_path, item, {"left.png": one, "right.png": two, "card.png": put(one, two)}) == []
    )
    assert saved(tmp_path, item, {"left.png": one, "right.png": two, "card.png": put(two, one)})
